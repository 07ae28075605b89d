"""The last failures of hooks, in a file of a fixed size, so that a full disk can be told of, too.

No failure has a word of a conversation: the kind of the error, and the system's own words for it.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final, NamedTuple

from warmset.serve.hooks import files
from warmset.serve.hooks.entry import SIZE, SLOTS, note

__all__ = ["Failure", "clear", "note", "prepare", "read", "words_of"]

_BLANK: Final = (b" " * (SIZE - 1) + b"\n") * SLOTS


class Failure(NamedTuple):
    """What went wrong.

    Args:
        at: When, in seconds since 1970 UTC.
        host: The agent's host.
        event: The hook's event, or what the helper did.
        what: What went wrong.
    """

    at: float
    host: str
    event: str
    what: str


def words_of(error: BaseException) -> str:
    """Return what an error says, without anything of a conversation."""
    kind = type(error)
    if isinstance(error, OSError) and error.strerror:
        name = os.path.basename(str(error.filename)) if error.filename else ""
        return f"{kind.__name__}: {error.strerror}{f' ({name})' if name else ''}"
    if kind.__module__.startswith("warmset.") or kind is TimeoutError:
        return f"{kind.__name__}: {error}"
    return kind.__name__


def prepare(path: str) -> None:
    """Write the file in its full size, so that noting a failure needs no room later.

    Raises:
        OSError: It cannot be written.
    """
    if not os.path.exists(path):
        files.replace(path, _BLANK)


def read(path: str) -> list[Failure]:
    """Return the failures that are kept, the newest first; none if there is no such file."""
    try:
        found = files.read(path, SLOTS * SIZE) or b""
    except OSError:
        return []
    slots = [_slot(found[at * SIZE : (at + 1) * SIZE]) for at in range(SLOTS)]
    slots = sorted((one for one in slots if one), key=lambda one: -one["n"])
    return [Failure(one["at"], one["host"], one["event"], one["what"]) for one in slots]


def clear(path: str) -> None:
    """Forget all failures.

    Raises:
        OSError: The file cannot be written.
    """
    if os.path.exists(path):
        files.replace(path, _BLANK)


def _slot(found: bytes) -> dict[str, Any]:
    """Return a slot's failure; empty if it has none, or anything else stands there."""
    try:
        made = json.loads(found)
    except ValueError:
        return {}
    if not isinstance(made, dict):
        return {}
    texts = all(isinstance(made.get(name), str) for name in ("host", "event", "what"))
    numbers = isinstance(made.get("n"), int) and isinstance(made.get("at"), int | float)
    return made if texts and numbers else {}
