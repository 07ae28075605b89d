"""The constants and options that more than one stage shares, each with the reason for its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

Mode: TypeAlias = Literal["jit", "full", "recency"]
"""How a window is made: turns that the request needs, everything, or the newest turns only."""

MODES: Final = ("jit", "full", "recency")

Reading: TypeAlias = Literal["map", "pread"]
"""How sealed segments of a store are read."""

RECENT: Final = 4
"""Units before the request that are shown verbatim."""

SHORTLIST: Final = 12
"""Entries that a picker sees."""

MAX_PICKED: Final = 6
"""Entries that a model picker may return; the score picker fills the token budget instead."""

TOOL_TOKENS: Final = 4_000
"""Tokens that turns may have together that a model fetches and searches by itself."""

SMALL_MESSAGES: Final = 12
SMALL_TOKENS: Final = 6_000
"""Under both, a list passes untouched: there is nothing to gain and something to lose."""

INDEX_SHARE: Final = 0.10
"""The part of a budget that the scoped index may take; the full index cost more than it saved."""

RECENT_SHARE: Final = 0.5
"""The part of what is free that recent units may take, so that retrieval is never crowded out."""

SUMMARY_SHARE: Final = 0.5
"""The part of what verbatim messages leave that a settled summary may take, so that retrieval is
never crowded out by it."""

SESSION_GAP: Final = 8 * 3600.0
"""Seconds of silence that begin a new session."""

MAX_TURN: Final = 64 << 20
"""Bytes that a message may have as JSON."""

CONFIDENCE: Final = 0.75
"""How sure a memory is of which the caller says nothing."""

SUMMARY_CHARS: Final = 160
"""Characters of a turn's one-line summary."""

CATCH_UP: Final = 0.05
"""Seconds that a search gives an in-process embedder to finish what was appended just before."""

WINDOW_WAIT: Final = 0.05
"""Seconds that a window waits for a remote embedder before words alone answer."""

SEARCH_WAIT: Final = 5.0
"""Seconds that a plain search gives an embedder; it is not on the path of a model call."""

RANKED: Final = 256
"""Hits that the score picker may fill a budget from."""

MIN_SCORE: Final = 0.18
MIN_SHARE: Final = 0.45
"""The score, and the part of the best score, below which nothing is picked, however much room there
is. On LoCoMo a share of 0.45 costs nothing; 0.5 costs 0.1 points of recall at 5 % of the tokens and
0.4 at 10 %."""


def least_score(scores: Sequence[float]) -> float:
    """Return the score that a hit needs to be picked.

    Args:
        scores: The scores of all hits, best first.
    """
    return max(MIN_SCORE, MIN_SHARE * scores[0]) if scores else MIN_SCORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each signal of the retriever counts; a signal that has nothing to say adds nothing.

    A turn's base score is the sum of the first eight, its score adds the two that follow.

    Args:
        dense: The mean of the cosines with the turn and with its context.
        lexical: BM25 over the most that the query could reach.
        speaker: The query names the turn's speaker.
        date: The turn was said on, or speaks of, a day that the query speaks of.
        when: The query asks for a time, and the turn tells one.
        number: The query asks for a number, and the turn has one.
        asking: Against the part of the turn that is a question itself.
        reply: The score of the question that the turn answers.
        near: The best base score at most four turns away.
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
    """Which entries a search may return; what is None lets everything pass.

    `Memory.search` takes names and times; `HotIndex.search` takes the numbers that its entries were
    added with.

    Args:
        tenant: Only this tenant (`HotIndex` only: a `Memory` sees its own tenant and no other).
        conversation: Only this conversation.
        kind: Only records of this kind, as "turn".
        role: Only messages of this role.
        since: Only what was said at or after this time.
        before: Only what was said before this time.
        ids: Only these ids.
        exclude: Never these ids.
        branches: Entries that an edit or a branch left behind as well.
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
    """What is known of a model by its name.

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
"""Every model that is known, by the longest prefix of its name; any other is an estimate."""


def model(name: str) -> Model | None:
    """Look a model up by the longest known prefix of its name.

    Args:
        name: The provider's name, with or without a date or a vendor before a slash.

    Returns:
        What is known, or None: then counts are estimates, and say so.
    """
    bare = name.rsplit("/", 1)[-1].lower()
    known = [prefix for prefix in MODELS if bare.startswith(prefix)]
    return MODELS[max(known, key=len)] if known else None
