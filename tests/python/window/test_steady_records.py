"""The records of steady windows: what another process makes of them, and of those that are left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from busy import held_elsewhere
from checked_locks import alone, elsewhere
from other_process import SUPPORT
from preparing import LINE, Clock, Hand, process

from warmset import Memory, PreparedCompaction
from warmset.errors import StoreError
from warmset.maintenance import Import, export, redactor, survey
from warmset.native import ColdStore
from warmset.state.epochs import Epochs
from warmset.store.derived import Made
from warmset.store.epochs import Beginning, Insertion, Step, decode_step, step_draft
from warmset.store.records import load

BUDGET = 900
WORDS = ("crane", "steel", "harbour", "lamp", "teapot", "garden", "bicycle", "umbrella", "boat")


def said(role, text):
    return {"role": role, "content": text}


def asked(number, about=None):
    words = " ".join(WORDS[(number + at) % len(WORDS)] for at in range(25))
    return said("user", f"question {number} about code{about or number}: {words}")


def answered(number):
    words = " ".join(WORDS[(number * 2 + at) % len(WORDS)] for at in range(25))
    return said("assistant", f"code{number} is {number * 7}: {words}")


def look(memory, query=None, name="log", **options):
    given = {"budget": BUDGET, "mode": "steady", "recall_share": 0.3} | options
    return memory.conversation(name).window(query, **given)


def shown(made):
    """What two processes have to agree about."""
    one = made.report.epoch
    return made.messages, one.number, one.why, one.began, one.hidden, one.unrecorded


def talk(memory, count, start=1, name="log"):
    chat = memory.conversation(name)
    for number in range(start, start + count):
        chat.append(asked(number))
        look(memory, name=name)
        chat.append(answered(number))
    chat.append(asked(start + count, about=2))
    made = look(memory, name=name)
    assert made.report.epoch.recalled
    return made


opened = partial(Memory.open, embedder="lexical")


def as_new(memory, path, *asks):
    """The windows of a process that opens a copy of the store now."""
    memory.flush()
    copy = path.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    with opened(copy) as other:
        return [shown(look(other, one)) for one in asks or (None,)]


def ids(made, name):
    return [id_ for part in made.parts if part.name == name for id_ in part.ids]


# --- in another process --------------------------------------------------------------------------


def test_the_next_start_of_the_program_goes_on_with_the_list(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
    with opened(path) as memory:
        again = look(memory)
        assert again.messages == made.messages
        assert not again.report.epoch.began
        memory.conversation("log").append(said("assistant", "It is 14."))
        memory.conversation("log").append(said("user", "thanks"))
        assert look(memory).messages[: len(made.messages)] == made.messages


@pytest.mark.parametrize("mode", ["steady", "auto"])
def test_a_window_that_is_sent_back_after_a_restart_is_the_conversation(tmp_path, mode):
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
        before = memory.conversation("log").ids
    said_since = [answered(21), asked(22)]
    with opened(path) as memory:
        given = {"conversation": "log", "budget": BUDGET, "mode": mode, "recall_share": 0.3}
        again = memory.process([*made.messages, *said_since], **given)
        path_now = memory.conversation("log").ids
        assert path_now[: len(before)] == before
        assert len(path_now) == len(before) + 2
        assert mode == "auto" or again.messages[: len(made.messages)] == made.messages


@pytest.mark.parametrize("what", ["quoted", "listed", "shown", "hidden", "request", "first"])
def test_after_an_erasure_all_processes_make_the_same_list(tmp_path, what):
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
        path_ids = memory.conversation("log").ids
        quoted, listed = ids(made, "retrieved"), ids(made, "index")
        pick = {
            "quoted": quoted[0],
            "listed": listed[0] if listed else quoted[0],
            "shown": ids(made, "recent")[0],
            "hidden": next(i for i in ids(made, "index") or path_ids[1:] if i not in quoted),
            "request": path_ids[-1],
            "first": path_ids[0],
        }[what]
        text = memory.conversation("log").fetch(pick)["content"]
        memory.erase(ids=[pick])
        for query in (None, "what is code3?", None):
            other = as_new(memory, path, query)
            assert [shown(look(memory, query))] == other
            assert text not in json.dumps(other)
        begins = text.partition(": ")[0].encode()  # an index line has no more of it
        for record in memory._engine.store.page(1):
            assert record.kind != "item" or begins not in record.payload
        if what != "request":
            assert other[0][2] != "the conversation began"
        memory.conversation("log").append(asked(50))
        assert [shown(look(memory))] == as_new(memory, path)


def test_after_an_erasure_behind_a_branch_all_processes_make_the_same_list(tmp_path):
    """The epoch's positions hold, and one of its records is gone."""
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
        chat = memory.conversation("log")
        left = chat.ids[-1]
        chat.sync([*list(chat)[:-1], said("user", "something else")])
        after = look(memory)
        assert after.report.epoch.number == made.report.epoch.number
        memory.erase(ids=[left])
        assert as_new(memory, path) == [shown(look(memory))]
        chat.append(answered(21))
        assert as_new(memory, path) == [shown(look(memory))]


