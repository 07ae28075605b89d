"""Vectors of memories are records of the store: opening it embeds no memory that had one."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from vectors_by_word import WordEmbedder

from warmset import Memory, compact_context
from warmset.compact import forget_vectors
from warmset.errors import StoreError
from warmset.items.vectors import turn_vectors
from warmset.store.records import HALF_EMBEDDING

SAID = ["the ferry leaves at 7:35", "the mast of the boat was repaired by Olga", "dawn is at six"]


class Other(WordEmbedder):
    """Another embedder: its vectors are others."""

    fingerprint = "words-of-another"

    def embed(self, texts):
        return super().embed([f"{text} other" for text in texts])


@pytest.fixture(autouse=True)
def _fresh():
    forget_vectors()
    yield
    forget_vectors()


def opened(path, embedder):
    forget_vectors()
    return Memory.open(path, embedder=embedder, durability="os")


def found(memory):
    return [(one.text, one.score) for one in memory.memories(query="ferry mast", k=9)]


def terms(made):
    return [number for one in made.dropped for number in astuple(one.terms)]


def refuse(*_given):
    raise StoreError("there is no room")


def rows_in(memory):
    records = memory._engine.store.page(1)
    return [record for record in records if record.kind == HALF_EMBEDDING]


def test_opening_embeds_no_memory_again(tmp_path):
    with opened(tmp_path, WordEmbedder()) as memory:
        for text in SAID:
            memory.remember(text)
        before = found(memory)
    again = WordEmbedder()
    with opened(tmp_path, again) as memory:
        assert found(memory) == before
        assert again.embedded == 1  # the query
        memory.remember("the harbour is closed on Sundays")
        assert again.embedded == 2
        compact_context([{"role": "user", "content": SAID[0]}], memory=memory, target_ratio=0.1)
        assert len(rows_in(memory)) == 4
    with opened(tmp_path, last := WordEmbedder()) as memory:
        conversation = memory.conversation("a")
        conversation.append({"role": "user", "content": "where does the ferry leave from"})
        assert memory.flush(10)
        assert len(found(memory)) == 4
        assert last.embedded <= 3  # the turn, and queries
        assert memory._engine.indexer.vectorizer.identity.generation == 1


def test_what_is_erased_or_edited_takes_its_vector_along(tmp_path):
    with opened(tmp_path, WordEmbedder()) as memory:
        first, second, third = (memory.remember(text) for text in SAID)
        memory.remember(SAID[0], conversation="a")
        kept = {record.sources[0]: record.payload for record in rows_in(memory)}
        assert len(kept) == 4
        memory.erase(ids=[first])
        new = memory.revise(second, "the mast of the boat is of oak")
        memory.erase(conversation="a")
        found(memory)
        assert {record.sources[0] for record in rows_in(memory)} == {third, new}
    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert kept[first] not in data
    assert kept[second] not in data
    assert kept[third] in data
    with opened(tmp_path, again := WordEmbedder()) as memory:
        assert len(found(memory)) == 2
        assert again.embedded == 1


def test_vectors_of_another_embedder_are_not_mixed(tmp_path):
    with opened(tmp_path, WordEmbedder()) as memory:
        for text in SAID:
            memory.remember(text)
        given = [{"role": "user", "content": f"{text} {n}"} for n in range(9) for text in SAID]
        compact_context(given, memory=memory, embedder=Other(), target_ratio=0.1)
        known = memory.__warmset_keeper__().known(Other())
        _, cosines, _ = known.nearest(Other().embed(SAID), 1)
        assert cosines == pytest.approx(1)
        assert len(rows_in(memory)) == 3
        expected = found(memory)
    with opened(tmp_path, other := Other()) as memory:
        assert [one.text for one in memory.memories()] == SAID[::-1]
        scores = dict(found(memory))
        assert scores != dict(expected)
        assert other.embedded == 4
    with opened(tmp_path, WordEmbedder()) as memory:
        assert found(memory) == expected


def test_an_embedder_that_nobody_knows_again_keeps_nothing(tmp_path):
    class Nameless(WordEmbedder):
        fingerprint = None

    with opened(tmp_path, Nameless()) as memory:
        memory.remember(SAID[0])
        assert found(memory)
        assert rows_in(memory) == []


def test_what_cannot_be_kept_is_kept_another_time(tmp_path, monkeypatch):
    with opened(tmp_path, WordEmbedder()) as memory:
        indexer = memory._engine.indexer
        with indexer.paused():
            memory.remember(SAID[0])
        assert rows_in(memory) == []
        with monkeypatch.context() as patch:
            patch.setattr(indexer.book, "keep", refuse)
            memory.remember(SAID[1])
        assert rows_in(memory) == []
        assert indexer.vectorizer.identity is None
    with opened(tmp_path, again := WordEmbedder()) as memory:
        assert len(found(memory)) == 2
        assert again.embedded == 3
        assert len(rows_in(memory)) == 2


def test_who_only_reads_does_not_even_try_to_store_vectors(tmp_path, monkeypatch):
    """It would take itself for the store's first embedder meanwhile."""
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.remember(SAID[0])
    with Memory.open(tmp_path, embedder=WordEmbedder(), mode="read") as memory:
        indexer = memory._engine.indexer
        monkeypatch.setattr(indexer.book, "keep", lambda *_given: pytest.fail("it tried"))
        assert [text for text, _score in found(memory)] == SAID[:1]
        assert indexer.vectorizer.identity is None


