"""The log with asyncio: the loop is never blocked, and a cancelled batch has an end first."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import threading

import pytest

from warmset._support.aio import in_thread_to_the_end
from warmset.errors import Conflict, InvalidInputError
from warmset.native import Add, ColdStore, Log, Put, Version, space

KEY = ("t", space("s"), "a")
LIST = ("t", space("l"), "list")


@pytest.fixture
def log(tmp_path):
    with ColdStore.open(tmp_path, lock_wait=20.0) as store:
        yield Log(store)


def run(main):
    """Run a coroutine; what the loop would only log is an error."""
    complaints = []

    async def watched():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        return await main

    found = asyncio.run(watched())
    gc.collect()  # what nobody looked at is complained of when it goes
    assert complaints == []
    return found


class Busy:
    """A store that somebody else has until it is released, and rows that say when they are read."""

    def __init__(self, log):
        self.other = ColdStore.open(log.store.path, mode="exclusive")
        self.read = threading.Event()

    def rows(self, *rows):
        self.read.set()
        yield from rows

    async def begun(self, *tasks):
        """Wait until the rows are read; what follows needs the lock."""
        await asyncio.to_thread(self.read.wait)
        for _ in range(100):
            await asyncio.sleep(0.0005)
        assert not any(task.done() for task in tasks)

    def release(self):
        self.other.close()


def test_what_is_awaited_is_what_is_written(log):
    async def use():
        [outcome] = await log.submit([Put(KEY, b"1", columns={"n": 1})], now=5)
        version = Version(KEY, outcome.id)
        await log.submit([Add(LIST, b"2"), Add(LIST, b"3")], expect=[version], sync=False, depth=3)
        assert await log.aversion(KEY) == outcome.id
        assert (await log.aget(KEY)).at == 5
        assert await log.aget(KEY, now=3) == log.get(KEY)
        assert await log.atail(LIST) == log.tail(LIST)
        assert await log.aentries(LIST, limit=1, reverse=True) == log.entries(LIST)[1:]
        assert await log.ascan(where={"n": 1}) == log.scan()
        assert await log.acount(("t",), where={"n": 2}) == 0
        assert await log.aspaces(depth=1) == [(b"t",)]
        assert await log.afollow(limit=1) == log.follow(limit=1)
        [outcome] = await log.submit([Put(KEY, b"2", expires=9)], once="name", now=8)
        assert await log.submit([Put(KEY, b"2")], once="name", now=8) == [outcome]
        assert await log.asweep(now=9) == 1
        assert (await log.aerase(prefix=LIST)).records == 2
        assert (await log.acompact()).records == 2
        assert log.get(KEY) is None
        with pytest.raises(Conflict):
            await log.submit([Put(KEY, b"", if_present="fail")], expect=[Version(KEY, 7)])
        with pytest.raises(InvalidInputError, match="where"):
            await log.ascan(where=5)

    run(use())


def test_every_read_has_a_twin_with_the_same_arguments():
    reads = ("get", "version", "tail", "entries", "scan", "count", "spaces", "follow", "view")
    upkeep = ("copy", "erase", "sweep", "compact")
    for name in (*reads, *upkeep):
        one, other = getattr(Log, name), getattr(Log, f"a{name}")
        assert inspect.iscoroutinefunction(other)
        assert inspect.signature(one).parameters == inspect.signature(other).parameters
    assert inspect.signature(Log.write) == inspect.signature(Log.submit)
    names = {name for name in vars(Log) if not name.startswith("_")}
    both = {*reads, *upkeep}
    assert names == {*both, *(f"a{name}" for name in both), "write", "submit", "store", "handle"}


def test_a_lock_does_not_block_the_loop(log):
    busy = Busy(log)

    async def use():
        task = asyncio.ensure_future(log.submit(busy.rows(Put(KEY, b"x"))))
        await busy.begun(task)
        busy.release()
        return await task

    [outcome] = run(use())
    assert log.version(KEY) == outcome.id


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancelled_batch_is_written_first(log, times):
    busy = Busy(log)

    async def use():
        task = asyncio.ensure_future(log.submit(busy.rows(Put(KEY, b"x"))))
        await busy.begun(task)
        for _ in range(times):
            task.cancel()
            await busy.begun(task)
        busy.release()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        # Not by reading, which would wait for the lock's owner, too.
        return log.store.stats()["records"]

    assert run(use()) == 1


@pytest.mark.parametrize("name", ["erase", "sweep", "compact"])
def test_upkeep_that_is_cancelled_comes_to_its_end(log, name, monkeypatch):
    begun, goes_on, ended = threading.Event(), threading.Event(), []

    def slow(_, **options):
        begun.set()
        goes_on.wait()
        ended.append(options)

    slow.__name__ = name
    monkeypatch.setattr(Log, name, slow)

    async def use():
        task = asyncio.ensure_future(getattr(log, f"a{name}")())
        await asyncio.to_thread(begun.wait)
        task.cancel()
        for _ in range(20):
            await asyncio.sleep(0.0005)
        assert not task.done()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(use())
    assert ended == [{}]


def test_a_cancelled_batch_is_refused_first_and_nobody_complains(log):
    log.write([Put(KEY, b"x")])
    busy = Busy(log)

    async def use():
        refused = log.submit(busy.rows(Put(KEY, b"y")), expect=[Version(KEY, 77)])
        task = asyncio.ensure_future(refused)
        await busy.begun(task)
        task.cancel()
        await busy.begun(task)
        busy.release()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(use())
    assert log.get(KEY).payload == b"x"


def test_a_time_out_ends_after_the_batch(log):
    busy = Busy(log)

    async def use():
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, busy.release)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await log.submit([Put(KEY, b"x")])
        return log.get(KEY)

    assert run(use()).payload == b"x"


def test_a_loop_that_ends_waits_for_a_batch_that_nobody_awaits(log):
    busy = Busy(log)

    async def use():
        task = asyncio.ensure_future(log.submit(busy.rows(Put(KEY, b"x"))))
        await busy.begun(task)
        threading.Timer(0.05, busy.release).start()
        return task

    task = run(use())
    assert task.cancelled()
    assert log.get(KEY).payload == b"x"


def test_a_function_runs_in_a_thread_with_the_caller_s_context():
    name = contextvars.ContextVar("name", default="none")
    here = threading.get_ident()

    def work(one, *, other):
        assert threading.get_ident() != here
        if other is None:
            raise ValueError("no other")
        return name.get(), one, other

    async def use():
        name.set("mine")
        assert await in_thread_to_the_end(work, 1, other=2) == ("mine", 1, 2)
        with pytest.raises(ValueError, match="no other"):
            await in_thread_to_the_end(work, 1, other=None)

    run(use())
