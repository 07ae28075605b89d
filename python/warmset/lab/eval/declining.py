"""How often a window quotes nothing: right for a question without an answer, wrong for others."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import BudgetTooSmall
from warmset.lab.eval.options import MIDDLE, budget_key
from warmset.lab.eval.ways import cost_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.conversation import Conversation

_DIGITS: Final = 4


class Declining:
    """Counts windows that quote nothing, at the default floor of scores.

    Args:
        budgets: Budgets in percent; those up to `MIDDLE` are measured, as a large window has room
            for what is hardly related.
    """

    def __init__(self, budgets: Sequence[float]) -> None:
        self._budgets = [percent for percent in budgets if percent <= MIDDLE]
        self._seen: list[tuple[str, bool, dict[str, bool]]] = []

    def ask(self, one: Conversation, whole: int, text: str, *, answerable: bool) -> None:
        """Make the windows of one question.

        Args:
            one: The conversation.
            whole: What quoting all of it costs, headers included.
            text: The question; it is not charged.
            answerable: Whether the conversation has its answer.
        """
        nothing: dict[str, bool] = {}
        for percent in self._budgets:
            budget = int(whole * percent / 100) + cost_of(text)
            nothing[budget_key(percent)] = not _quotes(one, text, budget)
        self._seen.append((one.id, answerable, nothing))

    def figures(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the shares of questions for which nothing was quoted, by budget.

        Args:
            names: Conversations that count.
        """
        seen = [one for one in self._seen if one[0] in names]
        return {
            "unanswerable": _shares([nothing for _, answerable, nothing in seen if not answerable]),
            "answerable": _shares([nothing for _, answerable, nothing in seen if answerable]),
        }


def _shares(found: Sequence[dict[str, bool]]) -> dict[str, Any]:
    keys = found[0] if found else ()
    return {
        "questions": len(found),
        "nothing_quoted": {key: round(fmean(one[key] for one in found), _DIGITS) for key in keys},
    }


def _quotes(one: Conversation, text: str, budget: int) -> bool:
    try:
        window = one.window(text, budget=budget, recent=0, index_share=0)
    except BudgetTooSmall:
        return False
    return any(part.name == "retrieved" and part.ids for part in window.parts)
