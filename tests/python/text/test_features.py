"""What is read out of turns and questions: questions, times, numbers, who speaks, who is named."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from warmset import Memory
from warmset.index.labels import role_number
from warmset.retrieve.cues import Cue, read
from warmset.text import features as traits
from warmset.text.features import NONE, Addressed

AT = datetime(2023, 5, 10, 9, tzinfo=UTC).timestamp()
DAY = int(AT // 86_400)


def of(text, role="user"):
    return traits.read(text, role, AT)


@pytest.mark.parametrize(
    ("text", "asking", "ends"),
    [
        ("I joined a gym.", 0, False),
        ("What is it?", 1, True),
        ("I joined a gym. Do you train too?", 0.5, True),
        ("Do you train? I joined a gym here.", 3 / 8, False),
        ("Look! Is it not fine? [photo: a dog on a couch]", 0.8, True),
        ("See https://example.com/a?b=c for that", 0, False),
        ("", 0, False),
    ],
)
def test_the_part_of_a_turn_that_asks(text, asking, ends):
    read_ = of(text)
    assert read_.asking == pytest.approx(asking)
    assert read_.ends_asking is ends


def test_times_and_numbers_that_a_turn_tells():
    assert of("I met her yesterday.").days == ((DAY - 1, DAY - 1),)
    assert of("I met her yesterday.").tells_time
    assert of("It was in the 1990s.").days == ()
    assert of("It was in the 1990s.").tells_time
    assert of("I have three dogs.").tells_number
    assert not of("I have dogs.").tells_number
    assert not of("I have dogs.").tells_time


def test_the_result_of_a_tool_has_no_traits():
    assert of("Is it 5? Yesterday it was.", "tool") == NONE
    assert of("Is it 5? Yesterday it was.", "assistant") != NONE


def test_only_the_beginning_of_a_long_turn_is_read():
    assert not of("word " * 2_000 + "yesterday").tells_time


# --- who speaks ----------------------------------------------------------------------------------


def heard(*said):
    addressed = Addressed()
    for role, text in said:
        addressed.hear(role, text)
    return addressed.names()


def test_a_name_that_one_side_calls_is_the_other_sides():
    lines = [("user", "Hey Maria! How are you?"), ("assistant", "Thanks, John, fine.")] * 3
    assert heard(*lines) == {"maria": ("Maria", "assistant"), "john": ("John", "user")}


@pytest.mark.parametrize(
    "lines",
    [
        [("user", "Hey Maria!")] * 2,
        [("user", "Hey Maria!"), ("assistant", "Hey Maria!")] * 5,
        [("tool", "Hey Maria!")] * 5,
        [("user", "We went to Paris, and to Rome.")] * 5,
        [("user", "Wow, thanks! Yeah, Absolutely. Hey Guys!")] * 5,
        [("user", "hey maria!")] * 5,
    ],
)
def test_what_is_no_name_is_none(lines):
    assert heard(*lines) == {}


def test_a_name_that_is_called_seldom_beside_another_does_not_count():
    lines = [("user", "Thanks, Maria!")] * 20 + [("user", "Thanks, Bob!")] * 3
    assert set(heard(*lines)) == {"maria"}


def test_a_nickname_counts_beside_the_name():
    lines = [("user", "Thanks, Melanie!"), ("user", "Bye, Mel!")] * 4
    assert set(heard(*lines)) == {"melanie", "mel"}


# --- questions -----------------------------------------------------------------------------------


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory


def asked(memory, query, name="talk"):
    ledger = memory._engine.ledgers.get((memory.tenant, name))
    return read(query, memory._engine.numbers, ledger)


def talk(memory, speakers=(None, None), times=4):
    one = memory.conversation("talk")
    for _ in range(times):
        for role, text, speaker in (
            ("user", "Hey Maria! I moved to a flat.", speakers[0]),
            ("assistant", "Thanks, John! Good for you.", speakers[1]),
        ):
            one.append({"role": role, "content": text}, at=AT, speaker=speaker)
    return one


def test_names_leave_the_question_and_tell_the_speaker(memory):
    talk(memory, ("John", "Maria"))
    words, cue = asked(memory, "Where did Maria's sister move?")
    assert words == "Where did sister move?"
    assert list(cue.speakers) == [memory._engine.numbers.of("speaker", "maria")]
    assert not cue.roles
    both, cue = asked(memory, "Where did John and Maria move?")
    assert both == "Where did and move?"
    assert not cue.speakers


def test_names_tell_the_role_where_nobody_has_a_name(memory):
    talk(memory)
    words, cue = asked(memory, "Where did John move?")
    assert words == "Where did move?"
    assert not cue.speakers
    assert list(cue.roles) == [role_number("user")]
    assert not asked(memory, "Where did John and Maria move?")[1].roles


def test_a_name_alone_stays_in_the_question(memory):
    talk(memory)
    assert asked(memory, "Maria?")[0] == "Maria?"


@pytest.mark.parametrize(
    ("query", "when", "number"),
    [
        ("When did she move?", True, False),
        ("In which year was it?", True, False),
        ("What day is it due?", True, False),
        ("How long did it take?", True, True),
        ("How many years ago?", True, True),
        ("How many dogs has he?", False, True),
        ("What did he do when it rained?", False, False),
        ("Whenever it rains", False, False),
    ],
)
def test_what_a_question_asks_for(memory, query, when, number):
    _, cue = asked(memory, query)
    assert (cue.when, cue.number) == (when, number)


def test_days_are_counted_from_the_newest_message(memory):
    talk(memory)
    assert asked(memory, "What did we say yesterday?")[1].days == ((DAY - 1, DAY - 1),)
    first = datetime(2022, 8, 1, tzinfo=UTC).timestamp() // 86_400
    assert asked(memory, "What happened in August?")[1].days == ((first, first + 30),)


def test_a_question_without_cues_has_none(memory):
    words, cue = asked(memory, "Where is the pool?", "nowhere")
    assert words == "Where is the pool?"
    assert cue == Cue()


def test_every_signal_reaches_the_hits(memory):
    one = talk(memory)
    one.append({"role": "assistant", "content": "When was the pool filled?"}, at=AT)
    (filled,) = one.append({"role": "user", "content": "The pool: 2 days ago."}, at=AT)
    found = one.search("How many days ago did John fill the pool, on 8 May 2023?", k=20)
    hit = next(hit for hit in found if hit.id == filled)
    assert hit.terms["speaker"] == hit.terms["date"] == hit.terms["when"] == 1
    assert hit.terms["number"] == 1
    assert hit.terms["reply"] > 0
    assert hit.terms["asking"] == 0
    assert hit.terms["near"] == hit.terms["session"] > 0
    asking = next(hit for hit in found if hit.id == filled - 1)
    assert asking.terms["asking"] == -1


def test_signals_do_not_change_with_the_order_of_conversations():
    random.seed(3)
    texts = [f"Thanks, John! Turn {n} of the pool, {n} days ago?" for n in range(30)]
    orders = []
    for names in (["a", "b"], ["b", "a"]):
        with Memory.open(None, embedder="lexical") as memory:
            for name in names:
                one = memory.conversation(name)
                for n, text in enumerate(texts):
                    one.append({"role": "user", "content": text}, at=AT + n)
            ours = memory.conversation("a")
            found = ours.search("How long ago was turn 7 of the pool?", k=30)
            orders.append([ours.ids.index(hit.id) for hit in found])
    assert orders[0] == orders[1]
