"""`pop` and `truncate`: what leaves stays on a branch, or is removed, for every process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from bag import Bag
from busy import held_elsewhere
from other_process import other, said

from warmset import Memory, PreparedCompaction, compact_context
from warmset.errors import Conflict, Erased, InvalidInputError, Locked, NotFound, ReadOnly
from warmset.native import ColdStore, Log, RemoveBelow, RemoveEntries


def texts(turns):
    return [turn["content"] for turn in turns]


def talk(memory, *words):
    log = memory.conversation("log")
    return log, log.append([said(word) for word in words])


def on_disk(path, kind="turn"):
    """Return the payloads of the messages on the path, as the log reads them."""
    with ColdStore.open(path, mode="read") as store:
        found = Log(store).entries(("default", "log"), limit=None)
    return [entry.payload for entry in found if (entry.turn is not None) == (kind == "turn")]


@pytest.fixture(params=["disk", "exclusive", "encrypted", "memory"])
def memory(request, tmp_path):
    options = {
        "disk": {},
        "exclusive": {"mode": "exclusive"},
        "encrypted": {"encryption": "keys"},
        "memory": {},
    }
    path = None if request.param == "memory" else tmp_path
    with Memory.open(path, embedder="lexical", **options[request.param]) as made:
        yield made


def test_the_last_messages_leave_oldest_first(memory):
    log, ids = talk(memory, "a", "b", "c", "d")
    left = log.pop()
    assert (texts(left), left[0].id, left[0].live) == (["d"], ids[3], False)
    assert texts(log.pop(2)) == ["b", "c"]
    assert texts(log) == ["a"]
    assert len(log) == 1
    assert texts(log.fetch(ids)) == ["a", "b", "c", "d"]
    assert [log.fetch(id_).live for id_ in ids] == [True, False, False, False]
    assert texts(log.pop(9)) == ["a"]
    assert log.pop() == []
    log.append(said("e"))
    assert texts(log) == ["e"]


def test_a_path_ends_at_a_message_or_is_emptied(memory):
    log, ids = talk(memory, "a", "b", "c", "d")
    assert texts(log.truncate(ids[1])) == ["c", "d"]
    assert log.truncate(ids[1]) == []
    assert log.ids == ids[:2]
    for strange in (ids[2], 99_999, 0, -1):
        with pytest.raises(NotFound):
            log.truncate(strange)
    assert texts(log.truncate(None)) == ["a", "b"]
    assert log.truncate(None) == []
    assert log.ids == []
    assert texts(log.fetch(ids)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("count", [0, -1, True, 1.0, "1", None])
def test_a_count_is_a_positive_integer(memory, count):
    log, ids = talk(memory, "a")
    with pytest.raises(InvalidInputError, match="count"):
        log.pop(count)
    assert log.ids == ids


@pytest.mark.parametrize("id_", [True, 1.5, "1"])
def test_an_id_is_an_integer(memory, id_):
    log, ids = talk(memory, "a", "b")
    with pytest.raises(InvalidInputError):
        log.truncate(id_)
    assert log.ids == ids


def test_a_conversation_that_never_was_has_nothing_to_pop(memory):
    log = memory.conversation("log")
    assert log.pop() == log.truncate(None) == []
    with pytest.raises(NotFound):
        log.truncate(1)
    assert memory.conversations() == []


def test_what_leaves_is_not_searched_and_comes_back_when_it_is_synchronised(memory):
    log, ids = talk(memory, "the blue kite", "a red wagon", "the blue kite again")
    log.pop(2)
    assert memory.search("kite wagon").ids == ids[:1]
    again = [said("the blue kite"), said("a red wagon")]
    assert log.sync(again).appended == []
    assert log.ids == ids[:2]
    assert set(memory.search("kite wagon").ids) == set(ids[:2])


def test_a_restart_and_another_process_see_the_same_path(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log, ids = talk(memory, "a", "b", "c", "d")
        assert other(tmp_path, "print([t['content'] for t in log.pop(2)])") == "['c', 'd']\n"
        assert log.ids == ids[:2]
        log.append(said("e"))
        show = "print([t['content'] for t in log], len(on_disk))"
        lines = f"from warmset.native import Log, ColdStore\non_disk = log.ids\n{show}"
        assert other(tmp_path, lines) == "['a', 'b', 'e'] 3\n"
    assert on_disk(tmp_path) == [b'{"role":"user","content":"%s"}' % c for c in (b"a", b"b", b"e")]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert texts(memory.conversation("log")) == ["a", "b", "e"]


POPPING = """
import sys
from warmset import Memory
with Memory.open(sys.argv[1], embedder="lexical") as memory:
    for _ in range(15):
        print(memory.conversation("log").pop()[0].id)
