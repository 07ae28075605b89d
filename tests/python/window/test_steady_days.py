"""Days in lists that only grow: a line is added with its message, stays, and changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from growing_oracle import GrowingOracle, pieces

from warmset import Memory
from warmset.messages import validate
from warmset.store.epochs import Insertion

FIRST = datetime(2023, 5, 7, 9, tzinfo=UTC)
FILL = " and so we go on about the harbour for a while, as people do when they have time"


def said(role, text):
    return {"role": role, "content": text}


def texts(made):
    return [one["content"] for one in made.messages]


def lines(made):
    return [text for text in texts(made) if str(text).startswith("[")]


def exchange(chat, number, hours, text=None, **options):
    """Ask, look at the window, answer; the window."""
    at = FIRST + timedelta(hours=hours)
    chat.append(said("user", text or f"question {number} about boat{number}{FILL}"), at=at)
    made = chat.window(mode="steady", **{"budget": 900, **options})
    chat.append(said("assistant", f"boat{number} is blue{FILL}"), at=at)
    return made


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "responses"])
def test_lists_only_grow_over_many_days(chat, dialect):
    oracle, dated = GrowingOracle(), 0
    for number in range(60):
        made = exchange(chat, number, 7 * number, dialect=dialect)
        assert list(validate(made.messages, dialect=dialect)) == []
        assert made.tokens <= 900
        oracle.look(made.report.epoch.number, made.system, made.messages)
        dated += "2023]" in str(made.messages[-2:])
    assert oracle.grown > 30
    assert oracle.unequal == 0
    assert dated > 10


def test_the_first_line_dates_what_stands_above_it(chat):
    first = exchange(chat, 0, 0, "I lost my job yesterday.")
    second = exchange(chat, 1, 1)
    third = exchange(chat, 2, 26, "I was there two days ago.")
    fourth = exchange(chat, 3, 27, "And tomorrow?")
    assert not lines(first)
    assert not lines(second)
    assert lines(third) == [
        (
            '[above: Sun 7 May 2023; "yesterday" is 6 May 2023]\n'
            '[Mon 8 May 2023; "two days ago" is 6 May 2023]'
        )
    ]
    assert texts(third)[-2:] == [*lines(third), "I was there two days ago."]
    assert lines(fourth) == lines(third), "a day is said once"
    assert texts(third)[: len(second.messages)] == texts(second)


def test_messages_of_several_days_that_were_sent_are_dated_together(chat):
    for number in range(3):
        exchange(chat, number, 24 * number, dates="none")
    made = exchange(chat, 3, 80)
    assert lines(made) == [
        "[above: Sun 7 May 2023 to Tue 9 May 2023]\n[Tue 9 May 2023]",  # before the last reply
        "[Wed 10 May 2023]",
    ]


def test_the_list_that_is_made_anew_dates_the_task_first(chat):
    exchange(chat, 0, 0, "I lost my job yesterday.")
    for number in range(1, 30):
        made = exchange(chat, number, 7 * number)
    assert made.report.epoch.number > 1
    assert texts(made)[:2] == [
        "I lost my job yesterday.",
        '[above: Sun 7 May 2023; "yesterday" is 6 May 2023]',
    ]
    (part, *_) = [part for part in made.parts if part.name == "dates"]
    assert part.ids[0] == chat.ids[0]
    assert sum(part.tokens for part in made.parts) + 3 == made.tokens


@pytest.mark.parametrize("way", ["pop", "forget", "truncate", "sync", "edit"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_line_may_speak_of_messages_that_have_left_since(chat, way, count):
    listed = [said(("user", "assistant")[at % 2], f"message {at}{FILL}") for at in range(6)]
    chat.append(listed[:3], at=FIRST)
    ids = chat.append(listed[3:], at=FIRST + timedelta(days=1))
    before = chat.window("what?", mode="steady", budget=3_000)
    assert len(lines(before)) == 1
    if way in ("pop", "forget"):
        chat.pop(count, forget=way == "forget")
    elif way == "truncate":
        chat.truncate(ids[2 - count])
    else:
        edited = [said("user", "another one")] if way == "edit" else []
        chat.sync([*listed[: 6 - count], *edited], at=FIRST + timedelta(days=1))
    made = chat.window("what?", mode="steady", budget=3_000)
    there = [one["content"] for one in listed[: 6 - count]]
    assert [text for text in texts(made) if text in there] == there
    [dates] = [part for part in made.parts if part.name == "dates"]
    assert set(dates.ids) <= set(chat.ids)


def test_a_recall_stands_before_the_line(chat):
    seen = 0
    for number in range(40):
        asked = f"question {number}: what of boat{max(number - 20, 0)}?"
        made = exchange(chat, number, 24 * number, asked, recall_share=0.3)
        if made.report.epoch.recalled:
            recalled, line, request = texts(made)[-3:]
            assert recalled.startswith("<earlier-turns>")
            assert line.startswith("[")
            assert request == asked
            seen += 1
    assert seen


def test_another_process_writes_the_same_list(tmp_path):
    with Memory.open(tmp_path / "store", embedder="lexical") as memory:
        chat = memory.conversation("log")
        for number in range(9):
            made = exchange(chat, number, 9 * number)
        chat.append(said("user", "and now?"), at=FIRST + timedelta(days=4))
        assert len(lines(made)) > 1
    with Memory.open(tmp_path / "store", embedder="lexical") as memory:
        again = memory.conversation("log").window(budget=900, mode="steady")
    assert pieces(again.messages)[: len(pieces(made.messages))] == pieces(made.messages)
    assert again.report.epoch.number == made.report.epoch.number
    assert texts(again)[-2:] == ["[Thu 11 May 2023]", "and now?"]


def test_an_erasure_takes_the_lines_that_quote_it(tmp_path):
    with Memory.open(tmp_path / "store", embedder="lexical") as memory:
        chat = memory.conversation("log")
        exchange(chat, 0, 0, "I lost my job fourteen days ago.")
        exchange(chat, 1, 30)
        made = exchange(chat, 2, 60)
        assert '"fourteen days ago" is 23 Apr 2023' in lines(made)[0]
        memory.erase(ids=[chat.ids[0]])
    kept = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    assert b"fourteen days ago" not in kept


def test_a_request_that_was_sent_as_a_text_gets_no_line_before_it(chat):
    exchange(chat, 0, 0)
    at = FIRST + timedelta(days=1)
    before = chat.window("and boat1?", budget=900, mode="steady")
    chat.append(said("user", "and boat1?"), at=at)
    chat.append(said("assistant", "It is red."), at=at)
    chat.append(said("user", "and boat2?"), at=at)
    made = chat.window(budget=900, mode="steady")
    assert texts(made)[: len(before.messages)] == texts(before)
    assert texts(made)[-4:] == [
        "and boat1?",
        "[above: Sun 7 May 2023 to Mon 8 May 2023]\n[Mon 8 May 2023]",
        "It is red.",
        "and boat2?",
    ]


def test_a_request_whose_tool_loop_is_open_has_its_line_and_the_loop_has_none(chat):
    exchange(chat, 0, 0)
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    steps = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "It is red."},
    ]
    chat.append(said("user", "and boat1?"), at=FIRST + timedelta(days=1))
    chat.append(steps, at=FIRST + timedelta(days=2))
    made = chat.window(budget=900, mode="steady")
    line = "[above: Sun 7 May 2023]\n[Mon 8 May 2023]"
    assert made.messages[-4:] == [said("user", line), said("user", "and boat1?"), *steps]


def test_nothing_comes_before_a_reply_with_thinking():
    """A reply that thought before midnight's line stays bound to what it was made behind."""
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        options = {
            "budget": 3_000,
            "mode": "steady",
            "dialect": "anthropic",
            "model": "claude-opus-5",
        }
        chat.append(said("user", "What is in the box?"), at=FIRST)
        made = chat.window(**options)
        block = {"type": "thinking", "thinking": "let me look", "signature": "c2ln"}
        reply = said("assistant", [block, {"type": "text", "text": "A boat."}])
        later = FIRST + timedelta(hours=20)
        chat.append(reply, at=later)
        chat.append(said("user", "And now?"), at=later)
        again = chat.window(**options)
        assert again.messages[: len(made.messages)] == made.messages
        assert reply in again.messages
        assert again.report.thinking.kept == 1
        assert "[Mon 8 May 2023]" in str(again.messages[-1])


def test_records_of_the_first_preview_are_read():
    from warmset.store.epochs import Step, decode_step, step_draft  # noqa: PLC0415

    step = Step(
        token="t",  # noqa: S106 - the name of a record
        after="",
        dialect="openai",
        model="",
        beside="",
        count=3,
        insertions=(Insertion(name="day", at=2, text="[Sun 7 May 2023]", dated=(2, 1)),),
    )
    draft = step_draft("default", "log", step, 5, [])
    assert draft is not None
    fields = {"token": "t", "after": "", "dialect": "openai", "model": "", "beside": "", "count": 3}
    fields |= {"keep": 0, "insertions": [["recall", 2, [1], []]]}
    (old,) = decode_step(fields, b'["quoted"]').insertions
    assert old == Insertion(name="recall", at=2, text="quoted", quoted=(1,))
    fields["insertions"] = [["day", 2, [], [], [2, 1]]]
    (new,) = decode_step(fields, b'["[Sun 7 May 2023]"]').insertions
    assert new == step.insertions[0]
