"""Windows, fits and compactions are what they were: `python -m tests.recorded` records them anew.

`HYPOTHESIS_PROFILE=deep` compares all 2,000 cases, else every 40th is compared.
"""

from __future__ import annotations

import os

import pytest

from tests.recorded.cases import COUNT, PLACE, line

EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 40


@pytest.fixture(scope="module")
def recorded():
    lines = PLACE.read_text("utf-8").splitlines()
    assert len(lines) == COUNT
    return lines


@pytest.mark.parametrize("number", range(0, COUNT, EVERY))
def test_what_comes_back_is_what_came_back(recorded, number):
    assert line(number) == recorded[number], (
        "a window, fit or compaction has changed; if that is meant, say in the changelog for whom, "
        "and run: python -m tests.recorded"
    )
