"""Logging: every event has its name, level and fields; no record has a word of what was said."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from bag import Bag
from preparing import BUDGET, window

from warmset import Memory, PreparedCompaction, Summarize, fit
from warmset._support import log as logs
from warmset.engine import index_file
from warmset.errors import Closed, EmbedderError, Locked, StoreError
from warmset.index import file_lock
from warmset.index.indexer import Indexer
from warmset.items import NewItem
from warmset.native import ColdStore, Log
from warmset.prepare.worker import Threads
from warmset.receipts import Spooled
from warmset.route import Need, Router, TaskSpec
from warmset.summarize import ExtractiveSummarizer

MARKER = "xylophone-7719"
PAGE = Path(__file__).parents[3] / "python" / "docs" / "reference" / "logging.md"
OURS = set(vars(logging.makeLogRecord({}))) | {"message", "event", "taskName"}
LINE = f"the harbour master counted {MARKER} before the tide"


def said(text, role="user"):
    return {"role": role, "content": f"{text} {MARKER}"}


def talk(conversation, count, start=0):
    for at in range(start, start + count):
        conversation.append(said(f"Question {at}: {LINE}?"))
        conversation.append(said(f"Answer {at}: {LINE}.", "assistant"))


class Heard(logging.Handler):
    """Keeps records; while it is called, another thread asks a memory, as a handler may."""

    def __init__(self):
        super().__init__()
        self.records, self.all = [], []
        self.memory = None
        self.stuck = []

    def createLock(self):  # noqa: N802 - logging's name
        self.lock = None  # whoever asks logs, too

    def emit(self, record):
        self.records.append(record)
        self.all.append(record)
        if self.memory is not None and record.threadName != "asking":
            asking = threading.Thread(target=self._ask, name="asking")
            asking.start()
            asking.join(5)
            if asking.is_alive():
                self.stuck.append(record.getMessage())
            with suppress(Closed):
                self.memory.stats()

    def _ask(self):
        with suppress(Closed):
            self.memory.stats()
        with Memory.open("elsewhere", embedder="lexical"):
            pass

    def named(self, event, what=None):
        def fits(one):
            return one.event == event and getattr(one, "what", None) == what

        return [one for one in list(self.records) if fits(one)]

    def wait_for(self, event, what=None):
        end = time.monotonic() + 30
        while not self.named(event, what):
            assert time.monotonic() < end, f"{event} never happened"
            time.sleep(0.002)
        return self.named(event, what)


@contextmanager
def listening(handler):
    """Have a handler called with everything."""
    logger = logging.getLogger("warmset")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@pytest.fixture
def heard(tmp_path, monkeypatch):
    """All records of warmset; none may have the secret in it, wherever."""
    monkeypatch.chdir(tmp_path)
    handler = Heard()
    with listening(handler):
        yield handler
    assert handler.stuck == []
    for record in handler.all:
        written = f"{logging.Formatter().format(record)} {vars(record)!r}"
        assert MARKER not in written
        assert record.exc_info is record.exc_text is record.stack_info is None
        check(record)


# --- the page is the contract ---------------------------------------------------------------------


def rows():
    """The page's table: levels and fields by event, what and logger."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 6 or not cells[0].startswith("`"):
            continue
        event, what = cells[0].strip("`"), cells[1].strip("`") or None
        fields = set(re.findall(r"`(\w+)`", cells[4])) | ({"what"} if what else set())
        for logger in re.findall(r"`([\w.]+)`", cells[3]):
            assert (event, what, logger) not in found
            found[event, what, logger] = set(cells[2].upper().split(", ")), fields
    return found


ROWS = rows()


def check(record):
    """A record is one of the page's, with its fields, and says them in its text."""
    fields = {name: value for name, value in vars(record).items() if name not in OURS}
    levels, names = ROWS[record.event, fields.get("what"), record.name]
    assert (set(fields), record.levelname in levels) == (names, True), record.getMessage()
    told = " ".join(f"{name}={value!r}" for name, value in record.args.items())
    assert dict(record.args) == fields
    assert record.getMessage() == f"{record.event} {told}"


# --- what happens to a store ----------------------------------------------------------------------


