"""Line ends of every kind are replaced, and nothing else is."""

from __future__ import annotations

import re
import sys

import pytest

from warmset.text.lines import join_lines

ENDS = re.compile(r"\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


def test_every_character():
    for point in range(sys.maxunicode + 1):
        sign = chr(point)
        assert join_lines(f"a{sign}b", "|") == ENDS.sub("|", f"a{sign}b")


@pytest.mark.parametrize(
    "text",
    ["", "a", "\n", "a\n", "\na", "\r\n", "\n\r", "\r\r\n\n", "a\r", "a.\n.", "\u2028"],
)
@pytest.mark.parametrize("between", ["\n  ", " ", ""])
def test_ends_at_the_ends(text, between):
    assert join_lines(text, between) == ENDS.sub(between, text)
