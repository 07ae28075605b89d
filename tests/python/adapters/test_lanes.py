"""The threads of adapters over a log: reads one by one, changes a few at once."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from warmset.adapters.lanes import CHANGERS, changing, reading

run = asyncio.run
LONG = 30.0


class Gate:
    """Counts who is inside, and lets nobody out before it is opened."""

    def __init__(self):
        self.inside, self.most, self.ended = 0, 0, 0
        self.entered, self.opened = threading.Semaphore(0), threading.Event()
        self.lock = threading.Lock()

    def __call__(self):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.entered.release()
        assert self.opened.wait(LONG)
        with self.lock:
            self.inside -= 1
            self.ended += 1


async def enter(gate, lane, count, at_once):
    """Start as many calls, and wait until so many are inside."""
    tasks = [asyncio.ensure_future(lane(gate)) for _ in range(count)]
    for _ in range(at_once):
        assert await asyncio.to_thread(gate.entered.acquire, timeout=LONG)
    return tasks


@pytest.mark.parametrize(("lane", "at_once"), [(reading, 1), (changing, CHANGERS)])
def test_so_many_run_at_once(lane, at_once):
    async def use():
        gate = Gate()
        tasks = await enter(gate, lane, at_once + 3, at_once)
        gate.opened.set()
        await asyncio.gather(*tasks)
        return gate.most, gate.ended

    assert run(use()) == (at_once, at_once + 3)


def test_a_lane_waits_neither_for_the_other_one_nor_for_the_loop_s_threads():
    async def use():
        reads, changes, others = Gate(), Gate(), Gate()
        loop, own = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        full = [loop.run_in_executor(None, others) for _ in range((os.cpu_count() or 1) + 40)]
        tasks = []
        for gate, lane, count in ((changes, changing, CHANGERS + 1), (reads, reading, 2)):
            tasks += [asyncio.ensure_future(lane(gate)) for _ in range(count)]
            assert await loop.run_in_executor(own, gate.entered.acquire, True, LONG)
        for gate in (reads, changes, others):
            gate.opened.set()
        await asyncio.gather(*tasks, *full)
        own.shutdown()

    run(asyncio.wait_for(use(), LONG))


@pytest.mark.parametrize("lane", [reading, changing])
def test_a_call_has_the_caller_s_context_arguments_and_errors(lane):
    name = contextvars.ContextVar("name", default="none")

    def work(one, *, other):
        if other is None:
            raise ValueError("no other")
        return name.get(), one, other, threading.current_thread().name

    async def use():
        name.set("mine")
        *found, thread = await lane(work, 1, other=2)
        assert found == ["mine", 1, 2]
        assert thread.startswith("warmset-reads" if lane is reading else "warmset-changes")
        with pytest.raises(ValueError, match="no other"):
            await lane(work, 1, other=None)

    run(use())


def test_a_change_that_is_cancelled_ends_first_and_a_read_does_not_wait():
    async def use():
        gate = Gate()
        [task] = await enter(gate, changing, 1, 1)
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gate.ended == 1
        other = Gate()
        [task] = await enter(other, reading, 1, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert other.ended == 0
        other.opened.set()

    run(asyncio.wait_for(use(), LONG))


def test_one_loop_after_the_other_uses_the_same_threads():
    first = run(reading(threading.get_ident))
    assert run(reading(threading.get_ident)) == first


ALONE = """
import asyncio, os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads, which is the test
from warmset.adapters.lanes import changing, reading

assert threading.active_count() == 1
async def use():
    return [await lane(os.getpid) for lane in (reading, changing)]
assert asyncio.run(use()) == [os.getpid()] * 2
child = os.fork()
if not child:
    assert asyncio.run(use()) == [os.getpid()] * 2
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert asyncio.run(use()) == [os.getpid()] * 2
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_start_when_they_are_used_and_anew_in_a_child():
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert done.returncode == 0, done.stderr
