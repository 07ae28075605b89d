"""The thread of something in the background: one at a time, whatever cuts off its start."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import pytest

from warmset._support.locks import condition
from warmset.index import at_exit
from warmset.index.background import Background

LOG = logging.getLogger("warmset.index")


class Owner:
    """Counts how often its work was begun; it goes on until `stop`."""

    def __init__(self, error=None):
        self.lock = condition("jobs")
        self.background = Background("warmset-test", LOG, self.lock)
        self.over, self.threads, self.error = threading.Event(), [], error
        self.begun = threading.Semaphore(0)

    def work(self):
        self.threads.append(threading.current_thread())
        self.begun.release()
        if self.error is not None:
            raise self.error
        self.over.wait(30)

    def begin(self):
        with self.lock:
            return self.background.begin(self, self.work)

    def stop(self, seconds):
        self.over.set()
        self.ended = self.background.join(seconds)


@pytest.fixture
def owner():
    made = Owner()
    yield made
    made.stop(30)
    assert made.ended


def test_one_thread_runs_at_a_time(owner):
    assert owner.begin()
    assert owner.begun.acquire(timeout=30)
    assert not owner.begin()
    [thread] = owner.threads
    assert (thread.name, thread.daemon) == ("warmset-test", True)
    assert not owner.background.join(0.01)
    owner.stop(30)
    assert owner.ended
    owner.over.clear()
    assert owner.begin()  # what has ended begins anew
    assert owner.begun.acquire(timeout=30)
    assert len(owner.threads) == 2


def test_nothing_is_waited_for_before_a_thread_was_started(owner, monkeypatch):
    assert owner.background.join(30)

    def cut_off(_self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", cut_off)
        with pytest.raises(KeyboardInterrupt):
            owner.begin()
    assert owner.background.join(30)
    assert owner.begin()
    assert owner.begun.acquire(timeout=30)


def test_a_thread_whose_place_another_one_took_does_nothing(owner, monkeypatch):
    """Ctrl-C may fall behind the start of a thread, before it is seen to run."""
    start, late = threading.Thread.start, []

    def cut_off(thread):
        late.append(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", cut_off)
        with pytest.raises(KeyboardInterrupt):
            owner.begin()
    assert owner.begin()
    assert owner.begun.acquire(timeout=30)
    [first] = late
    start(first)
    first.join(30)
    assert not first.is_alive()
    assert first not in owner.threads
    assert len(owner.threads) == 1


def test_a_thread_learns_under_the_lock_whether_it_has_the_place(owner):
    with owner.lock:
        owner.begin()
        assert not owner.begun.acquire(timeout=0.05)
    assert owner.begun.acquire(timeout=30)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_that_ends_a_thread_is_logged_and_another_one_may_begin(caplog):
    owner = Owner(error=ValueError("a secret"))
    with caplog.at_level("ERROR", logger="warmset.index"):
        for _ in range(2):
            assert owner.begin()
            assert owner.background.join(30)
    assert len(owner.threads) == 2
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all("warmset-test" in line and "ValueError" in line for line in said)
    assert "secret" not in "".join(said)


def test_a_thread_does_not_wait_for_its_own_end():
    owner, found = Owner(), []
    owner.work = lambda: found.append(owner.background.join(30))
    owner.begin()
    assert owner.background.join(30)
    assert found == [True]


def test_what_has_a_thread_is_stopped_at_exit_and_not_kept_alive(owner):
    assert owner not in at_exit._threads
    owner.begin()
    assert owner in at_exit._threads
    gone = Owner()
    gone.over.set()
    gone.begin()
    assert gone.background.join(30)
    seen = weakref.ref(gone)
    del gone
    gc.collect()
    assert seen() is None
