"""The cases of `warmset bench` as benches of pytest-benchmark: one contestant at a time."""

from __future__ import annotations

from itertools import count

import pytest

from benches.python.material import NoModel
from warmset.lab.bench.case import OURS


def contestants(*cases):
    """Parametrize a bench by cases and the names of their contestants."""
    rows = [
        pytest.param(case, name, id=f"{case.what}, {name}")
        for case in cases
        for name in (OURS, *case.peers)
    ]
    return pytest.mark.parametrize(("case", "name"), rows)


def measure(benchmark, place, case, name):
    """Measure one contestant, whose results are checked; skip one that cannot take part."""
    benchmark.group = case.what
    try:
        with case.open(place, {name}) as contest:
            if name not in contest.calls:
                pytest.skip(f"{name}: {contest.left_out.get(name, 'not for this size')}")
            call, number = contest.calls[name], count()
            if contest.most is None:
                benchmark(lambda: call(next(number)))
            else:
                benchmark.pedantic(lambda: call(next(number)), rounds=contest.most)
            assert next(number) > 0
            contest.check()
            benchmark.extra_info |= contest.notes | {"units of a call": contest.items}
    except NoModel as error:
        pytest.skip(f"no real vectors: {error}")
