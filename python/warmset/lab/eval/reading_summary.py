"""From single answers to the figures of a reader, as the JSON has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from warmset.lab.eval.contexts import MODES
from warmset.lab.eval.options import MIDDLE
from warmset.lab.eval.reading import MISSED, RIGHT, WRONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.lab.eval.reading import Read, Reading

_DIGITS: Final = 4

REPORTED: Final[dict[str, Any]] = {
    "label": "reported, not directly comparable",
    "why": "other embedders, other budgets, all ten conversations",
    "rows": [
        {
            "system": "the just-in-time design that warmset began with: hosted embedder, no picker",
            "measure": "any of the evidence in the window",
            "figures": {
                "all": 0.71,
                "single-hop": 0.74,
                "multi-hop": 0.73,
                "temporal": 0.69,
                "open-domain": 0.43,
            },
        }
    ],
}
"""Figures that others gave of LoCoMo; they stand apart."""


def figures(reading: Reading, dataset: str) -> dict[str, Any]:
    """Sum up what a reader made of everything.

    Args:
        reading: What was asked, at least one question.
        dataset: Which data it was.

    Returns:
        Figures ready for JSON: by mode and category, then each question with its verdicts.
    """
    by_mode: dict[str, list[Read]] = defaultdict(list)
    by_question: dict[tuple[str, str], list[Read]] = defaultdict(list)
    for one in reading.found:
        by_mode[one.mode].append(one)
        by_question[one.conversation, one.question].append(one)
    made: dict[str, Any] = {
        "reader": reading.reader,
        "judge": reading.judge,
        "percent": MIDDLE,
        "modes": {mode: _mode(by_mode[mode]) for mode in MODES},
        "questions": [_question(found) for found in by_question.values()],
    }
    return {**made, "reported": REPORTED} if dataset == "locomo" else made


def _mode(found: Sequence[Read]) -> dict[str, Any]:
    categories: dict[str, list[Read]] = defaultdict(list)
    for one in found:
        categories[one.category].append(one)
    return {
        **_means(found),
        "fell_back": sum(one.fell_back for one in found),
        "picker_tokens": round(fmean(one.picker_tokens for one in found), 1),
        "by_category": {
            category: {"questions": len(inside), **_means(inside)}
            for category, inside in sorted(categories.items())
        },
    }


def _means(found: Sequence[Read]) -> dict[str, Any]:
    judged = [one.judged for one in found if one.judged is not None]
    verdicts = Counter(one.verdict for one in found)
    return {
        "f1": round(fmean(one.f1 for one in found), _DIGITS),
        "judge": round(fmean(judged), _DIGITS) if judged else None,
        "recall": round(fmean(one.recall for one in found), _DIGITS),
        "share": round(fmean(one.share for one in found), _DIGITS),
        "verdicts": {verdict: verdicts[verdict] for verdict in (RIGHT, WRONG, MISSED)},
    }


def _question(found: Sequence[Read]) -> dict[str, Any]:
    first = found[0]
    return {
        "conversation": first.conversation,
        "question": first.question,
        "category": first.category,
        "modes": {
            one.mode: {
                "verdict": one.verdict,
                "f1": round(one.f1, _DIGITS),
                "judge": one.judged,
                "recall": round(one.recall, _DIGITS),
                "answer": one.answer,
            }
            for one in found
        },
    }
