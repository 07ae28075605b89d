"""Answers of all surfaces: their bytes cut in any way, broken off anywhere, damaged, too many."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import pairwise

import pytest
import reply_streams as streams
from hypothesis import given, settings, strategies as st
from reply_streams import ANSWERS, EVENTS, JSON

from warmset.messages import facts, validate
from warmset.serve.replies import Reply, assembler_for

DIALECTS = {
    "chat": "openai",
    "responses": "responses",
    "messages": "anthropic",
    "gemini": "gemini",
    "interactions": "interactions",
}
SAID = {"content": [{"type": "text", "text": "x"}]}
ASKED = {
    "gemini": {"role": "user", "parts": [{"text": "q"}]},
    "interactions": {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
}


def assembled(answer, *cuts, limit=None):
    """Return the reply of an answer that arrives in these pieces."""
    more = {} if limit is None else {"limit": limit}
    one = assembler_for(answer.surface, answer.kind, **more)
    edges = [0, *sorted(cuts), len(answer.body)]
    for begin, end in pairwise(edges):
        one.feed(answer.body[begin:end])
    return one.reply()


def beginnings(answer):
    """Yield the reply after each byte; that asking changes nothing is a test of its own."""
    one = assembler_for(answer.surface, answer.kind)
    yield one.reply()
    for at in range(len(answer.body)):
        one.feed(answer.body[at : at + 1])
        yield one.reply()


def answers_to(messages, dialect):
    """Answer the calls of messages, and ask again."""
    ids = [id_ for message in messages for id_ in facts(message, dialect).calls]
    ask = ASKED.get(dialect, {"role": "user", "content": "q"})
    if dialect == "openai":
        legacy = [m["function_call"] for m in messages if "function_call" in m]
        functions = [{"role": "function", "name": one["name"], "content": "1"} for one in legacy]
        tools = [{"role": "tool", "tool_call_id": id_, "content": "1"} for id_ in ids]
        return [*(tools if not legacy else functions), ask]
    if dialect == "responses":
        kind = "function_call_output"
        return [*({"type": kind, "call_id": id_, "output": "1"} for id_ in ids), ask]
    if dialect == "anthropic":
        results = [{"type": "tool_result", "tool_use_id": id_, "content": "1"} for id_ in ids]
        return [{"role": "user", "content": [*results, {"type": "text", "text": "q"}]}]
    if dialect == "gemini":
        names = [
            part["functionCall"]
            for message in messages
            for part in message["parts"]
            if "functionCall" in part
        ]
        found = [
            {"functionResponse": {"name": n["name"], "id": n["id"], "response": {}}} for n in names
        ]
        return [{"role": "user", "parts": found or [{"text": "q"}]}]
    kind = "function_result"
    return [
        *({"type": kind, "call_id": id_, "name": "f", "result": "1"} for id_ in ids),
        ask,
    ]


def is_valid(messages, surface):
    """Tell whether a conversation goes on with these messages and nothing is wrong with it."""
    dialect = DIALECTS[surface]
    ask = ASKED.get(dialect, {"role": "user", "content": "q"})
    listed = [ask, *messages, *(answers_to(messages, dialect) if messages else ())]
    return validate(listed, dialect=dialect)


@pytest.mark.parametrize("name", ANSWERS)
def test_each_beginning_of_an_answer_gives_a_valid_reply(name):
    answer = ANSWERS[name]
    for size, found in enumerate(beginnings(answer)):
        assert is_valid(found.messages, answer.surface) == [], (size, found)


@pytest.mark.parametrize("name", ANSWERS)
def test_it_is_complete_only_when_the_provider_said_so(name):
    answer = ANSWERS[name]
    states = [found.is_complete for found in beginnings(answer)]
    ends = {"chat": b'"finish_reason": "', "messages": b'"stop_reason": "', "gemini": b"STOP"}
    end = answer.body.index(ends.get(answer.surface, b".completed"))
    assert states == sorted(states)
    assert states[-1]
    assert not states[end]


@pytest.mark.parametrize("name", ANSWERS)
@given(data=st.data())
@settings(max_examples=40)
def test_how_the_bytes_are_cut_changes_nothing(name, data):
    answer = ANSWERS[name]
    size = data.draw(st.integers(0, len(answer.body)))
    answer = replace(answer, body=answer.body[:size])
    cuts = data.draw(st.lists(st.integers(0, size), max_size=30))
    assert assembled(answer, *cuts) == assembled(answer)
    assert assembled(answer, *range(size)) == assembled(answer)


@pytest.mark.parametrize("name", ANSWERS)
def test_asking_in_between_changes_nothing_and_later_bytes_not_what_was_given(name):
    answer = ANSWERS[name]
    one = assembler_for(answer.surface, answer.kind)
    given_, shown = [], []
    for at in range(0, len(answer.body), 7):
        one.feed(answer.body[at : at + 7])
        given_.append(one.reply())
        shown.append(repr(given_[-1]))
    assert one.reply() == assembled(answer)
    assert [repr(reply) for reply in given_] == shown


@pytest.mark.parametrize("name", ANSWERS)
@given(data=st.data())
@settings(max_examples=60)
def test_damaged_bytes_raise_nothing_and_give_only_messages_that_can_be_stored(name, data):
    answer = ANSWERS[name]
    body = bytearray(answer.body)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
        body += b" "
    found = assembled(replace(answer, body=bytes(body)))
    assert [one for one in is_valid(found.messages, answer.surface) if one.rule == "shape"] == []


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def _replaced(value, path, junk):
    if not path or not isinstance(value, dict | list) or not value:
        return junk
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    inner = _replaced(value[key], path[1:], junk)
    if isinstance(value, dict):
        return {**value, key: inner}
    return [inner if at == key else one for at, one in enumerate(value)]


@pytest.mark.parametrize("surface", DIALECTS)
@given(data=st.data())
@settings(max_examples=150)
def test_values_of_other_shapes_raise_nothing(surface, data):
    events = data.draw(
        st.sampled_from(
            {
                "chat": [streams.CHAT_TEXT, streams.CHAT_TOOLS, streams.CHAT_LEGACY],
                "responses": [streams.RESPONSES, streams.WITHOUT_OUTPUT],
                "messages": [streams.MESSAGES_TOOLS, streams.MESSAGES_SEARCH],
                "gemini": [streams.GEMINI],
                "interactions": [streams.INTERACTIONS],
            }[surface]
        )
    )
    path = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=6))
    broken = _replaced(list(events), path, data.draw(JUNK))
    broken = [one if isinstance(one, dict) else {"type": one} for one in broken]
    found = assembled(streams.Answer(surface, EVENTS, streams.sse(*broken)))
    assert [one for one in is_valid(found.messages, surface) if one.rule == "shape"] == []


@pytest.mark.parametrize("surface", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[1, 2]",
        b"[" * 200_000,
        b'{"choices": [{"message": 7}]}',
        b'{"input_tokens": 12}',
        b'{"error": {"code": 429, "message": "slow down"}}',
        b'[{"error": {"code": 429}}]',
        b"<html>bad gateway</html>",
        b'{"type": "error", "error": {"type": "overloaded_error"}}',
    ],
    ids=lambda body: repr(body[:12]),
)
@pytest.mark.parametrize("kind", [JSON, EVENTS, "text/plain", ""])
def test_what_is_no_answer_has_no_messages(surface, body, kind):
    for whole in (body, b"data: " + body + b"\n\n"):
        found = assembled(streams.Answer(surface, kind, whole))
        assert found.messages == ()
        assert not found.is_complete


@pytest.mark.parametrize("bad", [b"data: {\n\n", b"data: [1]\n\n", b'data: {"x": "\xff"}\n\n'])
@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "gemini array"])
def test_one_event_that_cannot_be_read_makes_a_stream_unusable(name, bad):
    answer = ANSWERS[name]
    ends = [b"\r\n\r\n", b"\n\n", b"\r\r"]
    end = next(one for one in ends if one in answer.body)
    half = answer.body.index(end, len(answer.body) // 2) + len(end)
    found = assembled(replace(answer, body=answer.body[:half] + bad + answer.body[half:]))
    assert found.messages == ()
    assert not found.is_complete


def test_of_a_broken_array_the_elements_that_are_whole_count():
    answer = ANSWERS["gemini array"]
    broken = replace(answer, body=answer.body[: answer.body.index(b"Voil")])
    assert assembled(broken).messages == (
        {"role": "model", "parts": [{"text": "Let me see.", "thought": True}]},
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_no_more_than_the_limit_is_read(name):
    answer = ANSWERS[name]
    size = len(answer.body)
    assert assembled(answer, limit=size) == assembled(answer)
    for limit in (0, 1, size // 2, size - 1):
        found = assembled(answer, size // 3, limit=limit)
        rest = assembled(replace(answer, body=answer.body[:limit]))
        assert found == replace(rest, is_complete=False)


def test_a_large_event_that_arrives_in_small_pieces_is_read_in_time():
    text = "x" * (6 << 20)
    answer = streams.Answer("chat", EVENTS, streams.sse(streams.chunk({"content": text})))
    begin = time.process_time()
    found = assembled(answer, *range(0, len(answer.body), 64))
    assert time.process_time() - begin < 5  # a tenth of a second, or minutes
    assert found.messages == ({"role": "assistant", "content": text},)


def test_many_small_pieces_of_a_text_are_joined_in_time():
    one = assembler_for("chat", EVENTS)
    piece = streams.sse(streams.chunk({"content": "word"}))
    for _ in range(200):
        one.feed(piece * 500)
    assert one.reply().messages[0]["content"] == "word" * 100_000


@pytest.mark.parametrize("kind", ["text/plain", "", "application/octet-stream"])
def test_where_the_type_says_nothing_the_first_byte_decides(kind):
    stream = ANSWERS["chat text"]
    body = streams.Answer("gemini", kind, b" \n" + ANSWERS["gemini array"].body)
    for cuts in ((), (1, 2, 3)):
        assert assembled(replace(stream, kind=kind), *cuts) == assembled(stream)
        assert assembled(body, *cuts).messages == assembled(ANSWERS["gemini array"]).messages


def test_nothing_was_fed():
    assert assembler_for("chat", "").reply() == Reply()
    assert assembler_for("messages", EVENTS).reply() == Reply()


def test_numbers_that_are_none_are_not_given():
    message = b'{"choices": [{"message": {"role": "assistant", "content": "x", "score": NaN}}]}'
    assert assembled(streams.Answer("chat", JSON, message)).messages == ()


def test_it_tells_the_surfaces_apart():
    body = json.dumps({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}).encode()
    assert assembled(streams.Answer("gemini", JSON, body)).messages
    assert not assembled(streams.Answer("chat", JSON, body)).messages
