"""Days beside the messages that a window shows verbatim: where lines stand, and what they say."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from warmset import Memory, count_tokens
from warmset.errors import InvalidInputError
from warmset.messages import Facts, validate
from warmset.messages.prefix import Prefix
from warmset.state.entry import Entry
from warmset.window.days import is_closed, tail_lines

FIRST = datetime(2023, 5, 7, 9, tzinfo=UTC)
FILL = " and so we go on about the harbour for a while, as people do when they have time"
LINE = re.compile(r"\[(?:above: )?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [^\]]*\]")


def said(role, text):
    return {"role": role, "content": text}


def day(at):
    """A day as lines write it, by other means than the library's."""
    names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return f"{names[at.weekday()]} {at.day} {months[at.month - 1]} {at.year}"


def texts(made):
    """The texts of a window's messages, merged ones apart."""
    out = []
    for message in made.messages:
        content = message.get("content", message.get("parts"))
        out += [content] if isinstance(content, str) else [block["text"] for block in content]
    return out


def lines(made):
    return [text for text in texts(made) if LINE.fullmatch(text)]


def talk(chat, times, opening="I lost my job yesterday. Help me to find another one."):
    """Say something at each time, by turns; the task first."""
    for number, at in enumerate(times):
        text = f"question {number} about boat{number}" if number else opening
        role = "assistant" if number % 2 else "user"
        chat.append(said(role, text + (FILL if number else "")), at=at)


def hours(count, step):
    return [FIRST + timedelta(hours=step * number) for number in range(count)]


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def test_the_task_and_recent_messages_have_their_days(chat):
    times = hours(41, 5)
    talk(chat, times)
    made = chat.window(budget=600)
    shown = texts(made)
    assert shown[1] == '[above: Sun 7 May 2023; "yesterday" is 6 May 2023]'
    recent = [text for text in shown if text.startswith("question") and "<" not in text]
    places = [int(text.split()[1]) for text in recent]
    assert len({times[one].date() for one in places}) > 1, "the test would show nothing otherwise"
    before = None
    for number, text in zip(places, recent, strict=True):
        at = shown.index(text)
        if times[number].date() != before:
            assert shown[at - 1] == f"[{day(times[number])}]"
        else:
            assert not LINE.fullmatch(shown[at - 1]), "a day is said once"
        before = times[number].date()
    assert made.tokens == count_tokens(made.messages) <= 600
    assert sum(part.tokens for part in made.parts) + 3 == made.tokens
    assert [part.name for part in made.parts if part.name == "dates"] == ["dates"] * len(
        lines(made)
    )


@pytest.mark.parametrize("mode", ["jit", "steady"])
def test_one_day_changes_nothing(chat, mode):
    talk(chat, hours(41, 0.2))
    for options in ({}, {"query": "what about boat7?"}):
        plain = chat.window(budget=600, mode="jit", dates="none", **options)
        made = chat.window(budget=600, mode=mode, **options)
        assert not lines(made)
        if mode == "jit":
            assert made.messages == plain.messages


@pytest.mark.parametrize("mode", ["full", "recency"])
def test_controls_have_no_days(chat, mode):
    talk(chat, hours(41, 5))
    budget = 600 if mode == "recency" else 60_000
    assert not lines(chat.window(budget=budget, mode=mode))


@pytest.mark.parametrize("mode", ["jit", "steady"])
def test_the_option_turns_them_off(chat, mode):
    talk(chat, hours(41, 5))
    assert lines(chat.window(budget=600, mode=mode, dates="lines"))
    chat.append(said("user", "and boat3?"), at=FIRST + timedelta(days=30))
    assert ("[Tue 6 Jun 2023]" in lines(chat.window(budget=600, mode=mode))) is True
    chat.append(said("user", "and boat4?"), at=FIRST + timedelta(days=31))
    made = chat.window(budget=600, mode=mode, dates="none")
    assert "[Wed 7 Jun 2023]" not in lines(made)
    assert not lines(made) or mode == "steady", "what was sent stays"
    with pytest.raises(InvalidInputError, match="dates: expected one of lines, none, found 'no'"):
        chat.window(budget=600, mode=mode, dates="no")


