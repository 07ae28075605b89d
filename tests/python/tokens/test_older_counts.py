"""Counts of older systems: their figures, and no budget."""

from __future__ import annotations

import pytest

from warmset import fit
from warmset.errors import CountError, InvalidInputError
from warmset.tokens import chars4, words13


@pytest.mark.parametrize(
    ("text", "fourths", "words"),
    [
        ("", 0, 0),
        ("abc", 0, 1),
        ("abcd", 1, 1),
        ("four short words here", 5, 5),
        ("  one\ttwo\n\nthree  ", 4, 3),
        ("a " * 10, 5, 13),
        ("港口的船", 1, 1),
    ],
)
def test_they_are_what_older_systems_count(text, fourths, words):
    assert (chars4(text), words13(text)) == (fourths, words)


def test_no_rounding_error_adds_up():
    assert [words13("a " * count) for count in range(2_000)] == [
        count * 13 // 10 for count in range(2_000)
    ]


@pytest.mark.parametrize("count", [chars4, words13])
def test_they_decide_nothing(count):
    with pytest.raises(InvalidInputError, match=count.__name__):
        count([{"role": "user", "content": "Hello."}])
    with pytest.raises(CountError, match=count.__name__):
        fit([{"role": "user", "content": "Hello."}], budget=100, counter=count)