def test_a_message_that_has_a_line_is_erased_from_the_index(tmp_path):
    with opened(tmp_path / "a") as memory:
        chat = memory.conversation("log")
        for number in range(1, 60):
            chat.append([asked(number), answered(number)])
        chat.append(asked(60))
        listed = ids(look(memory, budget=4_000, recall_share=0), "index")[0]
        begins = chat.fetch(listed)["content"].partition(": ")[0].encode()

        def payloads():
            page = memory._engine.store.page(1)
            return b"".join(record.payload for record in page if record.kind == "item")

        assert begins in payloads()
        memory.erase(ids=[listed])
        assert begins not in payloads()
        assert begins.decode() not in json.dumps(
            look(memory, budget=4_000, recall_share=0).messages
        )


def test_an_erasure_of_a_beginning_alone_leaves_all_processes_the_same_list(tmp_path):
    """What is left are the records of the epoch before it."""
    path = tmp_path / "a"
    with opened(path) as memory:
        talk(memory, 12)
        chat, number = memory.conversation("log"), 21
        while not look(memory).report.epoch.began:
            chat.append([answered(number), asked(number + 1)])
            number += 1
        left = chat.ids[-1]
        chat.sync([*list(chat)[:-1], said("user", "something else")])
        memory.erase(ids=[left])
        assert as_new(memory, path) == [shown(look(memory))]
        chat.append([answered(21), asked(22)])
        assert as_new(memory, path) == [shown(look(memory))]


