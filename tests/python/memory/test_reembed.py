"""Vectors that were made anew: the old ones go, in every process, and nothing else does."""

from __future__ import annotations

import pytest
from bag import Bag
from cold_rows import everything

from warmset import Memory
from warmset.index.vector_catalog import VectorBook
from warmset.index.vectorizer import Vectorizer
from warmset.native import ColdStore
from warmset.store.records import VectorMeta


def said(text):
    return {"role": "user", "content": text}


TALK = ["a car", "a boat on the lake", "a plane", "a word about nothing"]


def vectors(path):
    """The generations of a store's vectors, in order."""
    with ColdStore.open(path, mode="read") as store:
        kept = [record for record in everything(store) if record.kind == "half_embedding"]
    return [VectorMeta.decode(record.meta).generation for record in kept]


@pytest.fixture
def path(tmp_path):
    with Memory.open(tmp_path / "store", embedder=Bag()) as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        assert memory.flush(60)
    return tmp_path / "store"


def test_old_vectors_are_erased_and_a_compaction_drops_them(path):
    first = vectors(path)
    for n in range(4):
        with Memory.open(path, embedder=Bag(fingerprint=f"number {n}")) as memory:
            memory.reembed()
            memory.reembed()
            assert memory.search("automobile", k=1)[0].summary == "a car"
            assert memory.stats()["damaged"] == []
    assert vectors(path) == [9] * len(first)
    with ColdStore.open(path) as store:
        assert store.erasure_report()["pending"] == 8 * len(first)
        assert store.compact().records == 8 * len(first)
        assert store.verify()["damages"] == []
    with Memory.open(path, embedder=Bag(fingerprint="number 3")) as memory:
        assert memory.stats()["rows"] == len(TALK)
        assert memory.stats()["pending"] == 0
        assert memory.search("automobile", k=1)[0].summary == "a car"


@pytest.mark.parametrize("more", [0, 30])
def test_a_renewal_tells_how_far_it_is_up_to_the_whole(path, bag, more):
    seen = []
    with Memory.open(path, embedder=bag) as memory:
        memory.conversation("log").append([said(f"turn {n} of the boat") for n in range(more)])
        memory.reembed(lambda done, total: seen.append((done, total)))
    (total,) = {total for _, total in seen}
    done = [done for done, _ in seen]
    assert done == sorted({*done})
    assert 0 < done[0] <= done[-1] == total


def test_vectors_of_a_renewal_that_failed_go_with_the_next(path, bag):
    first = vectors(path)
    made = []

    def fail(_texts):
        made.append(bag.calls)
        if len(made) > 1:
            raise RuntimeError("no")

    with Memory.open(path, embedder=bag) as memory:
        memory.conversation("log").append([said(f"turn {n} of the boat") for n in range(20)])
        assert memory.flush(60)
        bag.before = fail
        with pytest.raises(Exception, match="no"):
            memory.reembed()
        assert set(vectors(path)) == {1, 2}
        bag.before = lambda _texts: None
        memory.reembed()
    assert set(vectors(path)) == {3}
    assert len(vectors(path)) > len(first)


def test_another_handle_copes_and_reads_no_conversation_again(path, monkeypatch):
    """A tombstone of vectors takes nothing from any conversation."""
    with Memory.open(path, embedder=Bag()) as memory:
        log, ledger = memory.conversation("log"), memory._engine.ledger("default", "log")
        ids = log.ids
        with monkeypatch.context() as patch:
            # In a process of its own the store would be opened once more; so it is here.
            patch.setattr("warmset.engine.leases._places", {})
            with Memory.open(path, embedder=Bag()) as other:
                other.reembed()
        assert memory.search("automobile", k=1)[0].summary == "a car"
        assert memory._engine.ledger("default", "log") is ledger
        assert log.ids == ids
        log.append(said("a train"))
        assert memory.flush(60)
        assert memory.search("train", k=1)[0].summary == "a train"
        assert memory.stats()["failed"] == {}
        assert memory.stats()["damaged"] == []
        memory.reembed()
        assert set(vectors(path)) == {3}


def test_a_busy_store_keeps_the_old_vectors_for_once(path, monkeypatch):
    with ColdStore.open(path, lock_wait=0.0) as store:
        maker = Vectorizer(Bag(), None, durable=True)
        book = VectorBook(store, maker)
        kept = [record for record in everything(store) if record.kind == "half_embedding"]
        maker.seen(2)
        for record in kept:
            book.note(VectorMeta.decode(record.meta), record.seq)
        monkeypatch.setattr(book, "_generation", lambda: 2)
        with ColdStore.open(path, mode="exclusive"):
            assert book.erase_older() == 0
        assert book.erase_older() == len(kept)
        assert book.erase_older() == 0


def test_the_book_of_vectors_may_grow_while_something_is_dropped():
    maker = Vectorizer(Bag(), None, durable=False)
    with ColdStore.open(None) as store:
        book = VectorBook(store, maker)

        def note(of):
            book.note(VectorMeta(of=of, view="turn", dim=1, generation=0), of)

        class Growing(frozenset[int]):
            """What another thread does in the middle of a look."""

            def __contains__(self, id_):
                note(id_ + 1000)
                return super().__contains__(id_)

        for of in range(1, 9):
            note(of)
        book.drop(Growing({3, 5}))
        assert sorted(key[1] for key in book._seqs if key[1] < 1000) == [1, 2, 4, 6, 7, 8]
