"""Nothing ends the thread that makes vectors: what went wrong is tried again."""

from __future__ import annotations

import errno
import threading
from asyncio import CancelledError

import pytest

from warmset import Memory
from warmset.errors import StoreIOError
from warmset.index import indexer


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


@pytest.fixture
def once():
    """Returns a function that raises what it is given, the first time it is called."""
    raised = []

    def first(error):
        if not raised:
            raised.append(error)
            raise error

    return first


@pytest.mark.parametrize("error", [CancelledError(), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_an_embedder_that_ends_its_thread_has_failed_once(bag, once, error):
    bag.before = lambda _texts: once(error)
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append(said("a boat", "a crane", "a lamp"))
        assert memory.flush(30)
        assert memory.stats()["pending"] == 0
        assert len(memory.search("crane", k=9).ids) == 3
        assert bag.calls >= 4, "together, and then each alone"


def test_turns_that_did_not_fit_are_looked_for_again(bag, once, monkeypatch, caplog):
    monkeypatch.setattr(indexer, "QUEUED", 2)
    with Memory.open(None, embedder=bag) as memory:
        engine, flushing = memory._handle.live(), threading.Event()
        wanted, settle = engine.indexer._wanted, engine.indexer.settle

        def unread(first):
            assert flushing.wait(30)
            once(StoreIOError(errno.EIO, "no disk"))
            return wanted(first)

        def settling(timeout):
            flushing.set()
            return settle(timeout)

        engine.indexer._wanted, engine.indexer.settle = unread, settling
        memory.conversation("log").append(said(*(f"boat {n}" for n in range(20))))
        assert not memory.flush(None), "it does not wait until the next look"
        told = [one for one in caplog.records if one.event == "fell_back"]
        seen = [(one.what, one.error, one.turns) for one in told]
        assert seen == [("vectors", "StoreIOError", 0)]
        assert memory.stats()["pending"] > 0
        assert memory.flush(30)
        assert len(memory.search("boat", k=50).ids) == 20
        assert engine.indexer.complete()


def test_an_append_waits_for_room_in_a_full_queue(bag, monkeypatch):
    monkeypatch.setattr(indexer, "QUEUED", 2)
    monkeypatch.setattr(indexer, "ROOM", 60.0)
    held, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def wait(_texts):
        held.set()
        assert go_on.wait(60)

    bag.before = wait
    with Memory.open(None, embedder=bag) as memory:

        def append():
            memory.conversation("log").append(said(*(f"boat {n}" for n in range(4))))
            done.set()

        thread = threading.Thread(target=append)
        thread.start()
        assert held.wait(30)
        assert not done.wait(0.3)
        go_on.set()
        thread.join(30)
        assert done.is_set()
        assert memory.flush(30)
