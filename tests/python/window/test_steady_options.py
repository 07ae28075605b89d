"""Options of growing lists that are out of their range are refused before anything is stored."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError
from warmset.window import WindowOptions

BAD = [
    ({"swap_at": "all"}, "swap_at: expected a number, found 'all'"),
    ({"swap_at": True}, "swap_at: expected a number, found True"),
    ({"swap_at": 1.01}, "expected 0 < swap_to < swap_at <= 1, found 1.01 and 0.35"),
    ({"swap_at": 0.35}, "expected 0 < swap_to < swap_at <= 1, found 0.35 and 0.35"),
    ({"swap_to": 0.0}, "expected 0 < swap_to < swap_at <= 1, found 0.85 and 0.0"),
    ({"swap_to": None}, "swap_to: expected a number, found None"),
    ({"recall_share": 1.0}, "recall_share: expected at least 0 and below 1, found 1.0"),
    ({"recall_share": 0.35}, "recall_share: expected less than swap_to"),
    ({"recall_share": -0.1}, "recall_share: expected at least 0 and below 1, found -0.1"),
]


@pytest.mark.parametrize(("given", "why"), BAD)
def test_what_is_out_of_range_is_refused(given, why):
    with pytest.raises(InvalidInputError, match=why):
        WindowOptions(**given)
    with Memory.open(None, embedder="lexical") as memory:
        said = [{"role": "user", "content": "hello"}]
        with pytest.raises(InvalidInputError, match=why):
            memory.process(said, conversation="log", budget=900, mode="steady", **given)
        assert memory.stats()["messages"] == 0


def test_the_bounds_themselves_are_taken():
    WindowOptions(swap_at=1, swap_to=0.01, recall_share=0.0)
    WindowOptions(swap_at=1.0, swap_to=0.99, recall_share=0.98)
