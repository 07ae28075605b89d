"""The queue of jobs by itself: what fits, what waits, what is tried again, and when."""

from __future__ import annotations

from asyncio import CancelledError
from itertools import product

import pytest

from warmset.errors import EmbedderError, EmbedderMismatch, Erased, NotFound
from warmset.index.batch_size import LEAST, MOST, QUICK, Pace
from warmset.index.queue import FIRST_DELAY, TRIES, Backlog, delay_after
from warmset.index.retry import OUTAGE, Outcome, attempt
from warmset.store.records import Job


def turns(*ids):
    return [Job(id_, "turn") for id_ in ids]


def nowhere(_job):
    return False


def queue(most, *ids):
    waiting = Backlog(most)
    waiting.add(turns(*ids), nowhere)
    return waiting


def fail(waiting, now=0.0, *, count=1, **more):
    """Take some jobs that fail; give the turns that failed for good."""
    jobs = waiting.take(count)
    assert len(jobs) == count
    return waiting.done(Outcome(dict.fromkeys(jobs, "no"), **more), now)


# --- what fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", range(1, 10))
def test_the_store_is_scanned_again_once_half_of_the_queue_is_free(most):
    ids = range(1, most + 4)
    waiting = queue(most, *ids[:most], *reversed(ids[most:]))
    left = most
    while (first := waiting.look()) is None:
        assert not waiting.idle
        waiting.take(1)
        waiting.done(Outcome(), 0.0)
        left -= 1
    assert (left, first) == (most // 2, most + 1), "from the oldest on"
    assert not waiting.idle
    assert waiting.pending() == left + 3
    waiting.looked(turns(*ids[most:]), nowhere)
    assert [job.id for job in waiting.take(most)][left:][:3] == [*ids[most:]][: most - left]


def test_failures_take_a_place_in_the_queue():
    waiting = queue(2, 1, 2)
    fail(waiting, count=2)
    assert waiting.idle
    waiting.add(turns(3), nowhere)
    assert waiting.full
    assert waiting.take(5) == []
    assert waiting.pending() == 1
    waiting.try_again()
    assert [job.id for job in waiting.take(5)] == [1, 2]


def test_contexts_are_no_turns():
    waiting = Backlog(1)
    waiting.add([*turns(1), Job(1, "context"), Job(2, "turn"), Job(2, "context")], nowhere)
    assert waiting.pending() == 2
    assert waiting.pending(lambda id_: id_ == 2) == 1
    assert waiting.waits_for(lambda id_: id_ == 2)
    assert not waiting.waits_for(lambda id_: id_ == 3)


def test_what_is_there_or_known_is_not_queued():
    waiting = queue(9, 1, 2, 2)
    waiting.add(turns(2, 3, 4), lambda job: job.id == 4)
    assert [job.id for job in waiting.take(9)] == [1, 2, 3]
    waiting.add(turns(1), nowhere)
    assert not waiting.queued, "it is at work"


def test_a_context_that_is_asked_for_while_it_is_made_is_made_again():
    waiting, wanted = Backlog(9), [Job(1, "turn"), *(Job(at, "context") for at in (1, 2, 3, 4))]
    waiting.add(wanted, nowhere)
    waiting.take(4)
    waiting.add([Job(at, "context") for at in (1, 2, 3)], nowhere)
    waiting.add([*turns(1), Job(4, "context")], nowhere)
    waiting.forget([2])
    waiting.done(Outcome({Job(3, "context"): "no"}), 0.0)
    assert waiting.take(9) == [Job(4, "context"), Job(1, "context")]
    waiting.done(Outcome(), 0.0)
    assert waiting.idle, "what failed is tried again for itself"
    assert not waiting.queued


def test_what_is_erased_is_forgotten_wherever_it_is():
    waiting = queue(4, 1, 2, 3, 4, 5, 6)
    waiting.take(1)
    waiting.done(Outcome(dict.fromkeys(turns(1), "no")), 0.0)
    waiting.take(1)
    waiting.forget([1, 2, 4, 5])
    assert waiting.pending() == 2
    assert waiting.failed() == {}
    assert waiting.done(Outcome(), 0.0) == set()
    assert [job.id for job in waiting.take(9)] == [3]
    assert waiting.wake(1e9) is None


# --- what failed ----------------------------------------------------------------------------------


def test_a_job_is_tried_as_often_as_it_says():
    waiting, tried, now = queue(4, 1), 0, 0.0
    while True:
        lost, tried = fail(waiting, now), tried + 1
        if lost:
            break
        due = waiting.wake(now)
        assert due == now + delay_after(tried)
        assert waiting.wake(due - 1e-6) == due, "it is not due yet"
        assert not waiting.queued
        assert waiting.wake(due) is None, "now it is"
        now = due
    assert (lost, tried) == ({1}, TRIES)
    assert waiting.wake(1e9) is None
    assert waiting.failed() == {1: "no"}
    waiting.add(turns(1), nowhere)
    assert waiting.take(1) == turns(1), "somebody asks for it"


def test_a_job_that_was_not_tried_alone_is_not_charged():
    waiting = queue(4, 1)
    for now in range(0, 3_000 * TRIES, 1_000):
        assert fail(waiting, now, spared=set(turns(1))) == set()
        waiting.wake(now)
        assert waiting.wake(now + FIRST_DELAY) is None
        assert waiting.queued


def test_a_retry_that_is_no_use_is_not_made():
    waiting = queue(4, 1, 2)
    assert fail(waiting, count=2, hopeless=True) == {1, 2}
    assert waiting.wake(1e9) is None
    assert not waiting.queued


def test_of_those_that_are_due_the_ones_that_failed_least_go_first():
    waiting = queue(9, 1)
    fail(waiting, 0.0)
    waiting.wake(1.0)
    fail(waiting, 1.0)
    waiting.wake(3.0)
    fail(waiting, 1_000.0)  # three times, due at 1004
    waiting.add(turns(3), nowhere)
    fail(waiting, 1_000.0)
    waiting.wake(1_001.0)
    fail(waiting, 1_001.0)  # twice, due at 1003
    waiting.add(turns(2), nowhere)
    fail(waiting, 1_001.5)  # once, due at 1002.5
    assert not waiting.queued
    waiting.wake(2_000.0)
    assert [job.id for job in waiting.take(9)] == [2, 3, 1]


def test_what_is_tried_again_is_pending_and_the_first_that_is_due_goes_first():
    waiting = queue(9, 1)
    fail(waiting, 0.0)
    assert (waiting.pending(), waiting.idle) == (0, True)
    waiting.wake(1.0)
    assert (waiting.pending(), waiting.idle) == (1, False)
    fail(waiting, 1.0)
    waiting.wake(3.0)
    waiting.add(turns(2), nowhere)
    jobs = waiting.take(2)
    assert [job.id for job in jobs] == [1, 2]
    waiting.done(Outcome(dict.fromkeys(reversed(jobs), "no")), 10.0)  # due at 14 and at 11
    assert waiting.wake(10.5) == 11.0
    fail_late = queue(9, 1, 2)
    fail(fail_late, 0.0)
    fail(fail_late, 5.0)
    assert fail_late.wake(0.5) == 1.0
    assert fail_late.wake(1.0) == 6.0
    assert fail_late.take(9) == turns(1)


def test_a_success_and_a_flush_forgive_the_failures_before_them():
    for forgiven in ("success", "flush"):
        waiting = queue(4, 1)
        for now in (0.0, 1_000.0, 2_000.0):
            fail(waiting, now)
            waiting.wake(now + 500)
        if forgiven == "success":
            waiting.take(1)
            waiting.done(Outcome(), 3_000.0)
            waiting.add(turns(1), nowhere)
        else:
            fail(waiting, 3_000.0)
            waiting.try_again()
        fail(waiting, 4_000.0)
        assert waiting.wake(4_000.0) == 4_000.0 + delay_after(1)


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("bad", [*product([False, True], repeat=4)])
def test_a_failing_job_affects_only_itself_unless_a_service_is_away(remote, bad):
    jobs, calls = turns(1, 2, 3, 4), []

    def work(some):
        calls.append([job.id for job in some])
        if any(bad[job.id - 1] for job in some):
            raise EmbedderError("no")

    made = attempt(jobs, work, remote=remote, stopped=lambda: False)
    away = remote and all(bad[:OUTAGE])
    failed = {id_ for id_ in range(1, 5) if bad[id_ - 1] or (away and id_ > OUTAGE)}
    assert {job.id for job in made.failed} == failed
    assert {job.id for job in made.spared} == ({3, 4} if away else set())
    alone = [[1], [2]] if away else [[1], [2], [3], [4]]
    assert calls == [[1, 2, 3, 4], *(alone if any(bad) else [])]
    assert not made.hopeless
    assert made.error == ("EmbedderError" if any(bad) else "")


def test_a_job_alone_is_tried_once():
    calls = []

    def work(some):
        calls.append(some)
        raise EmbedderError("no")

    made = attempt(turns(1), work, remote=True, stopped=lambda: False)
    assert (len(calls), made.failed, made.spared) == (1, {turns(1)[0]: "no"}, set())


@pytest.mark.parametrize("error", [Erased(1), NotFound("gone")])
def test_what_was_erased_meanwhile_has_not_failed(error):
    def work(_some):
        raise error

    assert attempt(turns(1, 2), work, remote=True, stopped=lambda: False).failed == {}


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, CancelledError])
def test_what_would_end_the_thread_is_a_failure_of_its_job(error):
    def work(jobs):
        if any(job.id == 2 for job in jobs):
            raise error

    made = attempt(turns(1, 2, 3), work, remote=False, stopped=lambda: False)
    assert made.failed == {Job(2, "turn"): f"{error.__name__}()"}


