"""Results in tokens: parts of long texts, pages of long lists, arguments at their limits."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from warmset.errors import InvalidInputError
from warmset.serve.tools import tokens_of
from warmset.serve.tools.bounds import RESERVE, Room, integer, one_of, part_of, words
from warmset.serve.tools.pages import MOST, Pages
from warmset.serve.tools.tool import compact_json


@given(st.text(max_size=400), st.integers(1, 60))
def test_the_parts_of_a_text_are_the_text_and_none_is_too_long(text, tokens):
    begin, parts = 0, []
    while True:
        part = part_of(text, begin, tokens)
        assert part.begin == begin
        assert tokens_of(part.text) <= tokens or len(part.text) == 1
        parts.append(part.text)
        if part.next is None:
            break
        assert part.next == begin + len(part.text) > begin
        begin = part.next
    assert "".join(parts) == text


def test_a_part_is_as_long_as_it_may_be():
    text = "one two three four five six seven eight nine ten " * 20
    part = part_of(text, 0, 30)
    assert tokens_of(part.text) == 30
    assert part_of(text, 0, None).next is None
    whole = tokens_of(text)
    assert part_of(text, 0, whole).next is None
    assert part_of(text, 0, whole - 1).next is not None


@pytest.mark.parametrize("begin", [-1, 3, 4])
def test_a_part_begins_inside_of_its_text(begin):
    with pytest.raises(InvalidInputError, match="expected 0 to 2"):
        part_of("abc", begin, 10)
    assert part_of("abc", 2, 10).text == "c"
    assert part_of("", 0, 10).text == ""


def test_a_room_takes_what_fits_and_counts_the_longest_way():
    room = Room(RESERVE + 10)
    assert room.left == 10
    assert not room.take("word " * 10), "ten tokens and one between elements"
    assert room.left == 10
    assert room.take("a", "word " * 8)
    assert room.left == 0 or room.left == 10 - tokens_of("word " * 8) - 1
    assert Room(None).take("word " * 100_000)


@pytest.mark.parametrize("given", [True, 0, 6, 2.5, "3", None])
def test_numbers_that_are_none_or_out_of_range_are_refused(given):
    with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1 to 5"):
        integer(given, "limit", 1, 5)
    assert [integer(one, "limit", 1, 5) for one in (1, 5, 3.0)] == [1, 5, 3]


def test_words_are_neither_blank_nor_too_long():
    assert words("abc", "text", 3) == "abc"
    assert words("a\ud800", "text", 3) == "a?", "a lone surrogate cannot be stored"
    for bad in ("abcd", " \n", "", 7, None):
        with pytest.raises(InvalidInputError, match="text: "):
            words(bad, "text", 3)
    assert one_of("a", "where", ["a", "b"]) == "a"
    for bad in ("c", None, ["a"]):
        with pytest.raises(InvalidInputError, match="where: expected one of a, b"):
            one_of(bad, "where", ["a", "b"])


LISTS = st.lists(st.text(max_size=120), max_size=30)


@given(LISTS, LISTS, st.integers(1_000, 1_400))
def test_the_pages_of_a_result_are_the_result_and_none_is_too_large(first, second, limit):
    pages = Pages()
    made = {"a": first, "n": 7, "b": second}
    page = pages.first(made, ("a", "b"), limit)
    found_a, found_b = list(page["a"]), list(page["b"])
    while "next_cursor" in page:
        assert tokens_of(compact_json(page)) <= limit
        page = pages.next(page["next_cursor"], limit)
        assert page["a"] or page["b"]
        assert page["n"] == 7
        found_a += page["a"]
        found_b += page["b"]
    assert tokens_of(compact_json(page)) <= limit
    assert (found_a, found_b) == (first, second)
    assert pages.first(made, ("a", "b"), None) is made


def test_an_element_that_is_larger_than_a_page_is_cut_and_the_pages_go_on():
    pages = Pages()
    page = pages.first({"a": ["word " * 2_000, "next"]}, ("a",), 300)
    [cut] = page["a"]
    assert cut["characters"] == 10_002
    assert cut["beginning"].startswith('"word word')
    assert tokens_of(compact_json(page)) <= 300
    assert pages.next(page["next_cursor"], 300) == {"a": ["next"]}


def test_a_page_can_be_asked_for_again_until_newer_ones_take_its_place():
    pages = Pages()
    made = {"a": ["word " * 100] * 9}
    cursor = pages.first(made, ("a",), 300)["next_cursor"]
    assert pages.next(cursor, 300)["a"] == pages.next(cursor, 300)["a"]
    for _ in range(MOST):
        newest = pages.first(made, ("a",), 300)["next_cursor"]
    with pytest.raises(InvalidInputError, match="make the call without a cursor again"):
        pages.next(cursor, 300)
    assert pages.next(newest, 300)["a"]
    pages.clear()
    for gone in (newest, None, 7, "other"):
        with pytest.raises(InvalidInputError, match="there is no such page"):
            pages.next(gone, 300)


def test_of_more_pages_than_wait_the_oldest_are_given_up():
    pages = Pages(most=2)
    made = {"hits": [{"text": "word " * 200} for _ in range(20)]}
    cursors = [pages.first(made, ("hits",), 1_000)["next_cursor"] for _ in range(3)]
    with pytest.raises(InvalidInputError, match="given up for newer ones"):
        pages.next(cursors[0], None)
    assert all(pages.next(one, None)["hits"] for one in cursors[1:])
