"""Windows whose budget is met exactly: no token less is needed, and no token more is used."""

from __future__ import annotations

from random import Random

import pytest

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.messages import validate
from warmset.options import SMALL_BUDGET

WORDS = ("crane", "steel", "harbour", "lamp", "teapot", "garden", "bicycle", "umbrella")
OVERHEAD = 3
"""Tokens of a list besides its messages, and of a message besides its text and role."""


def said(role, text):
    return {"role": role, "content": text}


def fill(chat, count, seed=1, size=25):
    random = Random(seed)
    for at in range(count):
        chat.append(said(("user", "assistant")[at % 2], " ".join(random.choices(WORDS, k=size))))


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def tokens_of(made):
    return {part.name: part.tokens for part in made.parts}


def test_a_small_list_of_exactly_the_budget_is_sent_unchanged(chat):
    fill(chat, 9, size=60)
    whole = chat.window(budget=100_000)
    options = {"min_saving": 0, "recent": 0, "index_share": 0}
    assert whole.tokens < 6_000
    at = chat.window(budget=whole.tokens, **options)
    assert (at.report.active, at.tokens) == (False, whole.tokens)
    below = chat.window(budget=whole.tokens - 1, **options)
    assert (below.report.active, below.tokens < whole.tokens) == (True, True)


def test_a_window_that_saves_exactly_the_least_share_is_sent(chat):
    """The whole list has twice the tokens of the window, and half of them must be saved."""
    options = {"budget": 100_000, "recent": 0, "index_share": 0}
    chat.append([said("user", "Count crates."), said("assistant", "Yes.")])
    fill(chat, 11, size=20)
    chat.append(said("user", "zebra crossing"))
    least = chat.window(min_saving=0, **options)
    missing = 2 * least.tokens - least.report.tokens_in
    assert missing < 0, "the list is far longer than the window"
    with Memory.open(None, embedder="lexical") as memory:
        other = memory.conversation("log")
        other.append(
            [said("user", "Count crates." + " boat" * -missing), said("assistant", "Yes.")]
        )
        for one in chat.messages()[2:-1]:
            other.append(dict(one))
        other.append(said("user", "zebra crossing"))
        made = other.window(min_saving=0, **options)
        assert made.report.tokens_in == 2 * made.tokens, "the task is in both"
        assert other.window(min_saving=0.5, **options).report.active
        assert not other.window(min_saving=0.5 + 1e-9, **options).report.active


@pytest.mark.parametrize("mode", ["jit", "steady", "recency"])
def test_exactly_what_is_needed_is_enough(chat, mode):
    chat.append(said("user", "Count the crates of the harbour, all of them, one by one."))
    fill(chat, 30)
    chat.append(said("user", "How many?"))
    with pytest.raises(BudgetTooSmall) as caught:
        chat.window(budget=5, mode=mode)
    need = caught.value.need
    made = chat.window(budget=need, mode=mode)
    assert made.tokens <= need
    with pytest.raises(BudgetTooSmall) as caught:
        chat.window(budget=need - 1, mode=mode)
    assert (caught.value.need, caught.value.have) == (need, need - 1)


