"""Windows filled by a ranking made elsewhere, so that methods differ in the ranking alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.corpus.stage import Stage
    from warmset.pick import Candidate
    from warmset.window import Window


@dataclass(frozen=True, slots=True)
class Ranked:
    """A picker that takes turns in an order that was made elsewhere.

    Args:
        ids: The order.
    """

    ids: Sequence[int]

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Sequence[int]:
        """Return the order; see `Picker.pick`."""
        del request, candidates, limit
        return self.ids


def fill(on: Stage, question: str, budget: int, ids: Sequence[int]) -> Window:
    """Fill a window by a ranking.

    The picker may choose among all turns; nothing recent and no scoped index take room.
    """
    every = len(on.ids)
    return on.conversation.window(
        question,
        budget=budget,
        recent=0,
        index_share=0,
        shortlist=every,
        max_picked=every,
        picker=Ranked(ids),
    )


def plain_words(on: Stage, question: str) -> list[int]:
    """Rank by BM25 and by nothing else.

    The store is searched and not the conversation, so that no names are taken out of the question.
    """
    found = on.words.search(question, k=on.words.stats()["messages"])
    ours = set(on.ids)
    scored = zip(found.ids, found.scores, strict=True)
    return [id_ for id_, score in scored if score > 0 and id_ in ours]
