"""A growing list that is made anew: where that costs less, the prompt cache takes it at once."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from warmset import Memory
from warmset.lab.cost.prompt_cache import Piece, PromptCache
from warmset.messages import dumps
from warmset.money import Prices, price
from warmset.tokens import message_tokens
from warmset.window.steady import swap

BUDGET = 2_400
"""Tokens: 35 % of them, to which a list is made anew, are fewer than the cache takes."""

PRICES = Prices(fresh=8, cache_read=0.2, output=40, cache_write=10, cache_min=1_024)
WORDS = ("crane", "steel", "harbour", "crate", "pier", "ledger", "mast", "rope")


def piece(message):
    return Piece(dumps(message), message_tokens([message], "o200k_base")[0])


def said(n, words):
    return {"role": "assistant", "content": f"Counted {n}: {words}."}


def thought(n, words):
    block = {"type": "thinking", "thinking": f"{n}? {words[::-1]}", "signature": f"c2ln{n:04d}"}
    return {"role": "assistant", "content": [block, {"type": "text", "text": words}]}


def and_then(n, words):
    return f"And {n}? {words}"


def and_before(n, words):
    return f"{and_then(n, words)} Then what about {n // 2}, mast{n // 2}? mast{n}"


def loop(gap, *, budget=BUDGET, calls=120, reply=said, ask=and_then, **options):
    """Call so often; return the windows, and what their input costs with a prompt cache."""
    rng, cache, windows, spent = random.Random(5), PromptCache(PRICES), [], 0.0
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("c")
        chat.append({"role": "user", "content": "Count the crates."}, at=0.0)
        for n in range(1, calls + 1):
            made = chat.window(budget=budget, mode="steady", index_share=0, **options)
            windows.append(made)
            hit = cache.send([piece(one) for one in made.messages], n * gap)
            spent += price(PRICES, hit.fresh, hit.cached, hit.written, 0)
            words = " ".join(rng.choices(WORDS, k=40))
            chat.append(reply(n, words), at=n * gap, window=made)
            chat.append({"role": "user", "content": ask(n, words)}, at=n * gap + 1)
    return windows, spent


def anew(windows):
    """Return the tokens of the lists that were made anew."""
    return [one.tokens for one in windows[1:] if one.report.epoch.began]


THINKS = {"reply": thought, "dialect": "anthropic", "model": "claude-fable-5-2"}
"""Half of a list is thinking, of which a list that is made anew has none."""


@pytest.mark.parametrize("how", [{}, THINKS], ids=["plain", "thinking"])
def test_a_list_is_made_anew_with_what_the_cache_takes_at_least(monkeypatch, how):
    windows, spent = loop(20.0, prices=PRICES, **how)
    assert PRICES.cache_min < min(anew(windows))
    assert max(anew(windows)) < PRICES.cache_min + 100  # a message and its request
    monkeypatch.setattr(swap, "anew_tokens", lambda *_, tokens, **__: tokens)
    short, otherwise = loop(20.0, prices=PRICES, **how)
    assert max(anew(short)) <= 0.35 * BUDGET < PRICES.cache_min
    assert spent < 0.9 * otherwise


def test_the_prices_are_those_of_the_model():
    windows, _ = loop(20.0, model="claude-fable-5-2", calls=60)
    assert PRICES.cache_min < min(anew(windows))


@pytest.mark.parametrize(
    ("gap", "budget"),
    [(301.0, BUDGET), (20.0, 1_500), (20.0, 4_000)],
    ids=["the cache has expired", "no room to grow", "the cache takes a short one"],
)
def test_a_list_is_as_short_as_ever_otherwise(gap, budget):
    windows, spent = loop(gap, budget=budget, prices=PRICES)
    same, otherwise = loop(gap, budget=budget)
    assert anew(windows) == anew(same)
    assert spent == otherwise


def test_what_is_recalled_at_once_counts():
    """The list before recalled something or nothing when it began: so it is expected again."""
    windows, _ = loop(20.0, prices=PRICES, ask=and_before)
    begun = [one for one in windows[1:] if one.report.epoch.began]
    recalls = [sum(part.tokens for part in one.parts if part.name == "retrieved") for one in begun]
    assert 0 in recalls[1:]
    assert any(recalls)
    bare = [one.tokens - more for one, more in zip(begun, recalls, strict=True)]
    for before, tokens in zip(recalls, bare[1:], strict=False):
        assert PRICES.cache_min < before + tokens < PRICES.cache_min + 200


def test_thinking_that_is_not_sent_does_not_bring_the_next_list_nearer():
    windows, _ = loop(20.0, **THINKS | {"model": "claude-opus-5-9"})
    last = [
        before.tokens
        for before, one in pairwise(windows)
        if one.report.epoch.began and before.report.thinking.removed
    ]
    assert len(last) > 2
    assert min(last) > 0.7 * BUDGET
