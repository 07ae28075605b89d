"""The constants and options that more than one stage shares, each with the reason for its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

Mode: TypeAlias = Literal["jit", "full", "recency", "steady", "auto"]
"""How a window is built: the turns that the request needs, all turns, the newest turns only, a list
that only grows, or the first or the fourth by what they cost."""

MODES: Final = ("jit", "full", "recency", "steady", "auto")

Dates: TypeAlias = Literal["lines", "none"]
"""Whether lines beside a window's verbatim messages name their days."""

DATES: Final = ("lines", "none")

Scope: TypeAlias = Literal["conversation", "tenant"]
"""Whether a window may quote turns of the tenant's other conversations."""

SCOPES: Final = ("conversation", "tenant")

Reading: TypeAlias = Literal["map", "pread"]
"""How sealed segments of a store are read."""

RECENT: Final = 4
"""The number of units before the request that are shown verbatim."""

SHORTLIST: Final = 12
"""The number of entries that a picker chooses from."""

MAX_PICKED: Final = 6
"""The most entries that a model picker may return; the score picker fills the token budget
instead."""

TOOL_TOKENS: Final = 4_000
"""The token budget for all turns that a model fetches and searches with tools."""

SMALL_MESSAGES: Final = 12
SMALL_TOKENS: Final = 6_000
"""A list that is below both is not changed: that would save nothing and could lose information."""

MIN_SAVING: Final = 0.20
"""The least share of a list's tokens that a window must save, if the whole list fits the budget;
otherwise the list is not changed."""

INDEX_SHARE: Final = 0.10
"""The share of a budget that the index of one-line summaries may take; an index of all turns cost
more than it saved."""

DECISION_SHARE: Final = 0.5
"""The share of the index that the newest decisions of the conversation take first, whether the
request asks for them or not; the rest is left to what the search found."""

DECISIONS: Final = 64
"""The most decisions that are looked at for the index, newest first."""

RECENT_SHARE: Final = 0.5
"""The share of the free budget that recent units may take, so that room is left for retrieved
turns."""

NEWEST_SHARE: Final = 0.25
"""The share of the free budget that the newest unit may take in a budget that is too small for
others, so that a request which continues it is understood."""

SMALL_BUDGET: Final = 4_000
"""Below this budget, recent units and the index get smaller shares, so that what was retrieved has
the room: with full shares a window of 1,140 tokens loses 2 points of recall on LoCoMo."""


def grown(budget: int) -> float:
    """Return the part of their shares that recent units and the index get: 1 if it is not small.

    Args:
        budget: In tokens.
    """
    return min(budget / SMALL_BUDGET, 1.0)


SUMMARY_SHARE: Final = 0.5
"""The share of the budget left by verbatim messages that a summary may take, so that room is left
for retrieved turns."""

RECALL_SHARE: Final = 0.05
"""The share of the budget that what is recalled for one exchange may take in mode "steady"; it
stays in the list, so that twenty exchanges fill a budget with it at most."""

MEMORY_SHARE: Final = 0.10
"""The share of the budget that pinned and recalled memories and turns of other conversations may
take together; in mode "steady", all that a list has of them."""

SWAP_AT: Final = 0.85
"""The share of the budget at which the next epoch begins with an exchange: the exchange needs the
rest."""

SWAP_TO: Final = 0.35
"""The share of the budget that the first list of an epoch has: with less the model lacks what was
just said, with more the next swap comes too soon."""

SESSION_GAP: Final = 8 * 3600.0
"""Seconds of silence that begin a new session."""

MAX_TURN: Final = 64 << 20
"""The most bytes that a message may have as JSON."""

CONFIDENCE: Final = 0.75
"""The confidence of a memory for which the caller gives none."""

SUMMARY_CHARS: Final = 160
"""The most characters of a turn's one-line summary."""

CATCH_UP: Final = 0.05
"""Seconds that a search waits for an in-process embedder to embed the turns appended just
before."""

WINDOW_WAIT: Final = 0.05
"""Seconds that a window waits for a remote embedder before it searches by words alone."""

SEARCH_WAIT: Final = 5.0
"""Seconds that a plain search waits for an embedder; no model call waits for it, so it may take
longer."""

REDACT_TIMEOUT: Final = 10.0
"""Seconds that a redaction hook gets for the texts of one call."""

CLOSE_WAIT: Final = 30.0
"""Seconds that closing a memory gives the pending vectors."""

RANKED: Final = 256
"""The least number of hits from which the score picker may fill a budget."""


