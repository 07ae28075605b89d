"""`compact_context` on lists whose texts were embedded before: an agent asks again and again."""

from __future__ import annotations

from functools import cache

import pytest

from benches.python import material
from warmset import Memory, compact_context, count_tokens
from warmset.embed import FunctionEmbedder

MOST = 10_000


def known(texts):
    """Look up what the local model made of the texts; of any other one, what its words make."""
    rows = material.hashed(texts)
    for row, text in zip(rows, texts, strict=True):
        if (at := places().get(text)) is not None:
            row[:] = material.vectors("real", MOST)[0][at]
    return rows


@cache
def places():
    return {text: at for at, text in enumerate(material.texts(MOST))}


EMBEDDER = FunctionEmbedder(known, dim=material.DIM, fingerprint="real-and-hashed")


def agent(n):
    """A list in which every other exchange calls a tool, as an agent's does."""
    out = []
    for at, text in enumerate(material.texts(n)):
        turn = at % 6
        if turn == 3:
            call = {"name": "read_file", "arguments": f'{{"path": "src/part_{at}.py"}}'}
            calls = [{"id": f"call_{at}", "type": "function", "function": call}]
            out.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif turn == 4:
            out.append({"role": "tool", "tool_call_id": f"call_{at - 1}", "content": text})
        else:
            out.append({"role": "user" if turn in (0, 2) else "assistant", "content": text})
    return out


def plain(n):
    """A list of texts, user and assistant in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(material.texts(n))]


@pytest.mark.parametrize("n", [1_000, MOST])
@pytest.mark.parametrize("kind", ["plain", "agent", "agent, 1,000 memories"])
def test_a_compaction(benchmark, kind, n):
    benchmark.group = f"compact_context on {n:,} messages, embedded before"
    given = plain(n) if kind == "plain" else agent(n)
    assert len(given) == n
    memory = Memory.open(None, embedder=EMBEDDER) if "memories" in kind else None
    if memory is not None:
        for text in material.texts(MOST + 1_000)[-1_000:]:
            memory.remember(text[:300])
    ask = {"query": "how is a file read, line by line", "embedder": EMBEDDER}
    compact_context(given, **ask, memory=memory)
    made = benchmark(lambda: compact_context(given, **ask, memory=memory))
    assert made.stats.signals == ("role", "recency", "similarity", "coverage")
    assert made.stats.after_tokens == count_tokens(made.messages) <= made.stats.budget
    assert made.stats.dropped > n // 4
    if memory is not None:
        assert memory.restore(made.dropped[0].handle) == given[made.dropped[0].id]
        memory.close()


@pytest.mark.parametrize("n", [1_000, MOST])
def test_without_an_embedder(benchmark, n):
    benchmark.group = f"compact_context on {n:,} messages, without an embedder"
    given = agent(n)
    made = benchmark(lambda: compact_context(given, target_ratio=0.4))
    assert made.stats.embedding is False
    assert made.stats.after_tokens <= made.stats.budget
