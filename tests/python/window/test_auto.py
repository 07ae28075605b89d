"""Mode "auto": the mode that the next calls cost less with, changed only where that pays."""

from __future__ import annotations

import random

import pytest

from warmset import Memory
from warmset.lab.cost.prompt_cache import Piece, PromptCache
from warmset.messages import dumps
from warmset.money import Prices, price
from warmset.money.forecast import CALLS, Rhythm, growing_cost, renewed_cost
from warmset.window import auto
from warmset.window.rhythm import rhythm_of

PRICES = Prices(fresh=4, cache_read=0.4, output=20, cache_write=5, ttl=300)
WORDS = ["port", "config", "yaml", "deploy", "error", "retry", "queue", "cache", "latency"]


def rhythm(idle=10.0, gap=10.0, growth=500.0):
    return Rhythm(idle, (gap,) * 9, (False,) * 9, growth)


def growing(beat, tokens=10_000, budget=32_000):
    shares = {"swap_at": 0.85, "swap_to": 0.35}
    return growing_cost(PRICES, beat, tokens=tokens, budget=budget, **shares)


def test_a_growing_list_is_read_from_a_cache_that_lives():
    read = sum(10_000 + 500 * n for n in range(CALLS)) * 0.4
    written = 500 * CALLS * 5
    assert growing(rhythm()) == pytest.approx((read + written) / 1e6)


def test_it_is_written_anew_where_the_cache_has_expired():
    late = rhythm(idle=301.0)
    first, then = 10_500 * 5, sum(10_500 + 500 * n for n in range(CALLS - 1)) * 0.4
    assert growing(late) == pytest.approx((first + then + 500 * 9 * 5) / 1e6)
    assert growing(rhythm(idle=300.0)) == pytest.approx(growing(rhythm()))
    assert growing(Rhythm(None, (), (), 500.0)) == pytest.approx(growing(late))


def test_it_is_made_anew_at_the_budget():
    at_once = growing(rhythm(growth=0.0), tokens=27_200)
    tokens = 0.35 * 32_000
    assert at_once == pytest.approx((tokens * 5 + 9 * tokens * 0.4) / 1e6)
    assert growing(rhythm(growth=0.0), tokens=27_199) == pytest.approx(10 * 27_199 * 0.4 / 1e6)


def test_a_renewed_list_is_written_for_each_request():
    beat = Rhythm(10.0, (10.0,) * 9, (True,) * 9, 500.0)
    each = renewed_cost(PRICES, beat, tokens=8_000, budget=32_000)
    assert each == pytest.approx(10 * 8_000 * 5 / 1e6)
    loop = renewed_cost(PRICES, rhythm(growth=0.0), tokens=8_000, budget=32_000)
    assert loop == pytest.approx((8_000 * 5 + 9 * 8_000 * 0.4) / 1e6)


def test_what_is_too_short_for_the_cache_is_fresh():
    assert renewed_cost(PRICES, rhythm(growth=0.0), tokens=1_023, budget=9_000) == pytest.approx(
        10 * 1_023 * 4 / 1e6
    )


def said(text, role="user"):
    return {"role": role, "content": text}


def talk(log, count, *, gap, start=0.0, words=60):
    rng = random.Random(7)
    for n in range(count):
        line = " ".join(rng.choice(WORDS) for _ in range(words))
        log.append(said(f"question {n} {line}"), at=start + n * gap)
        log.append(said(f"answer {n} {line}", "assistant"), at=start + n * gap + 5)


def mode_of(log, query="port?", **options):
    return log.window(query, mode="auto", **options).report.mode


def test_without_prices_thinking_decides():
    with Memory.open(None, embedder="lexical") as memory:
        plain, thinks = memory.conversation("plain"), memory.conversation("thinks")
        talk(plain, 10, gap=60)
        assert mode_of(plain, budget=4_000) == "jit"
        assert mode_of(plain, budget=4_000, model="unheard-of") == "jit"
        thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        text = {"type": "text", "text": "yes"}
        thinks.append([said("port?"), {"role": "assistant", "content": [thought, text]}])
        assert mode_of(thinks, budget=4_000) == "steady"


def test_it_changes_when_an_exchange_begins_and_it_pays(monkeypatch):
    costs = {"growing": 1.0, "renewed": 0.81}
    monkeypatch.setattr(auto, "growing_cost", lambda *_a, **_k: costs["growing"])
    monkeypatch.setattr(auto, "renewed_cost", lambda *_a, **_k: costs["renewed"])
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        talk(log, 100, gap=10)
        given = {"budget": 9_000, "prices": PRICES, "query": None}
        log.append(said("port 4?"))
        seen = [mode_of(log, **given)]
        costs["renewed"] = 0.80
        seen.append(mode_of(log, **given))  # the exchange goes on
        for renewed in (0.80, 1.24, 1.25, 0.81):
            log.append([said("yes", "assistant"), said(f"port {renewed}?")])
            costs["renewed"] = renewed
            seen.append(mode_of(log, **given))
            costs["renewed"] = 3 - renewed * 2
            assert mode_of(log, **given) == seen[-1]
    assert seen == ["steady", "steady", "jit", "jit", "steady", "steady"]


def test_another_process_goes_on_with_the_list(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        talk(log, 40, gap=10)
        log.append(said("port?"))
        first = log.window(budget=3_000, mode="steady")
    with Memory.open(tmp_path, embedder="lexical") as memory:
        again = memory.conversation("log").window(budget=3_000, mode="auto")
        assert (again.report.mode, again.messages) == ("steady", first.messages)


def spent(mode, gaps):
    """Return what a conversation costs with these gaps before its calls."""
    cache, at, rng, bill = PromptCache(PRICES), 0.0, random.Random(3), 0.0
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        for n, gap in enumerate(gaps):
            at += gap
            log.append(said(f"question {n} " + " ".join(rng.choices(WORDS, k=90))), at=at)
            made = log.window(budget=6_000, mode=mode, prices=PRICES)
            pieces = [Piece(dumps(one), len(dumps(one)) // 4) for one in made.messages]
            hit = cache.send(pieces, at)
            bill += price(PRICES, hit.fresh, hit.cached, hit.written, 0)
            log.append(
                said(f"answer {n} " + " ".join(rng.choices(WORDS, k=90)), "assistant"), at=at
            )
    return bill


@pytest.mark.parametrize("seed", range(4))
def test_on_random_gaps_it_is_near_the_best_mode(seed):
    rng = random.Random(seed)
    gaps = [rng.choice((5.0, 30.0, 900.0, 40_000.0)) for _ in range(90)]
    bills = {mode: spent(mode, gaps) for mode in ("jit", "steady", "auto")}
    assert bills["auto"] <= 1.5 * min(bills["jit"], bills["steady"])


def test_the_rhythm_is_that_of_calls_however_many_messages_a_reply_has():
    said_at = [
        ("user", 0),
        ("assistant", 10),
        ("assistant", 10),
        ("user", 100),
        ("assistant", 130),
        ("user", 400),
        ("assistant", 410),
        ("assistant", 410),
        ("assistant", 410),
    ]
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        for role, at in said_at:
            log.append(said("some words " * 9, role), at=at)
        with memory._engine.lock:
            live = memory._engine.ledger("default", "log").live()
            found = rhythm_of(live, now=500.0)
        tokens = sum(one.tokens for one in live)
    assert (found.idle, list(found.gaps), list(found.begins)) == (90, [280, 120], [True, True])
    assert found.growth == pytest.approx(tokens / 3)
