"""From one dialect to the other, and what cannot be said there."""

import copy

import pytest
from hypothesis import given, strategies as st

from warmset.errors import ConversionError, InvalidMessageError, UnknownDialectError
from warmset.messages import ConversionResult, alternate, convert, validate

USER = {"role": "user", "content": "Weather in Paris and Rome?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a": 1}'}}
OPENAI = [
    {"role": "system", "content": "Be kind."},
    USER,
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            CALL,
            {"id": "c2", "type": "function", "function": {"name": "get", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "rain"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "sun"}]},
    {"role": "user", "content": "And now?"},
]
ANTHROPIC = [
    USER,
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "get", "input": {"a": 1}},
            {"type": "tool_use", "id": "c2", "name": "get", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c2", "content": "rain"},
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": [{"type": "text", "text": "sun"}],
            },
            {"type": "text", "text": "And now?"},
        ],
    },
]


def to_anthropic(*messages, system=None):
    return convert(messages, source="openai", target="anthropic", system=system)


def to_openai(*messages, system=None):
    return convert(messages, source="anthropic", target="openai", system=system)


def test_openai_to_anthropic():
    before = copy.deepcopy(OPENAI)
    assert to_anthropic(*OPENAI) == ConversionResult(ANTHROPIC, "Be kind.")
    assert before == OPENAI


def test_anthropic_to_openai():
    compact = copy.deepcopy(OPENAI)
    compact[2]["tool_calls"][0]["function"]["arguments"] = '{"a":1}'
    assert to_openai(*ANTHROPIC, system="Be kind.") == ConversionResult(compact)


def test_the_same_dialect_gives_what_was_given():
    there = convert(OPENAI, source="openai", target="openai")
    assert all(one is other for one, other in zip(there.messages, OPENAI, strict=True))


def test_system_blocks_are_parts_and_a_developer_is_a_system():
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert to_openai(USER, system=blocks).messages[0] == {"role": "system", "content": blocks}
    assert to_anthropic({"role": "developer", "content": blocks}, USER).system == blocks
    one, two = ({"role": "system", "content": text} for text in "ab")
    assert to_anthropic(one, two, USER).system == blocks
    assert to_openai(USER, system=[]).messages == [USER]


@pytest.mark.parametrize(
    ("part", "source"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
            {"type": "url", "url": "https://a.b/c.png"},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            {"type": "base64", "media_type": "image/png", "data": "QUJD"},
        ),
    ],
)
def test_images(part, source):
    ours = {"role": "user", "content": [part]}
    theirs = {"role": "user", "content": [{"type": "image", "source": source}]}
    assert to_anthropic(ours).messages == [theirs]
    assert to_openai(theirs).messages == [ours]
    result = {"role": "tool", "tool_call_id": "c", "content": [part]}
    (message,) = to_anthropic(result).messages
    assert message["content"][0]["content"] == theirs["content"]


def test_what_an_sdk_dumps_as_empty_is_no_loss():
    message = {
        "role": "assistant",
        "content": "hi",
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "tool_calls": None,
    }
    assert to_anthropic(USER, message).messages[1] == {"role": "assistant", "content": "hi"}
    auto = {"type": "image_url", "image_url": {"url": "https://a.b/c", "detail": "auto"}}
    assert to_anthropic({"role": "user", "content": [auto]})
    result = {"type": "tool_result", "tool_use_id": "c", "is_error": False}
    assert to_openai({"role": "user", "content": [result]}).messages == [
        {"role": "tool", "tool_call_id": "c", "content": ""}
    ]


def user(*parts, **more):
    return {"role": "user", "content": list(parts), **more}


def assistant(*parts, **more):
    return {"role": "assistant", "content": list(parts), **more}


def calling(arguments, **more):
    function = {"name": "get", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{**CALL, "function": function, **more}]}


def image(url, **more):
    return user({"type": "image_url", "image_url": {"url": url, **more}})


