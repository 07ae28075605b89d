"""Whether a text is said in others: against a plain comparison, and at exact shares."""

from __future__ import annotations

import random

import pytest

from warmset._core import terms
from warmset.route.said import Sayings
from warmset.text.hard_facts import READ
from warmset.text.said import COVERED, Said

WORDS = [f"{chr(98 + n // 20)}a{chr(98 + n % 20)}uk" for n in range(200)]


def covering(*texts):
    """Take all texts but the last, and return where the last one is said."""
    sayings = Sayings([Said(text) for text in texts])
    for place in range(len(texts) - 1):
        sayings.take(place)
    return sayings.covering(len(texts) - 1)


def test_nine_tenths_of_the_terms_are_enough_and_less_is_not():
    ten = " ".join(WORDS[:10])
    assert covering(" ".join(WORDS[:9]), ten) == 0
    assert covering(" ".join(WORDS[:8]), ten) is None
    assert covering(ten + " " + " ".join(WORDS[50:90]), ten) == 0
    twenty = " ".join(WORDS[:20])
    assert covering(" ".join(WORDS[2:20]), twenty) == 0
    assert covering(" ".join(WORDS[3:20]), twenty) is None


def test_what_says_no_once_more_is_not_the_same():
    assert covering("the ferry sails today", "the ferry does not sail today") is None
    assert covering("the ferry does not sail today", "the ferry sails today") is None
    assert covering("no ferry sails today", "no ferry sails today") == 0


def test_a_fact_that_nobody_taken_has_is_not_lost():
    long = " ".join(WORDS[:20])
    assert covering(f"{long} at 7", f"{long} at 8") is None
    assert covering("berth 8", f"{long} at 7", f"{long} at 8") == 1
    assert covering(f"{long} at 8", f"{long} at 8") == 0


def test_the_nearest_says_it_the_first_of_two_alike():
    one = " ".join(WORDS[:20])
    assert covering(" ".join(WORDS[:18]), one, one) == 1
    assert covering(one, one, one) == 0


def test_only_what_was_taken_counts():
    sayings = Sayings([Said("the ferry sails"), Said("the ferry sails"), Said("the ferry sails")])
    assert sayings.covering(2) is None
    sayings.take(1)
    assert sayings.covering(2) == 1
    assert sayings.covering(0) == 1
    assert Sayings([]) is not None


def test_texts_without_terms_and_long_ones_are_the_same_only_word_for_word():
    assert covering("?!", "?!") is None
    long = "the ferry sails " * (READ // 16 + 1)
    assert len(long) > READ
    assert covering(long, long) == 0
    assert covering(long, long + "x") is None
    assert covering("the ferry sails", long) is None
    assert covering(long, "the ferry sails") is None


@pytest.mark.parametrize("seed", range(40))
def test_no_pair_is_missed(seed):
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS[:24], k=draw.randrange(1, 40))) for _ in range(12)]
    sayings = Sayings([Said(text) for text in texts])
    taken = []
    for place, text in enumerate(texts):
        own = set(terms(text))
        shared = {other: len(own & set(terms(texts[other]))) for other in taken}
        best = max(shared, key=lambda other: (shared[other], -other), default=None)
        expected = best if best is not None and shared[best] >= COVERED * len(own) else None
        assert sayings.covering(place) == expected
        if expected is None:
            sayings.take(place)
            taken.append(place)
