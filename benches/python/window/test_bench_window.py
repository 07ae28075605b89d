"""A whole window of a conversation of 10,000 turns, the query's vector given."""

from __future__ import annotations

from itertools import count

import pytest

from benches.python import material
from warmset import Memory
from warmset.embed import FunctionEmbedder

TURNS, BUDGET = 10_000, 4_000


@pytest.fixture(scope="module")
def talk():
    """Keep 10,000 turns in memory, with vectors of a function that costs next to nothing."""
    embedder = FunctionEmbedder(material.hashed, dim=material.DIM)
    with Memory.open(None, embedder=embedder) as memory:
        conversation = memory.conversation("log")
        conversation.append(material.conversation(TURNS))
        assert memory.flush(600)
        yield conversation


def test_a_window(benchmark, talk):
    """Each call asks something new: what was asked before would find its picks frozen."""
    benchmark.group = "window() of 10,000 turns, 4,000 tokens, query_vector given"
    asked = material.texts(500)
    vectors = material.hashed(asked)
    number = count()

    def ask():
        at = next(number)
        question = f"{asked[at % 500][:80]} {at}"
        return talk.window(question, query_vector=vectors[at % 500], budget=BUDGET)

    window = benchmark(ask)
    assert 0 < window.report.tokens_sent <= BUDGET
    assert window.messages[-1]["role"] == "user"
    assert len(window.messages) < TURNS
    assert window.report.picked, "something was quoted"
    if benchmark.stats:
        times = sorted(benchmark.stats.stats.data)
        benchmark.extra_info["p99 µs"] = times[int(len(times) * 0.99)] * 1e6


@pytest.mark.parametrize("form", ["text", "blocks"])
def test_everything_again(benchmark, form):
    """Each call finds two messages more than the one before."""
    benchmark.group = "window(mode='full') of 2,000 messages and what was said since"
    turns = material.conversation(4_000)
    if form == "blocks":
        turns = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in turns]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(turns[:2_000])
        at = count(2_000, 2)

        def more():
            start = next(at)
            conversation.append(turns[start : start + 2])

        def ask():
            return conversation.window(mode="full", budget=10**6)

        ask()
        window = benchmark.pedantic(ask, setup=more, rounds=100)
        assert len(window.messages) == len(conversation) > 2_000
        assert window.report.cached > 0.9 * window.tokens


def test_a_search(benchmark, talk):
    benchmark.group = "search() of 10,000 turns, query_vector given"
    asked = material.texts(500)
    vectors = material.hashed(asked)
    number = count()

    def ask():
        at = next(number) % 500
        return talk.search(asked[at][:80], query_vector=vectors[at], k=12)

    assert len(benchmark(ask)) == 12


def test_an_append(benchmark):
    benchmark.group = "append() of one turn, by words alone, in memory"
    turns = material.conversation(20_000)
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        at = count()
        benchmark(lambda: conversation.append(turns[next(at) % 20_000]))
        assert len(conversation) == next(at)
