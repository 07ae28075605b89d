"""Requests whose thinking an upstream refuses, and the same without any thinking.

Thinking is bound to the list that it was made behind. A client keeps the whole list, and the
thinking in it was made behind windows: so a request that goes as it came may be refused for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from warmset.messages import facts, loop_start
from warmset.messages.as_listed import count_thinking, without_thinking
from warmset.messages.text import kind_of
from warmset.messages.thinking import THOUGHTS
from warmset.serve.proxy.fields import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATUS: Final = 400
_CLEARS: Final = "clear_thinking"
_BOUND: Final = re.compile(rb"bound to a different conversation|binding_mismatch", re.IGNORECASE)


def thinking_refused(status: int, said: bytes) -> bool:
    """Return whether an answer says that thinking was made behind another list.

    Args:
        status: Its status.
        said: Its body.
    """
    return status == _STATUS and _BOUND.search(said) is not None


def disabling(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request to Anthropic's API that change to disable thinking.

    The provider refuses an edit that clears thinking where thinking is disabled, so it goes.

    Args:
        body: The request.
    """
    changed: dict[str, Any] = {"thinking": {"type": "disabled"}}
    managed = body.get("context_management")
    if isinstance(managed, dict) and isinstance(edits := managed.get("edits"), list):
        kept = [one for one in edits if not kind_of(one).startswith(_CLEARS)]
        if kept != edits:
            changed["context_management"] = {**managed, "edits": kept}
    return changed


def unbound(body: bytes) -> tuple[bytes, bool] | None:
    """Return a request to Anthropic's API without any thinking in its list.

    Args:
        body: The request.

    Returns:
        The request, and whether it disables thinking, because thinking would have to begin the tool
        loop at its end; None if its list has no thinking.

    Raises:
        InvalidInputError: It is no JSON object.
    """
    fields = Fields(body)
    model, given = str(fields.values.get("model")), fields.values["messages"]
    if not any(map(count_thinking, given)):
        return None
    loop = loop_start([facts(one, "anthropic") for one in given])
    disabled = loop is not None and THOUGHTS["anthropic"].must_lead(model)
    changed: dict[str, Any] = {"messages": list(map(without_thinking, given))}
    if disabled:
        changed |= disabling(fields.values)
    return fields.written(changed), disabled
