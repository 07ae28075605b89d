"""What is embedded of a turn, and how many at once: views, batches, what is searched in the end."""

from __future__ import annotations

import numpy as np
import pytest
from bag import Bag
from cold_rows import everything

from warmset import Memory
from warmset.embed.base import context_share
from warmset.engine import index_file
from warmset.errors import InvalidInputError
from warmset.index import batch_size as pace, indexer as indexing, vectorizer
from warmset.index.batch_size import LEAST, MOST, QUICK, Pace
from warmset.index.rows import mean
from warmset.index.vectorizer import Vectorizer
from warmset.lab.corpus.remembering import Remembering
from warmset.native import ColdStore
from warmset.store.records import EMBEDDING, Job, VectorMeta, as_kept

LONG = " ".join(f"lake {n} is frozen" for n in range(200))
TALK = ["a car", "a boat on the lake", "", "a plane", LONG, "a word about nothing"]


def said(text):
    return {"role": "user", "content": text}


def views(path):
    """What the store has vectors of, in order."""
    with ColdStore.open(path, mode="read") as store:
        kept = [record for record in everything(store) if record.kind == "half_embedding"]
    metas = [VectorMeta.decode(record.meta) for record in kept]
    return [(meta.of, meta.view) for meta in metas]


def dense(memory, query="a boat"):
    """What each turn's rows score, by id."""
    return {hit.id: hit.terms["dense"] for hit in memory.search(query, k=20)}


class Asking(Bag):
    """Asks for a part of the context."""

    context_share = 0.7


# --- views ----------------------------------------------------------------------------------------


def test_a_turn_alone_is_half_the_work(tmp_path, bag):
    with Memory.open(tmp_path, embedder=bag, views="turn") as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        memory.conversation("log").append(said("the end"))
        assert memory.flush(20)
        assert memory.stats()["views"] == "turn"
        assert (memory.stats()["pending"], memory.stats()["ready"]) == (0, len(TALK))
        scores = dense(memory)
        rows = {
            id_: as_kept(bag.embed(bag.split(text)))
            for id_, text in zip((1, 2, 4), TALK, strict=False)
        }
    del rows[4]
    (query,) = bag.embed(["a boat"])
    for id_, own in rows.items():
        assert scores[id_] == pytest.approx(float((own @ query).max()), abs=1e-5)
    assert {view for _, view in views(tmp_path)} == {"turn"}


def test_either_way_makes_what_lacks_and_nothing_twice(tmp_path, bag):
    with Memory.open(tmp_path, embedder=bag, views="turn") as memory:
        memory.conversation("log").append([said(text) for text in TALK * 30])
        assert memory.flush(20)
        alone = dense(memory)
    turns = views(tmp_path)
    bag.texts = []
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert memory.flush(20)
        assert memory.stats()["views"] == "both"
        assert all("\n" in text for text in bag.texts)
        both = dense(memory)
    contexts = views(tmp_path)[len(turns) :]
    assert {view for _, view in contexts} == {"context"}
    assert len(contexts) == len(set(contexts)) > 60
    bag.texts = []
    with Memory.open(tmp_path, embedder=bag, views="turn") as memory:
        assert dense(memory) == alone != both
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert dense(memory) == both
    assert bag.texts == ["a boat"] * 2
    assert len(views(tmp_path)) == len(turns) + len(contexts)


def test_the_file_of_the_index_is_of_one_way(tmp_path, bag):
    with Memory.open(tmp_path, embedder=bag) as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(150)])
        assert memory.flush(20)
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert memory.stats()["index"]["source"] == "file"
    with Memory.open(tmp_path, embedder=bag, views="turn") as memory:
        assert "vectors of another" in memory.stats()["index"]["why"]


def test_vectors_made_anew_are_of_the_way_it_is_open(tmp_path, bag):
    with Memory.open(tmp_path, embedder=bag) as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        assert memory.flush(20)
    with Memory.open(tmp_path, embedder=bag, views="turn") as memory:
        memory.reembed()
        alone = dense(memory)
    assert {view for _, view in views(tmp_path)} == {"turn"}
    with Memory.open(tmp_path, embedder=bag, views="turn") as memory:
        assert dense(memory) == alone


def test_handles_on_one_path_agree(tmp_path, bag):
    with (
        Memory.open(tmp_path, embedder=bag, views="turn"),
        pytest.raises(InvalidInputError, match="views='turn'"),
    ):
        Memory.open(tmp_path, embedder=bag)


# --- batches --------------------------------------------------------------------------------------


def test_batches_grow_while_they_are_quick_and_full():
    sizes, made = [], Pace()
    for _ in range(8):
        sizes.append(made.size)
        made.took(made.size, QUICK / 2)
    assert sizes == [LEAST * 2**n for n in range(6)] + [MOST] * 2
    made.took(made.size, 3 * QUICK)
    assert made.size == MOST // 2
    made.took(made.size, 1.5 * QUICK)
    made.took(made.size - 1, QUICK / 2)
    assert made.size == MOST // 2
    made.failed()
    assert made.size == LEAST
    made.took(LEAST, 100.0)
    assert made.size == LEAST


@pytest.mark.parametrize("slow", [False, True])
def test_a_quick_embedder_has_larger_batches(bag, monkeypatch, slow):
    monkeypatch.setattr(pace, "QUICK", 0.0 if slow else 60.0)
    counts = []
    bag.before = lambda texts: counts.append(len(texts))
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(300)])
        assert memory.flush(20)
    assert sum(counts) == 599
    assert max(counts) == (LEAST if slow else 256)


