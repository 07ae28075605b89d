"""Lists that begin as earlier ones: read as JSON reads them, and for what is new in them alone."""

from __future__ import annotations

import copy
import json
import os
import random
import threading
import tracemalloc
from functools import partial

import pytest
from exchanging import Exchanging, said, user, whole
from hypothesis import given, settings, strategies as st

from warmset.errors import InvalidInputError
from warmset.messages.model import FixedList
from warmset.serve.proxy import resent
from warmset.serve.proxy.asked_body import AskedBody
from warmset.serve.proxy.listed import listed_of
from warmset.serve.proxy.resent import ResentLists
from warmset.serve.proxy.surfaces import CHAT, INTERACTIONS, RESPONSES

DECODER = json.JSONDecoder()
FORMATS = [
    {},
    {"separators": (",", ":")},
    {"indent": 1},
    {"ensure_ascii": False},
    {"separators": (" ,\n", ":")},
]
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
TEXTS = st.text(max_size=6) | st.sampled_from(["]", '"},{"', "\\", "é", "\ud83d"])
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": ROLES, "content": TEXTS | st.lists(TEXTS, max_size=2)}),
    min_size=1,
    max_size=12,
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let blocks have some messages, so that a short list has several."""
    monkeypatch.setattr(resent, "BLOCK", 120)
    monkeypatch.setattr(resent, "LEAST", 1)


def talk(count, of="a", start=0):
    return [
        {"role": ("user", "assistant")[at % 2], "content": f"{of} says {at} " + "word " * 4}
        for at in range(start, start + count)
    ]


def read(lists, messages, owner="t", **form):
    text = json.dumps(messages, **form)
    made, end = lists.read(owner, text, 0)
    assert end == len(text)
    assert made.messages == messages
    return made.messages


def shared(one, other):
    """Return how many messages at the front of two lists are one and the same."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right:
            break
        count += 1
    return count


def told(listed, dialect):
    """Return what recognition needs, or the error."""
    try:
        return listed(dialect)
    except InvalidInputError as error:
        return str(error)


@st.composite
def sequences(draw):
    """Draw lists that go on from each other, as clients send them, with the form of their text."""
    now, out = draw(MESSAGES), []
    for _turn in range(draw(st.integers(1, 6))):
        act = draw(st.sampled_from(["on", "on", "on", "edit", "cut", "other"]))
        if act == "on":
            now = [*now, *draw(MESSAGES)]
        elif act == "edit":
            now = [*now]
            now[draw(st.integers(0, len(now) - 1))] = {"role": "user", "content": "edited"}
        elif act == "cut":
            now = now[: draw(st.integers(1, len(now)))]
        else:
            now = draw(MESSAGES)
        out.append((draw(st.sampled_from("ab")), copy.deepcopy(now)))
    return draw(st.sampled_from(FORMATS)), out


@given(sequences(), st.text(alphabet=" \n[{", max_size=3), st.sampled_from(["", "]", ', "a": 1}']))
@settings(max_examples=300)
def test_every_list_is_read_as_json_reads_it(drawn, before, behind):
    form, steps = drawn
    lists = ResentLists(most=3_000, lists=3)
    for owner, messages in steps:
        text = before + json.dumps(messages, **form) + behind
        found = lists.read(owner, text, len(before))
        value, end = DECODER.raw_decode(text, len(before))
        assert found is not None
        assert (found[0].messages, found[1]) == (value, end)
        for dialect in ("openai", "anthropic"):
            assert told(found[0].listed, dialect) == told(partial(listed_of, messages), dialect)


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_sent_before_is_not_read_again(form):
    lists = ResentLists()
    first = read(lists, talk(20), **form)
    second = read(lists, talk(22), **form)
    assert shared(first, second) == 20
    third = read(lists, talk(23), **form)
    assert shared(second, third) >= 21
    assert shared(first, third) >= 19


def test_a_list_with_other_bytes_is_read_from_there():
    lists = ResentLists()
    first = read(lists, talk(20))
    edited = talk(20)
    edited[10]["content"] += "!"
    again = read(lists, edited)
    assert 6 <= shared(first, again) <= 10
    assert all(one is not other for one, other in zip(first[10:], again[10:], strict=True))
    assert shared(first, read(lists, talk(21))) == 20, "both are held"
    assert shared(again, read(lists, [*edited, user("on")])) == 20


def test_a_mark_that_moves_leaves_one_list():
    lists = ResentLists()
    for count in range(10, 20):
        messages = talk(count)
        messages[-1]["cache_control"] = {"type": "ephemeral"}
        now = read(lists, messages)
    assert len(lists._lists) == 1
    assert shared(now, read(lists, talk(20))) >= 14


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_short_list_of_another_conversation_stays(count):
    lists = ResentLists()
    read(lists, talk(count, of="x"))
    read(lists, talk(count, of="y"))
    assert len(lists._lists) == 2
    read(lists, talk(count + 2, of="x"))
    assert len(lists._lists) == 2


