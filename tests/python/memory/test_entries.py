"""Opaque entries of a conversation, bulk reads, and messages by the caller's own fields."""

from __future__ import annotations

import asyncio
import json

import pytest
from busy import held_elsewhere
from other_process import other, said

from warmset import Memory
from warmset.errors import Conflict, InvalidInputError, Locked, NotFound, ReadOnly
from warmset.native import Add, ColdStore, Log, RemoveEntries, space


def texts(turns):
    return [turn["content"] for turn in turns]


@pytest.fixture(params=["disk", "encrypted", "memory"])
def memory(request, tmp_path):
    options = {"encryption": "keys"} if request.param == "encrypted" else {}
    path = None if request.param == "memory" else tmp_path
    with Memory.open(path, embedder="lexical", **options) as made:
        yield made


def test_an_opaque_entry_is_kept_and_no_message(memory):
    log = memory.conversation("log")
    (first,) = log.append(said("the kite"))
    state = log.keep(b"\xff kite", key="state", codec="raw", columns={"step": 3})
    (last,) = log.append(said("the wagon"))
    assert (len(log), log.ids, texts(log)) == (2, [first, last], ["the kite", "the wagon"])
    assert memory.search("kite").ids == [first]
    assert "\\xff" not in str(log.window(budget=1_000).messages)
    found = log.entries()
    assert [one.id for one in found] == [first, state, last]
    assert [one.turn is None for one in found] == [False, True, False]
    one = found[1]
    assert (one.payload, one.uid, one.codec, one.columns) == (
        b"\xff kite", b"state", "raw", {"step": 3},
    )  # fmt: skip
    assert json.loads(found[2].payload) == said("the wagon")
    with pytest.raises(NotFound):
        log.fetch(state)
    with pytest.raises(NotFound):
        log.truncate(state)


def test_entries_are_read_page_by_page_both_ways(memory):
    log = memory.conversation("log")
    ids = [log.keep(b"%d" % n) if n % 2 else log.append(said(str(n)))[0] for n in range(7)]
    assert [one.id for one in log.entries(limit=3)] == ids[:3]
    assert [one.id for one in log.entries(after=ids[2], limit=None)] == ids[3:]
    assert [one.id for one in log.entries(reverse=True, limit=2)] == ids[:4:-1]
    assert [one.id for one in log.entries(reverse=True, after=ids[2])] == ids[1::-1]
    assert memory.conversation("empty").entries() == []


def test_an_entry_is_kept_once_by_its_key(memory):
    log = memory.conversation("log")
    first = log.keep(b"one", key="k")
    assert log.keep(b"one", key=b"k") == first
    with pytest.raises(Conflict) as caught:
        log.keep(b"two", key="k")
    assert caught.value.current == first
    with pytest.raises(Conflict):
        log.append(said("one"), key="k")
    log.append(said("a"), key="l")
    with pytest.raises(Conflict):
        log.keep(log.entries()[-1].payload, key="l")
    assert len(log.entries()) == 2


def test_entries_leave_with_the_message_before_them(memory):
    log = memory.conversation("log")
    log.keep(b"front")
    ids = log.append([said("a"), said("b")])
    log.keep(b"behind b", key="k")
    (last,) = log.append(said("c"))
    log.keep(b"behind c")
    assert texts(log.pop()) == ["c"]
    assert [one.payload for one in log.entries() if one.turn is None] == [b"front", b"behind b"]
    log.append(said("d"))
    assert texts(log) == ["a", "b", "d"]
    assert log.fetch(last).live is False
    assert texts(log.truncate(ids[1], forget=True)) == ["d"]
    assert [one.payload for one in log.entries() if one.turn is None] == [b"front"]
    log.keep(b"behind b again", key="k")
    assert texts(log.pop(2, forget=True)) == ["a", "b"]
    assert [one.payload for one in log.entries()] == [b"front"]
    assert log.pop() == []
    assert len(log.entries()) == 1
    log.truncate(None)
    assert log.entries() == []