DEEP = '{"a":' + "[" * 200 + "]" * 200 + "}"
LOST_OPENAI = [
    ({**USER, "name": "ann"}, "the field 'name' of the user message"),
    (assistant(audio={"id": "x"}), "the field 'audio'"),
    (user({"type": "input_audio", "input_audio": {}}), "a part of type 'input_audio'"),
    (user({"type": "text", "text": "a", "ticker": 1}), "the field 'ticker' of a text part"),
    (image("https://a.b/c", cropped=True), "the field 'cropped' of an image"),
    (image("data:image/png,QUJD"), "not plain base64"),
    (image("data:image/svg+xml;charset=utf-8;base64,QUJD"), "not plain base64"),
    (image(None), "an image_url without a url"),
    (calling("{"), "call 'c1', whose arguments cannot be read"),
    (calling(" "), "call 'c1', whose arguments"),
    (calling("[]"), "no JSON object"),
    (calling({"a": 1}), "no string"),
    (calling({}), "no string"),
    (calling('{"a":1,"a":2}'), "a key stands twice"),
    (calling('{"a":NaN}'), "NaN is not JSON"),
    (calling('{"a":1e999}'), "more digits than a float holds"),
    (calling('{"a":0.12345678901234567890}'), "more digits than a float holds"),
    (calling(DEEP), "nested deeper"),
    (calling("{}", extra=1), "the field 'extra'"),
    (calling("{}", type="custom", custom={"name": "x"}), "a tool call of type 'custom'"),
    (calling("{}", custom={"name": "x"}), "the field 'custom'"),
    ({"role": "function", "name": "get", "content": "x"}, "function call without an id"),
    ({"role": "assistant", "function_call": {"name": "g"}}, "function call without an id"),
]
USE = {"type": "tool_use", "id": "t", "name": "get", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
TEXT = {"type": "text", "text": "a"}
PNG = {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
LOST_ANTHROPIC = [
    (user({**TEXT, "ticker": 1}), "the field 'ticker' of a text block"),
    (user({"type": "document", "source": {}}), "a block of type 'document'"),
    (assistant({**USE, "input": "x"}), "call 't', whose input is no mapping"),
    (user({**RESULT, "content": [USE]}), "a tool_use block inside of a tool result"),
    (user({**RESULT, "content": [PNG]}), "an image in a tool result"),
    (user({**RESULT, "content": [{"type": "document"}]}), "a block of type 'document'"),
    (user(TEXT, RESULT), "the order of text and tool parts"),
    (assistant(USE, TEXT), "the order of text and tool parts"),
    (assistant(PNG), "an image in the assistant message"),
    (user({"type": "image", "source": {"type": "file", "file_id": "f"}}), "neither a url nor"),
    (user({"type": "image", "source": {"type": "url", "url": "data:,x"}}), "neither a url nor"),
    ({**USER, "name": "ann"}, "the field 'name'"),
]


@pytest.mark.parametrize(
    ("say", "message", "what"),
    [(to_anthropic, *row) for row in LOST_OPENAI] + [(to_openai, *row) for row in LOST_ANTHROPIC],
)
def test_a_loss_is_an_error_that_names_message_and_what(say, message, what):
    with pytest.raises(ConversionError, match=rf"^message 1: .*{what}"):
        say(USER, message)


@pytest.mark.parametrize(
    "system",
    [[{"type": "image", "text": "a"}], [{"type": "text"}], [{**TEXT, "ticker": 1}]],
)
def test_a_system_prompt_that_would_lose_something_is_refused(system):
    with pytest.raises(ConversionError, match=r"^the system prompt: "):
        to_openai(USER, system=system)


def test_a_system_prompt_beside_openai_messages_is_refused():
    with pytest.raises(ConversionError, match="among its messages"):
        to_anthropic(USER, system="Be kind.")


def test_an_image_in_a_system_message_is_refused():
    with pytest.raises(ConversionError, match="message 0: an image in the system message"):
        to_anthropic({**image("https://a.b/c"), "role": "system"}, USER)


def test_malformed_messages_and_unknown_names_are_refused():
    with pytest.raises(InvalidMessageError, match="message 0"):
        to_openai({"role": "developer", "content": "x"})
    with pytest.raises(UnknownDialectError):
        convert([USER], source="openai", target="esperanto")
    with pytest.raises(UnknownDialectError):
        convert([USER], source="esperanto", target="openai")


@pytest.mark.parametrize(("source", "target"), [("claude", "chat"), ("Anthropic", "openai")])
def test_a_dialect_goes_by_its_other_names_on_either_side(source, target):
    named = convert([USER], source=source, target=target)
    assert named == convert([USER], source="anthropic", target="openai")
    own = [USER, USER]  # would be merged on the way to another dialect
    assert convert(own, source=source, target="claude").messages == own


def test_alternate_merges_runs_and_leaves_the_rest_alone():
    said = {"role": "assistant", "content": "hm"}
    late = {**user(RESULT), "extra": 1}
    messages = [said, {"role": "user", "content": "a", "first": 0}, user(PNG), late, said]
    before = copy.deepcopy(messages)
    merged = alternate(messages)
    assert merged == [said, user(RESULT, TEXT, PNG, first=0, extra=1), said]
    assert merged[0] is merged[2] is said
    assert messages == before
    assert alternate([]) == []


RESPONSES = [
    {"role": "system", "content": "Be kind."},
    USER,
    {"role": "assistant", "content": "I look."},
    {"type": "function_call", "call_id": "c1", "name": "get", "arguments": '{"a":1}'},
    {"type": "function_call", "call_id": "c2", "name": "get", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c2", "output": "rain"},
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_text", "text": "sun"}],
    },
    {"role": "user", "content": "And now?"},
]


def test_what_all_can_say_goes_from_each_to_each():
    compact = copy.deepcopy(OPENAI)
    compact[2]["tool_calls"][0]["function"]["arguments"] = '{"a":1}'
    said = {
        "openai": ConversionResult(compact),
        "responses": ConversionResult(RESPONSES),
        "anthropic": ConversionResult(ANTHROPIC, "Be kind."),
    }
    for source, one in said.items():
        for target, expected in said.items():
            found = convert(one.messages, source=source, target=target, system=one.system)
            assert found == expected
            assert validate(found.messages, dialect=target) == []


words = st.text("ab é", min_size=1).filter(str.strip)
texts = st.lists(words, min_size=1, max_size=2)


@st.composite
def chats(draw):
    """Chat lists of what all can say."""
    messages = draw(st.sampled_from([[], [{"role": "system", "content": "Be kind."}]]))
    messages = [*messages, USER]
    for turn in range(draw(st.integers(0, 3))):
        made = [{**CALL, "id": f"c{turn}_{n}"} for n in range(draw(st.integers(1, 3)))]
        made = [{**one, "function": {"name": "get", "arguments": '{"a":1}'}} for one in made]
        content = draw(st.none() | words)
        messages.append({"role": "assistant", "content": content, "tool_calls": made})
        for one in draw(st.permutations(made)):
            answer = draw(words | texts.map(parts))
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": answer})
        messages.append({"role": "assistant", "content": draw(words | texts.map(parts))})
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
        messages.append({"role": "user", "content": draw(words | st.just([image, TEXT]))})
    return messages


def parts(said):
    return [{"type": "text", "text": text} for text in said]


@given(chats())
def test_a_round_trip_over_all_loses_nothing(messages):
    items = convert(messages, source="openai", target="responses").messages
    assert validate(items, dialect="responses") == []
    blocks = convert(items, source="responses", target="anthropic")
    assert validate(blocks.messages, dialect="anthropic") == []
    again = convert(blocks.messages, source="anthropic", target="responses", system=blocks.system)
    assert again == ConversionResult(items)
    assert convert(again.messages, source="responses", target="openai") == ConversionResult(
        messages
    )


def test_what_the_store_adds_to_items_is_no_loss():
    stored = {"id": "msg_1", "status": "completed", "type": "message"}
    part = {"type": "output_text", "text": "hi", "annotations": [], "logprobs": None}
    told = {"role": "assistant", "content": [part], **stored}
    assert convert([told], source="responses", target="openai").messages == [
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
    ]


def test_instructions_beside_items_are_a_system_prompt():
    found = convert([USER], source="responses", target="openai", system="Be kind.")
    assert found == ConversionResult([{"role": "system", "content": "Be kind."}, USER])
    with pytest.raises(ConversionError, match="the system prompt: "):
        convert([USER], source="responses", target="openai", system=[TEXT])


def test_neighbours_stay_apart_unless_one_calls():
    one, two = ({"role": "assistant", "content": text} for text in "ab")
    assert convert([one, two], source="responses", target="openai").messages == [one, two]
    call = RESPONSES[4]
    (first, second) = convert([one, two, call], source="responses", target="openai").messages
    assert first == one
    assert (second["content"], second["tool_calls"][0]["id"]) == ("b", "c2")


ASKS = RESPONSES[4]
GAVE = RESPONSES[5]
LOST_RESPONSES = [
    ([{"type": "item_reference", "id": "m"}], "an item of type 'item_reference'"),
    ([{"type": "web_search_call", "id": "w"}], "an item of type 'web_search_call'"),
    (
        [{"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"}],
        "an item of type 'custom_tool_call'",
    ),
    ([{"type": "compaction", "encrypted_content": "…"}], "an item of type 'compaction'"),
    ([{"type": "additional_tools", "role": "developer", "tools": []}], "'additional_tools'"),
    ([{"type": "item_reference", "id": "msg_1"}], "an item of type 'item_reference'"),
    ([{**USER, "mood": "calm"}], "the field 'mood' of the user message"),
    ([{**ASKS, "namespace": "n"}], "the field 'namespace'"),
    ([{**ASKS, "arguments": "[]"}], "call 'c2', whose arguments cannot be read"),
    ([user({"type": "input_file", "file_id": "f"})], "a part of type 'input_file'"),
    ([user({"type": "input_image", "file_id": "f"})], "an image without an address"),
    ([user({"type": "input_image", "image_url": "data:,x"})], "not plain base64"),
    ([GAVE], "the output of call 'c2', which is not in the list"),
]


@pytest.mark.parametrize("target", ["openai", "anthropic"])
@pytest.mark.parametrize(("items", "what"), LOST_RESPONSES)
def test_what_only_items_can_say_is_refused(items, what, target):
    with pytest.raises(ConversionError, match=rf"^message 1: .*{what}"):
        convert([USER, *items], source="responses", target=target)


def test_an_output_apart_from_its_call_has_no_place_elsewhere():
    with pytest.raises(ConversionError, match=r"^message 2: .*stands apart"):
        convert([ASKS, USER, GAVE], source="responses", target="openai")


def test_a_call_between_texts_has_no_place_in_chat():
    items = [ASKS, {"role": "assistant", "content": "hm"}, GAVE]
    with pytest.raises(ConversionError, match="the order of text and tool parts"):
        convert(items, source="responses", target="openai")
    blocks = convert(items, source="responses", target="anthropic").messages
    assert [block["type"] for block in blocks[0]["content"]] == ["tool_use", "text"]


def test_an_image_may_be_an_output_but_not_what_the_model_says():
    block = {"role": "user", "content": [{**RESULT, "content": [PNG]}]}
    (item,) = convert([block], source="anthropic", target="responses").messages
    assert item["output"][0]["image_url"] == "https://a.b/c.png"
    with pytest.raises(ConversionError, match="an image in the assistant message"):
        convert([USER, assistant(PNG)], source="anthropic", target="responses")
