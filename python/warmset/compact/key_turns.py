"""`timeline`: the key turns of a conversation, within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from warmset._core import count_text, count_texts, pack
from warmset.compact.reading import listed, read_list
from warmset.compact.shared import cache_of
from warmset.compact.weights import ROLES
from warmset.embed import as_embedder, named
from warmset.errors import InvalidInputError
from warmset.evict.policies import at_least

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from warmset.embed import Embedder
    from warmset.embed.function import EmbedFunction

Why: TypeAlias = Literal["recent", "outstanding", "filled"]
"""Why a turn is in a timeline: it is one of the last, its score stands out, or there was room."""

_SIMILARITY: Final = 0.65
_RECENCY: Final = 0.25
_BASE: Final = 0.10
_USER: Final = 1.1
_OLDEST: Final = 0.2
_SHORT: Final = 20
_FORCED: Final = 2
_STRETCH: Final = 1.2
_DEVIATIONS: Final = 1.5
_NEUTRAL: Final = 0.5


@dataclass(frozen=True, slots=True)
class KeyTurn:
    """A turn of a timeline.

    Args:
        id: Its position in the list.
        role: Its role.
        text: Its whole text.
        score: Its score.
        why: Why it is in the timeline.
    """

    id: int
    role: str
    text: str
    score: float
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The key turns of a conversation.

    Args:
        turns: The turns, in order.
        tokens: The tokens of `text`.
        cut: The score at which a turn stands out.
        embedding: The embedder's name; "none" if turns were scored without similarity.
    """

    turns: tuple[KeyTurn, ...]
    tokens: int
    cut: float
    embedding: str

    @property
    def text(self) -> str:
        """The turns as lines, each with its id and role."""
        return "\n".join(_line(one.id, one.role, one.text) for one in self.turns)


def timeline(
    messages: Iterable[Any],
    query: str,
    *,
    tokens: int = 4_000,
    embedder: Embedder | EmbedFunction | str | None = None,
    dialect: str | None = None,
    encoding: str = "o200k_base",
) -> Timeline:
    """Choose the turns that a newcomer must read to follow the conversation.

    A turn's score is ``0.65·similarity + 0.25·recency + 0.10``, a user's 1.1 times that; recency
    goes from 0.2 to 1. Turns whose score is above the median by 1.5 median deviations stand out and
    are taken first; the others fill the remaining room, best first. The last two turns are always
    taken, if they have at most 120 % of the budget. Turns under 20 bytes and system messages are
    left out.

    Args:
        messages: Messages as callers have them.
        query: The topic.
        tokens: The most tokens of the text.
        embedder: The source of vectors; without one, every similarity is 0.5.
        dialect: The dialect of the messages; detected if not given.
        encoding: The vocabulary that tokens are counted with.

    Returns:
        The turns, whole and in order.

    Raises:
        InvalidInputError: An option is invalid, or a message is malformed.
        EmbedderError: The embedder failed.
    """
    if not isinstance(query, str):
        raise InvalidInputError(f"query: expected a text, found {query!r:.80}")
    at_least("tokens", tokens, 1)
    _, reads, _ = read_list(listed(messages), dialect, encoding)
    said = [
        at
        for at, read in enumerate(reads)
        if not read.facts.is_system and len(read.facts.text.encode("utf-8", "replace")) >= _SHORT
    ]
    maker = _embedder(embedder)
    texts = [reads[at].facts.text for at in said]
    similarity = np.full(len(said), _NEUTRAL)
    if maker is not None and said and query.strip():
        cache = cache_of(maker, maker if isinstance(embedder, str) else embedder)
        similarity = cache.cosines(
            query, cache.take([reads[at].digest for at in said], texts.__getitem__)
        )
    steps = np.arange(len(said)) / max(len(said) - 1, 1) if len(said) > 1 else np.ones(len(said))
    recency = _OLDEST + (1 - _OLDEST) * steps
    factors = np.array([_USER if reads[at].role == ROLES.index("user") else 1.0 for at in said])
    scores = (_SIMILARITY * similarity + _RECENCY * recency + _BASE) * factors
    cut = _cut(scores)
    lines = [_line(at, reads[at].facts.role, text) for at, text in zip(said, texts, strict=True)]
    costs = [one + 1 for one in count_texts(lines, encoding)]  # the line's end
    why = _chosen(costs, scores, cut, tokens)
    turns = tuple(
        KeyTurn(said[at], reads[said[at]].facts.role, texts[at], float(scores[at]), why[at])
        for at in sorted(why)
    )
    uncounted = Timeline(turns=turns, tokens=0, cut=cut, embedding=maker.name if maker else "none")
    spent = count_text(uncounted.text, encoding)[0]
    return Timeline(turns=turns, tokens=spent, cut=cut, embedding=uncounted.embedding)


def _chosen(
    costs: list[int], scores: NDArray[np.float64], cut: float, tokens: int
) -> dict[int, Why]:
    forced: list[int] = []
    spent = 0
    for at in range(len(costs) - 1, max(len(costs) - 1 - _FORCED, -1), -1):
        if spent + costs[at] <= tokens * _STRETCH:
            forced.append(at)
            spent += costs[at]
    rest = [at for at in range(len(costs)) if at not in forced]
    room = max(tokens - spent, 0)
    taken = pack([costs[at] for at in rest], scores[rest], room).tolist() if rest else []
    why: dict[int, Why] = dict.fromkeys(forced, "recent")
    for number in taken:
        at = rest[number]
        why[at] = "outstanding" if scores[at] >= cut else "filled"
    return why


def _cut(scores: NDArray[np.float64]) -> float:
    if not len(scores):
        return 0.0
    median = float(np.median(scores))
    return median + _DEVIATIONS * float(np.median(np.abs(scores - median)))


def _line(at: int, role: str, text: str) -> str:
    return f"#{at} {role}: {text}"


def _embedder(given: Embedder | EmbedFunction | str | None) -> Embedder | None:
    if given is None:
        return None
    if isinstance(given, str):
        return None if given == "lexical" else named(given)
    return as_embedder(given)