def test_an_erased_conversation_begins_again(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        talk(memory, 20)
        memory.erase(conversation="log")
        memory.conversation("log").append(asked(1))
        made = look(memory)
        assert (made.report.epoch.number, len(made.messages)) == (1, 1)
        assert made.report.epoch.why == "the conversation began"
        assert not look(memory).report.epoch.began
    with opened(path) as memory:
        assert look(memory).messages == made.messages


ALTERNATING = """
import json, sys
sys.path[:0] = {paths!r}
from test_steady_records import BUDGET, answered, asked, look, opened, said
with opened(sys.argv[1]) as memory:
    chat = memory.conversation("log")
    for line in sys.stdin:
        ask = json.loads(line)
        if ask["say"]:
            chat.append(ask["say"])
        made = look(memory)
        print(json.dumps([made.messages, made.report.epoch.number]), flush=True)
"""


class Writer:
    """Another process on the store, that appends and makes windows when it is asked."""

    def __init__(self, path):
        code = ALTERNATING.format(paths=[str(Path(__file__).parent), str(SUPPORT)])
        self.process = subprocess.Popen(  # noqa: S603 - fixed
            [sys.executable, "-c", code, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, say=()):
        self.process.stdin.write(json.dumps({"say": list(say)}) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0
        self.process.stdout.close()


def test_two_processes_that_take_turns_have_one_list(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        talk(memory, 12)
    writers = Writer(path), Writer(path)
    last, number, grown = [], 0, 0
    for at in range(20):
        for writer, say in zip(writers, ([answered(at), asked(at + 30)], []), strict=True):
            writer.ask(say)
            messages, now = writer.answer()
            grown += now == number
            assert now != number or messages[: len(last)] == last
            last, number = messages, now
    for writer in writers:
        writer.end()
    assert grown > 30


def test_of_two_processes_that_race_the_first_record_holds(tmp_path):
    """Both ask for a window with the same new request; afterwards both have one list."""
    path = tmp_path / "a"
    with opened(path) as memory:
        talk(memory, 12)
    writers = Writer(path), Writer(path)
    for at in range(12):
        with opened(path) as memory:
            memory.conversation("log").append([answered(at), asked(at + 30, about=at % 9 + 1)])
        for writer in writers:
            writer.ask()
        first, other = (writer.answer() for writer in writers)
        assert first == other
    for writer in writers:
        writer.end()
    with opened(path) as memory:
        assert look(memory).messages == first[0]


def meanwhile(monkeypatch, memory, does):
    """Have something done just before the next record is written; the records, as they come."""
    put, drafts = memory._engine.put, []

    def late(given, **options):
        drafts.extend(given)
        if len(drafts) == 1:
            with elsewhere():
                does()
        return put(given, **options)

    monkeypatch.setattr(memory._engine, "put", late)
    return drafts


def test_a_list_is_planned_again_if_another_process_recorded_one_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "a"
    with opened(path) as memory, process(path, None) as other:
        talk(memory, 20)
        memory.conversation("log").append([answered(21), asked(22)])
        asking = partial(look, other, "what is code5, code6 and code7?")
        drafts = meanwhile(monkeypatch, memory, asking)
        made = look(memory)
        assert made.report.epoch.unrecorded is None
        assert len(drafts) == 2
        assert as_new(memory, path) == [shown(look(memory))]
        assert shown(look(other)) == shown(look(memory))


def test_a_list_is_given_as_planned_if_its_path_was_left_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "a"
    with opened(path) as memory, process(path, None) as other:
        talk(memory, 20)
        chat = memory.conversation("log")
        chat.append([answered(21), asked(22, about=15)])
        ids_before = chat.ids
        shorter = [*list(chat)[:2], said("user", "no")]
        meanwhile(monkeypatch, memory, lambda: other.conversation("log").sync(shorter))
        made = look(memory)
        assert made.messages[-1] == asked(22, about=15)
        assert set(made.report.epoch.recalled) <= set(ids_before)
        assert made.report.epoch.recalled
        assert look(memory).messages[-1] == said("user", "no")
        assert as_new(memory, path) == [shown(look(memory))]


def test_a_list_is_planned_again_if_the_conversation_went_on_while_it_was_searched(tmp_path):
    """The request is then another one, and so is what is recalled."""
    with opened(tmp_path / "a") as memory:
        talk(memory, 20)
        chat, asks = memory.conversation("log"), []
        chat.append([answered(21), asked(22, about=15)])

        def pick(*_given, **_named):
            asks.append(len(chat))
            if len(asks) == 1:
                chat.append([answered(22), asked(23, about=3)])
            raise ValueError("the score picks")

        made = look(memory, picker=Picker(pick))
        assert made.messages[-1] == asked(23, about=3)
        assert len(asks) == 2
        assert shown(look(memory)) == shown(look(memory))


class Picker:
    """A picker that does what a test says."""

    fingerprint = "picker"

    def __init__(self, pick):
        self.pick = pick


def test_a_process_that_is_killed_leaves_a_list_that_goes_on(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        talk(memory, 12)
    last, number = None, 0
    for at in range(4):
        writer = Writer(path)
        for step in range(1 + at % 3):
            writer.ask([answered(at), asked(100 + at * 10 + step)])
            messages, now = writer.answer()
            assert now != number or messages[: len(last)] == last
            last, number = messages, now
        writer.ask([answered(at)])  # it may be anywhere in this
        os.kill(writer.process.pid, signal.SIGKILL)
        writer.process.wait(30)
        writer.process.stdin.close()
        writer.process.stdout.close()
    with opened(path) as memory:
        made = look(memory)
        assert made.report.epoch.number >= number
        assert as_new(memory, path) == [shown(look(memory))]


def test_what_a_summary_stands_for_is_erased_from_every_list_that_shows_it(tmp_path):
    """Also where the epoch went on beside another system prompt, in a process of its own."""
    path, hand = tmp_path / "a", Hand(Clock())
    policy = PreparedCompaction(summarizer=Summary(), worker=hand, clock=hand.clock, deadline=5)
    hand.ends_in = 1
    with opened(path, compaction=policy) as memory:
        log = memory.conversation("log")
        log.append(said("user", "The task: count crates."))
        for at in range(14):
            log.append(said("user", f"Question {at}: {LINE}?"))
            made = look(memory, budget=600, recall_share=0)
            log.append(said("assistant", f"Answer {at}: {LINE}."))
        assert "it is word" in json.dumps(made.messages)
    with opened(path) as memory:
        made = look(memory, budget=600, recall_share=0, system="Be brief.")
        assert "it is word" in json.dumps(made.messages)
        memory.erase(ids=[memory.conversation("log").ids[3]])
        for record in memory._engine.store.page(1):
            assert b"it is word" not in record.payload
        options = {"budget": 600, "recall_share": 0, "system": "Be brief."}
        made = look(memory, **options)
        assert "it is word" not in json.dumps(made.messages)


class Summary:
    """A summarizer that says what nobody else says."""

    fingerprint = "summary"

    def __call__(self, messages, /, *, max_tokens, previous=None):  # noqa: ARG002 - as all are
        return "In it, it is word for word."


def test_the_texts_of_an_encrypted_conversation_are_encrypted(tmp_path):
    path = tmp_path / "a"
    with opened(path, encryption="keys") as memory:
        made = talk(memory, 20)
    with opened(path, encryption="keys") as memory:
        assert look(memory).messages == made.messages
    whole = b"".join(one.read_bytes() for one in path.iterdir() if one.is_file())
    assert b"code2" not in whole
    assert b"earlier-turns" not in whole


# --- where it cannot be recorded -----------------------------------------------------------------


def test_a_memory_that_only_reads_gives_the_list_and_a_note(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
        memory.conversation("log").append([answered(21), asked(22)])
    with opened(path, mode="read") as memory:
        after = look(memory)
        assert after.messages[: len(made.messages)] == made.messages
        assert after.report.epoch.unrecorded == "the memory was opened to read only"
        assert any("may not continue" in note for note in after.report.notes)


def test_a_full_disk_gives_the_list_and_a_note(tmp_path, monkeypatch):
    with opened(tmp_path / "a") as memory:
        made = talk(memory, 20)
        memory.conversation("log").append([answered(21), asked(22)])

        def full(_drafts, **_options):
            raise StoreError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(memory._engine, "put", full)
            after = look(memory)
            assert after.messages[: len(made.messages)] == made.messages
            assert "the disk is full" in after.report.epoch.unrecorded
        again = look(memory)
        assert again.messages == after.messages
        assert again.report.epoch.unrecorded is None


def test_a_record_in_the_spool_is_noted_and_holds_later(tmp_path):
    path = tmp_path / "a"
    with opened(path, on_busy="spool") as memory:
        made = talk(memory, 20)
        memory.conversation("log").append([answered(21), asked(22)])
        with held_elsewhere(path):
            after = look(memory)
            assert after.report.epoch.unrecorded == "another process has the store's lock"
        assert look(memory).messages == after.messages
        memory.conversation("log").append(said("assistant", "yes"))
        last = look(memory)
        assert last.messages[: len(after.messages)] == after.messages
        assert after.messages[: len(made.messages)] == made.messages
        assert as_new(memory, path) == [shown(look(memory))]


def test_a_call_adds_a_few_hundred_bytes_however_long_the_list_is(tmp_path):
    path = tmp_path / "a"
    sizes = []
    with opened(path) as memory:
        chat = memory.conversation("log")
        chat.append(said("user", "begin"))
        for number in range(120):
            chat.append(said("assistant", f"step {number}"))
            look(memory, budget=100_000)
            made = list(memory._engine.derived.of("item", "default", "log"))[-1]
            sizes.append(len(json.dumps(made.fields)) + len(made.sources) * 8)
    assert max(sizes) < 400
    assert sizes[-1] < sizes[1] + 20


# --- in another store ----------------------------------------------------------------------------


def carried(path, hook=None):
    """A copy of a store by export and import, where ids are others."""
    target, file = path.with_name("target"), path.with_name("file")
    with ColdStore.open(path, mode="read") as store, file.open("w") as out:
        export(store, out)
    with opened(target) as memory:
        memory.conversation("other").append([asked(1)] * 7)
    with ColdStore.open(target) as store:
        work = Import(store, survey(file), hook)
        work.run()
        assert work.loose == 0
    return target


def test_an_import_goes_on_with_the_list(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
    with opened(carried(path)) as memory:
        again = look(memory)
        assert again.messages == made.messages
        assert not again.report.epoch.began
        assert again.report.epoch.number == made.report.epoch.number
        assert ids(again, "retrieved") != ids(made, "retrieved")  # other ids
        memory.erase(ids=[ids(again, "retrieved")[0]])
        assert look(memory).report.epoch.began


def _redact(text):
    return text.replace("code2 ", "[gone] ").replace("code2:", "[gone]:")


def test_an_import_that_redacts_has_no_quotation_of_what_it_redacted(tmp_path):
    path = tmp_path / "a"
    with opened(path) as memory:
        made = talk(memory, 20)
        assert "code2" in json.dumps(made.messages[-2])
    target = carried(path, redactor(f"{__name__}:_redact", private_tags=False))
    with ColdStore.open(target, mode="read") as store:
        for record in store.page(1):
            assert b"code2 " not in record.payload
    with opened(target) as memory:
        again = look(memory)
        assert "code2 " not in json.dumps(again.messages)
        assert as_new(memory, target) == [shown(look(memory))]


# --- the chain of records ------------------------------------------------------------------------


def step(token, after, *, begins=0, count=1, insertions=()):
    beginning = None
    if begins:
        beginning = Beginning(number=begins, start=0, held=(), lead=0, why="why")
    return Step(
        token=token,
        after=after,
        dialect="openai",
        model="m",
        beside="b",
        count=count,
        begins=beginning,
        insertions=insertions,
    )


KEY = ("openai", "m")


def epochs(*steps):
    """What a process makes of records; the number of each is its id."""
    made = Epochs()
    for id_, one in steps:
        _, _, meta, _, sources = step_draft("default", "log", one, 1000 + id_, [5, 6])
        made.take(
            Made(
                id=id_,
                kind="item",
                tenant="default",
                conversation="log",
                fields=load(meta),
                hash=b"",
                sources=sources,
            )
        )
    return made


def tokens(made):
    return [one.step.token for one in made.chain(KEY)]


@alone()
def test_records_that_continue_each_other_are_a_chain():
    made = epochs((1, step("a", "", begins=1)), (2, step("b", "a")), (3, step("c", "b")))
    assert tokens(made) == ["a", "b", "c"]
    assert (made.last(KEY), made.number(KEY), made.ended(KEY)) == ("c", 1, False)
    assert [(one.head, one.made_of) for one in made.chain(KEY)] == [
        (1001, (5, 6)),
        (1002, (5, 6)),
        (1003, (5, 6)),
    ]
    assert made.newest("openai") == KEY
    assert made.newest("gemini") is None
    assert made.sent_at(1003) == step("c", "b")
    assert made.sent_at(1002) is None


def test_of_two_that_continue_one_record_the_first_holds():
    first = [(1, step("a", "", begins=1)), (2, step("b", "a"))]
    assert tokens(epochs(*first, (3, step("x", "a")))) == ["a", "b"]
    assert tokens(epochs(*first, (3, step("x", "a", begins=2)))) == ["a", "b"]
    assert tokens(epochs(*first, (3, step("x", "", begins=1)))) == ["a", "b"]
    assert tokens(epochs(*first, (3, step("x", "a")), (4, step("c", "b")))) == ["a", "b", "c"]


def test_a_beginning_ends_the_epoch_before_it():
    made = epochs((1, step("a", "", begins=1)), (2, step("b", "a")), (3, step("c", "b", begins=2)))
    assert (tokens(made), made.number(KEY)) == (["c"], 2)


def test_what_continues_an_erased_record_ends_the_epoch():
    made = epochs((1, step("a", "", begins=1)), (3, step("c", "b")), (4, step("d", "c")))
    assert (tokens(made), made.last(KEY), made.ended(KEY)) == ([], "a", True)
    again = epochs(
        (1, step("a", "", begins=1)),
        (3, step("c", "b")),
        (4, step("d", "a", begins=2)),
        (5, step("e", "a", begins=2)),
        (6, step("f", "d")),
    )
    assert tokens(again) == ["d", "f"]
    gone = epochs((3, step("c", "b")), (4, step("d", "", begins=1)), (5, step("e", "d")))
    assert tokens(gone) == ["d", "e"]


def test_a_beginning_that_continues_an_erased_record_holds():
    made = epochs((1, step("a", "", begins=1)), (4, step("d", "c", begins=3)))
    assert (tokens(made), made.number(KEY)) == (["d"], 3)


INSERTIONS = (
    Insertion(name="summary", at=2, text="s\udc80"),
    Insertion(name="recall", at=4, text="r", quoted=(1, 2), listed=(3,)),
)


def test_a_record_is_read_as_it_was_written():
    one = step("a", "b", begins=2, count=7, insertions=INSERTIONS)
    _, _, meta, payload, sources = step_draft("t", "c", one, 9, [4, 9, 4, 5])
    assert sources == (9, 4, 5)
    assert decode_step(load(meta), payload) == one
    texts = json.loads(payload)
    for other in ([*texts, "more"], texts[:-1]):
        assert decode_step(load(meta), json.dumps(other).encode()) is None
    bare = decode_step(load(meta), None)
    assert [one.text for one in bare.insertions] == ["", ""]
    assert bare.insertions[1].quoted == (1, 2)
    assert step_draft("t", "c", step("a", ""), 0, [4])[3:] == (b"", ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"dialect": "klingon"},
        {"count": "many"},
        {"token": None, "after": 1, "keep": None},
        {"insertions": [["recall", 1, [], []]]},
        {"insertions": [["picture", 1, [], []], ["recall", 1, [], []]]},
        {"insertions": [["recall", 1]]},
        {"begins": [1, 2]},
        {"begins": "now"},
    ],
)
def test_a_record_of_another_version_is_not_read(wrong):
    one = step("a", "b", begins=2, insertions=INSERTIONS)
    _, _, meta, payload, _ = step_draft("t", "c", one, 9, [])
    assert decode_step({**load(meta), **wrong}, payload) is None


@pytest.mark.parametrize("name", ["token", "after", "dialect", "model", "beside", "count", "keep"])
def test_a_record_without_a_field_is_not_read(name):
    _, _, meta, payload, _ = step_draft("t", "c", step("a", "b"), 9, [])
    fields = load(meta)
    del fields[name]
    assert decode_step(fields, payload) is None
