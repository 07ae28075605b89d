"""The choices of an exchange hold until the next request, in whichever process makes the window."""

from __future__ import annotations

import itertools
import logging

import pytest
from steady_workers import Workers

from warmset import Memory
from warmset.errors import StoreError
from warmset.receipts import Spooled

BUDGET = 900


def said(role, text):
    return {"role": role, "content": text}


def talk(count=120):
    return [
        said(
            "assistant" if at % 2 else "user",
            f"Boat {at} lies at quay {at * 7 % 5}, says the harbour master of the boats at sea.",
        )
        for at in range(count)
    ]


def step(number):
    call = {"name": "look", "arguments": "{}"}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"quay {number}: empty"},
    ]


ASKED = said("user", "Which boat lies at quay 3, says the harbour master?")


class Picker:
    """Picks other candidates each time it is asked."""

    times = 0

    def pick(self, _request, candidates, /, limit):
        del limit
        type(self).times += 1
        return [candidates[-self.times].id, candidates[0].id]


class Other(Picker):
    """Another one."""


@pytest.fixture(autouse=True)
def _anew():
    Picker.times = Other.times = 0


def opened(path, **options):
    return Memory.open(path, embedder="lexical", **options)


def window(memory, *, budget=BUDGET, **options):
    return memory.conversation("c").window(budget=budget, mode="jit", **options)


def first(path, more=(), history=None, **options):
    """Make the window of a request in a process of its own."""
    with opened(path) as memory:
        memory.conversation("c").append([*(history or talk()), ASKED])
        made = window(memory, **options)
        memory.conversation("c").append(more)
        return made


def test_another_process_repeats_the_choices(tmp_path):
    made = first(tmp_path, step(1), picker=Picker())
    with opened(tmp_path) as memory:
        again = window(memory, picker=Picker())
        memory.conversation("c").append(step(2))
        third = window(memory, picker=Picker())
    assert Picker.times == 1
    assert made.report.picked
    assert made.messages == again.messages[: len(made.messages)]
    assert again.messages == third.messages[: len(again.messages)]
    assert again.report.picked == third.report.picked == made.report.picked
    assert again.report.picked_by == made.report.picked_by == "picker"
    assert {one.id for one in again.report.choices} <= {one.id for one in made.report.choices}
    assert again.report.unused_why == made.report.unused_why


def test_what_the_score_chose_is_repeated_though_more_would_be_found(tmp_path):
    made = first(tmp_path, step(1))
    with opened(tmp_path) as memory:
        again = window(memory)
    with opened(None) as memory:
        memory.conversation("c").append([*talk(), ASKED])
        one = window(memory)
        memory.conversation("c").append(step(1))
        assert window(memory).messages == again.messages
    assert one.messages == made.messages == again.messages[: len(made.messages)]
    assert again.report.choices


def records(memory):
    return [
        one
        for one in memory._handle.live().derived.of("item", "default", "c")
        if one.fields["what"] == "choices"
    ]


def test_one_record_an_exchange(tmp_path):
    first(tmp_path, step(1))
    with opened(tmp_path) as memory:
        chat = memory.conversation("c")
        window(memory)
        window(memory)
        assert len(records(memory)) == 1
        chat.append([said("assistant", "Boat 9."), said("user", "And which boat lies at quay 2?")])
        window(memory)
        window(memory)
        assert len(records(memory)) == 2
        chat.window("Which at quay 1?", budget=BUDGET)
        assert len(records(memory)) == 2


def test_a_memory_without_a_directory_stores_none():
    with opened(None) as memory:
        memory.conversation("c").append([*talk(), ASKED])
        window(memory)
        assert records(memory) == []