def test_texts_are_read_and_cut_once_a_batch(bag, monkeypatch):
    reads, cuts = [], []
    with Memory.open(None, embedder=bag) as memory:
        engine = memory._engine
        kept, split = engine.text, bag.split
        monkeypatch.setattr(engine, "text", lambda id_: reads.append(id_) or kept(id_))
        monkeypatch.setattr(bag, "split", lambda text: cuts.append(text) or split(text))
        memory.conversation("log").append([said(text) for text in ("one", "two", "three")])
        assert memory.flush(20)
    assert sorted(reads) == sorted(set(reads))
    assert sorted(cuts) == ["one", "three", "two"]


def test_a_turn_is_published_once_with_all_that_came(bag, monkeypatch):
    puts = []
    with Memory.open(None, embedder=bag) as memory:
        searched = memory._engine.indexer._searched
        put = searched._put
        monkeypatch.setattr(searched, "_put", lambda *given: puts.append(given) or put(*given))
        memory.conversation("log").append([said(text) for text in ("one", "two", "three")])
        assert memory.flush(20)
        first, _, last = puts
        own, context = (as_kept(bag.embed([text])[0]) for text in ("one", "one\ntwo"))
        assert np.array_equal(mean(*first[1:]), ((own + context) * np.float32(0.5))[None])
        assert [id_ for id_, *_ in puts] == [1, 2, 3]
        assert last[2] is None


def test_an_embedder_may_ask_for_more_of_the_context(tmp_path, bag):
    texts = ["a car", "a boat on the lake", "a plane"]

    def scores(embedder):
        with Memory.open(tmp_path, embedder=embedder) as memory:
            log = memory.conversation("log")
            if not log.ids:
                log.append([said(text) for text in texts * 40])
            assert memory.flush(20)
            return dense(memory)

    half = scores(bag)
    query = bag.embed(["a boat"])[0]
    own = as_kept(bag.embed([texts[1]])[0]) @ query
    context = as_kept(bag.embed(["\n".join(texts)])[0]) @ query
    assert half[2] == pytest.approx(own * 0.5 + context * 0.5, abs=1e-4)
    more = scores(Asking())  # the same vectors: the saved index alone differs
    assert more[2] == pytest.approx(own * 0.3 + context * 0.7, abs=1e-4)
    assert abs(more[2] - half[2]) > 0.01
    assert scores(Asking()) == more
    assert scores(bag) == half


def test_vectors_of_an_earlier_version_are_searched_as_those_of_this_one(
    tmp_path, bag, monkeypatch
):
    def full(self, key, rows, others=()):
        kind, key, meta, _, sources = halves(self, key, rows, others)
        assert kind == "half_embedding"
        return EMBEDDING, key, meta, rows.astype("<f4").tobytes(), sources

    halves = VectorMeta.draft
    texts = [f"a boat on lake {n}" for n in range(150)]
    with Memory.open(tmp_path / "new", embedder=bag) as memory:
        memory.conversation("log").append([said(text) for text in texts])
        assert memory.flush(20)
        expected = dense(memory)
    with monkeypatch.context() as patch:
        patch.setattr(VectorMeta, "draft", full)
        patch.setattr(vectorizer, "as_kept", lambda rows: rows)
        with Memory.open(tmp_path / "old", embedder=bag) as memory:
            memory.conversation("log").append([said(text) for text in texts])
            assert memory.flush(20)
    bag.texts = []
    (tmp_path / "old" / index_file.NAME).unlink()
    with Memory.open(tmp_path / "old", embedder=bag) as memory:
        assert memory.stats()["index"]["source"] == "records"
        assert (memory.stats()["pending"], memory.stats()["damaged"]) == (0, [])
        assert dense(memory) == expected
        assert not set(bag.texts) & set(texts)


def test_a_turn_without_context_is_itself_whatever_is_asked_for(bag):
    own, context = bag.embed(["one"]), bag.embed(["one two"])
    assert np.array_equal(mean(own, None, 0.7), own)
    passages = bag.embed(["one", "two"])
    assert np.array_equal(mean(passages, context, 0.7), passages)
    assert context_share(bag) == 0.5
    assert context_share(Remembering(bag)) == 0.5
    assert context_share(Remembering(Asking())) == 0.7


def test_an_erasure_waits_for_a_batch_of_any_size(bag, monkeypatch):
    monkeypatch.setattr(pace, "QUICK", 60.0)
    monkeypatch.setattr(indexing, "ROOM", 0.0)
    with Memory.open(None, embedder=bag) as memory:
        for name in "ab":
            memory.conversation(name).append([said(f"turn {n} of {name}") for n in range(200)])
        memory.erase(conversation="b")
        assert memory.flush(20)
        assert (memory.stats()["pending"], memory.stats()["ready"]) == (0, 200)
        assert memory.stats()["rows"] == 200
        assert memory._engine.indexer._searched._rows.keys() == {200}


def test_a_vectorizer_wants_what_it_makes(bag):
    jobs = [Job(1, "turn"), Job(1, "context")]
    for contexts in (True, False):
        made = Vectorizer(bag, None, durable=True, contexts=contexts)
        assert list(made.wanted(jobs)) == (jobs if contexts else jobs[:1])