def torn(path):
    """A store whose last append was torn, with a segment that was only begun."""
    with Memory.open(path, embedder="lexical") as memory:
        memory.conversation("log").append([said("one"), said("two", "assistant")])
        shutil.copytree(path, path.with_name("copy"))
        memory.conversation("log").append(said("three"))
        [segment] = path.glob("*.seg")
        half = segment.read_bytes()
    path = path.with_name("copy")
    whole = (path / segment.name).stat().st_size
    (path / segment.name).write_bytes(half[: whole + 40])
    (path / f"{int(segment.stem) + 1:020}.seg").write_bytes(b"begun")
    return path, int(segment.stem), whole


def opening(heard, tmp_path):
    path, number, whole = torn(tmp_path / "store")
    heard.records.clear()
    with Memory.open(path, embedder="lexical"):
        [recovered], [opened] = heard.named("recovered"), heard.named("opened")
    assert (recovered.cuts, recovered.set_aside, recovered.bytes) == (1, 1, 45)
    assert (number, whole) in recovered.offsets
    assert [Path(one).exists() for one in recovered.copies] == [True, True]
    assert (recovered.path, recovered.levelname) == (str(path), "INFO")
    assert (opened.path, opened.mode, opened.index) == (str(path), "shared", "records")
    assert opened.conversations == 1
    assert opened.records >= 2
    assert opened.milliseconds > 0
    with Memory.open(path, embedder="lexical"):
        assert len(heard.named("opened")) == 2
        with Memory.open(path, embedder="lexical", tenant="acme"):
            assert len(heard.named("opened")) == 2, "a share of what is open"
    assert len(heard.named("recovered")) == 1


def damage(heard, tmp_path):
    path = tmp_path / "damaged"
    with Memory.open(path, embedder="lexical") as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(3)])
    [segment] = path.glob("*.seg")
    data = bytearray(segment.read_bytes())
    data[data.index(b"turn 1")] ^= 1
    segment.write_bytes(data)
    with Memory.open(path, embedder="lexical") as memory:
        [found] = heard.named("damaged")
        assert (found.damages, found.records, found.kinds) == (1, 1, ["corrupt"])
        assert (found.files, found.unreadable) == ([str(segment)], 0)
        assert found.levelno == logging.ERROR
        heard.memory = memory
        with ColdStore.open(path) as store:
            store.append([("turn", [b"default", b"log"], b"[1]", MARKER.encode())])
        memory.stats()
        assert [one.unreadable for one in heard.named("damaged")] == [0, 1]
        memory.stats()
        assert len(heard.named("damaged")) == 2, "each is told once"
        heard.memory = None


def writers(heard, tmp_path):
    path = tmp_path / "busy"
    with Memory.open(path, embedder="lexical", on_busy="spool") as memory:
        heard.memory = memory
        log = memory.conversation("log")
        log.append(said("first"))
        assert not heard.named("busy")
        with ColdStore.open(path, mode="exclusive"):
            assert isinstance(log.append([said("left"), said("too")]), Spooled)
        [refused], [spooled] = heard.named("busy"), heard.named("spooled")
        assert (refused.waits, refused.refused, refused.levelname) == (1, 1, "WARNING")
        assert refused.seconds >= 1.9
        assert (spooled.records, spooled.levelname) == (2, "WARNING")
        for _ in range(20):  # the lock may be free before the append looks
            holder = ColdStore.open(path, mode="exclusive")
            threading.Timer(0.1, holder.close).start()
            log.append(said("patient"))
            waited = heard.named("busy")[-1]
            if waited is not refused:
                break
        assert (waited.waits, waited.refused, waited.levelname) == (1, 0, "DEBUG")
        assert 0 < waited.seconds < 1.9
        assert not heard.named("taken_up"), "the other writer took it up"
        with ColdStore.open(path, mode="exclusive"):
            log.append(said("left again"))
        assert isinstance(log.append(said("and the next")), list)
        [taken_up] = heard.named("taken_up")
        assert (taken_up.batches, taken_up.levelname) == (1, "INFO")
        assert not heard.named("reread")
        (path / "lock").unlink()
        log.append(said("on another lock"))
        [reread] = heard.named("reread")
        assert (reread.times, reread.levelname) == (1, "DEBUG")
        heard.memory = None
    with Memory.open(path, embedder="lexical") as memory:
        heard.memory, before = memory, len(heard.named("busy"))
        with ColdStore.open(path, mode="exclusive"), pytest.raises(Locked):
            memory.conversation("log").append(said("refused"))
        assert [one.refused for one in heard.named("busy")[before:]] == [1]
        heard.memory = None


