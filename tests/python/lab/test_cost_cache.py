"""The simulated prompt cache agrees with a search through everything that was sent."""

from __future__ import annotations

import random

import pytest

from warmset.lab.cost.prompt_cache import Hit, Piece, PromptCache
from warmset.money import Prices

RULES = {"fresh": 4, "cache_read": 0.4, "cache_write": 5, "output": 20}


def pieces(text, tokens=100):
    return [Piece(letter.encode(), tokens) for letter in text]


def cache(**rules):
    return PromptCache(Prices(**RULES, **{"ttl": 60, "cache_min": 200, **rules}))


def test_a_list_that_grows_is_read_up_to_its_last_end():
    one = cache()
    assert one.send(pieces("abc"), 0) == Hit(0, 0, 300)
    assert one.send(pieces("abcde"), 1) == Hit(0, 300, 200)
    assert one.send(pieces("abcde"), 2) == Hit(0, 500, 0)


def test_a_change_ends_what_is_read_and_the_rest_is_written():
    one = cache()
    one.send(pieces("abcde"), 0)
    assert one.send(pieces("abXde"), 1) == Hit(0, 200, 300)
    assert one.send(pieces("Xbcde"), 2) == Hit(0, 0, 500)
    assert one.send(pieces("abcde"), 3) == Hit(0, 500, 0)  # both are still there
    assert one.send(pieces("bacde"), 3) == Hit(0, 0, 500)  # the order counts


def test_what_is_not_sent_for_the_lifetime_is_gone():
    one = cache()
    one.send(pieces("abcd"), 0)
    assert one.send(pieces("abcd"), 60).cached == 400
    assert one.send(pieces("abcd"), 120).cached == 400  # being read makes it live on
    assert one.send(pieces("abcd"), 180.1).cached == 0


def test_a_part_that_is_read_lives_on_without_the_rest():
    one = cache()
    one.send(pieces("abcdef"), 0)
    one.send(pieces("abcX"), 50)
    assert one.send(pieces("abcdef"), 100).cached == 300


def test_a_short_prefix_is_not_cached():
    one = cache()
    assert one.send(pieces("a"), 0) == Hit(100, 0, 0)
    assert one.send(pieces("ab"), 1) == Hit(0, 0, 200)  # the first was not stored
    assert one.send(pieces("aX"), 2) == Hit(0, 0, 200)  # what is the same is too short
    assert one.send(pieces("ab"), 3) == Hit(0, 200, 0)


def test_blocks_are_read_whole():
    one = cache(cache_block=128)
    one.send(pieces("abc"), 0)
    assert one.send(pieces("abcd"), 1) == Hit(0, 256, 144)


def test_nothing_is_written_where_writing_is_free():
    one = PromptCache(Prices(fresh=1, cache_read=0.1, output=5, cache_min=200))
    assert one.send(pieces("abc"), 0) == Hit(300, 0, 0)
    assert one.send(pieces("abcd"), 1) == Hit(100, 300, 0)


def naive(past, now, at, *, ttl, least, block):
    """Look through every request of the lifetime for the longest equal front."""
    best = 0
    for then, sent in past:
        if at - then > ttl:
            continue
        same = 0
        for one, other in zip(sent, now, strict=False):
            if one != other:
                break
            same += one.tokens
        best = max(best, same)
    return 0 if best < least else best // block * block


@pytest.mark.parametrize("seed", range(60))
def test_random_requests_are_read_as_far_as_a_search_finds_them(seed):
    rng = random.Random(seed)
    ttl, least, block = rng.choice([5, 30]), rng.choice([0, 150, 400]), rng.choice([1, 64])
    one = cache(ttl=ttl, cache_min=least, cache_block=block)
    past, at, hits = [], 0.0, 0
    for _ in range(80):
        at += rng.choice([0, 1, 3, ttl, ttl + 1, 2 * ttl]) * rng.choice([0, 1, 1])
        text = "".join(rng.choices("ab", k=rng.randint(0, 7)))
        if past and rng.random() < 0.5:
            text = "".join(piece.content.decode() for piece in rng.choice(past)[1]) + text
        now = [Piece(letter.encode(), 40 + 30 * (letter == "a")) for letter in text]
        total = sum(piece.tokens for piece in now)
        expected = naive(past, now, at, ttl=ttl, least=least, block=block)
        hit = one.send(now, at)
        assert hit.cached == expected
        assert hit.fresh + hit.cached + hit.written == total
        hits += expected > 0
        if total >= least:
            past.append((at, now))
    assert hits > 5
