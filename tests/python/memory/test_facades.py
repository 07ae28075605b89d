"""`Memory` and `Conversation` themselves: pages of messages, options, and how a block is left."""

from __future__ import annotations

import copy
import pickle
import threading
from datetime import UTC, datetime

import pytest
from preparing import opened, talk

from warmset import Memory, memory as module
from warmset.conversation import PAGE
from warmset.errors import InvalidInputError, NotPortable


def said(text, role="user"):
    return {"role": role, "content": text}


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


def test_every_page_of_messages_is_the_newest_before_an_id(memory):
    chat = memory.conversation("log")
    ids = chat.append([said(f"boat {at}") for at in range(6)])
    memory.conversation("other").append(said("elsewhere"))
    for before in (None, *range(ids[0] - 1, ids[-1] + 3)):
        for limit in (None, *range(1, 9)):
            earlier = [id_ for id_ in ids if before is None or id_ < before]
            expected = earlier if limit is None else earlier[-limit:]
            assert [turn.id for turn in chat.messages(limit=limit, before=before)] == expected
    for wrong in (0, -1, True, 1.0, "1"):
        with pytest.raises(InvalidInputError, match="limit"):
            chat.messages(limit=wrong)


def test_a_conversation_is_read_page_by_page_and_as_a_whole(memory):
    chat, count = memory.conversation("log"), 2 * PAGE + 1
    ids = chat.append([said(f"boat {at}") for at in range(count)])
    assert [turn.id for turn in chat] == ids
    assert [turn["content"] for turn in chat] == [f"boat {at}" for at in range(count)]


def test_process_gives_the_new_messages_their_time(memory):
    then = datetime(2023, 5, 10, 12, tzinfo=UTC)
    memory.process([said("one")], conversation="log", budget=500, at=then)
    memory.process([said("one"), said("two")], conversation="log", budget=500, at=then.timestamp())
    assert [turn.at for turn in memory.conversation("log").messages()] == [then, then]


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        (None, 30.0),
        (SystemExit, 30.0),
        (GeneratorExit, 30.0),
        (KeyboardInterrupt, 0.0),
        (ValueError, 0.0),
        (MemoryError, 0.0),
    ],
)
def test_a_block_that_an_exception_leaves_does_not_wait(monkeypatch, kind, seconds):
    waited, event = [], threading.Event()
    monkeypatch.setattr(module, "INTERRUPTED", event)
    close = Memory.close

    def closing(self, *, timeout):
        waited.append(timeout)
        close(self, timeout=0)

    monkeypatch.setattr(Memory, "close", closing)
    if kind is None:
        with Memory.open(None, embedder="lexical"):
            pass
    else:
        with pytest.raises(kind), Memory.open(None, embedder="lexical"):
            raise kind
    assert waited == [seconds]
    assert event.is_set() == (kind is KeyboardInterrupt)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tenant": ""}, "tenant"),
        ({"tenant": 7}, "tenant"),
        ({"private_tags": 1}, "private_tags"),
        ({"private_tags": None}, "private_tags"),
        ({"weights": {"dense": 1}}, "weights"),
        ({"redact": 7}, "redact"),
        ({"redact_timeout": 0}, "redact_timeout"),
        ({"summary_line": "none"}, "summary_line"),
        ({"entities": "all"}, "entities"),
        ({"decisions": 7}, "decisions"),
        ({"encoding": None}, "encoding"),
        ({"picker": object()}, "picker"),
    ],
)
def test_what_is_wrong_with_an_option_is_an_error_before_anything_is_opened(options, why, tmp_path):
    path = tmp_path / "store"
    with pytest.raises(InvalidInputError, match=why):
        Memory.open(path, embedder="lexical", **options)
    assert not path.exists()


@pytest.mark.parametrize("path", ["a\0b", 7, b"a", object(), "\udcff\ud800"])
def test_what_is_no_name_of_a_directory_is_refused(path):
    with pytest.raises(InvalidInputError, match="path"):
        Memory.open(path, embedder="lexical")


def test_private_text_is_left_out_unless_it_is_not_asked_for():
    text = "The code is <private>1234</private>."
    for asked in (True, False):
        with Memory.open(None, embedder="lexical", private_tags=asked) as memory:
            chat = memory.conversation("log")
            chat.append(said(text))
            assert ("1234" in chat.messages()[0]["content"]) == (not asked)
            assert memory.stats()["redacted"]["messages"] == int(asked)


def test_a_compaction_that_is_none_is_refused(memory):
    chat = memory.conversation("log")
    chat.append(said("one"))
    with pytest.raises(InvalidInputError, match="compaction"):
        chat.window(budget=100, compaction=object())
    with pytest.raises(InvalidInputError, match="compaction"):
        chat.compact_now()


def test_tools_are_in_the_conversations_dialect(memory):
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "none"}
    chat = memory.conversation("log")
    assert all("function" in one for one in chat.tools().definitions)
    chat.append([said("Look."), {"role": "assistant", "content": [use]}])
    chat.append({"role": "user", "content": [result]})
    assert all("input_schema" in one for one in chat.tools().definitions)
    assert all("function" in one for one in chat.tools(dialect="openai").definitions)


def test_a_policy_that_is_given_writes_in_place_of_that_of_the_memory(made, hand):
    usual, other = made(), made()
    store, chat = opened(usual)
    with store:
        talk(chat, 30)
        chat.compact_now(wait=False, compaction=other)
        hand.run()
        assert (len(usual.summarizer.asked), len(other.summarizer.asked)) == (0, 1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_a_memory_nor_a_conversation_is_copied(copied):
    with Memory.open(None, embedder="lexical") as memory:
        for one in (memory, memory.conversation("log")):
            with pytest.raises(NotPortable, match="is not copied or pickled; pass its"):
                copied(one)


def test_what_a_cut_looks_like_has_no_content():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": f"secret {at} " * 20} for at in range(30)])
        shown = repr(log.fit(budget=500, system="also secret"))
    assert shown.startswith("CutResult(tokens=")
    assert "secret" not in shown
    assert len(shown) < 300
