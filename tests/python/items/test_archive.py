"""What a compaction stores of the messages that it drops: each once, and nothing of ours."""

from __future__ import annotations

import pytest
from preparing import BUDGET, opened, talk as prepared_talk

from warmset import compact_context
from warmset.errors import Erased, NotFound
from warmset.summarize import HEADING


def talk(count=24):
    return [
        {
            "role": "assistant" if at % 2 else "user",
            "content": f"We decided that part {at} goes to {at + 100} " + f"word{at} " * 8,
        }
        for at in range(count)
    ]


def stored(memory):
    return [one.id for one in memory._engine.derived.of("item", memory.tenant)]


def test_a_message_that_is_dropped_twice_is_stored_once(memory):
    given = talk()
    given[3:3] = [dict(given[2]), dict(given[2])]
    made = compact_context(given, memory=memory, target_ratio=0.05)
    handles = {drop.id: drop.handle for drop in made.dropped}
    assert {2, 3, 4} <= set(handles)
    assert handles[2] == handles[3] == handles[4]
    assert len(stored(memory)) == len(set(handles.values())) == len(handles) - 2
    again = compact_context(given, memory=memory, target_ratio=0.05)
    assert [drop.handle for drop in again.dropped] == [drop.handle for drop in made.dropped]
    assert len(stored(memory)) == len(set(handles.values()))


def test_what_stands_for_other_messages_becomes_no_memory(memory):
    given = talk()
    text = f"{HEADING}\nWe decided that part 99 goes to 199, and that it stays there for good."
    given[2] = {"role": "user", "content": text}
    made = compact_context(given, memory=memory, distill_novel=True, target_ratio=0.05)
    assert 2 in made.dropped.ids
    distilled = [one.text for one in memory.memories(k=99)]
    assert distilled
    assert not any("part 99" in one for one in distilled)
    handle = next(drop.handle for drop in made.dropped if drop.id == 2)
    assert memory.restore(handle) == given[2], "it is stored all the same"


def test_a_handle_is_that_of_a_dropped_turn_of_its_tenant_and_of_nothing_else(memory):
    made = compact_context(talk(), memory=memory, target_ratio=0.05)
    handle = made.dropped[0].handle
    mark = handle.rpartition(":")[2]
    other = memory.remember("The ferry leaves at 7:35 from the northern pier.")
    numbers = (other, 0, 10**19 - 1, 10**20 - 1, 10**30)
    wrong = [*(f"kept:{number}:{mark}" for number in numbers), "kept:1:", "1"]
    fullwidth = {digit: digit - ord("0") + ord("\uff10") for digit in range(ord("0"), ord("9") + 1)}
    wrong.append(f"kept:{handle.split(':')[1].translate(fullwidth)}:{mark}")
    for one in (*wrong, handle.replace("kept", "held"), f"kept:{stored(memory)[0]}:0"):
        with pytest.raises(NotFound):
            memory.restore(one)
    memory.erase(ids=[stored(memory)[0]])
    with pytest.raises(Erased):
        memory.restore(f"kept:{handle.split(':')[1]}:{mark}")


def test_an_edited_memory_is_still_made_of_its_sources(memory):
    chat = memory.conversation("log")
    chat.append(talk())
    compact_context(talk(), memory=chat, distill_novel=True, target_ratio=0.05)
    before = memory.memories(k=99)
    one = before[0]
    assert one.sources
    assert {other.conversation for other in before} == {"log"}
    assert memory.memories(k=99, conversation="other") == []
    new = memory.revise(one.id, "We decided that the last part goes to 700.")
    (edited,) = [other for other in memory.memories(k=99) if other.id == new]
    assert (edited.sources, edited.conversation) == (one.sources, one.conversation)
    memory.erase(ids=one.sources)
    assert new not in [other.id for other in memory.memories(k=99)]
    assert len(memory.memories(k=99)) == len(before) - 1


def test_runs_and_the_events_of_prepared_summaries_are_episodes(made, hand):
    store, chat = opened(made())
    with store:
        prepared_talk(chat, 30)
        chat.window("Begin.", budget=BUDGET)
        hand.run()
        compact_context(talk(), memory=chat, target_ratio=0.05)
        assert {one.what for one in store.episodes()} >= {"prepared", "compaction"}
        assert store.episodes(conversation="other") == []
