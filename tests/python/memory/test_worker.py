"""The worker that makes vectors: bounded, visible, patient with failures, and never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from warmset import Filter, Memory
from warmset.errors import EmbedderError, Erased
from warmset.index import batch_size as pace, indexer as indexing, queue as backlog
from warmset.index.query_vectors import CACHED, QueryVectors
from warmset.index.queue import Backlog, delay_after
from warmset.index.retry import Outcome, attempt
from warmset.retrieve import search as searching
from warmset.store.records import Job


def said(text):
    return {"role": "user", "content": text}


def until(condition):
    """Wait for something that another thread does."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def begun(ask):
    """Ask in another thread; returns it, and a list that has the answer once there is one."""
    given = []
    thread = threading.Thread(target=lambda: given.append(ask()), daemon=True)
    thread.start()
    return thread, given


class Gate:
    """Keeps an embedder waiting until it is opened; it knows how many texts came at once."""

    def __init__(self, bag):
        self._open = threading.Event()
        self.sizes = []
        bag.before = self._wait

    def _wait(self, texts):
        self.sizes.append(len(texts))
        self._open.wait(30)

    def open(self):
        self._open.set()


# --- bounded --------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 7, 40])
def test_the_queue_is_bounded_and_nothing_is_forgotten(bag, monkeypatch, most):
    monkeypatch.setattr(indexing, "QUEUED", most)
    monkeypatch.setattr(indexing, "ROOM", 0.001)
    gate = Gate(bag)
    with Memory.open(None, embedder=bag) as memory:
        for name in "ab":
            for n in range(50):
                memory.conversation(name).append(said(f"turn {n} of {name}"))
        stats = memory.stats()
        assert (stats["pending"], stats["ready"], stats["failed"]) == (100, 0, {})
        gate.open()
        assert memory.flush(30)
        stats = memory.stats()
        assert (stats["pending"], stats["ready"], stats["failed"]) == (0, 100, {})
        assert len(bag.texts) == len(set(bag.texts)) == 100 + 98, "each turn, and all but the heads"
        assert max(gate.sizes) <= most


@pytest.mark.parametrize("most", [1, 7, 40])
def test_no_more_jobs_than_that_can_be_taken_at_once(most):
    waiting = Backlog(most)
    jobs = [Job(n, view) for n in range(1, 101) for view in ("turn", "context")]
    waiting.add(jobs, lambda _job: False)
    assert waiting.take(len(jobs)) == jobs[:most]
    assert (waiting.queued, waiting.pending()) == (False, 100)


def test_deferred_turns_that_are_erased_are_forgotten(bag, monkeypatch):
    monkeypatch.setattr(indexing, "QUEUED", 4)
    monkeypatch.setattr(indexing, "ROOM", 0.001)
    gate = Gate(bag)
    with Memory.open(None, embedder=bag) as memory:
        for name in "ab":
            memory.conversation(name).append([said(f"turn {n} of {name}") for n in range(30)])
        erasing = threading.Thread(target=memory.erase, kwargs={"conversation": "b"})
        erasing.start()
        gate.open()
        erasing.join(30)
        assert memory.flush(30)
        assert (memory.stats()["pending"], memory.stats()["ready"]) == (0, 30)


def test_turns_that_are_erased_are_neither_ready_nor_failed(bag):
    def fail(_texts):
        raise EmbedderError("never")

    with Memory.open(None, embedder=bag, views="turn") as memory:
        log = memory.conversation("log")
        ids = log.append([said("the car"), said("the lake"), said("the boat")])
        assert memory.flush(30)
        bag.before = fail
        (lost,) = log.append(said("the pier"))
        assert not memory.flush(30)
        stats = memory.stats()
        assert (stats["ready"], stats["failed"]) == (3, {lost: "never"})
        memory.erase(ids=[ids[1], lost])
        stats = memory.stats()
        assert (stats["pending"], stats["ready"], stats["failed"]) == (0, 2, {})