def erasing(heard, tmp_path):
    with Memory.open(tmp_path / "erased", embedder="lexical", encryption="keys") as memory:
        heard.memory = memory
        [gone, _] = memory.conversation("log").append([said("one"), said("two", "assistant")])
        made = memory.remember(f"The word is {MARKER}.")
        memory.memories(query=MARKER)
        memory.revise(made, f"The word was {MARKER}.")
        memory.erase(ids=[gone])
        memory.erase(conversation="log")
        assert [one.records for one in heard.named("erased")] == [1, 1, 1]
        assert [one.keys for one in heard.named("erased")] == [0, 0, 1]
        memory.rebuild_index()
        [rebuilt] = heard.named("rebuilt")
        assert (rebuilt.turns, rebuilt.levelname) == (0, "INFO")
        heard.memory = None


# --- what happens to an index ---------------------------------------------------------------------


def index(heard, tmp_path, monkeypatch):
    path, bag = tmp_path / "indexed", Bag()
    with Memory.open(path, embedder=bag) as memory:
        memory.conversation("log").append([said(f"turn {n}") for n in range(120)])
        assert memory.flush(30)
    heard.records.clear()
    with Memory.open(path, embedder=bag):
        assert heard.named("opened")[0].index == "file"
    assert not heard.named("fell_back", "index")
    with Memory.open(path, embedder=bag, views="turn"):
        [foreign] = heard.named("fell_back", "index")
        assert heard.named("opened")[1].index == "records"
    assert (foreign.to, foreign.path, foreign.levelname) == ("records", str(path), "INFO")
    assert foreign.why == "it has the vectors of another embedder"
    with Memory.open(path, embedder=bag) as memory:
        memory.rebuild_index()
    file = path / file_lock.NAME
    file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])
    with Memory.open(path, embedder=bag) as memory:
        damaged = heard.named("fell_back", "index")[-1]
        assert (damaged.levelname, damaged.to) == ("WARNING", "records")
        assert damaged.why.isidentifier(), "a class"
        assert memory.conversation("log").ids
        memory.flush(30)
    file = path / file_lock.TURNS
    file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])
    with Memory.open(path, embedder=bag) as memory:
        [damaged] = heard.named("fell_back", "turns")
        assert (damaged.levelname, damaged.to) == ("WARNING", "records")
        assert damaged.path == str(path)

        def broken(_path):
            raise OSError(MARKER)

        heard.memory = memory
        with monkeypatch.context() as patch:
            patch.setattr(index_file, "lock_file", broken)
            memory.rebuild_index()
        [failed] = heard.named("failed", "index_save")
        assert (failed.path, failed.error, failed.levelname) == (str(path), "OSError", "WARNING")
        heard.memory = None


def embedder(heard, tmp_path):
    bag = Bag(remote=True)

    def fail(texts):
        raise EmbedderError(f"{texts}") from ConnectionError(f"{texts}")

    with Memory.open(tmp_path / "embedded", embedder=bag) as memory:
        heard.memory = memory
        log = memory.conversation("log")
        bag.before = fail
        log.append([said("one"), said("two", "assistant")])
        retried = heard.wait_for("fell_back", "vectors")[0]
        assert (retried.embedder, retried.to, retried.levelname) == (bag.name, "retry", "WARNING")
        assert (retried.turns, retried.error) == (2, "EmbedderError from ConnectionError")
        memory.search(MARKER, wait=30)
        by_words = heard.named("fell_back", "query_vector")[-1]
        assert (by_words.to, by_words.wait, by_words.levelname) == ("words", 30, "WARNING")
        assert by_words.why == "EmbedderError from ConnectionError"
        gate = threading.Event()
        bag.before = lambda _texts: gate.wait(30)
        memory.search(f"{MARKER} again", wait=0.0)
        assert heard.named("fell_back", "query_vector")[-1].why == "late"
        gate.set()
        bag.before = lambda _texts: None
        assert memory.flush(30)
        heard.memory = None
    other = Bag(fingerprint="another")
    with Memory.open(tmp_path / "embedded", embedder=other) as memory:
        memory.conversation("log").append(said("three"))
        [lost] = heard.wait_for("failed", "vectors")
        assert (lost.turns, lost.error, lost.levelname) == (2, "EmbedderMismatch", "WARNING")
    with Memory.open(tmp_path / "probed", embedder=Bag().embed) as memory:
        memory.conversation("log").append(said("one"))
        assert memory.flush(30)
    with Memory.open(tmp_path / "probed", embedder=fail) as memory:
        memory.search(MARKER, query_vector=Bag().embed_query([MARKER])[0])
        [unknown] = heard.named("failed", "probe")
        assert (unknown.why, unknown.levelname) == ("EmbedderError from EmbedderError", "WARNING")
        assert unknown.embedder


