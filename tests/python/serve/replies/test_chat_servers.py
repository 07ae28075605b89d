"""Streams of servers that take Chat Completions less strictly, and what is left of broken ones."""

from __future__ import annotations

import json

import pytest
from reply_streams import EVENTS, JSON, call, chunk, sse

from warmset.serve.replies import assembler_for


def replied(*events, last="[DONE]"):
    one = assembler_for("chat", EVENTS)
    one.feed(sse(*events, last=last))
    return one.reply()


def calls_of(*pieces, finish="tool_calls"):
    """Return id, name and arguments of the calls that these pieces make."""
    (message,) = replied(
        *(chunk({"tool_calls": [one]}) for one in pieces), chunk({}, finish)
    ).messages
    assert all("index" not in one for one in message["tool_calls"])
    return [
        (one.get("id"), one["function"]["name"], one["function"].get("arguments"))
        for one in message["tool_calls"]
    ]


def without(piece, *names):
    return {name: value for name, value in piece.items() if name not in names}


TWO = [("a", "f", '{"x":1}'), ("b", "g", "{}")]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [call(0, "a", "f", '{"x'), call(0, None, None, '":1}'), call(1, "b", "g", "{}")],
            id="as documented",
        ),
        pytest.param(
            [
                call(0, "a", "f", '{"x'),
                call(1, "b", "g", "{"),
                call(0, None, None, '":1}'),
                call(1, None, None, "}"),
            ],
            id="interleaved",
        ),
        pytest.param(
            [call(0, "a", "f", '{"x'), call(0, "a", "f", '":1}'), call(1, "b", "g", "{}")],
            id="id and name repeated",
        ),
        pytest.param(
            [call(0, "a", "f", '{"x":1}'), call(0, "b", "g", "{}")],
            id="index 0 for all",
        ),
        pytest.param(
            [
                without(call(0, "a", "f", '{"x'), "index"),
                without(call(0, None, None, '":1}'), "index"),
                without(call(0, "b", "g", "{}"), "index"),
            ],
            id="no index",
        ),
        pytest.param(
            [
                without(call(0, "a", "f", '{"x'), "index"),
                without(call(0, "b", "g", "{"), "index"),
                without(call(0, "a", None, '":1}'), "index"),
                without(call(0, "b", None, "}"), "index"),
            ],
            id="no index, ids repeated",
        ),
        pytest.param(
            [
                call(0, "a", "f"),
                call(0, "x1", None, '{"x":1}'),
                call(1, "b", "g", "{}"),
            ],
            id="another id with each piece",
        ),
    ],
)
def test_pieces_of_calls_find_each_other(pieces):
    found = calls_of(*pieces)
    assert [(name, arguments) for _, name, arguments in found] == [one[1:] for one in TWO]
    if "x1" not in str(pieces):
        assert found == TWO


def test_calls_without_ids_are_told_apart_by_their_names():
    pieces = [without(call(0, None, name, "{}"), "index") for name in "fg"]
    message = replied(chunk({"tool_calls": pieces}), chunk({}, "tool_calls"))
    assert message.messages == ()  # the dialect has no calls without ids
    pieces = [
        without(call(0, "a", "f", "{"), "index"),
        without(call(0, None, "f", "}"), "index"),
    ]
    assert calls_of(*pieces) == [("a", "f", "{}")]


def test_custom_calls_and_fields_of_servers_stay():
    first = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "SELECT "}}
    more = {"index": 0, "custom": {"input": "1"}, "extra_content": {"google": {"n": 1}}}
    found = replied(chunk({"tool_calls": [first]}), chunk({"tool_calls": [more]}, "tool_calls"))
    assert found.messages[0]["tool_calls"] == [
        {
            "id": "a",
            "type": "custom",
            "custom": {"name": "sql", "input": "SELECT 1"},
            "extra_content": {"google": {"n": 1}},
        }
    ]