@pytest.mark.parametrize(("lost", "held"), [(0, 1), (2, 1), (3, 2)])
def test_a_list_takes_the_place_of_one_that_it_nearly_has(lost, held):
    lists = ResentLists()
    read(lists, talk(12))
    read(lists, [*talk(12 - lost), *talk(4, of="b")])
    assert len(lists._lists) == held


def test_all_blocks_but_the_last_are_long():
    lists = ResentLists()
    for count in range(1, 30):
        read(lists, talk(count))
    ((_owner, made),) = lists._lists
    assert all(120 <= len(block.text) <= 300 for block in made.blocks[:-1])
    assert len(made.blocks) == 15


def test_the_lists_that_were_not_sent_for_longest_go():
    lists = ResentLists(lists=2)
    for name in "wxyz":
        read(lists, talk(9, of=name))
    assert [held.messages for _owner, held in lists._lists] == [talk(9, of="y"), talk(9, of="z")]


def test_lists_of_one_beginning_are_held_each_by_itself():
    lists = ResentLists()
    of = {name: read(lists, [*talk(12), *talk(6, of=name, start=12)]) for name in "xyz"}
    for name, before in of.items():
        now = read(lists, [*talk(12), *talk(7, of=name, start=12)])
        assert shared(before, now) == 18
    assert shared(of["x"], of["y"]) >= 8


def test_nobody_is_given_what_another_one_sent():
    lists = ResentLists()
    first = read(lists, talk(9), owner="a")
    assert shared(first, read(lists, talk(9), owner="b")) == 0
    assert shared(first, read(lists, talk(10), owner="a")) == 9


def test_no_more_lists_and_characters_are_held_than_may_be():
    lists = ResentLists(lists=2)
    of = [read(lists, talk(9, of=name)) for name in "xyz"]
    assert [shared(one, read(lists, talk(9, of=name))) for one, name in zip(of, "xyz", strict=True)]
    assert len(lists._lists) == 2
    read(lists, talk(9))
    weight = lists._lists[-1][1].weight
    for most, held in ((2 * weight, 2), (2 * weight - 1, 1), (weight, 1), (weight - 1, 0)):
        lists = ResentLists(most=most)
        for name in "xyz":
            read(lists, talk(9, of=name))
        assert len(lists._lists) == held
        assert [one.messages for _owner, one in lists._lists][-1:] == [talk(9, of="z")] * bool(held)


@pytest.mark.parametrize(
    "message",
    [
        {},
        user("word " * 200),
        {"role": "user", "content": [[] for _ in range(200)]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "input": {"a": "b"}}]},
    ],
)
def test_the_memory_of_a_list_is_no_more_than_estimated(message):
    lists, text = ResentLists(), json.dumps([message] * 2_000)
    tracemalloc.start()
    try:
        made, _end = lists.read("t", text, 0)
        used, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 1.2 * made.weight


def test_a_short_list_is_not_held(monkeypatch):
    size = len(json.dumps(talk(3))) - 1  # without the bracket at its end
    for least, held in ((size, 3), (size + 1, 0)):
        monkeypatch.setattr(resent, "LEAST", least)
        lists = ResentLists()
        assert shared(read(lists, talk(3)), read(lists, talk(3))) == held


@pytest.mark.parametrize(
    "text", ["[]", "[ ]", "[1]", '[{}, "a"]', "[[]]", '"a"', "{}", "null", "1"]
)
def test_what_is_no_list_of_objects_is_left_to_others(text):
    lists = ResentLists()
    assert lists.read("t", text, 0) is None
    assert lists._lists == []
    body = b'{"messages": %s, "a": 1}' % text.encode()
    assert AskedBody(body, CHAT, lambda *at: lists.read("t", *at)).fields.values == json.loads(body)


@pytest.mark.parametrize(
    "text", ["[", "[{}", "[{},", "[{},]", "[{} {}]", "[{}}", "[{}, {]", "[,{}]", '[{"a": }]']
)
def test_what_is_no_json_is_an_error(text):
    lists = ResentLists()
    with pytest.raises(ValueError):
        lists.read("t", text, 0)
    with pytest.raises(InvalidInputError, match="body"):
        AskedBody(b'{"messages": ' + text.encode(), CHAT, lambda *at: lists.read("t", *at))


