"""The headroom of a call."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from warmset import Budget
from warmset.errors import InvalidInputError
from warmset.tokens.budget import input_tokens


def test_the_formula():
    assert Budget(200_000).input == 200_000 - 4_096 - 2_048 - 8_192 == 185_664
    assert Budget(10, max_reply=1, safety=2, tool_reserve=3).input == 4
    assert Budget(1, max_reply=0, safety=0, tool_reserve=0).input == 1
    assert 0.6 <= Budget(200_000).watermark <= 0.8
    assert input_tokens(Budget(200_000)) == 185_664
    assert input_tokens(7) == 7


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"window": 14_336}, "leaves 0 tokens"),
        ({"window": 0}, "lower max_reply"),
        ({"window": -5}, "lower max_reply"),
        ({"window": 99_999, "max_reply": -1}, "negative"),
        ({"window": 99_999, "safety": -1}, "negative"),
        ({"window": 99_999, "tool_reserve": -1}, "negative"),
        ({"window": 99_999, "watermark": 0}, "watermark"),
        ({"window": 99_999, "watermark": 1}, "watermark"),
        ({"window": 99_999, "watermark": 1.5}, "watermark"),
        ({"window": 99_999, "watermark": float("nan")}, "watermark"),
        ({"window": 99_999.5}, "window"),
        ({"window": "99999"}, "window"),
        ({"window": 99_999, "max_reply": None}, "max_reply"),
        ({"window": 99_999, "watermark": "x"}, "watermark"),
    ],
)
def test_what_is_no_budget(fields, says):
    with pytest.raises(InvalidInputError, match=says):
        Budget(**fields)


@pytest.mark.parametrize("given", [0, -1, True, 1.0, "5", None, float("nan")])
def test_what_is_no_number_of_tokens(given):
    with pytest.raises(InvalidInputError, match="budget: expected"):
        input_tokens(given)


def test_it_is_a_value():
    budget = Budget(50_000, safety=5)
    assert pickle.loads(pickle.dumps(budget)) == budget  # noqa: S301 - our own bytes
    with pytest.raises(dataclasses.FrozenInstanceError):
        budget.window = 1
