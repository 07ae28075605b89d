"""What was acknowledged is there: after kill -9, after a torn write, after a huge turn."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from itertools import chain

import pytest

from warmset import Memory, compact_context
from warmset.errors import Closed, Forked, InvalidInputError, Locked, TooLarge

WRITER = """
import os, sys
from warmset import Memory
memory = Memory.open(sys.argv[1], embedder="lexical")
conversation = memory.conversation("log")
n = 0
while True:
    texts = [f"{sys.argv[2]} {n + more} \\ud800\\0😀" for more in range(n % 3 + 1)]
    for id_ in conversation.append([{"role": "user", "content": text} for text in texts]):
        os.write(1, f"{id_} {n}\\n".encode())
        n += 1
"""
OWNER = """
import sys
from warmset import Memory
memory = Memory.open(sys.argv[1], embedder="lexical", mode="exclusive")
print("open", flush=True)
sys.stdin.readline()
"""


def child(code, *arguments):
    return subprocess.Popen(  # noqa: S603 - fixed
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_a_killed_process_loses_no_acknowledged_turn(tmp_path):
    acknowledged = {}
    for run in range(10):
        with child(WRITER, tmp_path, f"run {run} turn") as writer:
            lines = [writer.stdout.readline() for _ in range(1 + 7 * run)]
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        for line in lines:
            if line.endswith(b"\n"):
                id_, n = map(int, line.split())
                assert id_ not in acknowledged, "an id is never used twice"
                acknowledged[id_] = f"run {run} turn {n} \ud800\0😀"
        with Memory.open(tmp_path, embedder="lexical") as memory:
            conversation = memory.conversation("log")
            assert set(acknowledged) <= set(conversation.ids)
            for turn in conversation.fetch(acknowledged):
                assert turn == {"role": "user", "content": acknowledged[turn.id]}
            assert len(conversation) <= len(acknowledged) + 3 * (run + 1)
            assert memory.search(f"run {run}", k=1)[0].id in conversation.ids
    assert len(acknowledged) > 300


@pytest.mark.parametrize("written", [1, 9, 60, 130, 400])
def test_an_append_that_was_torn_is_cut_whole_and_reported(tmp_path, written):
    """The bytes of a loss of power: the mark is that of the append before."""
    batches = [[said(f"turn {n} {more}") for more in range(1 + n % 3)] for n in range(12)]
    with Memory.open(tmp_path / "store", embedder="lexical") as memory:
        ids = [memory.conversation("log").append(batch) for batch in batches[:-1]]
        shutil.copytree(tmp_path / "store", tmp_path / "torn")
        memory.conversation("log").append(batches[-1])
        (segment,) = (tmp_path / "store").glob("*.seg")
        torn = tmp_path / "torn" / segment.name
        begun = torn.stat().st_size
        assert begun + written < segment.stat().st_size, "a part of the append is missing"
        torn.write_bytes(segment.read_bytes()[: begun + written])
    with Memory.open(tmp_path / "torn", embedder="lexical") as memory:
        conversation = memory.conversation("log")
        kept = [*chain.from_iterable(ids)]
        assert conversation.ids == kept, "each append is there, or nothing of it"
        assert conversation.fetch(kept) == [*chain.from_iterable(batches[:-1])]
        (told,) = memory.stats()["cuts"]
        assert told["bytes"] == written
        more = conversation.append(said("after the cut"))
        assert more[0] > kept[-1]
    with Memory.open(tmp_path / "torn", embedder="lexical") as memory:
        assert memory.conversation("log").ids == [*kept, *more]
        assert memory.stats()["cuts"] == []


MESSAGES = {
    "lone surrogates": {"role": "user", "content": "\ud800 x \udfff\ud83d", "\udc00": "\udbff"},
    "NUL": {"role": "user", "content": "\0a\0\0b\0", "\0": "\0"},
    "four bytes": {"role": "user", "content": "😀 \U0010ffff 𠜎", "😀": "𠜎"},
    "surrogate pair": {"role": "user", "content": "\ud83d\ude00"},
    "key order": {"z": 1, "content": "x", "b": {"y": 1, "a": [{"d": 0, "c": 0}]}, "role": "user"},
    "big integers": {"role": "user", "content": "x", "n": [2**64, -(2**200), 10**400, 0]},
    "floats": {"role": "user", "content": "x", "n": [0.1, -0.0, 5e-324, 1.7976931348623157e308]},
    "numbers keep their type": {"role": "user", "content": "x", "n": [1, 1.0, True, False, None]},
    "separators": {"role": "user", "content": "\u2028\u2029\r\n\t\x1e\x85\ufeff"},
    "empty": {"role": "user", "content": "", "": {"": []}},
    "deep": {"role": "user", "content": "x", "n": json.loads("[" * 100 + "]" * 100)},
    "combining": {"role": "user", "content": "e\u0301 é \u1e9e \u0130"},
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize("read", ["map", "pread"])
def test_messages_come_back_json_equal(tmp_path, message, read):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        (id_,) = memory.conversation("\ud800\0😀").append(message)
        before = memory.conversation("\ud800\0😀").fetch(id_)
    with Memory.open(tmp_path, embedder="lexical", read=read) as memory:
        after = memory.conversation("\ud800\0😀").fetch(id_)
        assert memory.conversation("\ud800\0😀").sync([message]).kept == 1
    for turn in (before, after):
        assert json.dumps(turn) == json.dumps(message), "values, their types and key order"


def test_a_turn_of_fifty_megabytes(tmp_path):
    huge = "\U0001f600" + "x yz " * 10_000_000
    with Memory.open(tmp_path, embedder="lexical") as memory:
        (id_,) = memory.conversation("log").append(said(huge))
    with Memory.open(tmp_path, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        assert conversation.fetch(id_)["content"] == huge
        before = memory.stats()
        for give in (conversation.append, lambda m: conversation.sync([said(huge), m])):
            with pytest.raises(TooLarge, match="split it") as caught:
                give(said("x yz " * (13 << 20)))
            assert caught.value.size > caught.value.limit == 64 << 20
        assert memory.stats() == before
        assert conversation.ids == [id_]
        (after,) = conversation.append(said("after"))
        assert conversation.fetch(after)["content"] == "after"


def test_another_process_is_locked_out_and_told_by_whom(tmp_path):
    with child(OWNER, tmp_path) as owner:
        assert owner.stdout.readline() == b"open\n"
        with pytest.raises(Locked, match=str(owner.pid)) as caught:
            Memory.open(tmp_path, embedder="lexical")
        assert str(tmp_path) in str(caught.value)
        owner.communicate(b"\n")
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert len(memory.conversation("log")) == 0


def test_a_child_of_a_fork_is_told_to_open_again(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(said("mine"))
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:  # pragma: no cover - the child
            try:
                conversation.append(said("not mine"))
            except Forked:
                os.write(writer, b"forked")
            finally:
                os._exit(0)
        os.close(writer)
        assert os.read(reader, 100) == b"forked"
        os.close(reader)
        os.waitpid(pid, 0)
        conversation.append(said("still mine"))
        assert len(conversation) == 2


def test_handles_on_one_path_share_their_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with Memory.open("store", embedder="lexical") as one:
        with (
            Memory.open(tmp_path / "store", embedder="lexical") as other,
            Memory.open("./link/../store", embedder="lexical") as third,
            Memory.open("link", embedder="lexical") as fourth,
        ):
            (id_,) = one.conversation("log").append(said("the kite"))
            for memory in (other, third, fourth):
                assert memory.conversation("log").ids == [id_]
                assert memory.search("kite").ids == [id_]
            assert other.conversation("log").sync([said("the kite"), said("b")]).kept == 1
            with pytest.raises(InvalidInputError, match="encoding"):
                Memory.open("store", embedder="lexical", encoding="cl100k_base")
        assert len(one.conversation("log")) == 2
        one.conversation("log").append(said("the others are closed, this one is not"))
    with Memory.open("store", embedder="lexical") as memory:
        assert len(memory.conversation("log")) == 3


def test_stores_in_memory_are_apart_and_gone():
    with Memory.open(None, embedder="lexical") as one, Memory.open(None, embedder="lexical") as two:
        one.conversation("log").append(said("x"))
        assert two.conversations() == []


CLOSED = {
    "conversations": lambda memory, _: memory.conversations(),
    "search": lambda memory, _: memory.search("x"),
    "process": lambda memory, _: memory.process([said("x")], conversation="log", budget=999),
    "stats": lambda memory, _: memory.stats(),
    "flush": lambda memory, _: memory.flush(),
    "reembed": lambda memory, _: memory.reembed(),
    "append": lambda _, conversation: conversation.append(said("x")),
    "sync": lambda _, conversation: conversation.sync([said("x")]),
    "fetch": lambda _, conversation: conversation.fetch(1),
    "window": lambda _, conversation: conversation.window(budget=999),
    "search in it": lambda _, conversation: conversation.search("x"),
    "fit": lambda _, conversation: conversation.fit(budget=999),
    "tools": lambda _, conversation: conversation.tools(),
    "ids": lambda _, conversation: conversation.ids,
    "len": lambda _, conversation: len(conversation),
    "dialect": lambda _, conversation: conversation.dialect,
    "remember": lambda memory, _: memory.remember("x"),
    "memories": lambda memory, _: memory.memories(),
    "revise": lambda memory, _: memory.revise(1, "x"),
    "restore": lambda memory, _: memory.restore("kept:1:x"),
    "episodes": lambda memory, _: memory.episodes(),
    "erase": lambda memory, _: memory.erase(conversation="log"),
    "erase ids": lambda memory, _: memory.erase(ids=[]),
    "rebuild": lambda memory, _: memory.rebuild_index(),
    "paused": lambda memory, _: memory.paused(),
    "compact": lambda memory, _: compact_context([said("x")] * 9, memory=memory),
    "compact it": lambda _, one: compact_context([said("x")] * 9, memory=one),
}


@pytest.mark.parametrize("use", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("other", [False, True], ids=["last", "another is open"])
def test_a_closed_handle_says_so(tmp_path, use, other):
    memory = Memory.open(tmp_path, embedder="lexical")
    still = Memory.open(tmp_path, embedder="lexical") if other else None
    conversation = memory.conversation("log")
    conversation.append(said("x"))
    memory.close()
    memory.close()
    with pytest.raises(Closed, match="open it again"):
        use(memory, conversation)
    assert "closed" in repr(memory)
    assert repr(conversation) == "Conversation('log', closed)"
    if still is not None:
        assert len(still.conversation("log")) == 1
        still.close()


def said(text):
    return {"role": "user", "content": text}