def test_what_begins_as_a_held_list_and_breaks_is_an_error():
    lists = ResentLists()
    read(lists, talk(9))
    text = json.dumps(talk(9))[:-1]
    for broken in (text, text + "}", text + " {}]", text + ",]"):
        with pytest.raises(ValueError):
            lists.read("t", broken, 0)
    assert shared(read(lists, talk(9)), read(lists, talk(10))) == 9


def test_a_body_gives_its_list_and_what_tells_it():
    lists = ResentLists()

    def body(messages, **more):
        text = json.dumps({"model": "m", "input": messages, "messages": [1], **more})
        return AskedBody(text.encode(), RESPONSES, lambda *at: lists.read("t", *at))

    first, second = body(talk(9)), body(talk(10), x=1)
    assert shared(first.given, second.given) == 9
    assert type(second.given) is FixedList  # which conversations need not compare by value
    assert second.fields.values["x"] == 1
    assert second.fields.values["messages"] == [1]
    assert second.listed("responses") == listed_of(talk(10), "responses")
    text = body("hello")
    assert text.given == [user("hello")]
    assert text.listed("responses") == listed_of([user("hello")], "responses")


def test_blocks_of_content_are_told_as_the_message_that_they_make():
    blocks = [{"type": "text", "text": "How many?"}]
    body = json.dumps({"input": blocks}).encode()
    made = AskedBody(body, INTERACTIONS, lambda *at: ResentLists().read("t", *at))
    step = {"type": "user_input", "content": blocks}
    assert made.given == [step]
    assert made.listed("interactions") == listed_of([step], "interactions")


def test_nothing_stays_once_something_was_erased(tmp_path):
    proxy = Exchanging(tmp_path)
    try:
        messages = [(said if at % 2 else user)(f"Shelf {at} has boxes.") for at in range(9)]
        _asked, prepared = proxy.ask(CHAT, messages)
        lists = proxy.exchanges._who._lists
        assert lists._lists
        with proxy.memories.of(prepared.talk.tenant) as memory:
            memory.erase(conversation=prepared.talk.name)
        assert lists._lists == []
        named = proxy.ask(CHAT, messages, headers={"x-warmset-conversation": "mine"})[1]
        assert lists._lists
        with proxy.memories.of(named.talk.tenant) as memory:
            memory.erase(conversation="mine")
        assert lists._lists == []
    finally:
        proxy.memories.close()


def test_nothing_stays_of_a_list_that_goes_on_at_the_provider(tmp_path):
    proxy = Exchanging(tmp_path)
    try:
        asked, prepared = proxy.ask(RESPONSES, [user("A secret. " * 9)], conversation="conv_1")
        assert prepared.header() == "passed; recorded=yes"
        lists = proxy.exchanges._who._lists
        assert lists._lists
        proxy.answer((asked, prepared), whole(said("ok"), id="resp_1"))
        with proxy.memory() as memory:
            [name] = memory.conversations()
            memory.erase(conversation=name)
        assert lists._lists == []
        proxy.ask(RESPONSES, [user("A secret. " * 9)], conversation="conv_2")
        assert lists._lists
    finally:
        proxy.memories.close()
    assert lists._lists == []


def test_what_is_held_is_never_changed(tmp_path):
    proxy = Exchanging(tmp_path)
    messages = [
        (said if at % 2 else user)(f"Shelf {at} has {at * 7} boxes. " * 9) for at in range(9)
    ]
    try:
        for mode in ("auto", "steady", "jit", "recency", "full"):
            for _turn in range(3):
                messages += [said("Forty."), user("And the next one?")]
                headers = {"x-warmset-mode": mode, "x-warmset-budget": "900"}
                proxy.ask(CHAT, messages, headers=headers)
            ((_owner, held),) = proxy.exchanges._who._lists._lists
            assert held.messages == messages
            assert json.loads("".join(block.text for block in held.blocks) + "]") == messages
    finally:
        proxy.memories.close()


def test_threads_share_one():
    lists, failed = ResentLists(most=20_000, lists=5), []

    def work(number):
        draw, messages = random.Random(number), talk(3)
        for turn in range(60):
            if draw.random() < 0.2:
                messages = messages[: draw.randint(1, len(messages))]
            messages = [*messages, *talk(2, of=f"{number}", start=turn)]
            text = json.dumps(messages)
            found = lists.read(f"t{number % 2}", text, 0)
            if found is None or found[0].messages != messages or found[1] != len(text):
                failed.append(number)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_child_of_a_fork_begins_anew_while_a_thread_of_the_parent_is_inside():
    lists = ResentLists()
    read(lists, talk(9))
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with lists._lock:
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)
    child = os.fork()
    if not child:
        code = 1
        try:
            read(lists, talk(10, of="b"))
            code = 0 if len(lists._lists) == 1 else 2
        finally:
            os._exit(code)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
