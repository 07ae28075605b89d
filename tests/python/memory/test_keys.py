"""`append(key=)`: a message is stored once, however often and wherever it is appended."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from busy import held_elsewhere
from other_process import other, said

from warmset import Memory, maintenance
from warmset.errors import Conflict, InvalidInputError, Locked
from warmset.native import Add, ColdStore, Log


def texts(turns):
    return [turn["content"] for turn in turns]


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


def test_the_same_key_and_content_is_stored_once(memory, caplog):
    caplog.set_level(logging.INFO, "warmset.store")
    log = memory.conversation("log")
    (first,) = log.append(said("a"), key="k1")
    assert log.append(said("a"), key="k1", at=7.0, speaker="Ann", meta={"n": 1}) == [first]
    assert log.append([said("a")], key=["k1"]) == [first]
    assert (texts(log), log.fetch(first).key, log.fetch(first).speaker) == (["a"], "k1", None)
    skipped = [one for one in caplog.records if getattr(one, "event", "") == "skipped"]
    assert [(one.conversation, one.messages) for one in skipped] == [("log", 1)] * 2
    (plain,) = log.append(said("a"))
    assert log.fetch(plain).key is None
    assert log.append(said("a"), key="k2") != [first]
    assert memory.conversation("other").append(said("b"), key="k1") != [first]


def test_other_content_is_refused_and_nothing_is_stored(memory):
    log = memory.conversation("log")
    ids = log.append([said("a"), said("b")], key=["k1", "k2"])
    with pytest.raises(Conflict) as caught:
        log.append([said("new"), said("c")], key=["k3", "k2"])
    assert (caught.value.row, caught.value.current) == (1, ids[1])
    assert (caught.value.reason, caught.value.key[1]) == ("present", b"log")
    assert log.ids == ids
    assert log.append([said("b"), said("new")], key=["k2", "k3"])[0] == ids[1]
    assert texts(log) == ["a", "b", "new"]


def test_an_opaque_entry_of_that_key_is_a_conflict(memory):
    log = memory.conversation("log")
    log.append(said("a"), key="k")
    state = log.keep(b"state", key="l")
    with pytest.raises(Conflict) as caught:
        log.append([said("a"), said("b")], key=["k", "l"])
    assert (caught.value.row, caught.value.current) == (1, state)
    assert texts(log) == ["a"]


def test_the_role_is_content(memory):
    log = memory.conversation("log")
    log.append(said("a"), key="k")
    with pytest.raises(Conflict):
        log.append(said("a", "assistant"), key="k")


def test_one_call_may_say_the_same_twice(memory):
    log = memory.conversation("log")
    ids = log.append([said("a"), said("b"), said("a")], key=["k", "l", "k"])
    assert ids[0] == ids[2]
    assert texts(log) == ["a", "b"]
    assert log.append([said("b"), said("b")], key=["l", "l"]) == [ids[1]] * 2
    with pytest.raises(InvalidInputError, match="two messages have the key 'm'"):
        log.append([said("a"), said("b")], key=["m", "m"])
    assert texts(log) == ["a", "b"]


@pytest.mark.parametrize(
    "key",
    ["", 1, b"k", "\ud800", "k" * 1025, "\u00e9" * 513, [], ["a", "b"], [None], {"a": 1, "b": 2}],
)
def test_a_key_is_a_text_for_each_message(memory, key):
    log = memory.conversation("log")
    with pytest.raises(InvalidInputError, match=r"key: expected (a text|one)"):
        log.append(said("a"), key=key)
    assert len(log) == 0
    assert log.append([], key=[]) == []


def test_the_longest_key_is_taken(memory):
    log = memory.conversation("log")
    ids = log.append(said("a"), key="k" * 1024)
    assert log.append(said("a"), key="k" * 1024) == ids


def test_what_was_popped_is_stored_again(memory):
    log = memory.conversation("log")
    (first,) = log.append(said("a"), key="k")
    log.pop()
    (second,) = log.append(said("a"), key="k")
    assert second > first
    log.truncate(None, forget=True)
    (third,) = log.append(said("b"), key="k")
    assert (texts(log), log.append(said("b"), key="k")) == (["b"], [third])
    memory.erase(ids=[third])
    log.append(said("c"), key="k")
    assert texts(log) == ["c"]


def test_a_branch_has_keys_of_its_own(memory):
    log = memory.conversation("log")
    (first,) = log.append(said("a"), key="k")
    log.sync([said("b")])
    (second,) = log.append(said("c"), key="k")
    log.sync([said("a")])
    assert log.append(said("a"), key="k") == [first]
    log.sync([said("b"), said("c")])
    assert log.append(said("c"), key="k") == [second]


def test_contents_are_compared_as_they_are_stored(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", redact=lambda text: text.upper()) as memory:
        log = memory.conversation("log")
        ids = log.append(said("a <private>b</private>"), key="k")
        assert log.append(said("A <private>c</private>"), key="k") == ids
        assert log.append({"content": "a <private></private>", "role": "user"}, key="l") != ids
        assert memory.stats()["redacted"]["messages"] == 2


def test_keys_hold_in_other_processes_and_after_a_restart(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        ids = log.append(said("a"), key="k")
        assert (
            other(
                tmp_path,
                "print(log.append(said('a'), key='k'))".replace("said('a')", str(said("a"))),
            )
            == f"{ids}\n"
        )
        other(tmp_path, f"log.append({said('b')}, key='l')")
        with pytest.raises(Conflict):
            log.append(said("c"), key="l")
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        assert log.append(said("a"), key="k") == ids
        assert [turn.key for turn in log] == ["k", "l"]


@pytest.mark.parametrize("content", ["b", "other"])
def test_a_key_that_another_process_stores_meanwhile_is_found(tmp_path, monkeypatch, content):
    real, payload = Log.write, b'{"role":"user","content":"%s"}' % content.encode()
    with Memory.open(tmp_path, embedder="lexical") as memory, ColdStore.open(tmp_path) as store:
        log = memory.conversation("log")

        def between(*args, **options):
            monkeypatch.setattr(Log, "write", real)
            row = Add(("default", "log"), payload, turn=b'{"at":1.0,"key":"l"}')
            Log(store).write([row])
            return real(*args, **options)

        monkeypatch.setattr(Log, "write", between)
        if content == "b":
            ids = log.append([said("a"), said("b")], key=["k", "l"])
            assert texts(log.fetch(ids)) == ["a", "b"]
            assert texts(log) == ["b", "a"]
        else:
            with pytest.raises(Conflict) as caught:
                log.append([said("a"), said("b")], key=["k", "l"])
            assert (caught.value.row, texts(log)) == (1, ["other"])


APPENDING = """
import sys
from warmset import Memory
with Memory.open(sys.argv[1], embedder="lexical", durability="os") as memory:
    log = memory.conversation("log")
    for n in range(40):
        print(*log.append(
            [{"role": "user", "content": f"message {one}"} for one in (n, n + 1)],
            key=[f"k{n}", f"k{n + 1}"],
        ))
