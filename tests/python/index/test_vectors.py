"""What is embedded of a turn, which vectors are kept and searched, and whose they are."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest
from bag import Bag

from warmset import Memory
from warmset._core import Retriever
from warmset.errors import EmbedderMismatch
from warmset.index.labels import Numbers
from warmset.index.query_vectors import CACHED, QueryVectors
from warmset.index.rows import Searched, mean
from warmset.index.vector_catalog import VectorBook
from warmset.index.vectorizer import CONTEXT_WORDS, Vectorizer
from warmset.native import ColdStore
from warmset.store.records import Identity, Job, VectorMeta, as_kept

KEY = [b"tenant", b"log"]


class Turns:
    """A source of turns in a row."""

    def __init__(self, *texts):
        self._texts = dict(enumerate(texts, 1))

    def text(self, id_):
        return self._texts[id_]

    def neighbours(self, id_):
        return (id_ - 1 if id_ > 1 else None), (id_ + 1 if id_ + 1 in self._texts else None)

    def key(self, _id):
        return KEY


def jobs(*ids):
    return [Job(id_, view) for id_ in ids for view in ("turn", "context")]


def words(name, count):
    return " ".join(f"{name}{at}" for at in range(count))


def test_a_context_has_the_end_of_the_turn_before_and_the_beginning_of_the_one_behind():
    n = CONTEXT_WORDS
    source, bag = Turns(words("a", n + 5), words("b", 3), words("c", n + 5)), Bag()
    Vectorizer(bag, source, durable=False).vectors([Job(2, "context")])
    before, own, behind = bag.texts[0].split("\n")
    assert before.split() == [f"a{at}" for at in range(5, n + 5)]
    assert own == source.text(2)
    assert behind.split() == [f"c{at}" for at in range(n)]


def test_vectors_are_erased_with_each_turn_whose_words_they_have():
    made = Vectorizer(Bag(), Turns("a one", "a two", "a three"), durable=False)
    rows = made.vectors(jobs(1, 2, 3))
    sources = {
        (meta.of, meta.view): set(draft[4])
        for draft in made.drafts(rows)
        for meta in [VectorMeta.decode(draft[2])]
    }
    assert sources == {
        **{(id_, "turn"): {id_} for id_ in (1, 2, 3)},
        (1, "context"): {1, 2},
        (2, "context"): {1, 2, 3},
        (3, "context"): {2, 3},
    }


def test_each_job_gets_its_own_rows():
    texts = ("a car", words("long", 400), "a boat")
    bag = Bag()
    asked = [Job(1, "turn"), Job(2, "context"), Job(2, "turn"), Job(3, "context"), Job(3, "turn")]
    found = dict(Vectorizer(bag, Turns(*texts), durable=False).vectors(asked))
    assert [*found] == [asked[0], *asked[2:]], "a long turn has no context"
    for job, rows in found.items():
        own = texts[job.id - 1]
        end = " ".join(texts[1].split()[-CONTEXT_WORDS:])
        passages = bag.split(own) if job.view == "turn" else [f"{end}\n{own}"]
        assert np.array_equal(rows, as_kept(bag.embed(passages)))


@pytest.mark.parametrize("given", [Bag(dim=32), Bag(fingerprint="other")])
def test_another_embedder_or_length_is_a_mismatch(given):
    stored = Identity(name="bag of words", fingerprint="bag", dim=64, generation=1)
    made = Vectorizer(given, Turns("a"), durable=False)
    assert made.mismatch() is None
    made.remember(stored)
    assert made.mismatch() is not None
    with pytest.raises(EmbedderMismatch):
        made.vectors([Job(1, "turn")])
    with pytest.raises(EmbedderMismatch):
        made.query("a")
    same = Vectorizer(Bag(), Turns("a"), durable=False)
    same.remember(stored)
    assert same.mismatch() is None


def test_a_context_counts_half_and_only_beside_a_single_passage():
    one, two, context = (np.full((n, 2), v, np.float32) for n, v in ((1, 1.0), (2, 1.0), (1, 3.0)))
    assert np.array_equal(mean(one, context), np.full((1, 2), 2.0))
    assert mean(one, None) is one
    assert mean(two, context) is two


def test_a_row_is_held_until_its_context_is_there_and_no_longer():
    with ColdStore.open(None) as store:
        book = VectorBook(store, Vectorizer(Bag(), Turns("a"), durable=False))
        retriever = Retriever()
        retriever.add(1, (1, 1, 0, 0, 1, 1, 0, True), "a")
        searched = Searched(lambda: retriever, book, contexts=True)
        own, context = np.array([[1, 0]], np.float32), np.array([[0, 1]], np.float32)
        held = weakref.ref(own)
        searched.publish([(Job(1, "turn"), own)])
        del own
        assert held() is not None
        searched.publish([(Job(1, "context"), context)])
        assert held() is None


# --- the book -------------------------------------------------------------------------------------


def put(store, made, book, id_, generation):
    meta = VectorMeta(of=id_, view="turn", dim=2, generation=generation)
    (seq,) = store.append([meta.draft(KEY, np.full((1, 2), generation, np.float32))])
    made.seen(generation)
    return seq, book.note(meta, seq)


def test_vectors_of_earlier_embedders_are_erased_and_no_others():
    made = Vectorizer(Bag(), Turns("a", "b"), durable=False)
    with ColdStore.open(None) as store:
        store.append([("turn", KEY, b"{}", b"{}", ()) for _ in "ab"])
        book = VectorBook(store, made)
        made.remember(Identity(name="bag", fingerprint="bag", dim=2, generation=1))
        first = [put(store, made, book, id_, 1) for id_ in (1, 2)]
        twin = put(store, made, book, 1, 1)  # another process made the same
        assert [new for _, new in [*first, twin]] == [True] * 3
        assert book.note(VectorMeta(of=1, view="turn", dim=2, generation=1), twin[0]) is False
        assert (book.turns(), book.erase_older()) == (2, 0)
        made.remember(Identity(name="bag", fingerprint="bag", dim=2, generation=2))
        assert (book.turns(), book.read(Job(1, "turn"))) == (0, None)
        put(store, made, book, 1, 2)
        assert book.erase_older() == 3, "with the one that was made twice"
        assert np.array_equal(book.read(Job(1, "turn")), np.full((1, 2), 2.0))
        assert (Job(1, "turn") in book, Job(2, "turn") in book) == (True, False)
        assert book.erase_older() == 0
        made.seen(7)
        made.seen(5)
        assert made.begin(2).generation == 8


def test_vectors_that_were_erased_with_a_neighbour_are_to_be_made_again():
    made = Vectorizer(Bag(), Turns("a", "b"), durable=False)
    made.remember(Identity(name="bag", fingerprint="bag", dim=2, generation=1))
    job = Job(1, "context")
    with ColdStore.open(None) as store:
        store.append([("turn", KEY, b"{}", b"{}", ()) for _ in "ab"])
        book = VectorBook(store, made)
        meta = VectorMeta(of=1, view="context", dim=2, generation=1)
        (seq,) = store.append([meta.draft(KEY, np.ones((1, 2), np.float32), [2])])
        assert book.note(meta, seq)
        assert (book.read(job) is None, job in book) == (False, True)
        store.erase(records=[2])
        assert (book.read(job) is None, job in book) == (True, False)


def test_names_get_numbers_of_their_own_after_an_index_was_loaded():
    numbers = Numbers()
    numbers.restore([["speaker", "ann"], ["tenant", "ann"]], [9, 4])
    assert (numbers.of("speaker", "ann"), numbers.of("tenant", "ann")) == (9, 4)
    fresh = [numbers.of("speaker", str(n)) for n in range(20)]
    assert len({*fresh, 9, 4, 0}) == 23
    numbers.forget("speaker", "ann")
    assert numbers.of("speaker", "ann") not in {*fresh, 9, 4}


# --- queries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("remote", [False, True])
def test_a_search_with_an_embedder_that_is_not_the_stores_is_refused(tmp_path, remote):
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        memory.conversation("log").append({"role": "user", "content": "the car"})
        assert memory.flush(30)
    other = Bag(fingerprint="other", remote=remote)
    with Memory.open(tmp_path, embedder=other) as memory, pytest.raises(EmbedderMismatch):
        memory.search("automobile", wait=30.0)


def test_queries_that_were_asked_last_are_kept():
    bag = Bag()
    cache = QueryVectors(Vectorizer(bag, Turns("a"), durable=False))
    names = [f"query {n}" for n in range(CACHED)]
    for name in names:
        cache.get(name, 1.0)
    cache.get(names[0], 1.0)
    assert bag.calls == CACHED
    cache.get("one more", 1.0)
    for name in (names[0], *names[2:], "one more"):
        cache.get(name, 1.0)
    assert bag.calls == CACHED + 1
    cache.get(names[1], 1.0)
    assert bag.calls == CACHED + 2, "it had to leave"


def test_a_context_that_had_no_neighbour_while_it_was_read_is_made_when_it_has_one(tmp_path):
    bag, at, go_on = Bag(), threading.Semaphore(0), threading.Semaphore(0)

    def wait(_texts):
        at.release()
        assert go_on.acquire(timeout=60)

    with Memory.open(tmp_path, embedder=bag) as memory:
        log = memory.conversation("a")
        bag.before = wait
        log.append({"role": "user", "content": "first"})
        assert at.acquire(timeout=60)  # the first one's own vector is made
        log.append([{"role": "user", "content": "second"}] * 2)  # and its context is to be
        log.truncate(log.ids[0])
        go_on.release()
        assert at.acquire(timeout=60)  # it was read, without a neighbour
        log.append({"role": "user", "content": "third"})
        bag.before = lambda _texts: None
        go_on.release()
        assert memory.flush(60)
        made = [text for text in bag.texts if text.startswith("first\n")]
        assert made == ["first\nthird"]