def test_it_does_not_depend_on_today(chat, monkeypatch):
    talk(chat, hours(41, 5))
    made = chat.window("what about boat7?", budget=600)
    monkeypatch.setattr("time.time", lambda: FIRST.timestamp() + 1e9)
    assert chat.window("what about boat7?", budget=600).messages == made.messages


def test_the_front_of_a_list_stays_as_it_was(chat):
    chat.append(said("system", "Be brief."))
    talk(chat, hours(40, 0.2))
    chat.append(said("user", "and boat3?"), at=FIRST + timedelta(hours=9))
    before = chat.window(budget=600)
    chat.append(said("assistant", "It sails."), at=FIRST + timedelta(hours=9))
    chat.append(said("user", "and boat4?"), at=FIRST + timedelta(hours=30))
    made = chat.window(budget=600)
    assert not lines(before)
    assert lines(made)
    assert made.messages[:2] == before.messages[:2], "the system prompt and the task"


def test_an_exchange_keeps_its_lines(chat):
    """What a tool loop was sent stays, also where it goes on behind midnight."""
    talk(chat, hours(41, 5))
    chat.append(said("user", "look at boat3, which I saw last week"), at=FIRST + timedelta(days=10))
    made = chat.window(budget=700)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    step = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "boat3 was there yesterday"}
    chat.append([step, result], at=FIRST + timedelta(days=11))
    later = chat.window(budget=700)
    assert '[Wed 17 May 2023; "last week" is 8-14 May 2023]' in lines(made)
    assert later.messages == [*made.messages, step, result]


def test_no_line_stands_within_a_unit_or_before_a_system_message(chat):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    talk(chat, hours(40, 5))
    begun = FIRST + timedelta(days=9)
    chat.append(said("user", "look, please"), at=begun)
    chat.append({"role": "assistant", "content": None, "tool_calls": [call]}, at=begun)
    late = begun + timedelta(days=1)
    chat.append({"role": "tool", "tool_call_id": "c1", "content": "a boat"}, at=late)
    chat.append(said("assistant", "A boat is there."), at=late)
    chat.append(said("system", "Be kind."), at=begun + timedelta(days=2))
    chat.append(said("user", "thanks"), at=begun + timedelta(days=2))
    made = chat.window(budget=700)
    assert validate(made.messages) == []
    shown = [one["content"] for one in made.messages]
    start = shown.index("look, please")
    assert shown[start - 1] == f"[{day(begun)}]"
    assert shown[start + 1 : start + 4] == [None, "a boat", "A boat is there."]
    assert shown[start + 4 :] == ["Be kind.", f"[{day(begun + timedelta(days=2))}]", "thanks"]


def test_a_reply_behind_midnight_has_its_day(chat):
    talk(
        chat, [*hours(38, 5), *(FIRST + timedelta(days=12, hours=one) for one in (14.9, 15.1, 16))]
    )
    made = chat.window(budget=600)
    shown = texts(made)
    at = next(at for at, text in enumerate(shown) if text.startswith("question 39"))
    assert shown[at - 1] == "[Sat 20 May 2023]"
    assert shown[at + 1].startswith("question 40"), "the request is of the same day"


def test_days_leave_before_tool_steps_do(chat):
    """Where nothing else is left to drop, the window has no days rather than an error."""
    talk(chat, hours(41, 5))
    least = chat.window(budget=600, recent=0, index_share=0, dates="none")
    tight = sum(p.tokens for p in least.parts if p.name in ("anchor", "current")) + 3
    made = chat.window(budget=tight, recent=0, index_share=0)
    assert made.tokens <= tight
    assert not lines(made)
    more = chat.window(budget=tight + 60, recent=0, index_share=0)
    assert lines(more)[0].startswith("[above: Sun 7 May 2023")


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "responses", "interactions"])
def test_they_are_valid_in_every_dialect(chat, dialect):
    talk(chat, hours(41, 5))
    made = chat.window(budget=700, dialect=dialect)
    assert list(validate(made.messages, dialect=dialect)) == []
    assert "[above: Sun 7 May 2023; " in str(made.messages)
    again = chat.window(budget=700, dialect=dialect)
    assert again.messages == made.messages


def test_a_returned_window_is_recognised():
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        talk(chat, hours(41, 5))
        made = chat.window(budget=600, mode="jit")
        assert lines(made)
        given = [*made.messages, said("assistant", "Well."), said("user", "And boat9?")]
        done = memory.process(given, conversation="log", budget=600, mode="jit")
        assert done.synced is not None
        assert len(done.synced.appended) == 2, "no line is stored as a message of the user"
        assert len(chat) == 43


