"""Windows of mode "steady" at their exact boundaries: when a list is made anew, and how large."""

from __future__ import annotations

import pytest

from warmset import Memory, count_tokens
from warmset.store.epochs import Insertion
from warmset.window.steady.epoch import Epoch

PLAIN = {"mode": "steady", "recall_share": 0, "index_share": 0, "dates": "none"}
OVERHEAD = 3


def said(role, text):
    return {"role": role, "content": text}


def cost(*messages):
    return count_tokens(list(messages)) - OVERHEAD


def begun(memory, count=8):
    chat = memory.conversation("log")
    chat.append([said("user", "Count crates."), said("assistant", "Yes.")])
    for at in range(count):
        chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at}"))
    chat.append(said("user", "And now?"))
    return chat


def step(name):
    use = {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [use]},
        {"role": "tool", "tool_call_id": name, "content": "boats"},
    ]


@pytest.mark.parametrize("swap_at", [0.5, 0.8, 1])
@pytest.mark.parametrize("loop", [True, False])
def test_a_list_goes_on_up_to_its_exact_share_or_the_budget(loop, swap_at):
    """In a loop up to the budget, where an exchange begins up to `swap_at` of it."""
    with Memory.open(None, embedder="lexical") as memory:
        whole = begun(memory).window(budget=10_000, mode="full").tokens
    more = step("c") if loop else [said("assistant", "None."), said("user", "Where is it?")]
    after = whole + cost(*more)
    line = 1 if loop else swap_at
    edge = round(after / line)
    met = set()
    for budget in range(edge - 6, edge + 7):
        if whole > budget:
            continue
        with Memory.open(None, embedder="lexical") as memory:
            chat = begun(memory)
            options = {**PLAIN, "swap_at": swap_at, "swap_to": 0.4, "budget": budget}
            first = chat.window(**{**options, "swap_at": 1})
            assert first.tokens == whole
            chat.append(more)
            made = chat.window(**options)
            anew = after > budget or (not loop and after >= budget * swap_at)
            assert made.report.epoch.began == anew, (after, budget)
            assert made.tokens == after or anew
            met.add((after > budget * line) - (after < budget * line))
    assert met == {-1, 0, 1} or (met >= {-1, 1} and swap_at == 0.8), "exactly met, too"


def test_a_list_that_is_made_anew_has_all_that_fits_its_share():
    """The task, and the newest messages up to `swap_to` of the budget, met exactly."""
    met = 0
    for budget in range(100, 128):
        with Memory.open(None, embedder="lexical") as memory:
            chat = begun(memory, 20)
            options = {**PLAIN, "swap_to": 0.5, "swap_at": 0.6, "budget": budget}
            made = chat.window(**options)
            assert made.report.epoch.began
            path = [dict(one) for one in chat.messages()]
            target = budget // 2
            start = len(path) - 1
            while OVERHEAD + cost(path[0]) + cost(*path[start - 1 :]) <= target:
                start -= 1
            assert made.messages == [path[0], *path[start:]]
            assert made.tokens == count_tokens(made.messages)
            assert made.report.epoch.hidden == start - 1
            assert not made.report.epoch.over
            met += made.tokens == target
    assert met, "the test would show nothing otherwise"


def recall_of(budget, share):
    """Return the room of a recall, and what is recalled."""
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append([said("user", "Count crates."), said("assistant", "Yes.")])
        chat.append([said("user", "The zebra sleeps at pier nine."), said("assistant", "Yes.")])
        for at in range(60):
            chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at}"))
        chat.append(said("user", "zebra?"))
        options = {**PLAIN, "swap_to": 0.5, "swap_at": 0.6, "budget": budget}
        made = chat.window(**{**options, "recall_share": (share + 0.5) / budget})
        assert made.report.epoch.began
        parts = {part.name: part.tokens for part in made.parts}
        recall = parts.get("retrieved", 0)
        return min(share, int((budget - (made.tokens - recall)) * 0.25)), recall


def test_a_recall_is_said_as_soon_as_it_has_room():
    """Its room is a share of the budget, and a quarter of what the list leaves of it at most."""
    _, need = recall_of(600, 70)
    assert need, "the test would show nothing otherwise"
    assert recall_of(600, need + 1) == (need + 1, need)
    assert recall_of(600, need) == (need, need)
    assert recall_of(600, need - 1) == (need - 1, 0)
    rooms = {}
    for budget in range(4 * need, 12 * need, 8):
        room, recall = recall_of(budget, budget // 2 - 1)
        assert recall == (need if room >= need else 0)
        rooms[room < need] = True
    assert set(rooms) == {True, False}


def test_a_path_that_leaves_an_epoch_keeps_what_is_before_it():
    ours = [
        Insertion(name="summary", at=3, text="s"),
        Insertion(name="recall", at=3, text="a"),
        Insertion(name="recall", at=5, text="b"),
    ]
    epoch = Epoch(start=3, held=(0,), lead=1, insertions=tuple(ours), count=6, head=60, asked="x")
    assert epoch.cut(2, 20) is None, "its front is not whole"
    for count, kept in ((3, ours[:1]), (4, ours[:2]), (5, ours[:2]), (6, ours)):
        made = epoch.cut(count, 10 * count)
        assert (list(made.insertions), made.count, made.head) == (kept, count, 10 * count)
        assert (made.start, made.asked) == (3, None)


def test_a_list_that_is_made_anew_parts_no_calls_from_their_results():
    """The assistant speaks between calls and their results."""
    met = set()
    for budget in range(300, 700, 11):
        with Memory.open(None, embedder="lexical") as memory:
            chat = memory.conversation("log")
            chat.append(said("user", "Count crates."))
            for at in range(20):
                call, result = step(f"c{at}")
                between = said("assistant", f"Quay {at} is next. " * (at % 3 + 1))
                chat.append([call, between, result, said("user", f"Go on with quay {at}.")])
            made = chat.window(**PLAIN, swap_to=0.5, swap_at=0.6, budget=budget)
            assert made.report.epoch.began
            called = [one["tool_calls"][0]["id"] for one in made.messages if "tool_calls" in one]
            answered = [one["tool_call_id"] for one in made.messages if one["role"] == "tool"]
            assert called == answered
            met.add(len(called))
    assert len(met) > 3
