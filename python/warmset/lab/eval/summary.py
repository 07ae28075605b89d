"""From single questions to the figures of a retriever, as the JSON has them."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset.lab.eval.bootstrap import interval
from warmset.lab.eval.measures import area
from warmset.lab.eval.observe import STRICT, USUAL, usual_key
from warmset.lab.eval.options import MIDDLE, budget_key, cut_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.lab.eval.measures import Seen
    from warmset.lab.eval.observe import Asked

_RECALLS: Final = ("fraction", "all", "any")
_DIGITS: Final = 4


def summarise(
    asked: Sequence[Asked], *, cuts: Sequence[int], budgets: Sequence[float], budgeted: bool
) -> dict[str, Any]:
    """Sum up what one way had.

    Args:
        asked: One entry a question, at least one.
        cuts: The k of recall at k.
        budgets: Budgets in percent.
        budgeted: Whether the way keeps to budgets.

    Returns:
        Figures ready for JSON; means over questions, each of one weight.
    """
    prices = [budget_key(percent) for percent in budgets]
    keys = [*(cut_key(k) for k in cuts), *prices]
    categories: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        categories[one.category].append(one)
    fraction = {key: _mean(asked, key, "fraction") for key in prices}
    points = [(percent, fraction[budget_key(percent)] or 0.0) for percent in budgets]
    figures: dict[str, Any] = {
        "budgeted": budgeted,
        "recall": _recalls(asked, keys),
        "interval": {
            measure: {key: _interval(asked, key, measure) for key in keys} for measure in _RECALLS
        },
        "gac": {key: _mean(asked, key, "gac") for key in keys},
        "by_category": {
            category: {
                "questions": len(found),
                "recall": _recalls(found, keys),
                "gac": {key: _mean(found, key, "gac") for key in keys},
            }
            for category, found in sorted(categories.items())
        },
        "area": _round(area(points)) if budgeted else None,
        "window_tokens": {key: _mean(asked, key, "tokens") for key in prices},
        "latency_ms": {
            **_quantiles([one.rank_ms for one in asked]),
            "window": _quantiles([ms for one in asked for ms in one.window_ms]),
        },
    }
    for name, key in (("default_window", USUAL), ("whole_window", STRICT)):
        if key in asked[0].seen:
            figures[name] = {
                "percent": MIDDLE,
                "recall": {measure: _mean(asked, key, measure) for measure in _RECALLS},
                "gac": _mean(asked, key, "gac"),
                "tokens": _mean(asked, key, "tokens"),
            }
    if USUAL in asked[0].seen:
        figures["default_window"]["by_budget"] = {
            budget_key(percent): _mean(asked, usual_key(percent), "fraction") for percent in budgets
        }
        figures["default_window"]["by_category"] = {
            category: {
                budget_key(percent): _mean(found, usual_key(percent), "fraction")
                for percent in budgets
            }
            for category, found in sorted(categories.items())
        }
    return figures


def _recalls(asked: Sequence[Asked], keys: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return {measure: {key: _mean(asked, key, measure) for key in keys} for measure in _RECALLS}


def _mean(asked: Sequence[Asked], key: str, measure: str) -> float | None:
    read = _reader(measure)
    found = [value for one in asked if (value := read(one.seen[key])) is not None]
    return _round(fmean(found)) if found else None


def _interval(asked: Sequence[Asked], key: str, measure: str) -> list[float] | None:
    read = _reader(measure)
    values: dict[str, list[float]] = defaultdict(list)
    for one in asked:
        value = read(one.seen[key])
        if value is not None:
            values[one.conversation].append(value)
    ends = interval(values)
    return None if ends is None else [round(end, _DIGITS) for end in ends]


def _reader(measure: str) -> Callable[[Seen], float | None]:
    return lambda seen: getattr(seen, measure)


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"p50": 0.0, "p95": 0.0}
    middle, high = np.quantile(values, [0.5, 0.95])
    return {"p50": round(float(middle), 3), "p95": round(float(high), 3)}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
