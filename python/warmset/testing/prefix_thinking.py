"""The thinking and reasoning of a request that another request before it makes invalid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.messages import facts
from warmset.messages.anthropic.models import refuses_changed_thinking
from warmset.messages.prefix import ANOTHER_MODEL
from warmset.messages.sent import Beside, witness_of
from warmset.messages.thinking import THOUGHTS, invalid
from warmset.testing.first_change import equal
from warmset.testing.prefix_order import argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.messages import Message
    from warmset.testing.requests import Request

Consequence: TypeAlias = Literal["refused", "dropped", "refused or dropped"]
"""What a provider does with invalid thinking: it refuses the request, drops the thinking silently,
or one of both, by account and settings."""

_THINKING: Final = ("thinking", "redacted_thinking")
_FORMAT: Final = "text.format"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidThinking:
    """A block of thinking, or an item of reasoning, that is not valid in the second request.

    Args:
        place: Where it is in the second request, as `messages[3].content[0]`.
        why: What is not as it was when the model thought it.
        consequence: What the provider does.
    """

    place: str
    why: str
    consequence: Consequence


def invalid_thinking(
    before: Request, after: Request, listed: Sequence[Message], model: str
) -> tuple[InvalidThinking, ...]:
    """Return the thinking of a request that is bound to what the request before it had.

    Args:
        before: The request before.
        after: The request.
        listed: The list of the request before, in the form that the request's list has.
        model: The model whose rules hold, instead of the requests' own; empty for theirs.
    """
    if after.dialect not in THOUGHTS:
        return ()
    beside = Beside(after.system(), after.tools(), model or after.model)
    sent = {
        "messages": list(listed),
        "system": before.system(),
        "tools": before.tools(),
        "model": model or before.model,
    }
    witness = witness_of(after.messages, after.dialect, beside, sent)
    found = dict(invalid(after.messages, after.dialect, witness, beside.front(), beside.model))
    if after.dialect == "responses" and not equal(before.part(_FORMAT), after.part(_FORMAT)):
        count = THOUGHTS[after.dialect].count
        for at, one in enumerate(after.messages):
            if count(one):
                found.setdefault(at, f"{_FORMAT} is another one")
    return tuple(
        InvalidThinking(place=place, why=why, consequence=_consequence(after, beside.model, why))
        for at, why in sorted(found.items())
        for place in _places(after, at)
    )


def is_compacted(before: Request, after: Request) -> bool:
    """Return whether a provider's compaction stands in a request that was not in the one before."""
    if after.dialect not in THOUGHTS:
        return False
    kept = [one for one in after.messages if facts(one, after.dialect).keep]
    return any(not any(equal(one, other) for other in before.messages) for one in kept)


def _consequence(after: Request, model: str, why: str) -> Consequence:
    if after.dialect == "responses" or why == ANOTHER_MODEL:
        return "dropped"
    chosen = argument(after.arguments, "thinking.block_binding.prefix_mismatch_behavior")
    if chosen == "drop_block":
        return "dropped"
    return "refused" if refuses_changed_thinking(model) else "refused or dropped"


def _places(request: Request, at: int) -> Iterator[str]:
    here = f"{request.name}[{at}]"
    content = request.messages[at].get("content")
    if request.dialect == "responses" or not isinstance(content, list):
        yield here
        return
    for number, block in enumerate(content):
        if block.get("type") in _THINKING:
            yield f"{here}.content[{number}]"
