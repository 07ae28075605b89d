"""The estimate is not below an exact count by more than its bound, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from script_samples import SAMPLES

from warmset._core import count_text, count_texts
from warmset.tokens import ESTIMATE_ERROR, count_tokens

OVER = {"english": 3.5, "other scripts": 7.0, "devanagari": 3.5}
"""How far above the thriftier vocabulary an estimate may be; 3 times where nothing is said."""


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_keeps_its_bound(kind):
    under, over = [], []
    for text in SAMPLES[kind]:
        counted = count_tokens(text, encoding="estimate")
        exact = [count_text(text, name)[0] for name in ("o200k_base", "cl100k_base")]
        assert counted.error == ESTIMATE_ERROR
        under.append(1 - counted / max(exact))
        over.append(counted / min(exact))
    print(f"{kind}: at worst {max(under):+.0%} below, {max(over):.2f} times")
    assert max(under) <= ESTIMATE_ERROR
    assert max(over) <= OVER.get(kind, 3.0)


@pytest.mark.parametrize("kind", SAMPLES)
def test_parts_of_samples_keep_the_bound_too(kind):
    """A message is often a sentence: pieces of 80 characters may lose a token beside the bound."""
    pieces = [text[at : at + 80] for text in SAMPLES[kind] for at in range(0, len(text), 80)]
    estimates = count_texts(pieces, "estimate")
    for name in ("o200k_base", "cl100k_base"):
        for piece, estimate, exact in zip(
            pieces, estimates, count_texts(pieces, name), strict=True
        ):
            assert estimate >= (1 - ESTIMATE_ERROR) * exact - 3, piece


def test_every_kind_has_several_texts():
    assert len(SAMPLES) >= 20
    assert all(len(texts) >= 2 for texts in SAMPLES.values())


@given(st.text(), st.text())
def test_a_text_is_estimated_about_as_its_parts(one, other):
    whole = count_text(one + other, "estimate")[0]
    parts = count_text(one, "estimate")[0] + count_text(other, "estimate")[0]
    assert abs(whole - parts) <= 4 + max(len(one), len(other)) // 4


@given(st.text(min_size=1).filter(lambda text: text.strip(" ")))
def test_what_is_said_costs_something(text):
    assert count_text(text, "estimate")[0] > 0