"""


def test_processes_that_pop_at_once_pop_different_messages(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log, ids = talk(memory, *(f"message {n}" for n in range(60)))
        line = [sys.executable, "-c", POPPING, str(tmp_path)]
        run = [subprocess.Popen(line, stdout=subprocess.PIPE) for _ in range(2)]  # noqa: S603
        popped = [int(id_) for one in run for id_ in one.communicate()[0].split()]
        assert [one.returncode for one in run] == [0, 0]
        assert sorted(popped) == ids[30:]
        assert log.ids == ids[:30]


@pytest.mark.parametrize("call", ["tail", "write"])
def test_a_message_that_comes_between_is_the_last_one(tmp_path, monkeypatch, call):
    real, turn = getattr(Log, call), b'{"role":"user","content":"between"}'
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        log, ids = talk(memory, "a", "b")

        def between(*args, **options):
            monkeypatch.setattr(Log, call, real)
            store.append([("turn", [b"default", b"log"], b'{"at":1.0}', turn, ())])
            return real(*args, **options)

        monkeypatch.setattr(Log, call, between)
        assert texts(log.pop()) == ["between"]
        assert log.ids == ids


def test_a_conversation_that_moves_all_the_time_is_a_conflict(tmp_path, monkeypatch):
    real, turn = Log.write, b'{"role":"user","content":"between"}'
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        log, ids = talk(memory, "a", "b")

        def between(*args, **options):
            store.append([("turn", [b"default", b"log"], b'{"at":1.0}', turn, ())])
            return real(*args, **options)

        monkeypatch.setattr(Log, "write", between)
        with pytest.raises(Conflict):
            log.pop()
        assert log.ids[:2] == ids
        assert len(log) > len(ids)


def test_copies_of_what_is_forgotten_are_erased(tmp_path):
    talked = [said(f"SECRET {n} of the harbour master: " + "crate " * 40) for n in range(30)]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        dropped = compact_context(talked, memory=memory, target_ratio=0.2).dropped
        assert dropped
        log = memory.conversation("log")
        log.append(talked)
        memory.restore(dropped[0].handle)
        log.truncate(None, forget=True)
        for one in dropped:
            with pytest.raises(Erased):
                memory.restore(one.handle)


def test_copies_of_what_could_not_be_forgotten_stay(tmp_path, monkeypatch):
    talked = [said(f"SECRET {n} of the harbour master: " + "crate " * 40) for n in range(30)]
    turn = b'{"role":"user","content":"between"}'
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        dropped = compact_context(talked, memory=memory, target_ratio=0.2).dropped
        log = memory.conversation("log")
        log.append(talked)
        real = Log.tail

        def moved(*args, **options):
            store.append([("turn", [b"default", b"log"], b'{"at":1.0}', turn, ())])
            return real(*args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(Log, "tail", moved)
            with pytest.raises(Conflict):
                log.truncate(None, forget=True)
        assert dropped
        for one in dropped:
            assert "SECRET" in memory.restore(one.handle)["content"]


def test_what_is_forgotten_is_gone_everywhere(memory):
    log, ids = talk(memory, "the blue kite", "a red wagon", "a green door")
    memory.remember("the door is green", conversation="log")
    assert texts(log.pop(forget=True)) == ["a green door"]
    assert texts(log) == ["the blue kite", "a red wagon"]
    with pytest.raises(NotFound):
        log.fetch(ids[2])
    assert memory.search("green").ids == []
    assert texts(log.truncate(None, forget=True)) == ["the blue kite", "a red wagon"]
    assert log.ids == []
    assert memory.search("kite wagon").ids == []
    log.append(said("a green door"))
    assert texts(log) == ["a green door"]


def test_what_is_forgotten_is_gone_for_other_processes_and_after_a_restart(tmp_path):
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log, ids = talk(memory, *(f"message {n} of the kite" for n in range(150)))
        memory.flush()
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        assert memory.stats()["index"]["source"] == "file"
        log = memory.conversation("log")
        other(tmp_path, "log.pop(100, forget=True)", bag=True)
        assert log.ids == ids[:50]
        assert set(memory.search("kite", k=200).ids) == set(ids[:50])
        with pytest.raises(NotFound):
            log.fetch(ids[50])
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log = memory.conversation("log")
        assert log.ids == ids[:50]
        assert set(memory.search("kite", k=200).ids) == set(ids[:50])
        assert memory.stats()["damaged"] == []


def test_the_index_file_has_no_word_of_what_was_forgotten(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        talk(memory, *(f"message {n} of the kite" for n in range(150)), "a zebra")
    assert b"zebra" in (tmp_path / "index").read_bytes()
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").pop(forget=True)
        assert not (tmp_path / "index").exists()
        memory.rebuild_index()
        assert b"zebra" not in (tmp_path / "index").read_bytes()


def test_a_saved_index_serves_nothing_that_was_forgotten_elsewhere(tmp_path):
    key = ("default", "log")
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log, ids = talk(memory, *(f"message {n} of the kite" for n in range(150)))
    with ColdStore.open(tmp_path) as store:
        Log(store).write([RemoveEntries(key, [ids[0], ids[149]])])
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        assert log.ids == ids[1:149]
        assert set(memory.search("kite", k=200).ids) == set(ids[1:149])


@pytest.mark.parametrize("below", [None, ("default", "log"), ("default",)])
def test_a_removal_by_the_log_is_followed(tmp_path, below):
    key, whole = ("default", "log"), below is not None
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        log, ids = talk(memory, "a kite", "a wagon", "a kite")
        row = RemoveBelow(below) if whole else RemoveEntries(key, [ids[0]])
        Log(store).write([row])
        assert log.ids == ([] if whole else ids[1:])
        assert len(log) == len(list(log))
        assert memory.search("kite").ids == ([] if whole else ids[2:])


@pytest.mark.parametrize("below", [("default", "other"), ("default",)])
def test_a_removal_by_the_log_takes_memories_where_nothing_was_said(tmp_path, below):
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        memory.remember("The code of the gate is 4711.", conversation="other")
        assert len(memory.memories()) == 1
        Log(store).write([RemoveBelow(below)])
        assert memory.memories() == []


def test_a_pop_never_goes_to_the_spool(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as memory:
        log, ids = talk(memory, "a", "b")
        with held_elsewhere(tmp_path):
            for shorten in (log.pop, lambda: log.truncate(None), lambda: log.pop(forget=True)):
                with pytest.raises(Locked):
                    shorten()
            log.append(said("c"))
        assert log.ids == ids
        assert texts(log.pop()) == ["c"], "what lay in the spool is the last message"
        assert log.ids == ids


def test_a_memory_that_reads_pops_nothing(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        talk(memory, "a", "b")
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        log = memory.conversation("log")
        for shorten in (log.pop, lambda: log.truncate(None), lambda: log.pop(forget=True)):
            with pytest.raises(ReadOnly):
                shorten()
        assert len(log) == 2
        with pytest.raises(ReadOnly):
            memory.conversation("empty").pop()


def test_the_asynchronous_twins_do_the_same(memory):
    log, ids = talk(memory, "a", "b", "c")

    async def run():
        return texts(await log.apop()), texts(await log.atruncate(ids[0], forget=True))

    assert asyncio.run(run()) == (["c"], ["b"])
    assert log.ids == ids[:1]


def test_one_that_is_cancelled_waits_until_the_messages_are_off(memory, monkeypatch):
    log, ids = talk(memory, "a", "b", "c")
    begun, go_on, real = threading.Event(), threading.Event(), type(log).truncate

    def slow(self, *args, **options):
        begun.set()
        assert go_on.wait(30)
        return real(self, *args, **options)

    monkeypatch.setattr(log, "truncate", slow.__get__(log), raising=False)

    async def run():
        task = asyncio.ensure_future(log.atruncate(ids[0]))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=0.2)
        go_on.set()
        await asyncio.wait([task])
        return bool(done), log.ids

    assert asyncio.run(run()) == (False, ids[:1])


def long_talk(log, count=40):
    words = ["kite", "wagon", "door", "lamp", "river", "stone", "bread", "glass"]
    for n in range(count):
        word = words[n % len(words)]
        log.append(said(f"question {n} about the {word}: " + f"{word} " * 60))
        log.append(said(f"answer {n}: the {word} is number {n}. " + f"{word} " * 60, "assistant"))


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize("mode", ["jit", "steady", "full", "recency"])
def test_windows_show_nothing_of_what_left(tmp_path, mode, forget):
    options = {"compaction": PreparedCompaction()} if mode == "full" else {}
    with Memory.open(tmp_path, embedder="lexical", **options) as memory:
        log = memory.conversation("log")
        long_talk(log)
        log.append(said("SECRET what was the number of the kite?"))
        for _ in range(2):
            before = log.window(budget=3_000, mode=mode)
            assert "SECRET" in str(before.messages)
            log.append(said("SECRET answer", "assistant"))
            log.append(said("SECRET and the number of the river?"))
        if mode == "full":
            log.compact_now()
        log.pop(5, forget=forget)
        log.append(said("what was the number of the lamp?"))
        other(tmp_path, "len(log)")
        after = log.window(budget=3_000, mode=mode)
        assert "SECRET" not in str(after.messages)
        assert after.messages[-1]["content"].endswith("the lamp?")
        log.truncate(None, forget=forget)
        log.append(said("hello"))
        assert log.window(budget=3_000, mode=mode).messages == [said("hello")]