# --- vectors of turns -----------------------------------------------------------------------------


def talk(count):
    return [
        {"role": "assistant" if at % 2 else "user", "content": f"boat {at} is at quay {at * 7}"}
        for at in range(count)
    ]


def compacted(memory, messages, **options):
    forget_vectors()
    options = {"query": "which boat", "target_ratio": 0.3, **options}
    return compact_context(messages, memory=memory, **options)


@pytest.mark.parametrize("of", ["memory", "conversation", "another conversation"])
def test_a_compaction_looks_vectors_of_turns_up(of):
    embedder = WordEmbedder()
    with Memory.open(None, embedder=embedder, views="turn") as memory:
        log = memory.conversation("log")
        log.append(talk(40))
        assert memory.flush(20)
        asked = {
            "memory": memory,
            "conversation": log,
            "another conversation": memory.conversation("other"),
        }[of]
        alone = compact_context(talk(42), query="which boat", target_ratio=0.3, embedder=embedder)
        embedder.embedded = 0
        made = compacted(asked, talk(42))
        assert embedder.embedded == 3  # two new messages, and the query
        assert made.messages == alone.messages
        assert terms(made) == pytest.approx(terms(alone), abs=1e-3)  # kept in half precision


def test_the_vector_of_a_long_turn_is_that_of_all_its_passages():
    class Halves(WordEmbedder):
        fingerprint = "halves"

        def split(self, text):
            middle = len(text) // 2
            return [text[:middle], text[middle:]]

    embedder = Halves()
    with Memory.open(None, embedder=embedder, views="turn") as memory:
        memory.conversation("log").append(talk(20))
        assert memory.flush(20)
        alone = compact_context(talk(20), query="quay", target_ratio=0.3, embedder=embedder)
        embedder.embedded = 0
        made = compacted(memory, talk(20), query="quay")
        assert embedder.embedded == 1
        assert terms(made) == pytest.approx(terms(alone), abs=1e-3)  # kept in half precision


def test_vectors_of_another_tenant_an_erased_turn_or_another_embedder_are_not_looked_up(tmp_path):
    with opened(tmp_path, WordEmbedder()) as memory:
        memory.conversation("log").append(talk(20))
        assert memory.flush(20)
    forget_vectors()
    embedder = WordEmbedder()
    with Memory.open(tmp_path, embedder=embedder, tenant="other") as other:
        compacted(other, talk(20))
        assert embedder.embedded == 21
    embedder = WordEmbedder()
    with opened(tmp_path, embedder) as memory:
        given = Other()
        compacted(memory, talk(20), embedder=given)
        assert given.embedded == 21
        memory.erase(ids=memory.conversation("log").ids[:4])
        assert memory.flush(20)
        embedder.embedded = 0
        compacted(memory, talk(20))
        assert embedder.embedded == 5


def test_what_was_looked_up_is_not_where_a_memory_comes_from(tmp_path):
    said = [*talk(30), {"role": "user", "content": "Where is boat 3?"}]
    said[4] = {"role": "user", "content": "We decided to paint the old ferry green next Tuesday."}
    with opened(tmp_path, WordEmbedder()) as memory:
        source, copy = memory.conversation("source"), memory.conversation("copy")
        source.append(said)
        copy.append(said)  # what a living turn says is not erased with another one
        assert memory.flush(20)
        made = compacted(copy, said, distill_novel=True)
        assert made.stats.distilled > 0
        before = {one.text for one in memory.memories(k=99)}
        memory.erase(conversation="source")
        assert {one.text for one in memory.memories(k=99)} == before


def test_vectors_of_turns_of_another_dialect_are_not_looked_up(tmp_path):
    """What a turn says depends on its dialect, and so does its vector."""
    with opened(tmp_path, WordEmbedder()) as memory:
        use = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "t", "content": "none"}
        id_, *_ = memory.conversation("log").append(
            [
                {"role": "user", "content": SAID[0]},
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [result]},
            ]
        )
        assert memory.flush(20)
        engine, embedder = memory._engine, memory._engine.indexer.vectorizer.embedder
        hashes = [engine.store.hash_of(id_)]
        assert memory.conversation("log").dialect == "anthropic"
        found = {
            dialect: len(turn_vectors(engine, memory.tenant, embedder, hashes, dialect))
            for dialect in ("anthropic", "openai")
        }
    assert found == {"anthropic": 1, "openai": 0}
