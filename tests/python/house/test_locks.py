"""The checks of locks find what they are there for, and are not there in normal use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from warmset import Memory
from warmset._support import lock_checks
from warmset._support.forks import Lock
from warmset._support.locks import ORDER, condition, guarded, lock, rlock
from warmset.compact import shared
from warmset.state.ledger import columns_of
from warmset.window.request import read_request

PACKAGE = Path(lock_checks.__file__).parents[1]
ROOT = Path(__file__).parents[3]


@guarded("self._lock", fields=("kept",), writes=("count",), calls=("grow", "size"))
class Shelf:
    def __init__(self, made):
        self._lock = made
        self.kept = []
        self.count = 0
        self.grow()

    def grow(self):
        self.kept.append(self.count)
        self.count += 1

    @property
    def size(self):
        return len(self.kept)

    def outside(self):
        return self.count


@guarded("engine", writes=("number",))
class Part:
    __slots__ = ("number",)

    def __init__(self):
        self.number = 1


@pytest.fixture
def refused():
    """What the checks found is expected here."""
    yield lambda what: pytest.raises(AssertionError, match=what)
    assert lock_checks.FOUND
    lock_checks.FOUND.clear()


@pytest.mark.parametrize("make", [lock, rlock, condition, lambda _: Lock()])
def test_what_is_guarded_is_used_under_its_lock(make, refused):
    shelf = Shelf(make("items"))
    with shelf._lock:
        shelf.grow()
        shelf.count += 1
        assert (shelf.kept, shelf.size) == ([0, 1], 2)
        del shelf.kept
    assert shelf.outside() == 3
    with refused("Shelf.kept is used without its lock, self._lock"):
        _ = shelf.kept
    with refused("Shelf.count is used without its lock"):
        shelf.count = 1
    with refused("Shelf.grow is used without its lock"):
        shelf.grow()
    with refused("Shelf.size is used without its lock"):
        _ = shelf.size


def test_a_lock_that_another_thread_holds_is_not_ones_own(refused):
    shelf, held, done = Shelf(rlock("items")), threading.Event(), threading.Event()

    def hold():
        with shelf._lock:
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(20)
    with refused("Shelf.kept"):
        _ = shelf.kept
    done.set()
    holder.join()


def test_the_lock_of_another_object_is_not_its_own(refused):
    one, other = Shelf(lock("items")), Shelf(lock("items"))
    with one._lock, refused("Shelf.kept"):
        _ = other.kept


def test_a_part_is_guarded_by_the_name_of_a_lock(refused):
    part = Part()
    with rlock("engine"):
        part.number = 2
    assert part.number == 2
    with refused("Part.number is used without its lock, engine"):
        part.number = 3
    with rlock("items"), refused("Part.number"):
        part.number = 3


def test_a_dict_of_a_module_is_used_under_its_lock(bag, refused, monkeypatch):
    assert type(shared._SHARED) is lock_checks.CheckedDict
    cache = shared.cache_of(bag, bag)
    assert shared.cache_of(bag, bag) is cache
    shared.forget_vectors()
    assert shared.cache_of(bag, bag) is not cache
    monkeypatch.setattr(shared, "_SHARED_LOCK", nullcontext())
    with refused("a dict is used without its lock: pop"):
        shared.cache_of(bag, bag)
    monkeypatch.undo()
    shared.forget_vectors()  # those of this embedder, which other tests have, too


def test_locks_are_taken_in_one_order(refused):
    outer, inner = rlock("items"), rlock("engine")
    with outer, inner, outer:
        pass
    with inner, refused("the lock 'items' is taken by who holds engine"):
        outer.acquire()
    with inner, refused("the lock 'engine' is taken by who holds engine"):
        rlock("engine").acquire()
    with inner:
        assert outer.acquire(blocking=False), "who does not wait keeps nobody waiting"
        outer.release()


def test_a_condition_gives_its_lock_back_while_it_waits(refused):
    changed = condition("jobs")
    shelf = Shelf(changed)

    def grow():
        with changed:
            shelf.grow()
            changed.notify_all()

    with changed, changed:
        thread = threading.Thread(target=grow)
        thread.start()
        assert changed.wait_for(lambda: shelf.size == 2, 20)
        assert shelf.size == 2
    thread.join()
    with refused("Shelf.size"):
        _ = shelf.size


def test_who_makes_an_object_needs_no_lock_and_another_error_ends_that(refused):
    class Failing(Shelf):
        def __init__(self, made):
            super().__init__(made)
            raise ValueError("not made")

    with pytest.raises(ValueError, match="not made"):
        Failing(lock("items"))
    with refused("Shelf.kept"):
        _ = Shelf(lock("items")).kept


def test_what_is_guarded_in_a_memory_is_checked_and_a_test_may_look_at_it(refused):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append({"role": "user", "content": "hello"})
        assert len(log._ledger.live()) == 1
        assert memory._engine.outdated() == []
        with refused("Ledger.accounts is used without its lock, engine"):
            columns_of(log._ledger)
        with refused("Ledger.live is used without its lock, engine"):
            read_request(memory._engine, log._ledger, None)


PLAIN = """
import sys, threading
from warmset._support import locks
from warmset.state.ledger import Ledger
from warmset import Memory
with Memory.open(None, embedder="lexical") as memory:
    log = memory.conversation("log")
    log.append({"role": "user", "content": "hello"})
    log._ledger.live()
assert type(locks.lock("items")) is type(threading.Lock())
assert type(locks.rlock("items")) is type(threading.RLock())
assert "warmset._support.lock_checks" not in sys.modules
class Kept: ...
assert locks.guarded("engine", writes=("x",))(Kept) is Kept
assert type(Ledger.frozen).__name__ == "member_descriptor"
"""


@pytest.mark.parametrize("given", [None, "", "0"])
def test_in_normal_use_nothing_is_checked(given):
    plain = {key: value for key, value in os.environ.items() if key != "WARMSET_CHECK_LOCKS"}
    plain |= {} if given is None else {"WARMSET_CHECK_LOCKS": given}
    subprocess.run([sys.executable, "-c", PLAIN], env=plain, check=True, timeout=60)  # noqa: S603


def test_every_lock_of_the_package_has_a_name():
    """One that `threading` makes directly is neither checked nor in the order."""
    made = re.compile(r"\b(threading\.)?(R?Lock|Condition)\(\)")
    left = {
        path.relative_to(PACKAGE).as_posix(): len(found)
        for path in PACKAGE.rglob("*.py")
        if (found := made.findall(path.read_text()))
    }
    others = {"_support/forks.py", "_support/locks.py", "_support/lock_checks.py"}
    free_in_a_fork = {"engine/leases.py", "llm/deadline.py", "compact/shared.py", "embed/static.py"}
    own = ("recognition", "provided", "listed", "resent")
    free_in_a_fork |= {f"serve/proxy/{one}.py" for one in own}
    free_in_a_fork |= {"adapters/langgraph/vectors.py", "adapters/lanes.py"}
    assert set(left) - others == free_in_a_fork | {"embed/function.py", "engine/index_file.py"}


def test_the_page_of_contributing_names_every_lock():
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    named = re.findall(r"^\| `(\w+)` \|", text.partition("## Locks")[2], re.MULTILINE)
    assert named == list(ORDER)