def threads(heard, monkeypatch):
    def ends(*_any):
        raise RuntimeError(MARKER)

    with monkeypatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda _told: None)
        patch.setattr(Indexer, "_next_work", ends)
        memory = Memory.open(None, embedder=Bag())
        memory.conversation("log").append(said("one"))
        [indexer] = heard.wait_for("failed", "thread")
        assert (indexer.worker, indexer.error) == ("warmset-indexer", "RuntimeError")
        assert indexer.levelno == logging.ERROR
        assert memory._engine.indexer._background.join(30)
        memory.close(timeout=0)
        assert Threads().start(ends).wait(30)
        [other] = heard.named("failed", "thread")[1:]
        assert (other.worker, other.name) == ("warmset-prepare", "warmset.prepare")
        for thread in threading.enumerate():  # it has the hook to go through yet
            if thread.name == other.worker:
                thread.join(30)


def test_what_ends_a_thread_is_logged_and_raised_all_the_same(heard):
    with pytest.raises(KeyError, match=MARKER), logs.watched(logs.room("index")):
        raise KeyError(MARKER)
    [failed] = heard.named("failed", "thread")
    worker = threading.current_thread().name
    assert (failed.worker, failed.error, failed.levelname) == (worker, "KeyError", "ERROR")


# --- what happens to windows and summaries --------------------------------------------------------


class Picky:
    """A picker that quotes what it was asked."""

    def __init__(self, answer):
        self.answer = answer

    def pick(self, request, _candidates, *, limit):  # noqa: ARG002 - a picker's
        if self.answer is None:
            raise ValueError(request)
        return self.answer


def windows(heard):
    with Memory.open(None, embedder="lexical", tenant="acme") as memory:
        heard.memory = memory
        log = memory.conversation("log")
        talk(log, 30)
        for answer, why in ((None, "ValueError"), ([10**9], "no id of the shortlist")):
            made = log.window(f"who counted {MARKER}?", budget=900, picker=Picky(answer))
            assert made.report.picked_by == "score"
            told = heard.named("fell_back", "picker")[-1]
            assert (told.to, told.picker, told.why) == ("score", "Picky", why)
            assert (told.candidates > 0, told.levelname) == (True, "WARNING")
        made = log.window(MARKER, budget=900, mode="recency")
        [told] = heard.named("evicted")
        assert (told.tenant, told.conversation, told.mode) == ("acme", "log", "recency")
        assert told.messages == 60 - (made.report.turns_sent - 1)
        assert (told.tokens, told.budget) == (made.report.tokens_in - made.tokens, 900)
        assert told.levelname == "DEBUG"
        made = log.window(MARKER, budget=900, mode="steady")
        [told] = heard.named("epoch")
        assert (told.tenant, told.conversation, told.number) == ("acme", "log", 1)
        assert (told.why, told.dialect) == ("the list reached the budget", "openai")
        assert (told.tokens, told.budget) == (made.tokens, 900)
        assert told.hidden == made.report.epoch.hidden > 40
        assert told.levelname == "INFO"
        heard.memory = None


class Judge:
    """A triage, and a policy, that fail with what they were asked."""

    def judge(self, request, _candidates, _text):
        raise ValueError(request.query)

    def decide(self, _spec, request, _records):
        raise ValueError(request.query)


