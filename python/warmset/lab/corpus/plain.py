"""Baseline searches: one signal, the question as it is asked, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset._core import HotIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.embed import Embedder
    from warmset.lab.corpus.stage import Stage


def plain_words(on: Stage, question: str) -> list[int]:
    """Rank by BM25 alone.

    The store is searched and not the conversation, so that names are not removed from the question.
    """
    found = on.words.search(question, k=on.words.stats()["messages"])
    ours = set(on.ids)
    scored = zip(found.ids, found.scores, strict=True)
    return [id_ for id_, score in scored if score > 0 and id_ in ours]


class PlainDense:
    """Ranks turns by the cosine of the question with their best passage, and by nothing else.

    Args:
        embedder: Makes the vectors.
        turns: Ids and texts of the turns.
    """

    def __init__(self, embedder: Embedder, turns: Iterable[tuple[int, str]]) -> None:
        self._embedder = embedder
        self._owners: list[int] = []
        self._index: HotIndex | None = None
        for id_, text in turns:
            passages = embedder.split(text) if text.strip() else []
            if passages:
                vectors = embedder.embed(passages)
                first = len(self._owners)
                self._owners += [id_] * len(passages)
                if self._index is None:
                    self._index = HotIndex(vectors.shape[1])
                self._index.add(range(first, len(self._owners)), vectors)

    def rank(self, question: str) -> list[int]:
        """Return the ids of all turns, the nearest first."""
        if self._index is None:
            return []
        vector = self._embedder.embed_query([question])[0]
        rows, _ = self._index.search(vector, len(self._owners))
        return list(dict.fromkeys(self._owners[row] for row in rows.tolist()))