@pytest.mark.parametrize(
    "options",
    [
        {"budget": BUDGET + 1},
        {"picker": Other()},
        {"recent": 3},
        {"query_vector": [0.5, 1.0]},
        {"tools": []},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_options_choose_anew(options, tmp_path):
    first(tmp_path, step(1), picker=Picker())
    with opened(tmp_path) as memory:
        window(memory, **{"picker": Picker()} | options)
    assert Picker.times + Other.times == 1 + ("tools" not in options)


def test_the_whole_list_stays_until_the_next_request(tmp_path):
    made = first(tmp_path, step(1), talk(24), budget=50_000, min_saving=0.9)
    assert not made.report.active
    with opened(tmp_path) as memory:
        again = window(memory, budget=50_000, min_saving=0.9)
        assert [one.fields.get("whole") for one in records(memory)] == [True]
    assert not again.report.active
    assert again.messages[: len(made.messages)] == made.messages


class Fewer(Picker):
    """Picks everything at first, and then nothing."""

    def pick(self, _request, candidates, /, limit):
        type(self).times += 1
        return [one.id for one in candidates][: limit if self.times == 1 else 0]


def test_the_whole_list_is_kept_though_a_window_would_save_enough(tmp_path):
    Fewer.times = 0
    options = {
        "budget": 50_000,
        "min_saving": 0.8,
        "max_picked": 12,
        "shortlist": 12,
        "recent": 1,
        "index_share": 0,
    }
    made = first(tmp_path, step(1), talk(80), picker=Fewer(), **options)
    assert (made.report.active, Fewer.times) == (False, 1)
    with opened(tmp_path) as memory:
        assert not window(memory, picker=Fewer(), **options).report.active
        assert Fewer.times == 1
        assert window(memory, picker=Fewer(), **options | {"shortlist": 11}).report.active


def test_choices_go_with_what_they_were_made_from(tmp_path):
    made = first(tmp_path, step(1), picker=Picker())
    with opened(tmp_path) as memory:
        memory.erase(ids=[made.report.picked[0]])
        assert records(memory) == []
    with opened(tmp_path) as memory:
        window(memory, picker=Picker())
    assert Picker.times == 2


def test_choices_do_not_survive_another_path(tmp_path):
    first(tmp_path, step(1), picker=Picker())
    with opened(tmp_path) as memory:
        memory.conversation("c").sync([*talk(), ASKED])
    with opened(tmp_path) as memory:
        assert len(records(memory)) == 1
        memory.conversation("c").append(step(2))
        window(memory, picker=Picker())
    assert Picker.times == 2


def test_what_cannot_be_stored_is_chosen_anew(tmp_path, monkeypatch, caplog):
    with opened(tmp_path) as memory:
        memory.conversation("c").append([*talk(), ASKED])
        engine = memory._handle.live()

        def put(_drafts, **_options):
            raise StoreError("full")

        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(engine, "put", put)
            picker = Picker()
            made = window(memory, picker=picker)
            memory.conversations()  # what was noted under the lock is logged at the next call
        assert made.report.picked
        assert [one.what for one in caplog.records if one.what == "choices"] == ["choices"]
        assert window(memory, picker=picker).messages == made.messages
    with opened(tmp_path) as memory:
        window(memory, picker=Picker())
    assert Picker.times == 2


def test_a_reader_chooses_and_stores_nothing(tmp_path, caplog):
    first(tmp_path)
    with opened(tmp_path) as memory:
        memory.conversation("c").append([said("assistant", "9."), said("user", "And quay 4?")])
    with opened(tmp_path, mode="read") as memory, caplog.at_level(logging.WARNING):
        assert window(memory).report.active
        assert len(records(memory)) == 1
        memory.conversations()  # what was noted under the lock is logged at the next call
    assert caplog.records == [], "it does not try, either"


def test_old_choices_leave_the_files_with_an_erasure(tmp_path):
    first(tmp_path, [said("assistant", "9."), said("user", "And which lies at quay 4?")])
    with opened(tmp_path) as memory:
        window(memory)
        assert len(records(memory)) == 2
        memory.erase(ids=memory.conversation("d").append(said("user", "Away with it.")))
        assert len(records(memory)) == 1


def test_an_erasure_elsewhere_leaves_the_choices(tmp_path):
    first(tmp_path, [said("assistant", "9."), said("user", "And which lies at quay 4?")])
    with opened(tmp_path) as memory:
        made = window(memory, picker=Picker())
        memory.erase(ids=memory.conversation("d").append(said("user", "Away with it.")))
        memory._handle.live().ledger("default", "c").frozen = None  # as in another process
        assert window(memory, picker=Picker()).messages == made.messages
    assert Picker.times == 1


def test_processes_take_turns_within_an_exchange(tmp_path):
    workers = Workers(tmp_path, 2)
    given = {"conversation": "c", "dialect": "openai", "budget": BUDGET, "mode": "jit"}
    try:
        messages, made = [*talk(), ASKED], []
        for number in range(6):
            made.append(workers.ask(number % 2, given | {"messages": messages})["messages"])
            messages += step(number)
    finally:
        workers.close()
    for before, after in itertools.pairwise(made):
        assert after[: len(before)] == before


def test_auto_keeps_the_mode_that_another_process_chose(tmp_path):
    given = {"conversation": "c", "dialect": "openai", "budget": BUDGET}
    for mode in ("jit", "steady"):
        workers = Workers(tmp_path / mode, 2)
        try:
            messages = [*talk(), ASKED]
            first_ = workers.ask(0, given | {"messages": messages, "mode": mode})
            messages += step(1)
            then = workers.ask(1, given | {"messages": messages, "mode": "auto"})
        finally:
            workers.close()
        assert then["mode"] == mode
        assert then["messages"][: len(first_["messages"])] == first_["messages"]


def test_spooled_choices_are_no_error(tmp_path):
    with opened(tmp_path, on_busy="spool") as memory:
        memory.conversation("c").append([*talk(), ASKED])
        engine = memory._handle.live()
        made = engine.put
        engine.put = lambda _drafts, **_: Spooled("0" * 32)
        assert window(memory).report.active
        engine.put = made