class NoPower(Bag):
    """An embedder that fails over memories."""

    def __init__(self):
        super().__init__(fingerprint="bag-without-power")  # vectors are shared by fingerprint

    def embed(self, texts):
        if any("is old" in text for text in texts):
            raise ConnectionError(MARKER)
        return super().embed(texts)


def routes(heard, tmp_path):
    need = Need(type="note", scope="global")
    spec = TaskSpec(task_type="t", required_memory=(need,), max_context_tokens=900)
    with Memory.open(None, embedder="lexical", tenant="acme") as memory:
        heard.memory = memory
        memory.items.put(NewItem(memory_type="note", text=LINE))
        made = Router(memory, specs=[spec], triage=Judge(), policy=Judge()).route("t", query=MARKER)
        assert len(made.context_payload) == 1
        [told] = heard.named("fell_back", "triage")
        assert (told.to, told.triage, told.why) == ("rules", "Judge", "ValueError")
        assert (told.candidates, told.name) == (1, "warmset.route")
        [told] = heard.named("fell_back", "policy")
        assert (told.to, told.task, told.error) == ("spec", "t", "ValueError")
        with patch.object(Log, "write", side_effect=StoreError(MARKER)):
            made = Router(memory, specs=[spec]).route("t", query=MARKER)
        [told] = heard.named("fell_back", "record")
        assert (told.to, told.name) == ("no record", "warmset.route")
        assert (made.payload_id, len(made.notes)) == (None, 1)
    heard.memory = None
    with Memory.open(tmp_path / "memories", embedder="lexical") as memory:
        memory.remember(f"The port is old. {LINE}")
    with Memory.open(tmp_path / "memories", embedder=NoPower()) as memory:
        heard.memory = memory
        log = memory.conversation("log")
        talk(log, 12)
        log.append(said("where is the port whose vector nobody asked for?"))
        log.window(budget=900)
        told = heard.named("fell_back", "memories")[-1]
        assert (told.to, told.levelname) == ("words", "WARNING")
        heard.memory = None


def choices(heard, tmp_path, monkeypatch):
    def fails(_drafts, **_options):
        raise StoreError("full")

    with Memory.open(tmp_path / "choices", embedder="lexical", tenant="acme") as memory:
        heard.memory = memory
        log = memory.conversation("log")
        talk(log, 30)
        log.append(said(f"who counted {MARKER}?"))
        with monkeypatch.context() as patch:
            patch.setattr(memory._handle.live(), "put", fails)
            assert log.window(budget=900).report.active
        memory.conversations()
        [told] = heard.named("failed", "choices")
        assert (told.tenant, told.conversation, told.error) == ("acme", "log", "StoreError")
        heard.memory = None


def begun(log, hand):
    """Talk until a summary is begun."""
    before = len(hand.tasks)
    while len(hand.tasks) == before:
        talk(log, 1)
        window(log)


def prepared_only(heard, hand, policy):
    """Have a summary written that no window shows."""
    memory = heard.memory = Memory.open(None, embedder="lexical", compaction=policy)
    log = memory.conversation("log")
    begun(log, hand)
    hand.run(-1)
    return memory, log