def test_an_old_call_without_a_result_is_not_among_the_recent_messages(chat):
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    fill(chat, 12)
    chat.append(
        [said("user", "Look."), {"role": "assistant", "content": None, "tool_calls": [call]}]
    )
    open_call = chat.ids[-1]
    chat.append([said("user", "Never mind."), said("assistant", "As you like.")])
    chat.append(said("user", "zebra crossing"))
    for mode in ("jit", "recency", "steady"):
        for budget in (200, 400, 900):
            made = chat.window(budget=budget, recent=8, mode=mode)
            assert list(validate(made.messages)) == []
            assert not any("tool_calls" in one for one in made.messages)
            assert chat.ids[-2] in made.report.recent
            assert open_call not in made.report.recent


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_the_index_keeps_to_its_reserve(chat, share):
    """The reserve is a share of what the verbatim messages leave, and not of the whole budget."""
    chat.append(said("user", "Note the ropes." + " harbour" * 120))
    for at in range(60):
        chat.append([said("user", f"We agreed on rope {at}."), said("assistant", f"Noted {at}.")])
    listed = 0
    for budget in range(260, 1_700, 60):
        made = chat.window("rope crossing", budget=budget, index_share=share)
        parts = tokens_of(made)
        assert sum(parts.values()) + OVERHEAD == made.tokens == count_tokens(made.messages)
        stable = sum(n for name, n in parts.items() if name not in ("index", "retrieved"))
        left = budget - stable - OVERHEAD
        most = int(left * share * min(budget / SMALL_BUDGET, 1))
        assert parts.get("index", 0) <= most
        listed += "index" in parts
    assert listed, "the test would show nothing otherwise"


def test_recent_units_come_back_as_soon_as_there_is_room(chat):
    """Up to half of what is free, and up to 0.9 of the budget in all, met exactly."""
    chat.append([said("user", "Count crates."), said("assistant", "Yes.")])
    fill(chat, 40)
    for size in (9, 9, 9, 9):
        chat.append(said("user", "lamp" + " lamp" * size))
    costs = [9 + 1 + 4] * 4
    seen = set()
    with pytest.raises(BudgetTooSmall) as caught:
        chat.window("zebra crossing", budget=5)
    for budget in range(caught.value.need, 240):
        made = chat.window("zebra crossing", budget=budget, index_share=0, dates="none")
        parts = tokens_of(made)
        assert "retrieved" not in parts
        base = made.tokens - parts.get("recent", 0)
        count = len(made.report.recent)
        assert parts.get("recent", 0) == sum(costs[:count])
        # What is quoted would have a message of its own, of three tokens and one for its role.
        free = (budget - base - 4) // 2
        room = min(free, int(budget * 0.9) - base)
        most = max(n for n in range(5) if n == 0 or sum(costs[:n]) <= room)
        first = 1 if costs[0] <= (budget - base) // 4 else 0  # a newest unit of a quarter
        assert count == max(most, first), budget
        seen.add(count)
    assert seen >= {0, 2, 3, 4}


def test_recent_units_come_back_up_to_a_share_of_the_budget(chat):
    """What was retrieved has nearly all of the room; a tenth is for the steps of the exchange."""
    chat.append([said("user", "Count crates."), said("assistant", "Yes.")])
    for at in range(60):
        chat.append(said(("user", "assistant")[at % 2], f"zebra {at % 7} sleeps at pier {at}"))
    for _ in range(4):
        chat.append(said("user", "lamp" + " lamp" * 9))
    cost, seen = 14, set()
    for budget in range(150, 700, 7):
        made = chat.window("Which zebra sleeps?", budget=budget, index_share=0, dates="none")
        parts = tokens_of(made)
        count = len(made.report.recent)
        assert parts.get("recent", 0) == cost * count
        left = budget - (made.tokens - cost * count - parts.get("retrieved", 0))
        first = int(left * 0.5 * (budget / SMALL_BUDGET) ** 2) // cost
        first = first or int(cost <= left // 4)
        if count > first:
            assert made.tokens <= int(budget * 0.9)
            seen.add("more")
        elif (left - 4) // 2 >= cost * (count + 1):
            seen.add("full")
    assert seen == {"more", "full"}


@pytest.mark.parametrize("mode", ["full", "recency", "jit", "steady"])
def test_a_request_that_is_sent_last_counts_as_a_turn_that_is_sent(chat, mode):
    fill(chat, 30)
    for query in ("zebra crossing", None):
        made = chat.window(query, budget=400 if mode != "full" else 10_000, mode=mode)
        names = ("all", "system", "anchor", "recent", "current", "retrieved")
        shown = {id_ for part in made.parts if part.name in names for id_ in part.ids}
        assert made.report.turns_sent == len(shown) + (query is not None)