def test_failures_that_fill_the_queue_hold_nobody_up(bag, monkeypatch, tmp_path):
    with Memory.open(tmp_path, embedder=bag) as memory:
        memory.conversation("log").append(said("the first"))
        assert memory.flush(30)
    monkeypatch.setattr(indexing, "QUEUED", 8)
    monkeypatch.setattr(indexing, "ROOM", 600.0)
    with Memory.open(tmp_path, embedder=type(bag)(fingerprint="another")) as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(40)])
        memory.conversation("log").append(said("one more"))
        assert memory.flush() is False
        assert memory.stats()["pending"] > 20
        memory.reembed()
        assert memory.flush(30)
        assert (memory.stats()["ready"], memory.stats()["failed"]) == (42, {})


def test_a_full_queue_holds_appends_back_until_there_is_room(bag, monkeypatch):
    monkeypatch.setattr(indexing, "QUEUED", 8)
    monkeypatch.setattr(indexing, "ROOM", 30.0)
    gate = Gate(bag)
    with Memory.open(None, embedder=bag) as memory:
        kept = []

        def write():
            kept.extend(memory.conversation("log").append([said(f"turn {n}") for n in range(40)]))

        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: len(memory.conversation("log")) == 40)
        writer.join(0.3)
        assert writer.is_alive(), "there is no room yet"
        assert len(memory.conversation("log")) == 40, "kept, and to be read, all the same"
        gate.open()
        writer.join(30)
        assert len(kept) == 40
        assert memory.flush(30)


def test_an_embedder_that_never_answers_does_not_stop_appends(bag, monkeypatch):
    monkeypatch.setattr(indexing, "QUEUED", 2)
    monkeypatch.setattr(indexing, "ROOM", 0.001)
    gate = Gate(bag)
    memory = Memory.open(None, embedder=bag)
    for n in range(20):
        memory.conversation("log").append(said(f"the boat {n}"))
    assert memory.search("boat", query_vector=[1.0] * 64, wait=0.0, k=20).ids
    gate.open()
    memory.close()


# --- failures -------------------------------------------------------------------------------------


def test_what_failed_is_tried_again_by_itself(bag, monkeypatch):
    monkeypatch.setattr(backlog, "FIRST_DELAY", 0.01)

    def fail(_texts):
        if bag.calls < 10:
            raise EmbedderError("not today")

    bag.before = fail
    with Memory.open(None, embedder=bag) as memory:
        ids = memory.conversation("log").append([said("the car"), said("the lake")])
        until(lambda: memory.stats()["ready"] == 2)
        assert memory.flush(30)
        assert memory.stats()["failed"] == {}
        assert memory.search("automobile").ids[0] == ids[0]


def test_it_is_not_tried_for_ever(bag, monkeypatch):
    monkeypatch.setattr(backlog, "FIRST_DELAY", 0.0)

    def fail(_texts):
        raise EmbedderError("never")

    bag.before = fail
    with Memory.open(None, embedder=bag) as memory:
        (id_,) = memory.conversation("log").append(said("the car"))
        until(lambda: bag.calls == backlog.TRIES)
        until(lambda: memory.stats()["failed"] == {id_: "never"})
        assert not memory.flush(30), "a flush tries it again"
        until(lambda: bag.calls == 2 * backlog.TRIES)


def test_failures_are_waited_for_longer_and_longer():
    waits = [delay_after(tries) for tries in range(backlog.TRIES + 1)]
    assert waits[:5] == [1, 1, 2, 4, 8]
    assert waits[-1] == backlog.LONGEST_DELAY


@pytest.mark.parametrize("remote", [False, True])
def test_an_outage_does_not_cost_a_call_for_each_turn(bag, remote):
    made = type(bag)(remote=remote)
    away = [True]

    def fail(_texts):
        if away[0]:
            raise EmbedderError("unreachable")

    made.before = fail
    with Memory.open(None, embedder=made) as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(pace.LEAST)])
        assert memory.flush(30) is False
        calls = made.calls
        assert (calls < pace.LEAST) is remote
        assert "unreachable" in str(memory.stats()["failed"])
        away[0] = False
        until(lambda: memory.stats()["ready"] == pace.LEAST)


def test_a_flush_ends_the_pause_after_an_outage(bag, monkeypatch):
    monkeypatch.setattr(backlog, "FIRST_DELAY", backlog.LONGEST_DELAY)
    made = type(bag)(remote=True)

    def fail(_texts):
        raise EmbedderError("unreachable")

    made.before = fail
    with Memory.open(None, embedder=made) as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(pace.LEAST)])
        assert memory.flush(30) is False
        made.before = len
        assert memory.flush(30)
        assert memory.stats()["ready"] == pace.LEAST


