"""Cuts of 10,000 messages: a conversation that warmset holds, a list of dicts, langchain-core's."""

from __future__ import annotations

from itertools import count

import pytest

from benches.python import material
from warmset import Memory, count_tokens, trim_messages

TURNS = 10_000


def by_four(messages):
    """Count what has a text, as langchain's documentation has it."""
    return sum(len(one.content) // 4 for one in messages)


def by_four_of_dicts(messages):
    return sum(len(one["content"]) // 4 for one in messages)


def test_a_held_conversation(benchmark):
    """Each call asks for another budget, so that no earlier cut can stand."""
    benchmark.group = f"cut {TURNS:,} messages to half"
    given = material.conversation(TURNS)
    half, number = count_tokens(given) // 2, count()
    with Memory.open(None, embedder="lexical") as memory:
        talk = memory.conversation("log")
        talk.append(given)
        kept = benchmark(lambda: talk.fit(budget=half - next(number) % 1_000))
        assert count_tokens(kept.messages) == kept.tokens <= half
        assert kept.messages == [given[0], *given[TURNS + 1 - len(kept) :]]


@pytest.mark.parametrize("name", ["warmset", "langchain-core"])
def test_a_list_seen_for_the_first_time(benchmark, name):
    benchmark.group = f"cut {TURNS:,} messages to half"
    given = material.conversation(TURNS)
    half = by_four_of_dicts(given) // 2
    if name == "warmset":
        kept = benchmark(
            lambda: trim_messages(given, max_tokens=half, token_counter=by_four_of_dicts)
        )
        texts = [one["content"] for one in kept]
    else:
        theirs = pytest.importorskip("langchain_core.messages")
        kinds = {"user": theirs.HumanMessage, "assistant": theirs.AIMessage}
        messages = [kinds[one["role"]](one["content"]) for one in given]
        kept = benchmark(
            lambda: theirs.trim_messages(messages, max_tokens=half, token_counter=by_four)
        )
        texts = [one.content for one in kept]
    assert texts == [one["content"] for one in given[TURNS - len(texts) :]]
    spent = sum(len(text) // 4 for text in texts)
    assert spent <= half < spent + len(given[TURNS - len(texts) - 1]["content"]) // 4
