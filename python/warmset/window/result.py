"""A window: the messages of one call, valid for the provider, token-exact, and explained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Dialect, Message, System
    from warmset.usage import Usage

PartName: TypeAlias = Literal[
    "system", "anchor", "summary", "index", "retrieved", "recent", "current", "request", "all"
]

Reason: TypeAlias = Literal["picked", "already_in_window", "not_picked", "below_cut", "over_budget"]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a window.

    Args:
        name: What it is.
        tokens: What it costs.
        ids: The messages that it shows; those of an index have a line each, those of a summary are
            what it stands for.
    """

    name: PartName
    tokens: int
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Why one candidate is in a window or not.

    Args:
        id: The message.
        score: The retriever's score.
        tokens: What it costs verbatim.
        shown: Whether it is quoted.
        reason: "picked"; "already_in_window", quoted because a better candidate of its unit is;
            "not_picked" by the picker; "below_cut", too weak beside the best; or "over_budget".
        terms: What each signal gave, before its weight.
    """

    id: int
    score: float
    tokens: int
    shown: bool
    reason: Reason
    terms: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What a prepared compaction did for a window.

    Args:
        state: Where the conversation's preparation is; see `warmset.prepare`.
        boundary: Messages at the front that a summary stands for, or that stay beside it; 0 if none
            is shown.
        tokens: What the summary costs.
        tokens_saved: Tokens that it takes off the window; 0 in mode "jit", which would not show
            what it stands for.
        applied: Whether it took its messages' place in this call; in mode "jit", whether it is
            shown for the first time.
        waited: Seconds that the call waited for it.
        left_out: Messages that were left out without a summary, because there was none in time.
        why: What kept a summary from being there; None if nothing did.
    """

    state: str
    boundary: int = 0
    tokens: int = 0
    tokens_saved: int = 0
    applied: bool = False
    waited: float = 0.0
    left_out: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What happened, and why.

    Args:
        mode: How the window was made.
        active: Whether anything was left out or quoted; a small list passes untouched.
        turns_in: Messages of the conversation.
        turns_sent: Messages sent, quoted ones included.
        picked: Ids of the quoted messages.
        recent: Ids of the recent messages.
        tokens_in: What sending everything would cost.
        tokens_sent: What the window costs.
        saved: The part of `tokens_in` that is not sent, 0 to 1.
        cached: Tokens at the front that are the same as in the last window of the conversation, so
            that a provider's prefix cache can have them.
        net_saved: Tokens that are not sent, less those that the picker's model took; below zero
            where the window costs more than it saves.
        picked_by: Who picked: "score" or "picker"; None where nothing was retrieved.
        picker: What the picker took, its model's tokens and the time; None where no picker was
            asked, as for a further window of the same exchange. A picker of one's own that does not
            tell counts as no tokens.
        searched_by: "fused", or "lexical" where no vector could be had; None where nothing was
            searched.
        notes: What did not go as it should: a picker's failure, a vector that came too late, turns
            whose vectors are pending.
        pending: Turns that are found by their words only, because their vectors are not made yet.
        milliseconds: What the call took.
        compaction: What a prepared compaction did; None where there is none, in mode "recency", and
            for a small list.
        exact: Whether the counts are the reference's; formulas of providers never are.
    """

    mode: str
    active: bool
    turns_in: int
    turns_sent: int
    picked: tuple[int, ...]
    recent: tuple[int, ...]
    tokens_in: int
    tokens_sent: int
    saved: float
    cached: int
    net_saved: int
    picked_by: str | None
    picker: Usage | None
    searched_by: str | None
    notes: tuple[str, ...]
    pending: int
    milliseconds: float
    exact: bool
    compaction: Compaction | None = None
    choices: Sequence[Choice] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The messages of one call.

    Args:
        messages: What to send.
        system: The system prompt, where the dialect keeps it beside the messages.
        dialect: How the messages are written.
        tokens: What it costs, system prompt and tools included.
        budget: What it was allowed to cost.
        parts: What it is made of, in order.
        report: What happened, and why.
    """

    messages: list[Message]
    system: System | None
    dialect: Dialect
    tokens: int
    budget: int
    parts: tuple[Part, ...]
    report: Report

    def __len__(self) -> int:
        return len(self.messages)