@pytest.mark.parametrize(("later", "first"), [((), 3), ((9,), 3), ((2,), 2)])
def test_what_was_looked_for_is_looked_for_again(later, first):
    waiting = queue(2, 1, 2, 3, 4)
    waiting.take(2)
    waiting.done(Outcome(), 0.0)
    assert waiting.look() == 3
    if later:  # and there is no room for it
        waiting.add(turns(7, 8, *later), nowhere)
    waiting.look_again()
    pending = waiting.pending()
    assert pending == 2 + (2 + len(later) if later else 0)
    for _ in range(2 if later else 0):
        waiting.take(1)
        waiting.done(Outcome(), 0.0)
    assert waiting.look() == first
    waiting.looked(turns(3, 4, *later), nowhere)
    assert waiting.take(1) == turns(min(3, *later, 4))


def test_another_embedder_fails_the_whole_batch_at_once():
    calls = []

    def work(some):
        calls.append(some)
        raise EmbedderMismatch("one", "other")

    made = attempt(turns(1, 2), work, remote=False, stopped=lambda: False)
    assert (len(calls), made.hopeless, set(made.failed)) == (1, True, set(turns(1, 2)))


def test_batches_grow_while_they_are_quick_and_shrink_when_they_are_slow():
    pace = Pace()
    assert pace.size == LEAST
    pace.took(LEAST - 1, 0.0)
    pace.took(LEAST, QUICK)
    assert pace.size == LEAST
    sizes = []
    for _ in range(9):
        pace.took(pace.size, QUICK / 2)
        sizes.append(pace.size)
    assert sizes == [min(LEAST * 2**n, MOST) for n in range(1, 10)]
    pace.took(pace.size, 2 * QUICK)
    assert pace.size == MOST
    for _ in range(9):
        pace.took(1, 3 * QUICK)
        sizes.append(pace.size)
    assert sizes[9:] == [max(MOST // 2**n, LEAST) for n in range(1, 10)]
    pace.took(LEAST, 0.0)
    pace.failed()
    assert pace.size == LEAST
