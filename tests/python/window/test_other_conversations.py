"""Windows that quote turns of the tenant's other conversations."""

from __future__ import annotations

import os
import random

import pytest

from warmset import Memory
from warmset.text.markup import MEMORY_TAG

DEEP = int(os.environ.get("OTHER_TENANT_WINDOWS", "300"))
NOUNS = ("forecast", "margin", "churn", "salary", "tariff", "rent", "discount", "currency")
PLACES = ("Tarn", "Oslo", "Lima", "Quito", "Turin", "Cadiz", "Perth", "Kyoto")


def said(role, text):
    return {"role": role, "content": text}


def facts(seed, count=60):
    random_ = random.Random(seed)
    pairs = [(noun, place) for noun in NOUNS for place in PLACES]
    random_.shuffle(pairs)
    return [
        (f"assumed {noun} for {place}", f"We assumed a {noun} for {place} of {seed}{at:03}.")
        for at, (noun, place) in enumerate(pairs[:count])
    ]


def plant(memory, seed, names=("january", "february", "march")):
    planted = facts(seed)
    for at, name in enumerate(names):
        chat = memory.conversation(name)
        for number, (_, fact) in enumerate(planted[at::3]):
            chat.append(
                said("user", f"Step {number} of the model, please go on with it."), at=1.7e9
            )
            chat.append(said("assistant" if number % 2 else "user", fact), at=1.7e9)
    return planted


def test_a_scope_of_the_tenant_finds_what_other_conversations_say():
    with Memory.open(None, embedder="lexical") as memory:
        found = 0
        for number, (asked, fact) in enumerate(plant(memory, 7)):
            chat = memory.conversation(f"april {number}")
            chat.append(said("user", f"Which {asked} did we take last time?"))
            assert fact not in str(chat.window(budget=6_000).messages)
            chat = memory.conversation(f"may {number}")
            chat.append(said("user", f"Which {asked} did we take last time?"))
            window = chat.window(budget=6_000, scope="tenant", mode=("jit", "steady")[number % 2])
            assert window.tokens <= 6_000
            assert sum(p.tokens for p in window.parts if p.name == "memories") <= 600
            found += fact in str(window.messages)
        assert found >= 57


def test_another_tenants_conversations_are_never_found(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical", tenant="a") as ours,
        Memory.open(tmp_path, embedder="lexical", tenant="b") as theirs,
    ):
        planted, secret = plant(ours, 1), plant(theirs, 2)
        theirs.remember(secret[0][1], pinned=True)
        hidden = [fact for _, fact in secret]
        chat, quoted = ours.conversation("april"), 0
        chat.append(said("user", "Let us begin."))
        for number in range(DEEP):
            asked = planted[number % len(planted)][0]
            mode = ("jit", "steady")[number % 2]
            window = chat.window(
                f"Which {asked}, number {number}?", budget=3_000, scope="tenant", mode=mode
            )
            text = str(window.messages)
            quoted += MEMORY_TAG in text
            assert not any(fact in text for fact in hidden)
            if number == 0:
                assert not any("2000" in str(one) for one in window.report.memories)
        assert quoted > DEEP * 0.9


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


def test_a_turn_is_marked_with_its_conversation_and_day(memory):
    other = memory.conversation('plan "B", user] [x')
    [turn] = other.append(said("assistant", "The forecast assumes 4 %."), at=1.7e9)
    chat = memory.conversation("now")
    chat.append(said("user", "What does the forecast assume?"))
    window = chat.window(budget=3_000, scope="tenant")
    text = window.messages[0]["content"]
    head = f'[turn:{turn} of "plan "B", user) (x", assistant, Tue 14 Nov 2023] '
    assert f"{head}The forecast assumes 4 %.\n" in text
    [one] = [one for one in window.report.memories if one.shown]
    assert (one.memory_id, one.conversation) == (f"turn:{turn}", 'plan "B", user] [x')
    assert window.messages[-1] == said("user", "What does the forecast assume?")
    assert window.report.active


def test_a_turn_and_a_memory_that_say_the_same_are_said_once(memory):
    memory.conversation("other").append(said("user", "The forecast assumes 4 %."))
    memory.remember("The forecast assumes 4 %")
    chat = memory.conversation("now")
    chat.append(said("user", "What does the forecast assume?"))
    window = chat.window(budget=3_000, scope="tenant")
    assert str(window.messages).count("assumes 4") == 1
    reasons = sorted(one.reason for one in window.report.memories)
    assert reasons == ["already_in_window", "recalled"]


def test_instructions_and_what_this_conversation_says_are_not_quoted(memory):
    memory.conversation("other").append(said("system", "The forecast assumes 5 %."))
    memory.conversation("third").append(said("user", "The forecast assumes 4 %."))
    chat = memory.conversation("now")
    chat.append([said("assistant", "The forecast assumes 4 %!"), said("user", "The forecast?")])
    window = chat.window(budget=3_000, scope="tenant")
    assert window.messages == [dict(one) for one in chat]
    assert [one.reason for one in window.report.memories] == ["already_in_window"]


def test_what_left_the_path_of_another_conversation_is_not_found(memory):
    other = memory.conversation("other")
    other.append([said("user", "hello"), said("user", "The forecast assumes 4 %.")])
    other.pop()
    chat = memory.conversation("now")
    chat.append(said("user", "What does the forecast assume?"))
    assert chat.window(budget=3_000, scope="tenant").report.memories == ()


def test_an_erased_conversation_is_gone_from_the_next_window(tmp_path):
    for mode in ("jit", "steady"):
        with Memory.open(tmp_path / mode, embedder="lexical") as memory:
            memory.conversation("other").append(said("user", "The forecast assumes 4 %."))
            chat = memory.conversation("now")
            chat.append(said("user", "What does the forecast assume?"))
            options = {"budget": 3_000, "scope": "tenant", "mode": mode}
            assert "4 %" in str(chat.window(**options).messages)
            memory.erase(conversation="other")
            assert "4 %" not in str(chat.window(**options).messages)
        with Memory.open(tmp_path / mode, embedder="lexical") as memory:
            assert "4 %" not in str(memory.conversation("now").window(**options).messages)
        files = b"".join(one.read_bytes() for one in (tmp_path / mode).rglob("*") if one.is_file())
        assert b"assumes 4" not in files


def test_a_small_list_keeps_what_was_quoted_for_its_exchange(memory):
    memory.conversation("other").append(said("user", "The forecast assumes 4 %."))
    chat = memory.conversation("now")
    chat.append(said("user", "What does the forecast assume?"))
    first = chat.window(budget=3_000, scope="tenant")
    memory.conversation("other").append(said("user", "The forecast assumes 6 % now."))
    chat.append(said("assistant", "Let me look."))
    again = chat.window(budget=3_000, scope="tenant")
    assert again.messages[:-1] == first.messages
    assert [one.reason for one in again.report.memories] == ["kept"]
    chat.append(said("user", "What does the forecast assume now?"))
    third = chat.window(budget=3_000, scope="tenant")
    assert "6 %" in str(third.messages)
