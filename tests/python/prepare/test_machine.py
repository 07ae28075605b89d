"""Prepared compaction as a state machine, with a clock and a summarizer that do what they are told.

Whatever comes in whatever order: a window is valid and within its budget, nothing that left it is
lost, and no call lasts longer than the deadline.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from preparing import Clock, Hand, Writer, process

from warmset import validate
from warmset.errors import BudgetTooSmall
from warmset.prepare import TRANSITIONS, PreparedCompaction, of
from warmset.summarize import HEADING

DEADLINE = 2.0
WORDS = ["old", "harbour", "master", "counted", "every", "crate", "before", "the", "tide"]


class Preparing(RuleBasedStateMachine):
    """One conversation, up to two processes, one summarizer."""

    @initialize(
        dialect=st.sampled_from(["openai", "anthropic"]),
        trigger_ratio=st.sampled_from([0.5, 2 / 3]),
        min_saving=st.sampled_from([0.0, 0.2]),
        fallback=st.booleans(),
    )
    def begin(self, dialect, trigger_ratio, min_saving, fallback):
        self.folder = Path(tempfile.mkdtemp())
        self.clock, self.writer = Clock(), Writer()
        self.hand = Hand(self.clock)
        self.events = []
        self.options = {
            "trigger_ratio": trigger_ratio,
            "min_saving": min_saving,
            "tail": 0.2,
            "keep": 2,
        }
        self.options |= {} if fallback else {"fallback": None}
        self.carry = 0
        self.dialect = dialect
        self.count = 0
        self.list = []
        self.gone = set()
        self.memories, self.dead = [self.opened()], []
        self.log = self.memories[0].conversation("log")
        if dialect == "openai":
            self.append([{"role": "system", "content": "Be brief."}])
        self.append([{"role": "user", "content": "The task: count the crates."}])

    def policy(self):
        return PreparedCompaction(
            summarizer=self.writer,
            deadline=DEADLINE,
            carry_tokens=self.carry,
            clock=self.clock,
            worker=self.hand,
            on_event=self.events.append,
            **self.options,
        )

    def opened(self):
        return process(self.folder / "store", self.policy())

    def append(self, batch):
        self.log.append(batch)
        self.list += batch

    def teardown(self):
        if hasattr(self, "folder"):
            for memory in (*self.memories, *self.dead):
                memory.close(timeout=0)
            shutil.rmtree(self.folder, ignore_errors=True)

    def text(self, length):
        self.count += 1
        return f"Message {self.count}: " + " ".join(WORDS[at % len(WORDS)] for at in range(length))

    # --- the conversation ------------------------------------------------------------------------

    def says(self):
        return "assistant" if self.list[-1]["role"] in ("user", "tool") else "user"

    @rule(lengths=st.lists(st.integers(5, 60), min_size=1, max_size=6))
    def talk(self, lengths):
        for length in lengths:
            self.append([{"role": self.says(), "content": self.text(length)}])

    @precondition(lambda self: self.dialect == "openai")
    @rule(length=st.integers(5, 80), parallel=st.integers(1, 3))
    def use_tools(self, length, parallel):
        ids = [f"call{self.count}-{at}" for at in range(parallel)]
        calls = [
            {"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for id_ in ids
        ]
        self.append([{"role": "assistant", "content": None, "tool_calls": calls}])
        self.append(
            [{"role": "tool", "tool_call_id": id_, "content": self.text(length)} for id_ in ids]
        )

    @precondition(lambda self: len(self.list) > 3)
    @rule(where=st.floats(0, 1))
    def edit(self, where):
        at = 1 + int(where * (len(self.list) - 2))
        if self.list[at]["role"] != "user":
            return
        new = [*self.list[:at], {"role": "user", "content": self.text(9)}]
        self.log.sync(new)
        self.list = new

    @precondition(lambda self: len(self.list) > 3)
    @rule(where=st.floats(0, 1))
    def erase(self, where):
        ids = self.log.ids
        at = int(where * (len(ids) - 1))
        if self.list[at]["role"] == "system" or self.list[at].get("tool_calls"):
            return
        if self.list[at]["role"] == "tool" or not self.is_plain(at):
            return
        secret = self.list[at]["content"].encode()
        self.memories[0].erase(ids=[ids[at]])
        self.gone.add(ids[at])
        del self.list[at]
        for file in (self.folder / "store").rglob("*"):
            assert not file.is_file() or secret not in file.read_bytes()

    def is_plain(self, at):
        """Whether a message can go without two of one role meeting."""
        first = next(i for i, one in enumerate(self.list) if one["role"] != "system")
        return at == len(self.list) - 1 and at > first

    # --- the summarizer --------------------------------------------------------------------------

    @rule(answer=st.sampled_from(["good", "good", "growing", "empty", "error", "failing"]))
    def answers_so(self, answer):
        self.writer.answer = answer

    @rule(seconds=st.sampled_from([None, 0.1, 1.9, 2.0, 2.5]))
    def takes(self, seconds):
        self.hand.ends_in = seconds

    @precondition(lambda self: self.hand.tasks)
    @rule()
    def ends(self):
        self.hand.run()

    @rule(seconds=st.sampled_from([0.5, 5.0, 200.0]))
    def time_passes(self, seconds):
        self.clock.now += seconds

    # --- processes -------------------------------------------------------------------------------

    @precondition(lambda self: len(self.memories) < 2)
    @rule()
    def another_process(self):
        self.memories.append(self.opened())

    @rule()
    def processes_change_places(self):
        self.memories.reverse()
        self.log = self.memories[0].conversation("log")

    @rule(kill=st.booleans(), other=st.booleans())
    def ends_and_begins(self, kill, other):
        """A process ends, orderly or not, and another one begins, perhaps with another policy."""
        before = self.memories.pop(0)
        if kill:
            self.dead.append(before)
            for preparation in before._engine.attached.values():
                if preparation._writing.job is not None:  # its thread and its lock die with it
                    self.hand.tasks.remove(preparation._writing.job.ticket)
                    preparation._writing.job.release()
        else:
            before.close(timeout=0)
        if other:
            self.carry = 40 - self.carry
        self.memories.insert(0, self.opened())
        self.log = self.memories[0].conversation("log")

    # --- windows ---------------------------------------------------------------------------------

    @rule(budget=st.sampled_from([300, 500, 800]), query=st.none() | st.just("What is left?"))
    def window(self, budget, query):
        memory, log = self.memories[0], self.log
        if query is not None and self.list[-1]["role"] not in ("assistant", "user"):
            query = None
        started, asked = self.clock.now, len(self.writer.asked)
        self.hand.waited.clear()
        try:
            window = log.window(query, mode="full", budget=budget)
        except BudgetTooSmall:
            asked = [m for m in self.list if m["role"] == "user"][-1]
            must = [self.list[0], self.list[-1], asked]
            assert sum(len(str(m)) for m in must) > budget
            return
        assert self.clock.now - started <= DEADLINE
        assert len(self.hand.waited) <= 1
        assert len(self.writer.asked) - asked <= 1
        assert window.tokens <= budget
        given = validate(window.messages, dialect=self.dialect)
        assert given == [], given
        self.nothing_is_lost(memory, window, query)

    def nothing_is_lost(self, memory, window, query):
        told = window.report.compaction
        summaries = [m for m in window.messages if HEADING in str(m["content"])]
        assert len(summaries) == (told.boundary > 0)
        said = "\n".join(str(m["content"]) for m in window.messages)
        live = self.log.ids
        assert [dict(turn) for turn in self.log.fetch(live)] == self.list
        shown = [m for m in self.list if m in window.messages or str(m["content"]) in said]
        missing = [at for at, m in enumerate(self.list) if m not in shown]
        if told.left_out == 0:
            assert all(at < told.boundary for at in missing)
        else:
            assert told.why
        if told.boundary:
            preparation = of(memory._engine, "default", "log")
            used = preparation._summaries.used
            covered = set(live[: used.boundary]) - {live[at] for at in used.held}
            assert all(live[at] in covered for at in missing if at < told.boundary)
            assert not covered & self.gone
        assert self.list[0] in shown or told.left_out
        assert self.list[-1] in shown
        if query is not None:
            assert query in said

    @invariant()
    def transitions_are_those_of_the_table(self):
        for event in getattr(self, "events", []):
            assert event.state in TRANSITIONS[event.before]

    @invariant()
    def one_job_writes(self):
        tasks = [t for t in getattr(self, "hand", Hand(None)).tasks if not t.ended]
        alive = [
            p._writing.job
            for memory in getattr(self, "memories", [])
            for p in memory._engine.attached.values()
            if p._writing.job is not None
        ]
        assert len(alive) <= 1
        assert len(alive) <= len(tasks)


TestPreparing = Preparing.TestCase
TestPreparing.settings = settings(max_examples=60, stateful_step_count=40)