def test_details_of_reasoning_grow_block_by_block():
    def detail(kind, index, **more):
        return chunk({"reasoning_details": [{"type": f"reasoning.{kind}", "index": index, **more}]})

    found = replied(
        chunk({"role": "assistant", "content": "", "reasoning": "Hm"}),
        detail("text", 0, text="Let", format="f", id="r"),
        detail("text", 0, text=" me", format="f", id="r"),
        detail("text", 0, signature="sig", format="f", id="r"),
        detail("encrypted", 1, data="abc"),
        detail("encrypted", 1, data="def"),
        detail("text", 2, text="so"),
        chunk({"reasoning": "m", "content": "Yes"}, "stop"),
    )
    kinds = ["text", "encrypted", "encrypted", "text"]
    (message,) = found.messages
    assert [one["type"] for one in message["reasoning_details"]] == [
        f"reasoning.{k}" for k in kinds
    ]
    assert message["reasoning_details"][0] == {
        "type": "reasoning.text",
        "index": 0,
        "text": "Let me",
        "format": "f",
        "id": "r",
        "signature": "sig",
    }
    assert [one.get("data") for one in message["reasoning_details"][1:3]] == ["abc", "def"]
    assert (message["reasoning"], message["content"]) == ("Hmm", "Yes")


def test_audio_and_annotations_are_kept():
    note = {"type": "url_citation", "url_citation": {"url": "https://example.com"}}
    found = replied(
        chunk({"role": "assistant", "audio": {"id": "au_1", "transcript": "He"}}),
        chunk({"audio": {"id": "au_1", "transcript": "llo", "data": "UklG"}}),
        chunk({"audio": {"data": "Rg==", "expires_at": 5}, "annotations": [note]}),
        chunk({"annotations": [note]}, "stop"),
    )
    assert found.messages == (
        {
            "role": "assistant",
            "audio": {"id": "au_1", "transcript": "Hello", "data": "UklGRg==", "expires_at": 5},
            "annotations": [note, note],
        },
    )


def test_a_stream_may_end_with_its_mark_alone():
    assert replied(chunk({"content": "x"})).is_complete
    assert not replied(chunk({"content": "x"}), last="").is_complete
    assert replied(chunk({"content": "x"}, "stop"), last="").is_complete


def test_an_error_in_a_stream_is_no_end():
    failed = {"error": {"code": 502}, **chunk({"content": ""}, "error")}
    found = replied(chunk({"content": "x"}), failed)
    assert (found.is_complete, found.stop) == (False, "error")
    assert found.messages == ({"role": "assistant", "content": "x"},)


def test_only_the_first_of_several_choices_counts():
    def other(index, text):
        made = chunk({"content": text}, "stop")
        return {**made, "choices": [{**made["choices"][0], "index": index}]}

    found = replied(other(1, "no"), chunk({"content": "yes"}, "stop"), other(2, "no"))
    assert found.messages == ({"role": "assistant", "content": "yes"},)
    assert found.choices == 3
    messages = [{"role": "assistant", "content": text} for text in ("yes", "no")]
    one = assembler_for("chat", JSON)
    one.feed(json.dumps({"choices": [{"message": message} for message in messages]}).encode())
    assert (one.reply().messages, one.reply().choices) == ((messages[0],), 2)


def test_of_a_broken_stream_text_and_whole_calls_stay():
    begun = [chunk({"role": "assistant", "content": "I look."})]
    pieces = [call(0, "a", "f", "{}"), call(1, "b", "g", '{"x'), call(2, "c", "h", "{}")]
    called = [*begun, *(chunk({"tool_calls": [one]}) for one in pieces)]
    (message,) = replied(*called, last="").messages
    assert message["content"] == "I look."
    assert [one["id"] for one in message["tool_calls"]] == ["a"]
    assert len(replied(*called).messages[0]["tool_calls"]) == 3  # as it was said to be whole


@pytest.mark.parametrize(
    "delta",
    [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "reasoning_content": "Hm"},
        {"tool_calls": [call(0, "a", "f", '{"x')]},
        {"function_call": {"name": "f", "arguments": "{"}},
        {"audio": {"id": "au_1", "data": "UklG"}},
    ],
)
def test_of_a_stream_that_broke_early_nothing_stays(delta):
    assert replied(chunk(delta), last="").messages == ()


def test_an_answer_that_says_nothing_is_a_message_all_the_same():
    found = replied(chunk({"role": "assistant", "content": ""}), chunk({}, "stop"))
    assert found.messages == ({"role": "assistant", "content": ""},)


def test_the_usage_is_the_last_one():
    found = replied(
        chunk({"content": "x"}, usage={"total_tokens": 1}),
        chunk({}, "stop", usage=None),
        chunk(usage={"total_tokens": 2}),
    )
    assert found.usage == {"total_tokens": 2}
