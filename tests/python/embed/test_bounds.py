"""Passages and requests at their exact limits, against what their contracts say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from warmset.embed import FunctionEmbedder
from warmset.embed.base import checked
from warmset.embed.passages import MAX_PASSAGES, Word, passages
from warmset.embed.remote import parts
from warmset.errors import EmbedderError


@given(st.lists(st.integers(1, 6)), st.integers(1, 4), st.integers(4, 9))
def test_requests_are_as_few_as_fit_and_never_too_large(sizes, most, size):
    texts = ["x" * one for one in sizes]
    found = list(parts(texts, len, most=most, size=size))
    assert [text for part in found for text in part] == texts
    for part in found:
        assert len(part) <= most
        assert len(part) == 1 or sum(map(len, part)) <= size
    for part, behind in pairwise(found):
        assert len(part) == most or sum(map(len, part)) + len(behind[0]) > size


def one_each(text):
    """Find words of one letter that cost as much as their digit."""
    return [Word(at, at + 1, int(char)) for at, char in enumerate(text) if char != " "]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(4, 12), st.integers(0, 3))
def test_passages_take_words_while_they_fit_and_step_back_over_the_overlap(costs, limit, overlap):
    text = " ".join(map(str, costs)) + " é"  # beyond ASCII, so that it is not taken as short
    found = passages(text, lambda given: one_each(given[:-2]), limit=limit, overlap=overlap)
    spans, at = [], 0
    while True:  # naively: the longest run from here that fits
        end = at + 1
        while end < len(costs) and sum(costs[at : end + 1]) <= limit:
            end += 1
        spans.append((at, end))
        if end == len(costs):
            break
        spare = min(overlap, limit - costs[end])
        back = end
        while back - 1 > at and sum(costs[back - 1 : end]) <= spare:
            back -= 1
        at = back
    if sum(costs) <= limit:
        assert found == [text]
    elif len(spans) <= MAX_PASSAGES:
        assert found == [" ".join(map(str, costs[first:last])) for first, last in spans]
    else:
        assert len(found) == MAX_PASSAGES


@pytest.mark.parametrize("count", [31, 32, 33, 34, 100])
def test_of_more_than_the_most_passages_first_and_last_are_kept(count):
    text = " ".join(["9"] * count) + " é"
    found = passages(
        text,
        lambda given: [Word(at, at + 1, 9) for at in range(0, len(given) - 2, 2)],
        limit=9,
        overlap=0,
    )
    assert len(found) == min(count, MAX_PASSAGES)
    marked = " ".join(str(at % 10) for at in range(count)) + " é"
    kept = passages(
        marked,
        lambda given: [Word(at, at + 1, 9) for at in range(0, len(given) - 2, 2)],
        limit=9,
        overlap=0,
    )
    assert (kept[0], kept[-1]) == ("0", str((count - 1) % 10))


def test_a_text_that_is_not_ascii_is_counted_by_its_words():
    cost = 3
    found = passages(
        "一二三",
        lambda text: [Word(at, at + 1, cost) for at in range(len(text))],
        limit=8,
        overlap=0,
    )
    assert found == ["一二", "三"]
    assert passages("abc", lambda _: pytest.fail("it is short"), limit=3, overlap=0) == ["abc"]


def test_rows_at_the_ends_of_the_number_range_have_length_one():
    rows = checked(np.array([[3e300, 4e300], [3e-200, 4e-200]]), 2)
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8]]))
    for wrong in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(EmbedderError, match="text 1"):
            checked([[1.0, 2.0], [1.0, wrong]], 2)
    with pytest.raises(EmbedderError, match="shape"):
        checked([[1.0, 2.0]], 1, 3)


def test_a_function_that_changes_its_list_does_not_change_what_is_expected():
    def greedy(texts):
        made = [[1.0, 2.0] for _ in texts]
        texts.clear()
        return made

    given = ["a", "b"]
    assert FunctionEmbedder(greedy).embed(given).shape == (2, 2)
    assert given == ["a", "b"]
