"""What the first line of a quoted item says of it."""

from __future__ import annotations

import pytest

from warmset.route.candidates import Candidate, Facts
from warmset.route.quoted import quote

AT = 1_700_000_000_000_000  # 14 November 2023


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, ""),
        ({"module": ("plan",)}, "plan, "),
        ({"sections": ("safety", "costs")}, "safety, "),
        ({"sections": ("safety",), "module": ("plan",)}, "safety, "),
    ],
)
def test_a_quote_names_the_first_section_or_else_the_module(columns, said):
    known = Facts(
        memory_id="n1", tokens=3, at=AT, origin="user", columns={"type": ("note",), **columns}
    )
    one = Candidate(
        id=1, known=known, priority="medium", needs=(0,), similarity=None, relevance=1.0
    )
    assert quote(one, "keep\nit") == f"#n1 (note, {said}2023-11-14, user): keep\n  it\n"
