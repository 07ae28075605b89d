"""Ctrl-C at any moment of a call: what is stored is known, as where the store is opened anew."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

import warmset
from warmset import Memory
from warmset._support.forks import Lock
from warmset._support.locks import condition
from warmset.engine import leases
from warmset.errors import NotFound
from warmset.items import NewItem
from warmset.maintenance.exports import export
from warmset.maintenance.transcripts.api import import_transcripts
from warmset.native import ColdStore

PLACES = str(Path(warmset.__file__).parent), contextlib.__file__, threading.__file__
STRIDE = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 31
"""Calls from one interrupt to the next."""


def said(*texts):
    return [{"role": "user", "content": f"{text} of the ferry at the quay"} for text in texts]


def embed(texts):
    return [[1.0, float(len(text)), float(ord(text[0]))] for text in texts]


def opened(path, **given):
    return Memory.open(path, embedder=embed, durability="os", **given)


class CutOff:
    """Raises `KeyboardInterrupt` where a signal may: behind the n-th call of the package.

    Args:
        after: The n.
        returns: Functions that also end in it, so that what they return is lost.
    """

    def __init__(self, after, returns=()):
        self.left = after
        self._returns = returns

    def __enter__(self):
        sys.setprofile(self._step)

    def __exit__(self, *_error):
        sys.setprofile(None)

    def _step(self, frame, event, _value):
        code = frame.f_code
        if event == "return" and code.co_name not in self._returns:
            return
        if event == "c_call" or not code.co_filename.startswith(PLACES):
            return
        if code.co_filename.endswith("lock_checks.py"):  # which only tests have
            return
        if code.co_filename == threading.__file__ and code.co_name != "start":
            return
        if event == "call" and code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
            return
        self.left -= 1
        if not self.left:
            sys.setprofile(None)
            raise KeyboardInterrupt


def known(memory):
    """Return what a memory knows of its conversation, in every way that may differ."""
    talk = memory.conversation("log")
    window = talk.window("where is the ferry?", budget=2_000)
    steady = talk.window("where is the ferry?", budget=2_000, mode="steady")
    found = talk.search("ferry quay", k=20)
    return (
        [turn.id for turn in talk],
        [message["content"] for message in window.messages],
        [message["content"] for message in steady.messages],
        sorted(hit.id for hit in found),
        memory.stats()["messages"],
        [one.text for one in memory.memories()],
        [(one.memory_id, one.text) for one in memory.items.query("the ferry")],
    )


def written(path, text):
    """Return the files of a store that have a text."""
    return [one.name for one in path.rglob("*") if one.is_file() and text in one.read_bytes()]


def append(memory, _other):
    memory.conversation("log").append(said("d", "e"))


def append_keyed(memory, _other):
    memory.conversation("log").append(said("d", "e"), key=["one", "two"])


def shorten(memory, _other):
    memory.conversation("log").sync(said("a", "x"))


def go_back(memory, _other):
    memory.conversation("log").truncate(memory.conversation("log").ids[1])


def read_another(memory, other):
    other.conversation("log").append(said("f", "g"))
    len(memory.conversation("log"))


def erase(memory, _other):
    memory.erase(ids=[memory.conversation("log").ids[1]])


def go_steady(memory, _other):
    memory.conversation("log").window("where is the ferry?", budget=2_000, mode="steady")


def remember(memory, _other):
    memory.remember("the ferry leaves at nine", memory_id="ferry")


def pin(memory, _other):
    memory.remember("the ferry leaves at nine", memory_id="ferry")
    memory.pin("ferry")


def look(memory, _other):
    talk = memory.conversation("log")
    talk.append(said("Change: the ferry leaves at 10 instead of 9."))
    talk.window("when does the ferry leave?", budget=1_000)
    talk.search("when does the ferry leave?")


def _note(text):
    return NewItem(memory_type="note", text=text, memory_id="ferry")


def put_item(memory, _other):
    memory.items.put(_note("the ferry leaves at nine"))


def supersede_item(memory, _other):
    memory.items.supersede(
        "turn:1", NewItem(memory_type="note", text="a: the ferry", memory_id="a")
    )


def pop(memory, _other):
    memory.conversation("log").pop()


def forget(memory, _other):
    memory.conversation("log").pop(forget=True)


def rebuild(memory, _other):
    memory.rebuild_index()


CALLS = [
    pop,
    forget,
    rebuild,
    append,
    append_keyed,
    shorten,
    go_back,
    read_another,
    erase,
    go_steady,
    remember,
    pin,
    look,
    put_item,
    supersede_item,
]


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_call_that_is_cut_off_leaves_what_is_stored_known(call, mode, tmp_path):
    if call is read_another and mode == "exclusive":
        pytest.skip("an exclusive store has no other process")
    for number, after in enumerate(count(1, STRIDE)):
        path = tmp_path / str(number)
        with opened(path, mode=mode) as memory:
            other = opened(path, mode=mode) if mode == "shared" else None
            memory.conversation("log").append(said(*"abc"))
            try:
                with CutOff(after):
                    call(memory, other)
            except KeyboardInterrupt:
                done = False
            else:
                done = True
            # What was embedded just when it was to be read again is tried once more.
            assert memory.flush(10) or memory.flush(10)
            seen = known(memory)
            if call is erase and 2 not in seen[0]:
                assert not written(path, b"b of the ferry"), after
            reached = threading.Thread(target=lambda: memory.conversation("log").append(said("z")))
            reached.start()
            reached.join(10)
            assert not reached.is_alive(), "a lock stayed taken"
            seen = known(memory)
            if other is not None:
                other.close()
        with opened(path) as anew:
            assert seen == known(anew), after
        if done:
            return


def test_an_erasure_that_was_cut_off_is_finished_once(tmp_path, monkeypatch):
    with opened(tmp_path, mode="exclusive") as memory:
        talk, engine = memory.conversation("log"), memory._engine
        talk.append(said(*"abc"))
        assert memory.flush(10)
        rewrites = []

        def compact():
            rewrites.append(1)
            if len(rewrites) == 1:
                raise KeyboardInterrupt
            return plain()

        plain, store = engine.store.compact, Wrapped(engine.store, compact=compact)
        monkeypatch.setattr(engine, "store", store)
        with pytest.raises(KeyboardInterrupt):
            memory.erase(ids=[talk.ids[1]])
        assert written(tmp_path, b"b of the ferry")
        assert talk.ids == [1, 3]
        assert not written(tmp_path, b"b of the ferry")
        len(talk)
        talk.append(said("d"))
        assert len(rewrites) == 2


class Wrapped:
    """A store with some calls of its own."""

    def __init__(self, store, **calls):
        self._store = store
        vars(self).update(calls)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_an_erasure_that_a_process_did_not_finish_is_finished_where_it_is_asked_for_again(tmp_path):
    with opened(tmp_path) as memory:
        talk = memory.conversation("log")
        talk.append(said(*"abc"))
        gone = talk.ids[1]
        assert memory.flush(10)
        memory._engine.store.erase(records=[gone])  # and no more: the process was killed
    with opened(tmp_path) as memory:
        assert written(tmp_path, b"b of the ferry")
        with pytest.raises(NotFound):
            memory.erase(ids=[gone])
        assert not written(tmp_path, b"b of the ferry")
        assert memory.conversation("log").ids == [1, 3]


def test_a_question_whose_vector_was_cut_off_is_answered_when_it_is_asked_again(tmp_path):
    with opened(tmp_path) as memory:
        talk = memory.conversation("log")
        talk.append(said(*"abc"))
        assert memory.flush(10)
        for after in count(1):
            question, found = f"what is {after}?", []
            try:
                with CutOff(after):
                    talk.search(question)
            except KeyboardInterrupt:
                done = False
            else:
                done = True
            again = threading.Thread(target=lambda: found.extend(talk.search(question, k=9)))  # noqa: B023
            again.daemon = True
            again.start()
            again.join(10)
            assert {hit.id for hit in found} == set(talk.ids), after
            assert all(hit.terms["dense"] for hit in found), after
            if done:
                return


def test_items_that_were_taken_up_by_a_call_that_was_cut_off_are_taken_up_again(tmp_path):
    with opened(tmp_path, mode="exclusive") as memory:
        memory.conversation("log").append(said("a"))
        memory.items.put(_note("the ferry leaves at nine"))
        shelf = memory.items.sources.shelf()
        before = shelf.version, shelf.removals
        plain = shelf._items
        shelf._items = Cut(plain)
        with pytest.raises(KeyboardInterrupt):
            memory.items.supersede("turn:1", _note("the ferry leaves at ten"))
        assert plain is not shelf._items
        assert [one.text for one in memory.items.query("the ferry")] == ["the ferry leaves at ten"]
        assert dict(shelf.heirs()) == {"turn:1": shelf.named("ferry").id}
        assert memory.flush(10)
        [found] = memory.items.query("the ferry")
        assert not {shelf.version, shelf.removals} & set(before)
    with opened(tmp_path) as anew:
        assert [found.score] == [one.score for one in anew.items.query("the ferry")]


class Cut:
    """What the core knows of items; Ctrl-C comes behind what it gives."""

    def __init__(self, items):
        self._items = items

    def refresh(self, log):
        changed = self._items.refresh(log)
        if any(changed):
            raise KeyboardInterrupt
        return changed

    def __getattr__(self, name):
        return getattr(self._items, name)


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_what_an_import_appended_before_it_was_cut_off_is_known(mode, tmp_path, monkeypatch):
    made = tmp_path / "made.jsonl"
    with opened(tmp_path / "from") as memory:
        memory.conversation("log").append(said(*"abc"))
    with ColdStore.open(tmp_path / "from") as store, made.open("w") as file:
        export(store, file)
    with opened(tmp_path / "to", mode=mode) as memory:
        engine, start = memory._engine, memory._engine.store.stats()["next_seq"]

        def follow_all():
            if engine.store.stats()["next_seq"] > start:
                raise KeyboardInterrupt
            return plain()

        plain = engine.follow_all
        with monkeypatch.context() as patch:
            patch.setattr(engine, "follow_all", follow_all)
            with pytest.raises(KeyboardInterrupt):
                import_transcripts(memory, [made])
        seen = known(memory)
        assert len(seen[0]) == 3
    with opened(tmp_path / "to") as anew:
        assert seen == known(anew)


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_an_opening_that_is_cut_off_leaves_nothing_open(mode, first, tmp_path):
    """Neither a lock, which would keep this process out for good, nor a thread."""

    def open_it():
        return opened(tmp_path, mode=mode, summary_line=lambda _text: "one line")

    with opened(tmp_path) as memory:  # neither vectors nor lines are there yet
        memory._engine.indexer.end()
        memory.conversation("log").append(said(*"abc"))
    before, place = set(threading.enumerate()), os.path.realpath(tmp_path)
    for after in count(1, STRIDE // 3 + 1):
        made, other = None, None if first else open_it()
        try:
            with CutOff(after, returns=("__init__", "_opened", "_shared")):
                made = open_it()
        except KeyboardInterrupt:
            pass
        assert (place in leases._places) == (made is not None or other is not None)
        for one in (other, made):
            if one is not None:
                one.close(timeout=0)
        for thread in set(threading.enumerate()) - before:
            if thread.ident is not None:  # it was begun
                thread.join(10)
                assert not thread.is_alive(), (after, thread.name)
        assert place not in leases._places
        if made is not None:
            break
    with opened(tmp_path, mode="exclusive") as memory:
        assert len(memory.conversation("log")) == 3


def test_the_threads_of_a_memory_run_once_each(tmp_path):
    with opened(tmp_path, summary_line=lambda _text: "one line") as memory:
        memory.conversation("log").append(said(*"abc"))
        assert memory.flush(10)
        engine = memory._engine
        for one, held in (
            (engine.indexer, engine.indexer._wake),
            (engine.describing, engine.describing._changed),
        ):
            with held:
                assert not one._background.begin(one, one._run)


def test_a_stack_takes_the_locks_that_a_block_does():
    for one in (Lock(), condition("jobs")):
        with contextlib.ExitStack() as stack:
            stack.enter_context(one)
        with one, one:
            pass
        free = threading.Thread(target=lambda one=one: one.__enter__() and one.__exit__())
        free.start()
        free.join(5)
        assert not free.is_alive()
