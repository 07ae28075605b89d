"""Memories in lists that only grow: pinned in front, the others appended, each once."""

from __future__ import annotations

import json

import pytest

from warmset import Memory, count_tokens
from warmset.messages import validate
from warmset.store.derived import Derived
from warmset.text.markup import MEMORY_TAG, PINNED, RECALLED

GERMAN = "The user prefers answers in German."
BUDGET = 3_000


def said(role, text):
    return {"role": role, "content": text}


def asked(number):
    return said("user", f"who owns boat number{number}? " + "The crane. " * 40)


def answered(number):
    return said("assistant", f"number{number} lies at pier {number * 7}. " + "It floats. " * 40)


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as made:
        yield made


def look(chat, **options):
    window = chat.window(budget=BUDGET, mode="steady", **options)
    assert window.tokens == count_tokens(window.messages) <= BUDGET
    found = validate(window.messages, dialect="openai")
    assert [one for one in found if one.severity == "refused"] == []
    return window


def grows(before, after):
    return json.dumps(after.messages[: len(before.messages)]) == json.dumps(before.messages)


def reasons(window):
    return {one.memory_id: one.reason for one in window.report.memories if one.shown}


def test_memories_are_appended_once_and_stay_within_their_share(memory):
    chat = memory.conversation("log")
    chat.append(said("system", "Be terse."), at=1.7e9)
    for number in range(20):
        memory.remember(f"boat number{number} is owned by Olga{number}.")
    last, shown, epochs = None, set(), set()
    for number in range(20):
        chat.append(asked(number), at=1.7e9)
        window = look(chat, memories=0.1)
        if not window.report.epoch.began:
            assert grows(last, window)
        else:
            shown = set()
        epochs.add(window.report.epoch.number)
        assert sum(one.tokens for one in window.parts if one.name == "memories") <= 300
        text = "".join(one["content"] for one in window.messages if MEMORY_TAG in one["content"])
        quoted = [at for at in range(20) if f"by Olga{at}." in text]
        assert all(text.count(f"by Olga{at}.") == 1 for at in quoted)
        fresh = [name for name, reason in reasons(window).items() if reason == "recalled"]
        assert not shown & set(fresh)
        shown |= set(fresh)
        assert {name for name, reason in reasons(window).items() if reason == "kept"} | set(
            fresh
        ) == shown
        last = window
        again = look(chat, memories=0.1)
        assert again.messages == window.messages
        chat.append(answered(number), at=1.7e9)
    assert len(epochs) > 1


def test_a_share_of_exactly_so_many_tokens_takes_one_more(memory):
    chat = memory.conversation("log")
    chat.append(asked(1), at=1.7e9)
    memory.remember("boat number1 is owned by Olga.")
    whole = look(chat)
    [part] = [one for one in whole.parts if one.name == "memories"]
    for name, more, shown in (("at", 0.5, True), ("below", -0.5, False)):
        other = memory.conversation(name)
        other.append(asked(1), at=1.7e9)
        window = look(other, memories=(part.tokens + more) / BUDGET)
        assert any(one.shown for one in window.report.memories) == shown
        assert [one.reason for one in window.report.memories] == [
            "recalled" if shown else "over_share"
        ]


@pytest.mark.parametrize("role", ["user", "system"])
def test_pinned_ones_change_only_when_an_epoch_begins(memory, role):
    chat = memory.conversation("log")
    chat.append(said("system", "Be terse."), at=1.7e9)
    memory.remember(GERMAN, pinned=True)
    last, pinned_at, seen = None, None, False
    for number in range(14):
        chat.append(asked(number), at=1.7e9)
        window = look(chat, pinned_role=role)
        text = json.dumps(window.messages)
        assert text.count("answers in German") == 1
        if last is not None and not window.report.epoch.began:
            assert grows(last, window)
            assert ("harbour master" in text) == seen
        elif last is not None:
            seen = pinned_at is not None
            assert ("harbour master" in text) == seen
        [at] = [n for n, one in enumerate(window.messages) if PINNED in one["content"]]
        assert window.messages[at]["role"] == role
        if number == 0:
            assert at == (1 if role == "user" else 0)
        if number == 4:
            memory.remember("Always mention the harbour master.", pinned=True)
            pinned_at = number
        last = window
        chat.append(answered(number), at=1.7e9)
    assert seen


