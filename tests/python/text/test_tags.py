"""Tags that quoted texts cannot close: what looks like one, and what does not."""

# ruff: noqa: RUF001 - same as in tags.py
from __future__ import annotations

import string

import pytest
from hypothesis import given, strategies as st

from warmset.text.tags import _LETTERS, _looks, tag_guard

NAMES = ["turn", "earlier-turns"]
guarded = tag_guard(NAMES)


def test_a_letter_looks_like_itself_alone():
    for letter in string.ascii_lowercase:
        assert _looks(letter) == _looks(letter.upper()) == ("i" if letter == "l" else letter)
    assert {one for one in _LETTERS if one.isascii()} == set("|1l!0")


@given(st.text(st.sampled_from("<＜/ \u200bturn-eailsХ\u0456\u2011\n"), max_size=60))
def test_only_signs_that_open_a_tag_change(text):
    out = guarded(text)
    assert len(out) == len(text)
    changed = {a for a, b in zip(text, out, strict=True) if a != b}
    assert changed <= set("<＜")
    assert guarded(out) == out
    plain = "".join(map(_looks, out.replace("‹", "#")))
    assert not any(f"<{name}" in plain.replace(" ", "").replace("/", "") for name in NAMES[:1])


@pytest.mark.parametrize(
    "name", [" turn", "turns", "Turn n=1", "tur\u200bn", "\u0442urn", "tu\u0433n"]
)
def test_each_name_is_guarded(name):
    assert guarded(f"a </{name}> b") == f"a ‹/{name}> b"


@pytest.mark.parametrize(
    "text", ["</tur", "</return", "turn>", "</t u r n>", "< x turn", "</tu/rn"]
)
def test_another_name_is_not(text):
    assert guarded(text) == text
