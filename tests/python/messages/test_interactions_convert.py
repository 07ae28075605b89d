"""Gemini Interactions to other dialects and back, and what cannot be said there."""

import copy

import pytest
from interaction_steps import (
    FOUND,
    IMAGE,
    SEARCH,
    STRANGE,
    block,
    call,
    output,
    result,
    thought,
    user,
)

from warmset.errors import ConversionError
from warmset.messages import DIALECTS, ConversionResult, convert, validate

STEPS = [
    user(block("Weather in Paris and Rome?")),
    output(block("I look.")),
    call("c1", "get", {"a": 1}),
    call("c2", "get"),
    result("c2", "rain", "get"),
    result("c1", [block("sun"), block("!")], "get"),
    user(block("And now?"), IMAGE),
    output(block("Wet.")),
]
FUNCTION = {"name": "get", "arguments": '{"a":1}'}
OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Weather in Paris and Rome?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": FUNCTION},
            {"id": "c2", "type": "function", "function": {**FUNCTION, "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "rain"},
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [{"type": "text", "text": "sun"}, {"type": "text", "text": "!"}],
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And now?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ],
    },
    {"role": "assistant", "content": "Wet."},
]


def to_openai(*steps, system=None):
    return convert(steps, source="interactions", target="openai", system=system).messages


def from_openai(*messages):
    return convert(messages, source="openai", target="interactions")


def test_openai_s_messages_and_steps_say_the_same():
    before = copy.deepcopy(STEPS)
    assert to_openai(*STEPS, system="Be kind.") == OPENAI
    assert from_openai(*OPENAI) == ConversionResult(STEPS, "Be kind.")
    assert before == STEPS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_conversions_go_round(dialect):
    there = convert(STEPS, source="interactions", target=dialect, system="Be kind.")
    assert all(
        one.severity != "refused" or one.rule == "G1"
        for one in validate(there.messages, dialect=dialect)
    )
    back = convert(there.messages, source=dialect, target="interactions", system=there.system)
    assert back == ConversionResult(STEPS, "Be kind.")


def test_a_result_that_is_a_mapping_is_written_as_json():
    steps = [user(), call(), result(said={"t": 20}, is_error=False)]
    assert to_openai(*steps)[2]["content"] == '{"t":20}'


def test_images_by_their_address_and_url_safe_data():
    far = {"type": "image", "uri": "https://a.b/c.png", "mime_type": "image/png"}
    near = {**IMAGE, "data": "-_=="}
    chat = to_openai(user(far, near))
    urls = [part["image_url"]["url"] for part in chat[0]["content"]]
    assert urls == ["https://a.b/c.png", "data:image/png;base64,+/=="]
    bare = {"type": "image", "uri": "https://a.b/c.png"}
    assert from_openai(*chat).messages == [user(bare, {**IMAGE, "data": "+/=="})]


def test_calls_with_their_results_between_stay_apart():
    steps = [user(), call("a"), result("a"), call("b"), result("b")]
    assert [message["role"] for message in to_openai(*steps)] == [
        *("user", "assistant", "tool", "assistant", "tool")
    ]
    apart = [user(), output(block("a")), output(block("b"))]
    assert [message["content"] for message in to_openai(*apart)] == ["hi", "a", "b"]
    assert from_openai(*to_openai(*apart)).messages == apart


def test_system_messages_at_the_front_are_one_instruction():
    system = {"role": "system", "content": "Be kind."}
    blocks = {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}
    assert from_openai(system, blocks, *to_openai(user())).system == "Be kind.\n\nBe brief."
    assert from_openai(*to_openai(user())).system is None


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (thought(), "a thought would be lost"),
        (SEARCH, "a step of type 'google_search_call'"),
        (FOUND, "a step of type 'google_search_result'"),
        (STRANGE, "a step of type 'hologram_call'"),
        (user({"type": "video", "uri": "x"}), "a block of type 'video'"),
        (user({**IMAGE, "resolution": "low"}), "the field 'resolution' of an image"),
        (user({"type": "image"}), "an image needs an address, or data"),
        (user({"type": "image", "data": "QUJD"}), "an image needs an address, or data"),
        (user({**IMAGE, "uri": "x"}), "an image needs an address, or data"),
        (output(block(annotations=[{"type": "url_citation"}])), "the field 'annotations'"),
        (output(error={"code": 3}), "the field 'error'"),
        (user(n=1), "the field 'n' of an input"),
        (call(signature="c2ln"), "the field 'signature'"),
        (result(), "stands apart from its call"),
        ({"type": "user_input"}, "nothing in it to say"),
    ],
)
def test_what_others_cannot_say_is_refused(step, what):
    with pytest.raises(ConversionError, match=rf"^message 1: .*{what}"):
        to_openai(user(), step)


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ([call(), result(is_error=True)], "message 1: the field 'is_error'"),
        ([call(), user(), result()], "message 2: the result of 'a' stands apart"),
    ],
)
def test_results_that_others_cannot_have_are_refused(steps, what):
    with pytest.raises(ConversionError, match=what):
        to_openai(*steps)


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        ([OPENAI[1], OPENAI[0]], "message 1: a system message after the first turn"),
        ([{"role": "user", "content": []}], "message 0: there is nothing in it to say"),
    ],
)
def test_what_steps_cannot_say_is_refused(messages, what):
    with pytest.raises(ConversionError, match=what):
        from_openai(*messages)
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    with pytest.raises(ConversionError, match="one text"):
        to_openai(user(), system=[{"type": "text", "text": "x"}, image])
