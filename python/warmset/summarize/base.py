"""The words of summarising: what a summarizer writes, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.messages import Message
    from warmset.summarize.losses import Audit
    from warmset.usage import Usage

HEADING: Final = "(Summary of earlier messages)"
"""What a message begins with that shows a summary."""


class Summarizer(Protocol):
    """Says in fewer words what messages say.

    One that can take up an earlier summary also has a keyword `previous: str | None = None`; others
    are given it as the first message. One that can keep a subject above all has a keyword
    `focus: str | None = None`.
    """

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int) -> str:
        """Return a summary of about that many tokens at most."""
        ...


class SummaryReply(str):
    """A summary as a summarizer returns it, with what it took to write it.

    Args:
        text: The summary.
        usage: What the summarizer's model took; None where there is none.
        notes: What a reader of a report should know: "3 turns were shortened", for example.
    """

    __slots__ = ("notes", "usage")

    usage: Usage | None
    notes: tuple[str, ...]

    def __new__(cls, text: str, usage: Usage | None = None, notes: Iterable[str] = ()) -> Self:
        """Put them together."""
        made = super().__new__(cls, text)
        made.usage = usage
        made.notes = tuple(notes)
        return made


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that was checked.

    Args:
        text: The summary, with the list of what it had lost if one was asked for.
        tokens: Tokens of the text.
        replaced: Tokens of the messages, and of the earlier summary, that it stands for.
        by: Who wrote it: the summarizer's name.
        audit: Which facts of the messages are in the text, and which are not.
        usage: What the summarizer took, that of a failed one before it included; None where no
            model is known to have been asked.
        notes: What was shortened or went wrong, in words; why a fallback wrote it, for example.
        failure: The class of the error because of which a fallback wrote it; None if none did.
        refused: The reason if that error was a `SummaryRefused`: "json", for example.
    """

    text: str
    tokens: int
    replaced: int
    by: str
    audit: Audit
    usage: Usage | None = field(default=None, compare=False)
    notes: tuple[str, ...] = ()
    failure: str | None = None
    refused: str | None = None
