"""Callables that describe messages, as they are given."""

from __future__ import annotations

import pytest

from warmset.errors import InvalidInputError
from warmset.text.describe import PARTS, Describers


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("wrong", [7, "a name", dict])
def test_what_is_no_function_of_a_text_is_refused(part, wrong):
    with pytest.raises(InvalidInputError, match=f"{part}: expected a function of a text"):
        Describers(**{part: wrong})
    assert Describers(**{part: str.upper}).given() == {part: str.upper}
