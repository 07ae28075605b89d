"""`Conversation.fit` at its exact boundaries: when the cut moves, and what stays before it."""

from __future__ import annotations

import pytest

from warmset import Memory, count_tokens


def said(role, text):
    return {"role": role, "content": text}


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def begun(chat):
    chat.append([said("user", "Count crates."), said("assistant", "Yes.")])
    for at in range(20):
        chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at}"))


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_the_cut_moves_with_the_first_token_over_the_budget(dialect):
    """A list of exactly the budget is kept; it is tried with every budget that it might meet."""
    met = 0
    for budget in range(150, 176):
        with Memory.open(None, embedder="lexical") as memory:
            chat = memory.conversation("log")
            begun(chat)
            if dialect == "anthropic":
                block = {
                    "type": "text",
                    "text": "Look here.",
                    "cache_control": {"type": "ephemeral"},
                }
                chat.append({"role": "user", "content": [block]})
            made = chat.fit(budget=budget)
            assert made.evicted
            for at in range(6):
                more = [said("assistant", "seen"), said("user", f"boat {at}")]
                chat.append(more)
                after = made.tokens + count_tokens(more) - count_tokens([])
                next_one = chat.fit(budget=budget)
                assert next_one.moved == (after > budget)
                met += after == budget
                made = next_one
                if made.moved:
                    break
                assert made.tokens == after == count_tokens(made.messages)
    assert met, "the test would show nothing otherwise"


def test_what_has_to_stay_since_the_cut_stays_before_it(chat):
    """An old call that was cut away gets one of its two results behind the newest request."""
    calls = [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for name in ("a", "b")
    ]
    chat.append([said("user", "Count crates."), said("assistant", "Yes."), said("user", "Look.")])
    (call,) = chat.append({"role": "assistant", "content": None, "tool_calls": calls})
    for at in range(31):
        chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at}"))
    made = chat.fit(budget=300)
    assert call in made.evicted
    (late,) = chat.append({"role": "tool", "tool_call_id": "a", "content": "found"})
    again = chat.fit(budget=300)
    assert not again.moved
    assert {call, late} <= set(again.ids), "the call waits for its other result"
    assert again.ids == sorted({*made.ids, call, late})


def test_a_task_in_one_line_is_not_counted_as_a_whole_one_in_the_cache(chat):
    chat.append([said("user", "Count the crates of the harbour. " * 60), said("assistant", "Yes.")])
    before, moved = None, 0
    for at in range(60):
        chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at}"))
        made = chat.fit(budget=200)
        if before is not None:
            same = 0
            for one, other in zip(before.messages, made.messages, strict=False):
                if one != other:
                    break
                same += 1
            front = count_tokens(made.messages[:same]) - count_tokens([])
            assert 0 <= made.cached <= front
            assert made.cached + made.rewritten + count_tokens([]) == made.tokens
            moved += made.moved
        before = made
    assert moved > 2, "the test would show nothing otherwise"
    assert len(before.messages[0]["content"]) < 600, "the task is one line"
