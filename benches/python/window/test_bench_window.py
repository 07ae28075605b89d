"""A whole window of a conversation of 10,000 turns, the query's vector given."""

from __future__ import annotations

from itertools import count

import pytest

from benches.python import material
from benches.python.cases import contestants, measure
from warmset import Memory
from warmset.lab.bench.window import turns, window

TURNS = 10_000


@contestants(window(TURNS), turns(TURNS))
def test_a_window_and_a_search(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)


@pytest.mark.parametrize("form", ["text", "blocks"])
def test_everything_again(benchmark, form):
    """Each call finds two messages more than the one before."""
    benchmark.group = "window(mode='full') of 2,000 messages and what was said since"
    said = material.conversation(4_000)
    if form == "blocks":
        said = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in said]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(said[:2_000])
        at = count(2_000, 2)

        def more():
            start = next(at)
            conversation.append(said[start : start + 2])

        def ask():
            return conversation.window(mode="full", budget=10**6)

        ask()
        window = benchmark.pedantic(ask, setup=more, rounds=100)
        assert len(window.messages) == len(conversation) > 2_000
        assert window.report.cached > 0.9 * window.tokens


def test_an_append(benchmark):
    benchmark.group = "append() of one turn, by words alone, in memory"
    said = material.conversation(20_000)
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        at = count()
        benchmark(lambda: conversation.append(said[next(at) % 20_000]))
        assert len(conversation) == next(at)
