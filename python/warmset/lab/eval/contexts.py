"""What a reader is given: the whole, the newest turns, warmset's windows, just the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset import messages
from warmset.errors import BudgetTooSmall
from warmset.lab.corpus.shown import shown
from warmset.lab.eval.quoting import Shown
from warmset.lab.eval.ways import cost_of
from warmset.pick import LLMPicker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warmset.lab.corpus.stage import Stage
    from warmset.lab.corpus.transcript import Question
    from warmset.lab.eval.quoting import Quoting
    from warmset.pick import Picker
    from warmset.window.result import Window

MODES: Final = ("full", "recency-4", "recency", "jit", "jit-picker", "oracle")
_LAST: Final = 4
_PATIENCE: Final = 120.0
"""Seconds for a picker; a measurement does not hurry."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a reader is given.

    Args:
        mode: How it was chosen.
        text: What it says.
        shown: What it shows and costs.
        fell_back: Whether the picker gave no answer that could be used, so that the score picked.
        picker_tokens: Tokens that the picker's model took.
    """

    mode: str
    text: str
    shown: Shown
    fell_back: bool = False
    picker_tokens: int = 0


class Contexts:
    """Makes the contexts of one conversation's questions.

    Args:
        on: The conversation.
        quoting: Quotes its turns.
        percent: The budget of "recency" and "jit", in percent of the conversation's tokens.
        complete: What picks in "jit-picker".
    """

    def __init__(
        self, on: Stage, quoting: Quoting, percent: float, complete: Callable[[str], str]
    ) -> None:
        self._on = on
        self._quoting = quoting
        self._budget = int(self.whole * percent / 100)
        self._picker = LLMPicker(complete, timeout=_PATIENCE)

    @property
    def whole(self) -> int:
        """What quoting the whole conversation costs."""
        return self._quoting.everything.tokens

    def of(self, question: Question) -> Iterator[Context]:
        """Make the contexts of one question, as `MODES` names them."""
        ids = self._on.ids
        yield self._quoted("full", self._quoting.everything)
        yield self._quoted("recency-4", self._quoting.all(ids[-_LAST:]))
        yield self._quoted("recency", self._quoting.within(ids[::-1], self._budget))
        yield self._window("jit", question, None)
        yield self._window("jit-picker", question, self._picker)
        evidence = self._quoting.all(ids[place] for place in question.evidence)
        yield self._quoted("oracle", evidence)

    def _quoted(self, mode: str, chosen: Shown) -> Context:
        return Context(mode, self._quoting.text(chosen.ids), chosen)

    def _window(self, mode: str, question: Question, picker: Picker | None) -> Context:
        beside = cost_of(question.text)
        try:
            window = self._on.conversation.window(
                question.text, budget=self._budget + beside, picker=picker
            )
        except BudgetTooSmall:
            return Context(mode, "", Shown((), 0))
        ids = shown(self._on.conversation, window)
        fell_back = picker is not None and window.report.picked_by == "score"
        took = window.report.picker
        return Context(
            mode,
            _said(window),
            Shown(ids, window.tokens - beside),
            fell_back,
            0 if took is None else took.tokens,
        )


def _said(window: Window) -> str:
    """Write a window's messages as a text, without the request, which the prompt has."""
    return "\n\n".join(
        f"{message['role']}: {messages.text_of(message, window.dialect)}"
        for message in window.messages[:-1]
    )
