"""Random calls on a memory against a plain list: features that meet, in any order.

Two processes share a store. Lists grow, are cut, edited, resent and come back to earlier branches;
the store's lock is held by somebody else, so that messages wait in the spool; messages are erased;
summaries are prepared; processes end, are killed, and begin again. The model is the list that the
caller has. Each message has a word of its own, so whatever shows it can be told.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from preparing import Clock, Hand, Lease

from warmset import validate
from warmset.engine.engine import Engine
from warmset.engine.handle import Handle
from warmset.errors import BudgetTooSmall, Locked
from warmset.memory import Memory, MemoryOptions
from warmset.native import ColdStore
from warmset.prepare import PreparedCompaction
from warmset.store.options import StoreOptions

WORD = re.compile(r"\bkite(\d+)x\b")
FILLER = "the harbour master counted every crate that came ashore before the tide turned again"
MODE = st.sampled_from(["jit", "steady", "full", "recency", "auto"])
BUDGET = st.sampled_from([400, 700, 1_500, 20_000])


class Impatient(StoreOptions):
    """The options of a store, which does not wait for its lock."""

    def store(self, path):
        return ColdStore.open(
            path, durability=self.durability, on_busy=self.on_busy, read=self.read, lock_wait=0.0
        )


class Quoting:
    """A summarizer that names the messages of which it knows, so that a stale summary is seen."""

    fingerprint = "quoting"

    def __call__(self, messages, /, *, max_tokens, previous=None):  # noqa: ARG002 - as all are
        known = WORD.findall(str(previous or "") + str(messages))
        return f"Until here the talk was of {' '.join(f'kite{n}x' for n in dict.fromkeys(known))}."


def words(given):
    """Return the numbers of the messages that something shows."""
    return {int(number) for number in WORD.findall(str(given))}


class Machine(RuleBasedStateMachine):
    """One conversation of a store, beside another one, and two processes that write it."""

    @initialize(bare=st.booleans(), count=st.integers(0, 30))
    def begin(self, bare, count):
        self.root = Path(tempfile.mkdtemp())
        self.path = self.root / "0"
        self.moves = self.count = 0
        self.clock = Clock()
        self.hand = Hand(self.clock)
        self.list: list[dict] = []
        self.branches: list[list[dict]] = []
        self.kept: set[int] = set()  # acknowledged and not erased
        self.erased: set[int] = set()
        self.busy = None
        self.twins = False
        self.spooler: int | None = None  # who knows what waits in the spool; -1 if nobody does
        self.agreed: list[dict] = []  # the list when nothing waited there last
        self.dead: list[Memory] = []
        self.memories = [self.opened() for _ in range(2)]
        if not bare:
            self.said("system")
            self.turns(count, 4)
            self.store(0)

    def opened(self):
        opening = Impatient(durability="os", on_busy="spool")
        engine = Engine(self.path, embedder=None, opening=opening, encoding="o200k_base")
        policy = PreparedCompaction(
            summarizer=Quoting(),
            carry_tokens=0,
            clock=self.clock,
            worker=self.hand,
            tail=0.2,
            keep=2,
        )
        options = MemoryOptions(tenant="default", compaction=policy)
        return Memory(Handle(Lease(engine), "default", options.redactor()), options)

    def log(self, which):
        return self.memories[which].conversation("log")

    def teardown(self):
        if not hasattr(self, "root"):
            return
        self.free()
        for memory in (*self.memories, *self.dead):
            memory.close(timeout=0)
        shutil.rmtree(self.root, ignore_errors=True)

    # --- the list --------------------------------------------------------------------------------

    def said(self, role, length=1):
        self.count += 1
        text = f"kite{self.count}x " + " ".join([FILLER] * length)
        self.list.append({"role": role, "content": text})

    def turns(self, count, length):
        for _ in range(count):
            last = self.list[-1]["role"] if self.list else "system"
            self.said("assistant" if last == "user" else "user", length)

    def store(self, which):
        """Have a process store the list as it is."""
        self.stored(which, lambda: self.log(which).sync(self.list))

    def stored(self, which, call):
        """Make a call that stores the list, and note whether a part of it waits in the spool."""
        before = self.waiting()
        # Only all of what waits in the spool is recognised; of a part of it, copies are stored.
        self.twins = self.twins or self.spooler is not None
        made = call()
        self.kept |= words(self.list)
        if self.waiting() > before:
            self.spooler = which
        return made

    def waiting(self):
        return len(self.memories[0]._engine.store.spooled())

    def may(self, which):
        """Whether a process knows all of the list: what another one left in the spool is hidden."""
        return self.spooler in (None, which)

    @rule(
        which=st.integers(0, 1),
        change=st.sampled_from(["none", "none", "edit", "shorten", "return"]),
        at=st.floats(0, 1),
        count=st.integers(0, 6),
        length=st.integers(1, 9),
        how=st.sampled_from(["append", "sync", "process", "process"]),
        mode=MODE,
        budget=BUDGET,
        ends=st.booleans(),
    )
    def talk(self, which, change, at, count, length, how, mode, budget, ends):
        """Change the list as callers do, and have a process store it."""
        if not self.may(which):
            return
        before = len(self.list)
        if change != "none":
            self.branches.append(self.list)
            self.list = self.changed(change, at)
        self.turns(count, length)
        memory, log = self.memories[which], self.log(which)
        if how == "process":
            call = partial(memory.process, self.list, conversation="log", mode=mode, budget=budget)
            self.stored(which, partial(self.check, budget, call))
            self.end_summaries(ends)
        elif how == "append" and change == "none":
            self.stored(which, partial(log.append, self.list[before:]))
        else:
            self.stored(which, partial(log.sync, self.list))

    def changed(self, change, at):
        if change == "edit":  # a user's message is written anew, and what follows is gone
            asked = [n for n, one in enumerate(self.list) if one["role"] == "user"] or [0]
            self.list = self.list[: asked[int(at * (len(asked) - 1))]]
            self.turns(1, 1)
            return self.list
        if change == "shorten":
            return self.list[: int(at * len(self.list))]
        return list(self.branches[int(at * (len(self.branches) - 1))])

    # --- the lock, the spool, erasures -----------------------------------------------------------

    @rule()
    def somebody_takes_the_lock_or_gives_it_back(self):
        if self.busy is not None:
            self.free()
            return
        self.busy = (self.path / "lock").open("r+b")
        fcntl.flock(self.busy, fcntl.LOCK_EX)

    def free(self):
        if self.busy is not None:
            self.busy.close()
            self.busy = None

    @precondition(lambda self: self.busy is None)
    @rule(which=st.integers(0, 1))
    def the_spool_is_taken_up(self, which):
        self.memories[which].conversation("else").append({"role": "user", "content": "x"})
        assert not self.waiting()

    @rule(which=st.integers(0, 1), pick=st.integers(0, 999), more=st.integers(0, 9))
    def erase(self, which, pick, more):
        """Erase some messages, on the path or beside it, or the conversation."""
        memory = self.memories[which]
        known = self.numbers(memory)
        found = sorted(known)
        whole = more == 9
        gone = {found[(pick + 7 * at) % len(found)] for at in range(more % 3 + 1) if found}
        what = (
            {"conversation": "log"}
            if whole
            else {"ids": [id_ for one in gone for id_ in known[one]]}
        )
        if self.busy is not None:
            with pytest.raises(Locked) if whole or gone else nullcontext():
                memory.erase(**what)
            return
        memory.erase(**what)
        self.forget(set(self.kept) if whole else gone)

    def numbers(self, memory):
        """Return the ids of all messages of the conversation that a process knows, by number."""
        engine = memory._engine
        engine.follow()
        with engine.lock:
            ledger = engine.ledger("default", "log")
            ids = list(ledger.entries)
        known: dict[int, list[int]] = {}
        for id_ in ids:
            known.setdefault(next(iter(words(engine.message(id_)))), []).append(id_)
        assert self.twins or len(known) == len(ids), "a message is stored twice"
        return known

    def forget(self, gone):
        self.erased |= gone
        self.kept -= gone
        for one in (self.list, self.agreed, *self.branches):
            one[:] = [message for message in one if not words(message) & gone]
        for file in self.path.rglob("*"):
            if file.is_file():
                there = {int(n) for n in re.findall(rb"kite(\d+)x", file.read_bytes())}
                assert not there & gone, f"{file} has what was erased"

    # --- processes -------------------------------------------------------------------------------

    @rule(which=st.integers(0, 1), kill=st.booleans())
    def end_and_begin(self, which, kill):
        """A process ends, orderly or without a word; its threads and its claims end with it."""
        memory = self.memories[which]
        if kill:
            self.dead.append(memory)
            for attached in memory._engine.attached.values():
                if (job := attached._writing.job) is not None:
                    self.hand.tasks = [one for one in self.hand.tasks if one is not job.ticket]
                    job.release()
        else:
            memory.close(timeout=0)
        self.leave(which)
        self.memories[which] = self.opened()

    def leave(self, which):
        """What a process that is gone left in the spool, nobody knows until it is taken up."""
        if self.spooler == which:
            self.spooler = -1

    @rule(junk=st.binary(max_size=40))
    def lose_power(self, junk):
        """Both processes are gone, perhaps in the middle of a write."""
        self.free()
        self.leave(self.spooler)
        self.moves += 1
        left = self.root / str(self.moves)
        shutil.copytree(self.path, left)
        self.dead += self.memories
        self.hand.tasks.clear()
        last = max(left.glob("*.seg"))
        if b"wsegend" not in last.read_bytes()[-64:]:
            with last.open("ab") as file:
                file.write(junk)
        self.path = left
        self.memories = [self.opened() for _ in range(2)]

    # --- summaries and windows -------------------------------------------------------------------

    def end_summaries(self, ends):
        while ends and self.hand.tasks:
            self.hand.run()

    @rule(
        which=st.integers(0, 1),
        mode=MODE,
        budget=BUDGET,
        query=st.none() | st.just("What of the crates?"),
        seconds=st.sampled_from([1.0, 200.0]),
        ends=st.booleans(),
    )
    def window(self, which, mode, budget, query, seconds, ends):
        self.clock.now += seconds
        call = partial(self.log(which).window, query, mode=mode, budget=budget)
        self.check(budget, call, query)
        self.end_summaries(ends)

    def check(self, budget, build, query=None):
        """Build a window, and hold it against the list."""
        before = self.waiting()
        try:
            window = build()
        except BudgetTooSmall:
            assert budget < 20_000
            return
        assert window.tokens <= budget
        assert validate(window.messages, dialect="openai") == []
        shown = words(window.messages)
        assert not shown & self.erased, "a window shows what was erased"
        if self.spooler is None and self.waiting() == before:
            assert shown <= words(self.list), "a window shows what is not on the path"
            asked = [one for one in self.list if one["role"] == "user" and query is None]
            assert words(asked[-1:]) <= shown, "a window lacks the request"
        else:
            assert shown <= words(self.list) | words(self.agreed)

    @invariant()
    def processes_agree_with_the_list(self):
        if not hasattr(self, "memories"):
            return
        if not self.waiting():
            self.spooler = None
        if self.spooler is not None:
            return
        self.agreed = list(self.list)
        for which in range(2):
            log = self.log(which)
            assert [dict(turn) for turn in log] == self.list
            there = self.numbers(self.memories[which])
            assert set(there) == self.kept, (
                "an acknowledged message is lost, or an erased one is not"
            )

    @invariant()
    def a_spooled_list_is_not_stored_twice(self):
        if getattr(self, "spooler", None) in (0, 1) and self.busy is not None:
            before = self.waiting()
            synced = self.log(self.spooler).sync(self.list)
            assert (synced.kept, list(synced.appended)) == (len(self.list), [])
            assert self.waiting() == before


DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
Machine.TestCase.settings = settings(
    max_examples=3_000 if DEEP else 80,
    stateful_step_count=50 if DEEP else 30,
    deadline=None,
)
test_a_memory_is_the_callers_list = Machine.TestCase