"""


def test_processes_that_append_the_same_store_it_once(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        line = [sys.executable, "-c", APPENDING, str(tmp_path)]
        run = [subprocess.Popen(line, stdout=subprocess.PIPE) for _ in range(3)]  # noqa: S603
        said_by = [one.communicate()[0] for one in run]
        assert [one.returncode for one in run] == [0, 0, 0]
        assert len(set(said_by)) == 1
        assert texts(memory.conversation("log")) == [f"message {n}" for n in range(41)]


def test_a_message_with_a_key_never_goes_to_the_spool(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as memory:
        log = memory.conversation("log")
        ids = log.append(said("a"), key="k")
        with held_elsewhere(tmp_path):
            assert log.append(said("a"), key="k") == ids
            with pytest.raises(Locked):
                log.append(said("b"), key="l")
            log.append(said("waiting"))
        log.append(said("b"), key="l")
        assert texts(log) == ["a", "waiting", "b"]


def test_a_list_with_keys_is_recognised(memory):
    log = memory.conversation("log")
    log.append([said("a"), said("b")], key=["k", "l"])
    synced = log.sync([said("a"), said("b"), said("c")])
    assert (synced.kept, len(synced.appended)) == (2, 1)
    assert [turn.key for turn in log] == ["k", "l", None]


def test_an_export_keeps_keys_and_where_the_path_ends(tmp_path):
    with Memory.open(tmp_path / "from", embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([said("a"), said("b"), said("c")], key=["k", "l", "m"])
        log.pop()
        log.append(said("d"))
        log.append(said("gone"))
        log.pop(forget=True)
    lines = tmp_path / "lines"
    with ColdStore.open(tmp_path / "from", mode="read") as store, lines.open("w") as out:
        maintenance.export(store, out)
    with ColdStore.open(tmp_path / "to") as store:
        maintenance.Import(store, maintenance.survey(lines)).run()
    with Memory.open(tmp_path / "to", embedder="lexical") as memory:
        log = memory.conversation("log")
        assert (texts(log), [turn.key for turn in log]) == (["a", "b", "d"], ["k", "l", None])
        assert log.append(said("b"), key="l") == [log.ids[1]]
        assert memory.stats()["damaged"] == []