def test_one_text_that_a_service_refuses_costs_no_other_its_vector(bag, monkeypatch):
    monkeypatch.setattr(backlog, "FIRST_DELAY", 0.01)
    remote = type(bag)(remote=True)

    def picky(texts):
        if any("poison" in text for text in texts):
            raise EmbedderError("refused")

    remote.before = picky
    with Memory.open(None, embedder=remote) as memory:
        texts = ["poison 1", "poison 2", "poison 3", *(f"turn {n}" for n in range(20))]
        memory.conversation("log").append([said(text) for text in texts])
        until(lambda: memory.stats()["ready"] == 20)


def test_a_batch_is_attempted_one_by_one():
    jobs = [Job(n, "turn") for n in range(6)]

    def work(part):
        if any(job.id == 2 for job in part):
            raise EmbedderError("bad")
        if any(job.id == 4 for job in part):
            raise Erased("gone")

    made = attempt(jobs, work, remote=True, stopped=lambda: False)
    assert (made.failed, made.spared, made.hopeless) == ({jobs[2]: "bad"}, set(), False)
    assert attempt([], work, remote=True, stopped=lambda: False).failed == {}
    assert attempt(jobs[:3], work, remote=False, stopped=lambda: True).failed == {}


def test_what_is_deferred_comes_in_the_order_of_its_ids():
    waiting = Backlog(2)
    jobs = [Job(n, "turn") for n in range(1, 7)]
    waiting.add(jobs, lambda _job: False)
    assert (waiting.full, waiting.pending(), waiting.look()) == (True, 6, None)
    done = []
    while not waiting.idle:
        if (first := waiting.look()) is not None:
            assert first == len(done) + 1
            waiting.looked([job for job in jobs[::-1] if job.id >= first], done.__contains__)
            continue
        done += waiting.take(5)
        waiting.done(attempt([], lambda _: None, remote=False, stopped=bool), 0.0)
        assert waiting.pending() == 6 - len(done)
    assert done == jobs


def test_deferred_turns_are_counted_once_and_not_once_they_are_erased():
    waiting = Backlog(2)
    jobs = [Job(n, view) for n in range(1, 9) for view in ("turn", "context")]
    for _ in range(2):
        waiting.add(jobs, lambda _job: False)
        assert waiting.pending() == 8
    waiting.forget({1, 5, 6, 99})
    assert waiting.pending() == 5
    assert waiting.look() == 2
    assert waiting.pending() == 5
    waiting.forget({8})
    waiting.add(
        [Job(3, "turn"), Job(4, "turn"), Job(7, "turn"), Job(10, "turn")], lambda _job: False
    )
    assert waiting.pending() == 5, "of those that are looked for, none counts twice"
    waiting.looked([Job(2, "turn")], lambda _job: False)
    assert waiting.pending() == 5


# --- after a crash --------------------------------------------------------------------------------


