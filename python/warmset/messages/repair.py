"""A list that a provider refuses, mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from warmset.errors import InvalidInputError
from warmset.messages.codec import accept
from warmset.messages.dialects import resolve
from warmset.messages.languages import LANGUAGES
from warmset.messages.mending import Change, Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.messages.model import Message


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A list that was mended.

    Args:
        messages: The messages; those that needed no change are the objects that were given.
        changes: What was changed, in the order of the list; empty for a valid list.
    """

    messages: list[Message]
    changes: list[Change]


def repair(
    messages: Iterable[object], *, dialect: str | None = None, unanswered: Unanswered = "stub"
) -> RepairResult:
    """Mend a list so that `validate` finds nothing in it.

    What is mended, as far as the dialect has it: results without a call leave, results out of place
    move behind their call, second answers leave, calls that nobody answered get a result that says
    so, empty messages leave, ids that stand twice are told apart. The same list gives the same
    answer; a mended list needs no change; messages before the first change are untouched.

    Args:
        messages: Messages as callers have them.
        dialect: The dialect that they are written in; told by their look if not given.
        unanswered: What becomes of calls without a result: "stub" answers them with a text that
            says that there is none, "drop" takes the calls out.

    Returns:
        The messages, and what was changed.

    Raises:
        InvalidMessageError: A message is malformed, so that nothing can be read off it.
        InvalidInputError: `unanswered` is neither of the two.
        UnknownDialectError: The name is of no supported dialect.
    """
    if unanswered not in get_args(Unanswered):
        raise InvalidInputError(f"unanswered: expected 'stub' or 'drop', found {unanswered!r}")
    plain = accept(messages)
    chosen = resolve(plain, dialect)
    mended, changes = LANGUAGES[chosen].mend(plain, unanswered)
    return RepairResult(mended, changes)
