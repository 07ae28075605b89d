"""A clock, a worker and a summarizer that do what a test says, and a handle as another process."""

from __future__ import annotations

import time

from warmset.engine.engine import Engine
from warmset.engine.handle import Handle
from warmset.memory import Memory, MemoryOptions
from warmset.store.options import StoreOptions
from warmset.summarize import HEADING

BUDGET = 600
LINE = "the harbour master counted every crate that came ashore before the tide"


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Hand:
    """Runs tasks when told; whoever waits sees its seconds pass, or a task end within them."""

    def __init__(self, clock):
        self.clock = clock
        self.tasks = []
        self.ends_in = None  # seconds after which a task ends by itself while somebody waits
        self.waited = []

    def start(self, task):
        ticket = Ticket(self, task)
        self.tasks.append(ticket)
        return ticket

    def run(self, at=0):
        self.tasks.pop(at).end()


class Ticket:
    def __init__(self, hand, task):
        self.hand, self.task, self.ended = hand, task, False

    def end(self):
        self.ended = True
        self.task()

    def wait(self, seconds):
        hand = self.hand
        ends = hand.ends_in is not None and hand.ends_in <= seconds and self in hand.tasks
        passed = 0.0 if self.ended else hand.ends_in if ends else seconds
        hand.waited.append(passed)
        hand.clock.now += passed
        if ends and not self.ended:
            hand.tasks.remove(self)
            self.end()
        return self.ended


class Writer:
    """A summarizer whose next answers are set; it remembers what it was asked."""

    fingerprint = "writer"

    def __init__(self):
        self.answer = "good"
        self.asked = []

    def __call__(self, messages, /, *, max_tokens, previous=None):  # noqa: ARG002 - as all are
        self.asked.append((list(messages), previous))
        match self.answer:
            case "good":
                return f"What was said in {len(messages)} messages, part {len(self.asked)}."
            case "growing":
                return "a summary that says more than there was to say " * 400
            case "empty":
                return " \n"
            case "error":
                return "Error code: 429 - too many requests"
            case "failing":
                raise ConnectionError("nobody there")
            case _:
                return self.answer


class Lease:
    """A share in an engine of one's own."""

    def __init__(self, engine):
        self.engine = engine
        self.vectors = None

    def release(self, timeout):
        self.engine.close(timeout)


def process(path, policy, *, tenant="default"):
    """Open a store as another process would: with an engine that shares nothing but the files."""
    engine = Engine(
        path, embedder=None, opening=StoreOptions(durability="os"), encoding="o200k_base"
    )
    options = MemoryOptions(tenant=tenant, compaction=policy)
    return Memory(Handle(Lease(engine), tenant, options.redactor()), options)


def talk(conversation, count, start=0):
    """Append so many questions and answers of about 20 tokens each."""
    for at in range(start, start + count):
        conversation.append({"role": "user", "content": f"Question {at}: {LINE}?"})
        conversation.append({"role": "assistant", "content": f"Answer {at}: {LINE}."})


def shown(window):
    return [m for m in window.messages if HEADING in str(m["content"])]


def opened(policy, path=None):
    memory = Memory.open(path, embedder="lexical", compaction=policy)
    log = memory.conversation("log")
    log.append({"role": "user", "content": "The task: count crates, and tell harbour 7."})
    return memory, log


def window(log, budget=BUDGET, **options):
    return log.window(mode="full", budget=budget, **options)


def prepared(log, hand):
    """Cross the trigger, and have the summary written."""
    talk(log, 11)
    window(log)
    hand.run()


def until(holds):
    """Wait for what a thread does."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)
