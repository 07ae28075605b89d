"""Cutting long texts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from warmset.embed.passages import MAX_PASSAGES, Word, passages, rough_words


def test_a_short_text_is_its_own_passage():
    for text in ("", " \n", "one two", " padded "):
        assert passages(text, rough_words, limit=3, overlap=1) == [text]


def test_what_all_words_cost_may_be_told_instead_of_found():
    def forbidden(text: str) -> list[Word]:
        raise AssertionError(text)

    def cost(text: str) -> int:
        return len(rough_words(text))

    for text in ("w " * 10, "one word of many characters", "é è " * 5, "a" * 150):
        plain = passages(text, rough_words, limit=10, overlap=1)
        assert passages(text, forbidden, limit=10, overlap=1, cost=cost) == plain == [text]
    assert passages("ab cd", forbidden, limit=5, overlap=1) == ["ab cd"]

    def dear(text: str) -> list[Word]:
        return [Word(at, at + 1, 3) for at in range(len(text))]

    assert passages("éè", dear, limit=4, overlap=1) == ["é", "è"]
    for text in ("a " * 11, "é" * 161, "x " * 40):
        plain = passages(text, rough_words, limit=10, overlap=1)
        assert passages(text, rough_words, limit=10, overlap=1, cost=cost) == plain
        assert len(plain) > 1


def test_passages_overlap_and_cover_every_word():
    words = [f"w{n}" for n in range(100)]
    found = passages("  ".join(words), rough_words, limit=10, overlap=3)
    assert all(len(passage.split()) <= 10 for passage in found)
    for before, after in pairwise(found):
        assert before.split()[-3:] == after.split()[:3]
    assert found[0].startswith("w0 ")
    assert found[-1].endswith(" w99")
    assert {word for passage in found for word in passage.split()} == set(words)


def test_a_word_over_the_limit_stands_alone():
    def costly(text: str) -> list[Word]:
        return [Word(w.start, w.end, 50 if text[w.start] == "X" else 1) for w in rough_words(text)]

    found = passages("a b X c d X X e", costly, limit=10, overlap=2)
    assert found == ["a b", "X", "c d", "X", "X", "e"]


def test_too_many_passages_are_sampled_from_first_to_last():
    words = [f"w{n}" for n in range(2000)]
    found = passages(" ".join(words), rough_words, limit=10, overlap=2)
    assert len(found) == MAX_PASSAGES
    assert found[0].startswith("w0 ")
    assert found[-1].endswith(" w1999")
    starts = np.array([int(passage.split()[0][1:]) for passage in found])
    steps = np.diff(starts)
    assert steps.min() > 0
    assert steps.max() - steps.min() <= 16


def test_a_huge_text_is_read_in_parts_only():
    read = 0

    def counting(text: str) -> list[Word]:
        nonlocal read
        read += len(text)
        return rough_words(text)

    text = "begin " + "filler " * 1_000_000 + "end"
    found = passages(text, counting, limit=150, overlap=30)
    assert len(found) == MAX_PASSAGES
    assert found[0].startswith("begin ")
    assert found[-1].endswith(" end")
    assert read < 200_000


def test_rough_words_count_ideographs_and_long_runs():
    assert [w[:2] for w in rough_words("ab 我们c")] == [(0, 2), (3, 4), (4, 5), (5, 6)]
    assert len(rough_words("x" * 40)) == 3