def summaries(heard, hand):  # noqa: PLR0915 - one scenario
    def fail(_messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        raise ConnectionError(MARKER)

    def write(messages, *, max_tokens):  # noqa: ARG001
        return f"What {MARKER} said in {len(messages)} messages."

    def policy(writer, fallback=None):
        return PreparedCompaction(
            summarizer=writer, fallback=fallback, clock=hand.clock, worker=hand, carry_tokens=0
        )

    def prepared(writer, fallback=None):
        memory = Memory.open(None, embedder="lexical", compaction=policy(writer, fallback))
        heard.memory, log = memory, memory.conversation("log")
        begun(log, hand)
        hand.run(-1)
        talk(log, 10, 20)
        return memory, window(log).report

    memory, report = prepared(write, None)
    with memory:
        [applied] = heard.named("applied")
        told = report.compaction
        assert told.applied
        assert (applied.boundary, applied.tokens) == (told.boundary, told.tokens)
        assert (applied.tokens_saved > 0, applied.waited, applied.spent) == (True, told.waited, 0)
        assert (applied.tenant, applied.conversation) == ("default", "log")
        assert applied.levelname == "DEBUG"
        heard.memory = None
    begun_again, _ = prepared_only(heard, hand, policy(write))
    begun_again.close()
    [unused] = heard.named("unused")
    assert (unused.summaries, unused.tokens, unused.levelname) == (1, 0, "INFO")
    assert (unused.tenant, unused.conversation) == ("default", "log")
    heard.memory = None
    heard.records.clear()
    memory, report = prepared(fail)
    with memory:
        failed = heard.named("failed", "summary")[0]
        assert failed.error == "SummarizerError from ConnectionError"
        assert (failed.messages > 2, failed.boundary > 2) == (True, True)
        assert (failed.conversation, failed.levelname) == ("log", "WARNING")
        evicted = heard.named("evicted")[-1]
        assert (evicted.messages, evicted.mode) == (report.compaction.left_out, "full")
        assert evicted.tokens == report.tokens_in - report.tokens_sent > 0
        assert (evicted.budget, evicted.levelname) == (BUDGET, "WARNING")
        heard.memory = None
    memory, _ = prepared(fail, ExtractiveSummarizer())
    with memory:
        [other] = heard.named("fell_back", "summary")
        assert (other.to, other.why) == (
            "ExtractiveSummarizer",
            "SummarizerError from ConnectionError",
        )
        assert (other.boundary > 2, other.conversation) == (True, "log")
        heard.memory = None
    late = len(heard.named("failed", "summary"))
    with Memory.open(None, embedder="lexical", compaction=policy(write)) as memory:
        log = memory.conversation("log")
        begun(log, hand)
        hand.clock.now += 10_000
        window(log)
        assert [one.error for one in heard.named("failed", "summary")[late:]] == ["late"]


def branches(heard):
    with Memory.open(None, embedder="lexical") as heard.memory:
        log = heard.memory.conversation("log")
        log.sync([said(f"{n}") for n in range(5)])
        log.sync([said(f"{n}") for n in range(3)])
        assert not heard.named("branched")  # two of five left
        log.sync([said("0")])
    [branched] = heard.named("branched")
    assert (branched.branched_at, branched.left, branched.levelname) == (1, 2, "WARNING")
    assert (branched.tenant, branched.conversation) == ("default", "log")


def redaction(heard):
    with Memory.open(None, embedder="lexical") as heard.memory:
        log = heard.memory.conversation("log")
        log.append(said(f"a <private>{LINE}</private>"))
        log.sync([said(f"a <private>{LINE}</private>"), said(f"<private>{LINE}")])
        heard.memory.remember(f"It is <private>{LINE}</private> so.")
    told = [(one.messages, one.conversation) for one in heard.named("redacted")]
    assert told == [(1, "log"), (1, "log"), (1, None)]
    assert {(one.tenant, one.levelname) for one in heard.named("redacted")} == {("default", "INFO")}


def keys(heard):
    with Memory.open(None, embedder="lexical") as heard.memory:
        log = heard.memory.conversation("log")
        for batch in ([said("a")], [said("a"), said("b"), said("b")]):
            log.append(batch, key=[one["content"] for one in batch])
    [skipped] = heard.named("skipped")
    assert (skipped.tenant, skipped.conversation, skipped.messages) == ("default", "log", 2)
    assert skipped.levelname == "INFO"


def descriptions(heard):
    def fail(text):
        raise ConnectionError(text)

    with Memory.open(None, embedder="lexical", summary_line=fail) as heard.memory:
        heard.memory.conversation("log").append([said("one"), said("two", "assistant")])
        assert not heard.memory.flush(30)
        told = heard.named("fell_back", "description")
    assert sum(one.turns for one in told) >= 2
    assert {(one.part, one.to, one.error) for one in told} == {
        ("summary_line", "built-in", "ConnectionError")
    }


def fitted(heard):
    def fail(_messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        raise ConnectionError(MARKER)

    listed = [said(f"{n} {LINE}", "assistant" if n % 2 else "user") for n in range(40)]
    heard.records.clear()
    fit(listed, budget=700, policy=Summarize(summarizer=fail, fallback=ExtractiveSummarizer()))
    [other] = heard.named("fell_back", "summary")
    assert (other.to, other.why) == ("ExtractiveSummarizer", "SummarizerError from ConnectionError")
    fit(listed, budget=700, policy=Summarize(summarizer=lambda _m, **_more: " "))
    [refused] = heard.named("failed", "summary")
    assert (refused.error, refused.name) == ("SummaryRefused", "warmset.window")


def test_every_event_has_its_fields_and_none_has_what_was_said(heard, tmp_path, monkeypatch, hand):
    """All that can happen, each time with a handler that asks the memory meanwhile."""
    for scenario, given in (
        (opening, (tmp_path,)),
        (damage, (tmp_path,)),
        (writers, (tmp_path,)),
        (erasing, (tmp_path,)),
        (branches, ()),
        (redaction, ()),
        (keys, ()),
        (descriptions, ()),
        (index, (tmp_path, monkeypatch)),
        (embedder, (tmp_path,)),
        (threads, (monkeypatch,)),
        (windows, ()),
        (choices, (tmp_path, monkeypatch)),
        (routes, (tmp_path,)),
        (summaries, (hand,)),
        (fitted, ()),
    ):
        heard.records.clear()
        scenario(heard, *given)
        heard.memory = None
    told = {(one.event, getattr(one, "what", None), one.name) for one in heard.all}
    elsewhere = {row for row in ROWS if row[2] == "warmset.serve"}  # in the tests of that room
    assert told == set(ROWS) - elsewhere


# --- handlers -------------------------------------------------------------------------------------


def test_a_handler_that_raises_costs_nothing(tmp_path):
    class Broken(logging.Handler):
        def emit(self, record):
            told.append(record.event)
            raise RuntimeError(record.getMessage())

    told = []
    with listening(Broken()), Memory.open(tmp_path, embedder="lexical") as memory:
        [id_] = memory.conversation("log").append(said("one"))
        assert memory.erase(ids=[id_]).records == 1
    assert told == ["opened", "erased"]


def test_two_threads_that_log_and_ask_do_not_wait_for_each_other(tmp_path):
    """A handler has a lock of its own: whoever logged under the engine's would wait for ever."""

    class Asking(logging.Handler):
        def emit(self, _record):
            time.sleep(0.001)
            memory.stats()

    with Memory.open(tmp_path, embedder="lexical") as memory, listening(Asking()):
        log = memory.conversation("log")
        ids = log.append([said(f"turn {n}") for n in range(40)])

        def work(part):
            for id_ in part:
                memory.erase(ids=[id_])
                log.window(MARKER, budget=900, mode="recency")

        parts = [ids[at::4] for at in range(4)]
        workers = [threading.Thread(target=work, args=(one,), daemon=True) for one in parts]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert not any(worker.is_alive() for worker in workers)


def test_a_name_with_a_line_break_cannot_forge_a_record(heard):
    logs.event(logging.getLogger("warmset.store"), logging.INFO, "taken_up", path="a\nb", batches=1)
    [record] = heard.records
    assert record.path == "a\nb"
    assert record.getMessage() == "taken_up path='a\\nb' batches=1"


def test_what_nobody_hears_is_not_even_noted():
    later, log = logs.Later(), logging.getLogger("warmset.store")
    later.note(log, logging.DEBUG, "opened", path=None)
    assert not later
    later.note(log, logging.WARNING, "spooled", path=None, records=1)
    assert later
    later.tell()
    assert not later


# --- by default, and as the page shows it ---------------------------------------------------------


def run(code, folder):
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=folder,
    )
    return done.stdout, done.stderr


def test_it_is_quiet_until_somebody_listens(tmp_path):
    code = """
import logging
from warmset import Memory
from warmset._support.log import event, room
with Memory.open("talk", embedder="lexical") as memory:
    memory.conversation("log").append({"role": "user", "content": "Hello."})
    memory.erase(conversation="log")
event(room("store"), logging.ERROR, "damaged", path="talk")
"""
    assert run(code, tmp_path) == ("", "")


def test_the_page_shows_what_its_example_prints(tmp_path):
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [shown] = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 8
    out, told = run(code, tmp_path)
    some = re.compile(r"(?<=milliseconds=)[\d.]+")
    assert (out, some.sub("", told)) == ("", some.sub("", shown))
