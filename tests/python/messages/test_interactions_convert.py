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


def test_what_is_said_between_calls_keeps_its_place():
    steps = [user(), output(block("a")), call("a"), output(block("b")), call("b")]
    steps += [result("a"), result("b")]
    claude = convert(steps, source="interactions", target="anthropic").messages
    kinds = [part["type"] for part in claude[1]["content"]]
    assert kinds == ["text", "tool_use", "text", "tool_use"]
    assert convert(claude, source="anthropic", target="interactions").messages == steps


def test_system_messages_at_the_front_are_one_instruction():
    system = {"role": "system", "content": "Be kind."}
    blocks = {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}
    assert from_openai(system, blocks, *to_openai(user())).system == "Be kind.\n\nBe brief."
    assert from_openai(*to_openai(user())).system is None


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (SEARCH, "a step of type 'google_search_call'"),
        (FOUND, "a step of type 'google_search_result'"),
        (STRANGE, "a step of type 'hologram_call'"),
        (user({"type": "video", "uri": "x"}), "a block of type 'video'"),
        (user({"type": "image"}), "an image without an address"),
        (user({"type": "image", "data": "QUJD"}), "an image without an address"),
        (user({**IMAGE, "uri": "x"}), "an image without an address"),
        (output(error={"code": 3}), "the field 'error' of the model_output step"),
        (user(n=1), "the field 'n' of the user_input step"),
        (result(), "the result of call 'a', which is not in the list"),
    ],
)
def test_content_that_others_cannot_say_is_refused_or_dropped(step, what):
    with pytest.raises(ConversionError, match=rf"^message 1: .*{what}"):
        to_openai(user(), step)
    found = convert([user(), step], source="interactions", target="openai", lost="drop")
    assert (found.lost[0].index, found.lost[0].kind) == (1, "content")
    assert found.messages[0] == {"role": "user", "content": "hi"}
    assert validate(found.messages, dialect="openai") == []


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (thought(), "a thought"),
        (user({**IMAGE, "resolution": "low"}), "the field 'resolution' of an image"),
        (
            output(block(annotations=[{"type": "url_citation"}])),
            "the field 'annotations' of a text block",
        ),
        (call(signature="c2ln"), "the field 'signature' of a function call"),
        ({"type": "user_input"}, "the user message, as nothing is left in it"),
    ],
)
def test_metadata_is_left_out_and_listed(step, what):
    found = convert([user(), step], source="interactions", target="openai")
    assert [(one.index, one.what, one.kind) for one in found.lost] == [(1, what, "metadata")]


def test_failed_results_and_results_apart_from_their_call():
    failed = [call(), result(is_error=True)]
    turned = convert(failed, source="interactions", target="anthropic")
    assert turned.messages[1]["content"][0]["is_error"] is True
    assert convert(turned.messages, source="anthropic", target="interactions").messages[1][
        "is_error"
    ]
    apart = [call(), user(), result()]
    with pytest.raises(ConversionError, match="message 2: the place of the result that stands"):
        to_openai(*apart)
    found = convert(apart, source="interactions", target="openai", lost="drop")
    assert [one["role"] for one in found.messages] == ["assistant", "tool", "user"]


def test_a_system_message_behind_the_first_turn_loses_its_place():
    late = [OPENAI[1], OPENAI[0]]
    with pytest.raises(ConversionError, match="message 1: the place of a system message"):
        from_openai(*late)
    found = convert(late, source="openai", target="interactions", lost="drop")
    assert found.system == "Be kind."
    assert [step["type"] for step in found.messages] == ["user_input"]
    empty = convert([{"role": "user", "content": []}], source="openai", target="interactions")
    assert empty.messages == [user(block("(continue)"))]


def test_what_steps_cannot_say_is_refused():
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    with pytest.raises(ConversionError, match="one text"):
        to_openai(user(), system=[{"type": "text", "text": "x"}, image])