def test_a_killed_process_leaves_its_turns_to_the_next_one(tmp_path, bag):
    code = textwrap.dedent("""
        import sys, threading
        from warmset import Memory
        stuck = threading.Event()
        def embed(texts):
            stuck.set()
            threading.Event().wait()
        memory = Memory.open(sys.argv[1], embedder=embed)
        memory.conversation("log").append(
            [{"role": "user", "content": f"boat {n}"} for n in range(40)]
        )
        stuck.wait()
        print("kept", flush=True)
        threading.Event().wait()
    """)
    with subprocess.Popen(  # noqa: S603 - fixed
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        said_so = process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert said_so == "kept\n"
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert len(memory.conversation("log")) == 40
        assert memory.flush(30)
        stats = memory.stats()
        assert (stats["pending"], stats["ready"], stats["failed"]) == (0, 40, {})
        assert memory.search("boat 17", k=1)[0].summary == "boat 17"


# --- never in the way -----------------------------------------------------------------------------


def test_only_turns_that_could_be_returned_count_as_pending(bag):
    with Memory.open(None, embedder=bag) as memory, memory.paused():
        log = memory.conversation("log")
        log.append([said(f"turn {n}") for n in range(40)])
        assert log.sync([said(f"turn {n}") for n in range(30)]).left == 10
        memory.conversation("other").append(said("elsewhere"))
        vector = np.ones(64)
        window = log.window("turn 7", query_vector=vector, budget=200)
        shown = {
            id_ for part in window.parts if part.name in {"anchor", "recent"} for id_ in part.ids
        }
        assert len(shown) == 5
        # Three of the recent ones came back, into room that the search left.
        assert " ".join(window.report.notes).startswith("28 ")
        for count, where in (
            (30, Filter(conversation="log")),
            (40, Filter(conversation="log", branches=True)),
            (31, Filter()),
            (41, Filter(branches=True)),
        ):
            found = memory.search("turn", query_vector=vector, where=where, wait=0.0)
            assert found.pending == count


def test_only_turns_that_could_be_returned_are_waited_for(bag):
    remote, vector = type(bag)(remote=True), np.ones(64)
    turns = [said(f"turn {n}") for n in range(40)]
    with Memory.open(None, embedder=remote, views="turn") as memory:
        log = memory.conversation("log")

        def search(**where):
            asked = {"query_vector": vector, "where": Filter(**where), "wait": 500.0}
            return memory.search("turn", **asked).pending

        def window():
            asked = {"query_vector": vector, "budget": 200, "wait": 500.0}
            return len(log.window("turn 7", **asked).report.notes)

        log.append(turns)
        assert memory.flush(30)
        gate = Gate(remote)
        log.append(said("another end"))
        assert log.sync(turns).left == 1
        memory.conversation("other").append(said("elsewhere"))
        for ask in (lambda: search(conversation="log"), window):
            thread, given = begun(ask)
            thread.join(20)
            assert given == [0]
        waiting = [begun(lambda: search(conversation="log", branches=True)), begun(search)]
        for thread, _ in waiting:
            thread.join(0.1)
            assert thread.is_alive()
        gate.open()
        for thread, given in waiting:
            thread.join(20)
            assert given == [0]

        gate = Gate(remote)
        log.append(said("the newest"))
        thread, given = begun(window)
        thread.join(20)
        assert given == [0], "the window shows the newest turn, and need not find it"
        thread, given = begun(lambda: search(conversation="log"))
        thread.join(0.1)
        assert thread.is_alive()
        gate.open()
        thread.join(20)
        assert given == [0]


def test_a_search_waits_once_and_not_for_vectors_as_well(bag, monkeypatch):
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(searching, "time", clock)
    monkeypatch.setattr(searching, "CATCH_UP", 600.0)  # a remote embedder has no such moment
    remote, never = type(bag)(remote=True), threading.Event()

    def slow(texts):
        if texts == ["automobile"]:
            clock.now += 600.0  # as long as the search waits
        else:
            never.wait(60)

    with Memory.open(None, embedder=remote) as memory:
        log = memory.conversation("log")
        log.append(said("the car"))
        assert memory.flush(30)
        remote.before = slow
        log.append(said("the lake"))
        for wait in (600.0, 0.0):  # then the vector is kept
            thread, given = begun(lambda wait=wait: memory.search("automobile", wait=wait))
            thread.join(20)
            assert [(found.by, found.pending) for found in given] == [("fused", 1)]
        never.set()


def test_a_window_gives_a_remote_embedder_a_moment_and_no_more(bag):
    remote = type(bag)(remote=True)
    with Memory.open(None, embedder=remote) as memory:
        log = memory.conversation("log")
        log.append([said(f"turn {n} about boats") for n in range(20)])
        assert memory.flush(30)
        assert log.window("quick question", budget=500, wait=10).report.searched_by == "fused"
        gate = Gate(remote)
        report = log.window("slow question", budget=500).report
        assert (report.searched_by, "0.05 s" in " ".join(report.notes)) == ("lexical", True)
        gate.open()
        until(lambda: memory.search("slow question", wait=0).by == "fused")
        assert log.window("slow question", budget=400).report.searched_by == "fused"


# --- vectors of questions -------------------------------------------------------------------------


class Counted:
    """Stands for a vectorizer; counts what it is asked for."""

    def __init__(self, embedder):
        self.embedder = embedder

    def query(self, text):
        return self.embedder.embed_query([text])[0]


def test_the_last_512_are_kept(bag):
    vectors = QueryVectors(Counted(bag))
    assert CACHED == 512
    for n in range(CACHED):
        vectors.get(f"q{n}", 0)
    vectors.get("q0", 0)  # the newest again
    vectors.get("one more", 0)
    assert bag.calls == CACHED + 1
    vectors.get("q0", 0)
    vectors.get("q2", 0)
    assert bag.calls == CACHED + 1
    vectors.get("q1", 0)
    assert bag.calls == CACHED + 2, "the one that was not asked for the longest went"
    vectors.close()


@pytest.mark.parametrize("remote", [False, True])
def test_a_question_in_flight_is_asked_once(bag, remote):
    made = type(bag)(remote=remote)
    gate = Gate(made)
    vectors = QueryVectors(Counted(made))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(vectors.get("the car", 30)[0]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    until(lambda: made.calls == 1)
    gate.open()
    for thread in threads:
        thread.join(30)
    assert made.calls == 1
    assert len({vector.tobytes() for vector in found}) == 1
    assert len(found) == 8
    vectors.close()


def test_a_question_that_failed_is_asked_again(bag):
    bag.before = lambda _texts: 1 / 0
    vectors = QueryVectors(Counted(bag))
    assert vectors.get("the car", 0) == (None, "ZeroDivisionError: division by zero")
    bag.before = lambda _texts: None
    assert vectors.get("the car", 0)[0] is not None


def test_what_comes_again_and_succeeds_has_not_failed():
    waiting, job = Backlog(4), Job(1, "turn")
    for outcome in (Outcome({job: "no"}, hopeless=True), Outcome()):
        waiting.add([job], lambda _: False)
        waiting.take(1)
        waiting.done(outcome, 0.0)
    assert waiting.failed() == {}


def test_room_that_an_erasure_makes_is_used_at_once(monkeypatch, bag):
    """What was deferred for failures that are gone is not left until somebody else comes."""
    monkeypatch.setattr(indexing, "QUEUED", 4)
    monkeypatch.setattr(indexing, "ROOM", 0.0)
    monkeypatch.setattr(backlog, "TRIES", 1)
    away = True

    def fail(_texts):
        if away:
            raise EmbedderError("not now")

    bag.before = fail
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("bad").append(
            [{"role": "user", "content": f"bad {n}"} for n in range(2)]
        )
        until(lambda: len(memory.stats()["failed"]) == 2)
        memory.conversation("good").append({"role": "user", "content": "good"})
        away = False
        memory.erase(conversation="bad")
        until(lambda: memory.stats()["ready"] == 1)


FORKED = """
import os, sys
from warmset.index import at_exit
class Worker:
    def stop(self, seconds):
        print(f"stopped {seconds > 0} in the parent: {os.getpid() == parent}", flush=True)
parent, worker = os.getpid(), Worker()
at_exit.stop_at_exit(worker)
gone = Worker()
at_exit.stop_at_exit(gone)
del gone
if os.fork() == 0:
    sys.exit(0)
os.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_stops_no_thread_that_it_has_not():
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "stopped True in the parent: True\n"


UNCLOSED = """
import sys, threading, time
from warmset import Filter, Memory
begun = threading.Event()
def embed(texts):
    print("begun", flush=True)
    begun.set()
    time.sleep(0.4)
    print("ended", flush=True)
    return [[1.0, 2.0]] * len(texts)
memory = Memory.open(None, embedder=None if sys.argv[1] == "model" else embed)
log = memory.conversation("log")
for n in range(100):
    log.append({"role": "user", "content": f"turn {n} about the harbour and its ferry " * 20})
begun.wait(0.1 if sys.argv[1] == "model" else 60)
"""


@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("embedder", ["function", "model"])
def test_a_process_that_closes_nothing_ends_well_in_the_middle_of_a_batch(embedder):
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-W", "ignore", "-c", UNCLOSED, embedder],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("begun") == done.stdout.count("ended")
    assert "begun" in done.stdout or embedder == "model"
