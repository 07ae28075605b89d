"""Vectors that are kept between calls, of which the oldest leave: the results are those without."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from vectors_by_word import WordEmbedder

from warmset import Memory, compact_context
from warmset.compact import forget_vectors, vectors
from warmset.compact.vectors import VectorCache

WORDS = [f"word{at}" for at in range(30)]


def digest(text):
    return text.encode()


@pytest.mark.parametrize("seed", range(6))
def test_a_cache_that_forgets_gives_the_vectors_of_the_texts(monkeypatch, seed):
    monkeypatch.setattr(vectors, "CAPACITY", 8)
    rng, embedder = Random(seed), WordEmbedder()
    cache = VectorCache(embedder)
    known, numbers = [f"{one} {other}" for one in WORDS[:6] for other in WORDS[6:9]], {}
    for _ in range(30):
        texts = rng.sample(known, rng.randint(1, 12))
        slots = cache.take([digest(one) for one in texts], texts.__getitem__)
        assert len(set(slots.tolist())) == len(texts)
        assert (slots >= 0).all(), "the texts of this call are never forgotten"
        wanted = embedder.embed(texts)
        assert np.array_equal(cache.rows(slots), wanted)
        query = rng.choice(WORDS[:9])
        near = wanted @ embedder.embed_query([query])[0]
        assert cache.cosines(query, slots) == pytest.approx(near, abs=1e-5)
        for text, number in zip(texts, cache.serials(slots).tolist(), strict=True):
            owner = numbers.setdefault(number, text)
            assert owner == text, "a number is that of one text for ever"
        assert len(cache) <= max(8, len(texts))


def test_memories_cover_the_texts_that_took_the_place_of_forgotten_ones(monkeypatch):
    """A slot that is used again must not be known by what was near to the text before it."""
    monkeypatch.setattr(vectors, "CAPACITY", 6)

    def chat(name):
        said = [f"{name} ferry number {at} leaves the harbour at dawn" for at in range(9)]
        return [
            {"role": ("user", "assistant")[at % 2], "content": one} for at, one in enumerate(said)
        ]

    names = ["red", "blue", "green", "grey"]

    def coverage(memory, given):
        made = compact_context(given, memory=memory, target_ratio=0.2, query="ferry")
        return {one.id: round(one.terms.coverage, 5) for one in made.dropped}

    def opened():
        forget_vectors()
        memory = Memory.open(None, embedder=WordEmbedder())
        memory.remember("green ferry number 1 leaves the harbour at dawn")
        memory.flush(20)
        return memory

    with opened() as memory:
        found = [coverage(memory, chat(name)) for name in names]
    for name, one in zip(names, found, strict=True):
        with opened() as memory:
            assert coverage(memory, chat(name)) == one
