"""How a memory is closed: within its time, whatever is still at work, and where it is cut off."""

from __future__ import annotations

import math
import os
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from warmset import Filter, Memory
from warmset.engine import Engine, leases
from warmset.errors import InvalidInputError
from warmset.native import ColdStore


def said(count=5):
    return [{"role": "user", "content": f"boat {n}"} for n in range(count)]


@dataclass
class Watched:
    """Something that is attached to an engine, or a part of it."""

    seconds: float = 0.0
    given: list[float] = field(default_factory=list)
    error: BaseException | None = None

    def close(self, timeout):
        self.given.append(timeout)
        time.sleep(self.seconds)
        if self.error is not None and len(self.given) == 1:
            raise self.error

    def forget(self):
        """Nothing."""


def interrupted(*_given):
    """What Ctrl-C ends at once."""
    raise KeyboardInterrupt


def test_what_is_closed_shares_the_time(bag, monkeypatch):
    memory = Memory.open(None, embedder=bag)
    engine = memory._engine
    slow, late = Watched(seconds=0.3), Watched()
    engine.attached.update({("slow",): slow, ("late",): late})
    for part in (engine.indexer, engine.index):
        monkeypatch.setattr(part, "close", late.close)
    memory.close(timeout=0.5)
    assert len(slow.given) == 1
    assert 0.2 < slow.given[0] <= 0.5
    assert len(late.given) == 3
    assert all(one <= 0.2 + 0.01 for one in late.given)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("timeout", [0, 0.2])
def test_closing_takes_the_time_once(bag, timeout, lines):
    """The embedder and the callable for lines are both in the middle of a call."""
    go_on, names = threading.Event(), []

    def wait(_text):
        names.append(threading.current_thread().name)
        assert go_on.wait(60)
        return "a line"

    bag.before = wait
    memory = Memory.open(None, embedder=bag, summary_line=wait if lines else None)
    memory.conversation("log").append(said())
    while len(names) < 1 + lines:
        time.sleep(0.01)
    given = []
    engine = memory._engine
    for one in (engine.indexer, *([engine.describing] if lines else [])):
        part = one._background
        join = part.join
        part.join = lambda seconds, join=join: given.append(seconds) or join(seconds)
    memory.close(timeout=timeout)
    assert given == [0.0] * (1 + lines), "waiting for what is pending took all of it"
    go_on.set()


def test_a_cut_off_end_ends_the_rest_at_once(tmp_path, bag):
    memory = Memory.open(tmp_path, embedder=bag, mode="exclusive", summary_line=lambda _text: "x")
    memory.conversation("log").append(said())
    engine = memory._engine
    first, second = Watched(error=KeyboardInterrupt()), Watched()
    describing = engine.attached.pop(("describe",))
    engine.attached |= {("first",): first, ("second",): second, ("describe",): describing}
    with pytest.raises(KeyboardInterrupt):
        memory.close()
    assert (len(first.given), second.given) == (2, [0.0])
    for name, thread in [(one.name, one) for one in threading.enumerate()]:
        if name in ("warmset-describe", "warmset-indexer"):
            thread.join(10)
            assert not thread.is_alive()
    ColdStore.open(tmp_path, mode="exclusive").close()
    memory.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_cannot_be_ended_keeps_no_store_open(tmp_path, bag, monkeypatch, error):
    class Broken(Watched):
        def close(self, _timeout):
            raise error

    memory = Memory.open(tmp_path, embedder=bag, mode="exclusive")
    memory._engine.attached["broken",] = Broken()
    with pytest.raises(error):
        memory.close()
    assert os.path.realpath(tmp_path) not in leases._places
    attached = Engine.__init__

    def broken(self, *given, **options):
        attached(self, *given, **options)
        self.attached["broken",] = Broken()
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "__init__", broken)
        with pytest.raises(error):
            Memory.open(tmp_path, embedder=bag, mode="exclusive")
    assert os.path.realpath(tmp_path) not in leases._places
    ColdStore.open(tmp_path, mode="exclusive").close()


@pytest.mark.parametrize("cut", ["_close", "vectors"])
def test_an_end_that_is_cut_off_before_it_began_is_one(tmp_path, bag, monkeypatch, cut):
    memory = Memory.open(tmp_path, embedder=bag, mode="exclusive", summary_line=lambda _text: "x")
    memory.conversation("log").append(said())
    engine, lease = memory._engine, memory._handle._share
    if cut == "vectors":
        monkeypatch.setattr(lease.vectors, "close", interrupted)
    else:
        monkeypatch.setattr(engine, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.close()
    assert engine.describing._closed
    assert engine.indexer._closed
    ColdStore.open(tmp_path, mode="exclusive").close()


def test_closing_again_ends_what_a_cut_off_try_did_not_begin(tmp_path, bag, monkeypatch):
    memory = Memory.open(tmp_path, embedder=bag, mode="exclusive")
    with monkeypatch.context() as patch:
        patch.setattr(leases.Lease, "release", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memory.close()
    memory.close()
    memory.close()
    ColdStore.open(tmp_path, mode="exclusive").close()


@pytest.mark.parametrize("given", ["5", -1, -0.001, math.nan, True, [1]])
def test_a_time_to_wait_is_a_number_of_seconds(given):
    with Memory.open(None, embedder="lexical") as memory:
        memory.conversation("log").append(said(1))
        for call in (
            lambda: memory.close(timeout=given),
            lambda: memory.flush(given),
            lambda: memory.search("boat", wait=given),
        ):
            with pytest.raises(InvalidInputError, match="expected seconds"):
                call()
        assert memory.search("boat", wait=0).ids == [1], "it is open"


@pytest.mark.parametrize("given", [math.inf, 10**400, 1e300, np.float32(30), np.int64(30)])
def test_a_time_that_no_lock_can_wait_is_long_enough(bag, given):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append(said(1))
        assert memory.flush(given)
        assert memory.search("boat", wait=given).ids == [1]
        memory.close(timeout=given)


@pytest.mark.parametrize("name", ["ids", "exclude"])
def test_ids_of_a_filter_are_a_list(name):
    with Memory.open(None, embedder="lexical") as memory:
        memory.conversation("log").append(said(2))
        for wrong in (5, "12", iter([1])):
            with pytest.raises(InvalidInputError, match=f"where.{name}: expected a list of ids"):
                memory.search("boat", where=Filter(**{name: wrong}))
        for right in ([2], (2,), {2}, dict.fromkeys([2])):
            found = memory.search("boat", where=Filter(**{name: right})).ids
            assert found == ([2] if name == "ids" else [1])
