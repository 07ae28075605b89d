"""One question asked by one way: what each cut and each budget had, and how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset.errors import BudgetTooSmall
from warmset.lab.corpus.shown import EVERYTHING, text_of
from warmset.lab.eval.measures import Coverage, Seen, recall
from warmset.lab.eval.options import MIDDLE, budget_key, cut_key
from warmset.lab.eval.quoting import Shown
from warmset.lab.eval.ways import cost_of
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from warmset.lab.corpus.stage import Stage
    from warmset.lab.corpus.transcript import Question
    from warmset.lab.eval.ways import Fill, Way

USUAL: Final = "usual"
"""What the keys of the windows that warmset makes by default begin with; at `MIDDLE` percent, the
key."""

STRICT: Final = "strict"
"""The key of a window that pays for the question too, out of `MIDDLE` percent of the bare messages.
"""


def usual_key(percent: float) -> str:
    """Return the key of the default window at a budget."""
    return USUAL if percent == MIDDLE else f"{USUAL} {budget_key(percent)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one way had for one question.

    Args:
        conversation: The conversation's name.
        category: What kind of question it is.
        seen: What each cut and budget had, by key.
        rank_ms: What ranking took, in milliseconds.
        window_ms: What each window took.
    """

    conversation: str
    category: str
    seen: dict[str, Seen]
    rank_ms: float
    window_ms: list[float] = field(default_factory=list[float])


class Observer:
    """Asks questions on one conversation.

    Args:
        on: The conversation.
        cuts: The k of recall at k.
        budgets: Budgets in percent.
        whole: What quoting every turn costs, headers included.
    """

    def __init__(
        self, on: Stage, *, cuts: Sequence[int], budgets: Sequence[float], whole: int
    ) -> None:
        self._on = on
        self._cuts = cuts
        self._budgets = budgets
        self._places = {id_: place for place, id_ in enumerate(on.ids)}
        texts = [text_of(on.conversation, id_) for id_ in on.ids]
        self._coverage = Coverage(texts)
        self.tokens = whole
        """What quoting the whole conversation costs, headers included."""
        self.bare = count_tokens(on.conversation.fetch(on.ids))
        """What its messages cost as they are, without names and times."""

    def ask(self, way: Way, question: Question) -> Asked:
        """Ask one question.

        Raises:
            WarmsetError: A search or a window failed.
        """
        started = time.perf_counter()
        order = list(way.rank(question, max(self._cuts)))
        asked = Asked(
            conversation=self._on.conversation.id,
            category=question.category,
            seen={},
            rank_ms=(time.perf_counter() - started) * 1000,
        )
        for k in self._cuts:
            asked.seen[cut_key(k)] = self._see(question, order[:k] if way.budgeted else order)
        if not way.budgeted:
            one = self._window(way.fill, question, EVERYTHING, asked)
            asked.seen.update({budget_key(percent): one for percent in self._budgets})
            return asked
        for percent in self._budgets:
            budget = int(self.tokens * percent / 100)
            asked.seen[budget_key(percent)] = self._window(way.fill, question, budget, asked)
        untimed = Asked(conversation="", category="", seen={}, rank_ms=0.0)
        strict = max(int(self.bare * MIDDLE / 100) - cost_of(question.text), 0)
        asked.seen[STRICT] = self._window(way.fill, question, strict, untimed)
        if way.usual is not None:
            for percent in (MIDDLE, *self._budgets):
                budget = int(self.tokens * percent / 100)
                key = usual_key(percent)
                if key not in asked.seen:
                    asked.seen[key] = self._window(way.usual, question, budget, untimed)
        return asked

    def _window(self, make: Fill, question: Question, budget: int, asked: Asked) -> Seen:
        started = time.perf_counter()
        try:
            window = make(question, budget)
        except BudgetTooSmall:
            window = Shown((), 0)  # what must stay is over the budget: nothing can be retrieved
        asked.window_ms.append((time.perf_counter() - started) * 1000)
        return self._see(question, window.ids, window.tokens)

    def _see(self, question: Question, ids: Collection[int], tokens: int | None = None) -> Seen:
        there = {self._places[id_] for id_ in ids}
        fraction, every, some = recall(question.evidence, there)
        gac = self._coverage.of(question.text, question.answer, question.evidence, there)
        return Seen(fraction, every, some, gac, tokens)