def ranked(budget: int, messages: int, tokens: int) -> int:
    """Return the number of hits from which a budget is filled.

    Args:
        budget: In tokens.
        messages: The number of the conversation's messages.
        tokens: Their tokens.

    Returns:
        As many as fill it if they have half the mean of tokens, but not more than there are; at
        least `RANKED`.
    """
    return max(RANKED, min(2 * budget * messages // max(tokens, 1), messages))


MIN_SCORE: Final = 0.18
MIN_SHARE: Final = 0.45
"""Nothing is picked whose score is below `MIN_SCORE`, however much room is left, or below
`MIN_SHARE` of the best score. Where the conversation exceeds the budget and the hits above both
leave room empty, the share falls: if they fill a third of the room, it is a third of 0.45. Where
all fits, it stays, for a window is then made to save tokens. On LoCoMo a share of 0.45 costs
nothing at 5 % of the tokens; at 25 % a fixed one costs 0.5 points of recall."""

FILL_SHARE: Final = 0.9
"""The share of the room up to which such hits, and recent units that a small budget left out, fill
it; the rest is for the steps of the exchange, so that what was chosen can stay."""

MIN_MATCH: Final = 0.26
"""Nothing is picked if no hit has a cosine and a BM25 that add up to it: the conversation then says
nothing on the matter. Of questions on other subjects 85 % stay below, of LoCoMo's 0.5 %."""


def least_score(scores: Sequence[float], filled: float = 1.0) -> float:
    """Return the score that a hit needs to be picked.

    Args:
        scores: The scores of all hits, best first.
        filled: The share of the room that the hits take which are above `MIN_SHARE`; at most 1.
    """
    return max(MIN_SCORE, MIN_SHARE * filled * scores[0]) if scores else MIN_SCORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weight of each signal of the retriever; a signal that does not apply adds nothing.

    A turn's base score is the sum of the first eight, its score adds the two that follow.

    Args:
        dense: The mean of the cosines with the turn and with its context; weighted, if the
            embedder asks for it.
        lexical: BM25, divided by the highest score that the query could reach.
        speaker: The query names the turn's speaker.
        date: The turn was sent on, or mentions, a day that the query mentions.
        when: The query asks for a time, and the turn mentions one.
        number: The query asks for a number, and the turn has one.
        asking: Minus the share of the turn that is a question itself.
        reply: The score of the question that the turn answers.
        near: The best base score among the turns at most four turns away.
        session: The best base score in the turn's session.
        decision: The turn settles something.
    """

    dense: float = 1.0
    lexical: float = 1.0
    speaker: float = 0.25
    date: float = 0.2
    when: float = 0.05
    number: float = 0.05
    asking: float = 0.1
    reply: float = 0.1
    near: float = 0.4
    session: float = 0.2
    decision: float = 0.05


ONLY_WORDS: Final = Weights(
    dense=0, speaker=0, date=0, when=0, number=0, asking=0, reply=0, near=0, session=0, decision=0
)
"""BM25 and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Restricts the entries that a search may return; a field that is None restricts nothing.

    `Memory.search` takes names and times; `HotIndex.search` takes the numbers with which its
    entries were added.

    Args:
        tenant: Only this tenant (`HotIndex` only: a `Memory` sees its own tenant and no other).
        conversation: Only this conversation.
        kind: Only records of this kind, as "turn".
        role: Only messages of this role.
        since: Only messages from this time on.
        before: Only messages before this time.
        ids: Only these ids.
        exclude: Never these ids.
        branches: Whether to include messages on abandoned branches.
    """

    tenant: int | None = None
    conversation: str | int | None = None
    kind: str | int | None = None
    role: str | int | None = None
    since: datetime | float | None = None
    before: datetime | float | None = None
    ids: Collection[int] | None = None
    exclude: Collection[int] | None = None
    branches: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """What warmset knows about a model.

    Args:
        encoding: The vocabulary that its tokens are counted with.
        window: Its context window in tokens.
    """

    encoding: str
    window: int


MODELS: Final[dict[str, Model]] = {
    "claude-3-5": Model("estimate", 200_000),
    "claude-3-7": Model("estimate", 200_000),
    "claude-haiku-4": Model("estimate", 200_000),
    "claude-opus-4": Model("estimate", 200_000),
    "claude-sonnet-4": Model("estimate", 200_000),
    "gpt-3.5-turbo": Model("cl100k_base", 16_385),
    "gpt-4": Model("cl100k_base", 8_192),
    "gpt-4-turbo": Model("cl100k_base", 128_000),
    "gpt-4.1": Model("o200k_base", 1_047_576),
    "gpt-4o": Model("o200k_base", 128_000),
    "gpt-5": Model("o200k_base", 400_000),
    "gpt-oss": Model("o200k_base", 131_072),
    "o1": Model("o200k_base", 200_000),
    "o3": Model("o200k_base", 200_000),
    "o4-mini": Model("o200k_base", 200_000),
}
"""All known models by the prefix of their names; for any other model, token counts are
estimates."""


def model(name: str) -> Model | None:
    """Look a model up by the longest known prefix of its name.

    Args:
        name: The provider's name, with or without a date or a vendor before a slash.

    Returns:
        The model, or None if it is unknown: then token counts are estimates and are marked as such.
    """
    bare = name.rsplit("/", 1)[-1].lower()
    known = [prefix for prefix in MODELS if bare.startswith(prefix)]
    return MODELS[max(known, key=len)] if known else None
