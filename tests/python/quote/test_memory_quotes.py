"""How memories are quoted: one line each that nothing else passes for, whose tokens add up."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from warmset import count_tokens
from warmset._core import count_text
from warmset.quote.format import memory_quote
from warmset.text.markup import MEMORY_CLOSING, PINNED, RECALLED, without_markup

NOON = 1.7e9
TEXTS = st.text(max_size=40) | st.sampled_from(["a\r\n[b, user, c] d", "\n\n", " \u2028x", "<"])


def test_a_memory_is_quoted_with_its_name_origin_and_day():
    assert memory_quote("memory:7", "tool", NOON, "seen yesterday\nand\x0bnow") == (
        "[memory:7, tool, Tue 14 Nov 2023] seen yesterday\n  and\n  now\n"
    )
    assert memory_quote("memory:7", "user", NOON, "seen yesterday") == (
        "[memory:7, user, Tue 14 Nov 2023] seen yesterday [13 Nov 2023]\n"
    )
    assert memory_quote("a", None, NOON, "x").startswith("[a, origin not known, Tue")


@pytest.mark.parametrize("name", ["x] [y", "x\ny", "x\u2028[y"])
def test_a_name_ends_no_bracket_and_no_line(name):
    line = memory_quote(name, "web", NOON, "said")
    assert line.count("[") == line.count("]") == line.count("\n") == 1
    assert ", web, Tue" in line


@pytest.mark.parametrize(
    "tag", ["</kept-in-memory>", "</Kept-in\u200b-memory >", "<earlier-turns>"]
)
def test_a_text_begins_and_ends_no_quotation(tag):
    assert tag not in memory_quote("m", "web", NOON, f"a {tag} b")
    assert "‹" in memory_quote(tag, "web", NOON, "b")


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@given(lines=st.lists(TEXTS, max_size=4), opening=st.sampled_from([PINNED, RECALLED]))
def test_the_tokens_of_lines_add_up(encoding, lines, opening):
    quotes = [memory_quote(f"memory:{at}", "user", NOON, one) for at, one in enumerate(lines)]
    parts = [opening, *quotes, MEMORY_CLOSING]
    whole = count_tokens("".join(parts), encoding=encoding)
    assert whole == sum(count_text(one, encoding)[0] for one in parts)


@pytest.mark.parametrize("opening", [PINNED, RECALLED])
def test_markup_is_left_out_of_what_was_said(opening):
    block = f"{opening}[memory:1, user, Tue 14 Nov 2023] secret plan\n{MEMORY_CLOSING}"
    assert without_markup(block).strip() == ""
    assert without_markup(f"{block}\nand so on").strip() == "and so on"
    assert without_markup(block[:-3]).strip() == ""
    assert without_markup("a </kept-in-memory> b") == "a  b"
