"""A few new jobs wait until whoever appended them has had the core for a moment."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from warmset import Memory
from warmset.embed import FunctionEmbedder
from warmset.index import linger as lingering
from warmset.index.linger import LONGEST, QUIET, Linger

FAR = -1e9  # no query was embedded for a long time


def test_a_job_waits_until_it_was_quiet_for_a_moment():
    linger = Linger(16)
    linger.queued(10.0)
    assert linger.left(10.0, 1, FAR) == pytest.approx(QUIET)
    assert linger.left(10.0 + QUIET / 2, 1, FAR) == pytest.approx(QUIET / 2)
    linger.queued(10.0 + QUIET / 2)
    assert linger.left(10.0 + QUIET, 2, FAR) == pytest.approx(QUIET / 2)
    assert linger.left(10.0 + 2 * QUIET, 2, FAR) == 0


def test_a_job_waits_while_a_query_is_embedded_and_a_moment_behind_it():
    linger = Linger(16)
    linger.queued(10.0)
    assert linger.left(10.0 + 3 * QUIET, 1, None) == pytest.approx(LONGEST - 3 * QUIET)
    asked = 10.0 + 2 * QUIET
    assert linger.left(asked, 1, asked) == pytest.approx(QUIET)
    assert linger.left(asked + 1.01 * QUIET, 1, asked) == 0


def test_no_job_waits_longer_than_the_most():
    linger, now = Linger(16), 10.0
    while now < 10.0 + 2 * LONGEST:
        linger.queued(now)
        left = linger.left(now, 1, None)
        assert left == pytest.approx(max(10.0 + LONGEST - now, 0.0))
        now += QUIET / 2
    assert linger.left(now, 1, None) == 0


def test_a_batch_does_not_wait():
    linger = Linger(16)
    linger.queued(10.0)
    assert linger.left(10.0, 15, None) > 0
    assert linger.left(10.0, 16, None) == 0


def test_who_is_waited_for_does_not_wait_and_the_next_one_does():
    linger = Linger(16)
    linger.queued(10.0)
    linger.hurry()
    assert linger.left(10.0, 1, None) == 0
    linger.queued(20.0)
    assert linger.left(20.0, 1, FAR) == pytest.approx(QUIET)


class Calls:
    """An embedder that notes what it was called with."""

    def __init__(self):
        self.texts = []
        self.called = threading.Event()

    def __call__(self, texts):
        self.texts += texts
        self.called.set()
        return np.ones((len(texts), 4), np.float32)


@pytest.fixture
def patient(monkeypatch):
    """Jobs that wait for ever, unless somebody waits for them."""
    monkeypatch.setattr(lingering, "QUIET", 1e6)
    monkeypatch.setattr(lingering, "LONGEST", 1e6)


@pytest.mark.usefixtures("patient")
def test_a_windows_query_is_embedded_before_the_turns_that_were_just_appended():
    calls = Calls()
    with Memory.open(None, embedder=FunctionEmbedder(calls, name="calls")) as memory:
        chat = memory.conversation("c")
        chat.append([{"role": "user", "content": f"Number {at}."} for at in range(30)])
        assert memory.flush(60)
        calls.texts.clear()
        chat.append({"role": "user", "content": "What was number 7?"})
        chat.window(budget=4_000)
        assert calls.texts == ["What was number 7?"]
        assert memory.flush(60)
        assert len(calls.texts) > 1


@pytest.mark.usefixtures("patient")
def test_closing_makes_what_waits(tmp_path):
    calls = Calls()
    with Memory.open(tmp_path / "m", embedder=FunctionEmbedder(calls, name="calls")) as memory:
        memory.conversation("c").append({"role": "user", "content": "Number 1."})
    assert "Number 1." in calls.texts


@pytest.mark.usefixtures("patient")
def test_a_search_makes_what_it_may_find():
    calls = Calls()
    with Memory.open(None, embedder=FunctionEmbedder(calls, name="calls")) as memory:
        memory.conversation("c").append({"role": "user", "content": "Number 1."})
        memory.search("Number 2?", wait=60.0)
        assert set(calls.texts) == {"Number 1.", "Number 2?"}


@pytest.mark.usefixtures("patient")
def test_many_turns_do_not_wait():
    calls = Calls()
    with Memory.open(None, embedder=FunctionEmbedder(calls, name="calls")) as memory:
        memory.conversation("c").append(
            [{"role": "user", "content": f"Number {at}."} for at in range(30)]
        )
        assert calls.called.wait(60)


def test_a_single_turn_is_embedded_though_nobody_asks():
    calls = Calls()
    with Memory.open(None, embedder=FunctionEmbedder(calls, name="calls")) as memory:
        memory.conversation("c").append({"role": "user", "content": "Number 1."})
        assert calls.called.wait(60)


def test_the_time_of_the_last_query_is_known_after_one_that_failed():
    def failing(_texts):
        raise RuntimeError("down")

    with Memory.open(None, embedder=FunctionEmbedder(failing, name="failing")) as memory:
        memory.conversation("c").append({"role": "user", "content": "Number 1."})
        memory.search("Number 1?")
        assert memory._engine.indexer.vectorizer.asked is not None
