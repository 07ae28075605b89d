"""What stands between `<private>` tags is left out."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from warmset.text.private import without_private


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <private>S</private> b", "a [private] b"),
        ("<PRIVATE>S</Private>", "[private]"),
        ("a\n<private>\nS\nS\n</private>\nb", "a\n[private]\nb"),
        ("a <private>S", "a [private]"),
        ("a <private>S<private>S</private>S</private> b", "a [private] b"),
        ("a <private>S<private>S</private> S", "a [private]"),
        ("<private>S</private><private>S</private>c", "[private][private]c"),
        ('<private why="S > T">S</private> b', "[private] b"),
        ("< private >S< / private > b", "[private] b"),
        ("<private\n>S</private\n> b", "[private] b"),
    ],
)
def test_private_parts_are_left_out(text, shown):
    assert without_private(text) == shown
    assert without_private(shown) is shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "private",
        "a < b and c > d",
        "<privateKey>x</privateKey>",
        "a </private> b",
        "a <private /> b",
        "<private/>",
        "[private]",
    ],
)
def test_other_texts_are_the_same_objects(text):
    assert without_private(text) is text


@given(st.lists(st.sampled_from(["<private>", "</private>", "S", "a ", "<", ">"])))
def test_nothing_inside_is_shown(parts):
    """Compare with a walk that counts open tags part by part."""
    text = "".join(parts)
    depth, open_, left, at = 0, False, [], 0
    while at < len(text):
        if text.startswith("<private>", at):
            depth, at = depth + 1, at + 9
            left += [] if open_ else ["[private]"]
            open_ = True
        elif text.startswith("</private>", at):
            left += [] if depth else ["</private>"]
            depth, at = max(depth - 1, 0), at + 10
            open_ = depth > 0
        else:
            left += [] if depth else [text[at]]
            at += 1
    assert without_private(text) == "".join(left)


def test_a_hostile_text_takes_no_longer():
    began = time.perf_counter()
    for hostile in ("<" * 200_000, "< " * 100_000, "<private " * 50_000, "<private>" * 50_000):
        without_private(hostile)
    assert time.perf_counter() - began < 5
