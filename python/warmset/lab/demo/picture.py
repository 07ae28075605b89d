"""A window in detail: the tokens and the text of each part, and why each turn is quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import BudgetTooSmall
from warmset.lab.corpus.shown import shown, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from warmset.conversation import Conversation
    from warmset.pick import Picker
    from warmset.usage import Usage
    from warmset.window.result import Part, Window

_HEAD: Final = 300
"""Characters of a text that are shown at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One part of a window.

    Args:
        name: What it is.
        tokens: What it costs.
        ids: The messages that it shows.
        head: How it begins.
    """

    name: str
    tokens: int
    ids: tuple[int, ...]
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Why one turn is quoted.

    Args:
        id: The message.
        at: When it was said, UTC.
        who: Its speaker, or its role.
        score: The retriever's score; None where it only belongs to a turn that was picked, as a
            tool's result to its call.
        terms: What each signal gave, before its weight.
        head: How it begins.
        evidence: Whether it is known to answer the question.
    """

    id: int
    at: datetime
    who: str
    score: float | None
    terms: dict[str, float]
    head: str
    evidence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One window.

    Args:
        query: What was asked; None for the conversation's last request.
        tokens: What the window costs.
        budget: What it may cost.
        full: What sending everything would cost.
        picker: What the picker took; None where none was asked.
        net_saved: Tokens that are not sent, less those that the picker's model took.
        parts: Its parts, in order.
        picks: The quoted turns, the best first.
        found: Whether it has all evidence; None where none is known.
        notes: What did not go as it should.
    """

    query: str | None
    tokens: int
    budget: int
    full: int
    picker: Usage | None
    net_saved: int
    parts: Sequence[PartView]
    picks: Sequence[Pick]
    found: bool | None
    notes: tuple[str, ...]


def take(
    conversation: Conversation,
    query: str | None,
    *,
    budget: int,
    stretch: bool,
    evidence: Collection[int] = (),
    picker: Picker | None = None,
) -> Picture:
    """Make a window with the options that `Conversation.window` has by itself, and describe it.

    Args:
        conversation: The conversation.
        query: The request; None for its last user message.
        budget: Tokens that the window may have.
        stretch: Whether the budget may grow by what must stay, if that does not fit.
        evidence: Ids of the messages that answer the request, where that is known.
        picker: Who picks; the score if not given.

    Returns:
        The picture.

    Raises:
        BudgetTooSmall: What must stay does not fit.
        InvalidInputError: The query is blank.
    """
    try:
        window = conversation.window(query, budget=budget, picker=picker)
    except BudgetTooSmall as error:
        if not stretch:
            raise
        window = conversation.window(query, budget=error.need + budget, picker=picker)
    return Picture(
        query=query,
        tokens=window.tokens,
        budget=window.budget,
        full=window.report.tokens_in,
        picker=window.report.picker,
        net_saved=window.report.net_saved,
        parts=[_part(conversation, part, query) for part in window.parts],
        picks=_picks(conversation, window, evidence),
        found=shown(conversation, window) >= set(evidence) if evidence else None,
        notes=window.report.notes,
    )


def head(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text[: 2 * _HEAD].split())
    return line if len(line) <= _HEAD else f"{line[:_HEAD]}…"


def _part(conversation: Conversation, part: Part, query: str | None) -> PartView:
    if part.name in ("pinned", "memories"):  # these are ids of memories
        said = ""
    else:
        said = text_of(conversation, part.ids[0]) if part.ids else query or ""
    return PartView(name=part.name, tokens=part.tokens, ids=part.ids, head=head(said))


def _picks(conversation: Conversation, window: Window, evidence: Collection[int]) -> list[Pick]:
    reasons = {choice.id: (choice.score, choice.terms) for choice in window.report.choices}
    picks: list[Pick] = []
    for turn in conversation.fetch(window.report.picked):
        score, terms = reasons.get(turn.id, (None, {}))
        pick = Pick(
            id=turn.id,
            at=turn.at,
            who=turn.speaker or str(turn.get("role") or turn.get("type")),
            score=score,
            terms=terms,
            head=head(text_of(conversation, turn.id)),
            evidence=turn.id in evidence,
        )
        picks.append(pick)
    return sorted(picks, key=lambda pick: (-(pick.score or 0.0), pick.id))
