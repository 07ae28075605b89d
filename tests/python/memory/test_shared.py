"""Several processes on one store: each sees what the others keep; what is erased nobody finds."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bag import Bag
from other_process import other, said

from warmset import Filter, Memory
from warmset.errors import InvalidInputError, Locked, NotFound
from warmset.native import ColdStore
from warmset.receipts import Spooled


def texts(conversation):
    return [turn["content"] for turn in conversation.fetch(conversation.ids)]


def anywhere(path, words):
    """Names of the files that have some words in them."""
    files = [file for file in Path(path).rglob("*") if file.is_file()]
    return [file.name for file in files if words.encode() in file.read_bytes()]


@pytest.mark.parametrize("bag", [False, True])
def test_what_another_process_keeps_is_there_at_the_next_call(tmp_path, bag):
    embedder = Bag() if bag else "lexical"
    with Memory.open(tmp_path, embedder=embedder) as memory:
        log = memory.conversation("log")
        log.append([said("the zeppelin lands at noon"), said("noted", "assistant")])
        code = 'log.append({"role": "user", "content": "bring the green umbrella"})\n'
        code += 'memory.conversation("aside").append({"role": "user", "content": "a walrus"})\n'
        code += "print(len(log))"
        assert other(tmp_path, code, bag=bag) == "3\n"
        assert len(log) == 3
        assert texts(log)[-1] == "bring the green umbrella"
        assert memory.conversations() == ["log", "aside"]
        assert memory.search("umbrella")[0].id == log.ids[-1]
        assert memory.search("walrus")[0].conversation == "aside"
        log.append(said("which colour was it?"))
        assert memory.flush()
        shown = log.window("which umbrella?", budget=2_000, mode="full").messages
        assert "bring the green umbrella" in [message["content"] for message in shown]
        assert log.ids == sorted(log.ids)
        assert memory.stats()["pending"] == 0
    with Memory.open(tmp_path, embedder=embedder) as memory:
        assert len(memory.conversation("log")) == 4


def test_vectors_are_made_once_whoever_makes_them(tmp_path):
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log = memory.conversation("log")
        for number in range(3):
            log.append(said(f"ours {number}"))
            other(
                tmp_path, f'log.append({{"role": "user", "content": "other {number}"}})', bag=True
            )
        assert memory.flush()
        assert memory.search("other 1", k=1)[0].id == log.ids[3]
        rows = memory.stats()["rows"]
    made = Counter()
    with ColdStore.open(tmp_path, mode="read") as store:
        for record in store.page():
            if record.kind == "half_embedding":
                made[record.meta] += 1
    assert rows == 6
    # The last turn has no context yet; a turn may be embedded twice where two processes met.
    assert len(made) == 11
    assert sum(made.values()) <= 14


def test_a_branch_of_another_process_is_followed(tmp_path):
    given = [said("one"), said("two", "assistant"), said("three")]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(given)
        edited = [given[0], said("zwei", "assistant"), said("drei")]
        other(tmp_path, f"log.sync({edited!r})")
        assert texts(log) == ["one", "zwei", "drei"]
        assert not list(memory.search("three"))
        assert memory.search("three", where=Filter(branches=True))[0].id == 3
        other(tmp_path, f"log.sync({given!r})")
        assert texts(log) == ["one", "two", "three"]
        assert log.sync(given).appended == []


def test_another_embedder_takes_over_for_every_process(tmp_path):
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log = memory.conversation("log")
        log.append([said("a car"), said("a boat"), said("a plane")])
        assert memory.flush()
        other(tmp_path, "memory.reembed()", bag=True)
        assert memory.search("automobile", k=1)[0].id == log.ids[0]
        log.append(said("a train"))
        assert memory.flush()
        assert memory.search("train", k=1)[0].id == log.ids[3]
        assert memory.stats()["rows"] == 4


# --- erasing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("encryption", [None, "keys"])
def test_an_erased_conversation_is_gone_from_every_process_and_file(tmp_path, encryption):
    options = {"encryption": encryption}
    with Memory.open(tmp_path, embedder=Bag(), **options) as memory:
        secret, kept = memory.conversation("secret"), memory.conversation("log")
        secret.append([said("the plaintext of a secret"), said("understood", "assistant")])
        kept.append([said("nothing to hide"), said("good", "assistant")])
        assert memory.flush()
        assert bool(anywhere(tmp_path, "plaintext")) == (encryption is None)
        removed = memory.erase(conversation="secret")
        assert removed.records == 5  # two turns, each with its vectors, and a context
        assert (removed.derived, removed.keys) == (0, 0 if encryption is None else 1)
        assert anywhere(tmp_path, "plaintext") == []
        assert memory.conversations() == ["log"]
        assert {hit.conversation for hit in memory.search("plaintext secret")} <= {"log"}
        assert len(secret) == 0
        with pytest.raises(NotFound):
            secret.fetch(1)
        assert texts(kept) == ["nothing to hide", "good"]
        secret.append(said("a new beginning"))
        code = 'print([turn["content"] for turn in memory.conversation("secret").fetch('
        code += 'memory.conversation("secret").ids)])'
        assert other(tmp_path, code, bag=True, **options) == "['a new beginning']\n"
        assert memory.stats()["damaged"] == []


def test_erased_messages_take_with_them_what_tells_of_them(tmp_path):
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log = memory.conversation("log")
        log.append([said("before it"), said("the plaintext", "assistant"), said("after it")])
        log.append([said("much later", "assistant"), said("the end")])
        assert memory.flush()
        rows = memory.stats()["rows"]
        before, gone, after, *_ = log.ids
        removed = memory.erase(ids=[gone])
        # Its vectors and its context, and the contexts of its neighbours.
        assert (removed.records, removed.derived) == (1, 4)
        assert texts(log) == ["before it", "after it", "much later", "the end"]
        assert log.ids[:2] == [before, after]
        assert memory.flush()
        assert memory.stats()["rows"] == rows - 1
        assert anywhere(tmp_path, "plaintext") == []
        assert memory.search("after", k=1)[0].id == after
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log = memory.conversation("log")
        assert texts(log) == ["before it", "after it", "much later", "the end"]
        assert memory.stats()["damaged"] == []
        assert memory.stats()["pending"] == 0


def test_another_process_erases_what_this_one_has_open(tmp_path):
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        log = memory.conversation("log")
        log.append([said("the plaintext"), said("and more", "assistant")])
        memory.conversation("kept").append(said("kept"))
        assert memory.flush()
        other(tmp_path, 'memory.erase(conversation="log")', bag=True)
        assert memory.conversations() == ["kept"]
        assert len(log) == 0
        assert {hit.conversation for hit in memory.search("plaintext")} <= {"kept"}
        log.append(said("anew"))
        assert memory.flush()
        assert texts(log) == ["anew"]
        assert anywhere(tmp_path, "plaintext") == []


@pytest.mark.parametrize("count", [1, 2])
def test_ids_may_be_an_array(count):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        ids = log.append([said("a secret"), said("another one"), said("and a third")])
        gone = np.array(ids[:count])
        assert log.fit(budget=900, pins=gone).ids == ids
        assert [turn.id for turn in log.fetch(gone)] == ids[:count]
        assert memory.erase(ids=gone).records == count
        assert log.ids == ids[count:]


def test_what_erase_refuses(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical", tenant="ours") as memory,
        Memory.open(tmp_path, embedder="lexical", tenant="theirs") as theirs,
    ):
        memory.conversation("log").append(said("one"))
        for options in ({}, {"conversation": "log", "ids": [1]}, {"conversation": ""}):
            with pytest.raises(InvalidInputError):
                memory.erase(**options)
        with pytest.raises(NotFound):
            theirs.erase(ids=[1])
        with pytest.raises(NotFound):
            memory.erase(ids=[1, 99])
        theirs.erase(conversation="log")
        assert memory.erase(ids=[]).records == 0
        assert len(memory.conversation("log")) == 1


# --- busy ---------------------------------------------------------------------------------------

HOLD = """
import fcntl, sys, time
with open(sys.argv[1] + "/lock", "r+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def busy(tmp_path):
    """A process that keeps the store busy until it is let go."""
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(said("first"))
    holder = subprocess.Popen(  # noqa: S603 - fixed
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def let_go():
        holder.communicate()

    yield holder, let_go
    holder.kill()
    holder.communicate()


def test_a_busy_store_is_an_error_or_a_spool(tmp_path, busy):
    holder, let_go = busy
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as memory:
        log = memory.conversation("log")
        assert holder.stdout.readline() == b"held\n"
        spooled = log.append([said("left in the spool"), said("and this", "assistant")])
        assert isinstance(spooled, Spooled)
        assert len(spooled) == 0
        assert len(log) == 1
        let_go()
        assert len(log.append(said("next"))) == 1
        assert texts(log) == ["first", "left in the spool", "and this", "next"]


def test_a_busy_store_is_told_with_its_owner(tmp_path, busy):
    holder, let_go = busy
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Locked):
            log.append(said("refused"))
        assert texts(log) == ["first"]
        let_go()
        log.append(said("accepted"))
        assert texts(log) == ["first", "accepted"]


def test_a_list_that_was_spooled_is_not_kept_twice(tmp_path, busy):
    holder, let_go = busy
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as memory:
        log = memory.conversation("log")
        full = [said("first"), said("second", "assistant"), said("third")]
        assert holder.stdout.readline() == b"held\n"
        first = log.sync(full)
        assert first.kept == 1
        assert isinstance(first.appended, Spooled)
        assert memory.stats()["spooled"] == 1
        again = log.sync(full)
        assert (again.kept, again.appended) == (3, [])
        let_go()
        full.append(said("fourth", "assistant"))
        last = log.sync(full)
        assert (last.kept, len(last.appended), last.branched_at) == (3, 1, None)
        assert texts(log) == ["first", "second", "third", "fourth"]
        assert memory.stats()["spooled"] == 0
        assert log.sync(full).appended == []
