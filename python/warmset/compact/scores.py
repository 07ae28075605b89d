"""Scores the turns of a list, and names the signals that are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import worth as core_worth
from warmset.compact.coverage import Coverage
from warmset.compact.shared import cache_of
from warmset.compact.weights import SYSTEM
from warmset.embed import as_embedder, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warmset.compact.choice import Choice
    from warmset.compact.keeper import Keeper
    from warmset.compact.reading import Reads
    from warmset.compact.weights import CompactWeights
    from warmset.embed import Embedder, Vectors
    from warmset.embed.function import EmbedFunction
    from warmset.messages import Dialect

NEUTRAL: Final = 0.5
"""The similarity of every turn if there is no query or no vector."""


class Source:
    """The embedder and the stored memories; the embedder is created when it is needed.

    Args:
        given: What the caller passed.
        keeper: The memory; None without one.
        hashes: Returns the hashes of the messages at some positions, as a store has them.
        dialect: The dialect of the messages.
    """

    def __init__(
        self,
        given: Embedder | EmbedFunction | str | None,
        keeper: Keeper | None,
        hashes: Callable[[list[int]], list[bytes]],
        dialect: Dialect,
    ) -> None:
        self.keeper = keeper
        self._hashes = hashes
        self._dialect: Dialect = dialect
        self._given: object = given
        if isinstance(given, str):
            self.embedder = None if given == "lexical" else named(given)
        elif given is not None:
            self.embedder = as_embedder(given)
        else:
            self.embedder = None if keeper is None else keeper.embedder
        self._given = self.embedder if given is None or isinstance(given, str) else given
        self.name = "none" if self.embedder is None else self.embedder.name

    @property
    def given(self) -> object:
        """The object that the caller passed, by which vectors are shared."""
        return self._given

    def stored(self, places: list[int]) -> dict[int, Vectors]:
        """Return the vectors that the memory's store has of the messages at some positions."""
        if self.keeper is None or self.embedder is None:
            return {}
        hashes = dict(zip(places, self._hashes(places), strict=True))
        found = self.keeper.vectors(self.embedder, frozenset(hashes.values()), self._dialect)
        return {at: found[one] for at, one in hashes.items() if one in found}


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of each turn, and the columns of its terms."""

    values: NDArray[np.float64]
    recency: NDArray[np.float64]
    similarity: NDArray[np.float64]
    coverage: NDArray[np.float64]
    signals: tuple[str, ...]
    missing: dict[str, str]


def score(
    choice: Choice,
    reads: Reads,
    source: Source,
    query: str | None,
    weights: CompactWeights,
    budget: int,
) -> Scored:
    """Score the turns, and choose the ones that stay.

    Args:
        choice: The list; the choice is made when this returns.
        reads: What was read of each turn.
        source: The embedder and the stored memories.
        query: The text to which turns should be similar.
        weights: The weight of each signal.
        budget: The most tokens that everything may have.

    Raises:
        EmbedderError: The embedder failed.
    """
    count = len(reads)
    similarity, coverage = np.full(count, NEUTRAL), np.zeros(count)
    missing: dict[str, str] = {}
    fits = choice.total <= budget
    embedder = source.embedder
    if embedder is None or fits or not count:
        why = "everything fits, so nothing was embedded" if fits else "there is no embedder"
        missing = {"similarity": why, "coverage": why}

    spoken = np.flatnonzero(choice.roles < SYSTEM)  # the recency of a turn is that among turns

    def values(known: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        recency = np.ones(count)
        worth = recency * sum(weights.signals)  # that of what always stays
        worth[spoken], recency[spoken] = core_worth(
            choice.roles[spoken],
            similarity[spoken],
            known[spoken],
            factors=weights.factors,
            weights=weights.signals,
        )
        return worth, recency

    def choose(known: NDArray[np.float64]) -> NDArray[np.bool_]:
        return choice.choose(values(known)[0], budget)

    if embedder is not None and not missing:
        cache = cache_of(embedder, source.given)
        digests = [read.digest for read in reads[:]]
        slots = cache.take(digests, lambda at: reads[at].facts.text, source.stored)
        if query is None or not query.strip():
            missing["similarity"] = "there is no query"
        else:
            similarity = cache.cosines(query, slots)
        known = None if source.keeper is None else source.keeper.known(embedder)
        coverage = Coverage(reads, slots, cache, known, weights).settle(choose, choice.must)
    else:
        choose(coverage)
    worth, recency = values(coverage)
    signals = [name for name in ("similarity", "coverage") if name not in missing]
    names = ("role", "recency", *signals)
    return Scored(worth, recency, similarity, coverage, names, missing)
