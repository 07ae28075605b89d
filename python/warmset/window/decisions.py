"""The decisions of a conversation that no later one supersedes."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from warmset.text.superseding import Later

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from warmset.quote.cache import Cards
    from warmset.state.entry import Entry


def decided(
    cards: Cards, live: Sequence[Entry], decides: NDArray[Any]
) -> Iterator[tuple[int, bool]]:
    """Yield the decisions of a path, the newest first: each position, and whether it still holds.

    What a tool returned decides nothing, whatever words it has. What the model decides does not
    change what a person decided.

    Args:
        cards: Reads what a decision is about.
        live: The messages of the path.
        decides: Whether each of them settles something; later ones are not looked at.
    """
    later = Later()
    for at in decides.nonzero()[0][::-1].tolist():
        entry = live[at]
        facts = entry.facts
        if facts.results:
            continue
        topics, asked = cards.topics(entry), facts.role != "assistant"
        yield at, not later.supersedes(topics, asked=asked)
        later.add(topics, asked=asked)


def superseded(cards: Cards, live: Sequence[Entry], decides: NDArray[Any], since: int) -> set[int]:
    """Return the positions of the decisions from one on that a later one supersedes.

    Args:
        cards: Reads what a decision is about.
        live: The messages of the path.
        decides: Whether each of them settles something.
        since: The first position that is looked at.
    """
    every = takewhile(lambda one: one[0] >= since, decided(cards, live, decides))
    return {at for at, holds in every if not holds}