def test_entries_are_erased_with_the_conversation(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.keep(b"SECRET of the agent")
        log.append(said("SECRET of the kite"))
        memory.erase(conversation="log")
        assert log.entries() == []
        assert not any(b"SECRET" in one.read_bytes() for one in tmp_path.glob("*.seg"))
        log.keep(b"anew")
        assert [one.payload for one in log.entries()] == [b"anew"]


def test_entries_of_other_processes_are_there(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(said("a"))
        other(tmp_path, "log.keep(b'state')\nlog.append({'role': 'user', 'content': 'b'})")
        assert [one.turn is None for one in log.entries()] == [False, True, False]
        assert texts(log) == ["a", "b"]
        other(tmp_path, "log.pop()")
        assert texts(log) == ["a"]
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        log = memory.conversation("log")
        assert [one.payload for one in log.entries()[1:]] == [b"state"]
        with pytest.raises(ReadOnly):
            log.keep(b"more")


@pytest.mark.parametrize("forget", [False, True])
def test_an_entry_stays_when_the_only_message_is_removed(tmp_path, forget):
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        log = memory.conversation("log")
        log.keep(b"state")
        Log(store).write([RemoveEntries(("default", "log"), log.append(said("a")))])
        log.append(said("b"))
        assert texts(log.pop(forget=forget)) == ["b"]
        assert texts(log) == []
        assert [one.payload for one in log.entries()] == [b"state"]
        assert memory.stats()["damaged"] == []


def test_a_list_in_a_space_of_the_tenant_is_no_conversation(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        Log(store).write([Add(("default", space("list")), b"one"), Add(("default", "log"), b"two")])
        assert [one.payload for one in memory.conversation("log").entries()] == [b"two"]
        assert memory.stats()["damaged"] == []


def test_an_entry_never_goes_to_the_spool(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as memory:
        log = memory.conversation("log")
        log.append(said("a"))
        with held_elsewhere(tmp_path), pytest.raises(Locked):
            log.keep(b"state")


@pytest.mark.parametrize(
    "wrong",
    [{"payload": "text"}, {"key": "k" * 1025}, {"codec": "c" * 256}, {"columns": {"a": object()}}],
)
def test_what_is_no_entry_is_refused(memory, wrong):
    log = memory.conversation("log")
    with pytest.raises(InvalidInputError):
        log.keep(**{"payload": b"x", **wrong})
    assert log.entries() == []


def test_messages_are_chosen_by_the_callers_fields(memory):
    log = memory.conversation("log")
    fields = [{"tag": "x", "score": n, "deep": {"a": 1}, "tags": ["p", "q"]} for n in range(4)]
    for n, one in enumerate([*fields, None, {"tag": "y", "score": 3.5}]):
        log.append(said(str(n)), meta=one)

    def chosen(where, **options):
        return texts(log.messages(where=where, **options))

    assert chosen({"tag": "x", "score": {"gte": 2}}) == ["2", "3"]
    assert chosen({"score": {"gt": 2}}) == ["3", "5"]
    assert chosen({"score": {"gt": 2}}, limit=1) == ["5"]
    assert chosen({"tag": "x"}, limit=2) == ["2", "3"]
    assert chosen({"tag": "x"}, limit=2, before=log.ids[3]) == ["1", "2"]
    assert chosen({"tag": None}) == ["4"]
    assert chosen({"tags": {"contains": "p"}, "score": {"in": [0, 1.0]}}) == ["0", "1"]
    assert chosen({"deep": {"exists": True}}) == []
    assert chosen({"or": [{"tag": "y"}, {"score": 0}]}) == ["0", "5"]
    assert chosen({}) == chosen(None) == texts(log)
    assert log.messages(where={"tag": "y"})[0].meta == {"tag": "y", "score": 3.5}
    for wrong in ({"score": {"above": 1}}, "tag", {"score": float("nan")}):
        with pytest.raises(InvalidInputError):
            log.messages(where=wrong)
        with pytest.raises(InvalidInputError):
            memory.conversation("empty").messages(where=wrong)


def test_a_condition_reaches_over_pages(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", durability="os") as memory:
        log = memory.conversation("log")
        for n in range(5):
            log.append([said(f"{n} {m}") for m in range(500)], meta={"n": n})
        assert texts(log.messages(where={"n": 0}, limit=2)) == ["0 498", "0 499"]
        assert len(log.messages(where={"n": {"lte": 3}})) == 2_000
        again = Log(memory._engine.store).entries(("default", "log"), limit=1)
        assert again[0].columns == {"n": 0}


def test_the_asynchronous_twins_do_the_same(memory):
    log = memory.conversation("log")

    async def run():
        return await log.akeep(b"state"), [one.id for one in await log.aentries()]

    id_, found = asyncio.run(run())
    assert found == [id_]
