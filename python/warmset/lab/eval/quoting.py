"""The controls' windows: turns by a ranking, quoted as warmset quotes them, counted as it counts.

They are filled without the retriever, so that nothing it leaves out is missing from a control.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from warmset import messages
from warmset._core import count_text
from warmset.quote.format import INDEX_TITLE, block, day_line, index_line, quote, quotes
from warmset.state.entry import Entry
from warmset.text.decisions import is_decision
from warmset.text.timestamps import day_of
from warmset.tokens import PER_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from warmset.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Shown:
    """What a window shows.

    Args:
        ids: Messages that are shown whole.
        tokens: What they cost, headers included, the question not.
    """

    ids: Collection[int]
    tokens: int


class Quoting:
    """Quotes turns of one conversation within a budget.

    Args:
        one: The conversation.
    """

    def __init__(self, one: Conversation) -> None:
        self._turns: dict[int, tuple[Entry, str]] = {}
        self._costs: dict[int, int] = {}
        self._frame = PER_MESSAGE + _count(block("", ""))
        dialect = one.dialect or "openai"
        for turn in one.fetch(one.ids):
            facts = messages.facts(turn, dialect)
            text = messages.text_of(turn, dialect)
            entry = Entry(
                id=turn.id,
                facts=facts,
                at=turn.at.timestamp(),
                speaker=turn.speaker,
                session=0,
                tokens=0,
                decision=is_decision(text),
                blank=False,
                extra=None,
            )
            self._turns[turn.id] = (entry, text)
            self._costs[turn.id] = _count(quote(entry, text))

    @cached_property
    def everything(self) -> Shown:
        """Every turn, quoted."""
        return self.all(self._turns)

    def all(self, ids: Iterable[int]) -> Shown:
        """Quote turns, whatever they cost."""
        chosen = frozenset(ids)
        return Shown(chosen, PER_MESSAGE + _count(self.text(chosen)) if chosen else 0)

    def text(self, ids: Iterable[int]) -> str:
        """Return turns as they are quoted, in time order."""
        return block("", quotes([self._turns[id_] for id_ in sorted(set(ids))]))

    def index(self, ids: Iterable[int]) -> int:
        """Return what an index of turns costs, one line each, in a message that is there already.

        Args:
            ids: The turns.
        """
        lines = "".join(index_line(*self._turns[id_]) for id_ in sorted(set(ids)))
        return _count(f"{INDEX_TITLE}{lines}") if lines else 0

    def within(self, ids: Iterable[int], budget: int) -> Shown:
        """Quote the first turns of a ranking that fit; one that does not is passed over.

        Args:
            ids: The ranking, the best first.
            budget: Tokens for all of them, headers included.

        Returns:
            What fits, by the count of the finished text.
        """
        chosen: list[int] = []
        times: set[str] = set()
        left = budget - self._frame
        for id_ in ids:
            time = day_line(day_of(self._turns[id_][0].at))
            cost = self._costs[id_] + (0 if time in times else _count(time))
            if cost <= left:
                left -= cost
                chosen.append(id_)
                times.add(time)
        return self.all(chosen)


def _count(text: str) -> int:
    return count_text(text)[0]