def chats(seed):
    """A chat in the manner of people: sessions on days of their own, either side begins."""
    random = Random(seed)
    at, turns = FIRST + timedelta(days=random.randrange(300)), []
    for _ in range(random.randrange(2, 9)):
        for number in range(random.randrange(3, 12)):
            role = random.choice(["user", "assistant"]) if number == 0 else turns[-1][0]
            role = {"user": "assistant", "assistant": "user"}[role] if number else role
            words = random.choice(
                ["yesterday", "last week", "next month", "two days ago", "a boat"]
            )
            turns.append(
                (role, f"{words}, {random.randrange(9**9)}{FILL * random.randrange(3)}", at)
            )
            at += timedelta(minutes=random.randrange(1, 90))
        at += timedelta(days=random.randrange(1, 30))
    return turns


@pytest.mark.parametrize("mode", ["jit", "steady"])
def test_the_task_is_dated_in_every_window(mode):
    """In every window of every chat of several days, each message shown has its day or a line."""
    windows = 0
    for seed in range(12):
        turns = chats(seed)
        with Memory.open(None, embedder="lexical") as memory:
            chat = memory.conversation("log")
            for number, (role, text, at) in enumerate(turns):
                chat.append(said(role, text), at=at)
                ended = number == len(turns) - 1
                if not (ended or (role == "user" and number % 3 == 0)):
                    continue
                for query in (None, "what was said about the harbour?"):
                    made = chat.window(query, budget=700, mode=mode)
                    if (
                        not made.report.active
                        or len({one[2].date() for one in turns[: number + 1]}) < 2
                    ):
                        continue
                    windows += 1
                    check_days(made, turns)
    assert windows > 40


def check_days(made, turns):
    """Follow the lines as a reader does: each message is of the day that was stated last."""
    when = {text: at for _, text, at in turns}
    known, open_ = None, []
    for text in texts(made):
        for line in text.split("\n"):
            found = re.match(r"\[(above: )?\w{3} (\d+ \w{3} \d+)", line)
            if found is not None and "<earlier-turns>" not in text:
                if found[1]:
                    assert {day(at).split(" ", 1)[1] for at in open_} == {found[2]}
                else:
                    known = found[2]
                open_ = [] if found[1] else open_
        if text in when:
            if known is None:
                open_.append(when[text])
            else:
                assert day(when[text]).split(" ", 1)[1] == known
    assert not open_, "no message stands without a day"


# --- where a line may stand -----------------------------------------------------------------------


class Phraseless:
    """Cards of messages without phrases of time."""

    def phrases(self, _entry):
        return []


def entry(id_, role, days, **more):
    behind = more.pop("behind", None)
    at = FIRST.timestamp() + 86_400 * days
    return Entry(id_, Facts(role, "", **more), at, None, 0, 1, False, False, None, behind)


def placed(units, until=None):
    return [line.before for line in tail_lines(Phraseless(), units, until=until)]


def test_no_line_stands_before_a_units_last_message():
    call = entry(2, "assistant", 0, calls=("c1",))
    late = entry(6, "tool", 2, results=("c1",))
    asked = [entry(1, "user", 0)]
    between = [[entry(3, "user", 1)], [entry(4, "assistant", 1)], [entry(5, "user", 2)]]
    behind = [entry(7, "user", 2)]
    assert placed([asked, *between, behind]) == [1, 3, 5]
    assert placed([asked, [call, late], *between, behind]) == [1, 7]


def test_lines_may_follow_a_request_only_outside_of_a_loop():
    plain = [entry(2, "assistant", 1)]
    assert is_closed(plain)
    assert not is_closed([*plain, entry(3, "assistant", 1, calls=("c1",))])
    assert not is_closed([entry(3, "tool", 1, results=("c1",)), *plain])
    prefix = Prefix(messages=b"1", spoken=b"2", system=b"3", tools=b"4", model="m")
    assert not is_closed([*plain, entry(3, "assistant", 1, behind=prefix)])
    assert placed([[entry(1, "user", 0)], plain]) == [1, 2]
    assert placed([[entry(1, "user", 0)], plain], until=1) == [1]