def test_an_erased_memory_leaves_the_list_and_the_files(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("log")
        boat = memory.remember("boat number1 is owned by Olga.")
        german = memory.remember(GERMAN, pinned=True)
        chat.append(asked(1), at=1.7e9)
        first = look(chat)
        assert reasons(first) == {f"memory:{boat}": "recalled", f"memory:{german}": "pinned"}
        for gone in (boat, german):
            memory.erase(ids=[gone])
            window = look(chat)
            assert f"memory:{gone}" not in reasons(window)
        assert MEMORY_TAG not in json.dumps(window.messages)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert MEMORY_TAG not in json.dumps(look(memory.conversation("log")).messages)
    data = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    assert b"owned by Olga" not in data
    assert b"in German" not in data


def test_another_process_continues_the_list(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("log")
        boat = memory.remember("boat number1 is owned by Olga.")
        memory.remember(GERMAN, pinned=True)
        chat.append(asked(1), at=1.7e9)
        first = look(chat)
        memory.remember("The list is long.", pinned=True)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append([answered(1), asked(1)], at=1.7e9)
        window = look(chat)
        assert grows(first, window)
        assert reasons(window)[f"memory:{boat}"] == "kept"
        listed = [*window.messages, answered(1), said("user", "thanks")]
        back = memory.process(listed, conversation="log", budget=BUDGET, mode="steady")
        assert grows(window, back)
        assert not any(MEMORY_TAG in str(one) for one in chat)


def test_a_request_alone_gets_memories_too(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        boat = memory.remember("boat number1 is owned by Olga.")
        memory.remember(GERMAN, pinned=True)
        chat = memory.conversation("log")
        first = chat.window("who owns boat number1?", budget=2_000, mode="steady")
        assert [one["content"].split("\n[")[0] + "\n" for one in first.messages[:2]] == [
            PINNED,
            RECALLED,
        ]
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("log")
        again = chat.window("who owns boat number1?", budget=2_000, mode="steady")
        assert again.messages == first.messages
        memory.erase(ids=[boat])
        text = json.dumps(chat.window("who owns it?", budget=2_000, mode="steady").messages)
        assert "Olga" not in text
        assert "German" in text


def test_what_an_exchange_quotes_is_not_said_twice(memory):
    chat = memory.conversation("log")
    chat.append([asked(0), said("assistant", "boat number99 is owned by Olga.")], at=1.7e9)
    for number in range(1, 16):
        chat.append(asked(number), at=1.7e9)
        look(chat)
        chat.append(answered(number), at=1.7e9)
    memory.remember("boat number99 is owned by Olga.")
    chat.append(said("user", "who owns boat number99?"), at=1.7e9)
    window = look(chat, recall_share=0.2)
    assert window.report.picked, "a turn that the list does not show is quoted"
    assert json.dumps(window.messages).count("owned by Olga") == 1
    [one] = window.report.memories
    assert one.reason == "already_in_window"


def test_a_read_only_memory_shows_them_too(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.remember(GERMAN, pinned=True)
        memory.conversation("log").append(asked(1), at=1.7e9)
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        for mode in ("jit", "steady"):
            window = memory.conversation("log").window(budget=BUDGET, mode=mode)
            assert "in German" in json.dumps(window.messages)


def test_a_memory_that_goes_while_a_list_is_made_is_not_in_it(memory, monkeypatch):
    boat = memory.remember("boat number1 is owned by Olga.")
    chat = memory.conversation("log")
    chat.append(asked(1), at=1.7e9)
    from warmset.window.steady import windows  # noqa: PLC0415

    search, erased = windows.asked_of, []

    def then_erased(*args):
        found = search(*args)
        if not erased:
            erased.append(memory.erase(ids=[boat]))
        return found

    monkeypatch.setattr(windows, "asked_of", then_erased)
    assert "Olga" not in json.dumps(look(chat).messages)
    assert isinstance(memory._engine.derived, Derived)
    assert erased
