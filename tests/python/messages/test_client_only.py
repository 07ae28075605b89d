"""Client-only fields: which are left out, and that the table knows the SDKs' own objects."""

from __future__ import annotations

import enum
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

from warmset.errors import InvalidMessageError, NotFiniteError
from warmset.messages import accept, dumps, repair, without_client_only
from warmset.messages.client_only import TABLE

OPEN = {
    "message": lambda made: {"role": "assistant", "content": "hi", **made},
    "tool_calls": lambda made: {"role": "assistant", "tool_calls": [{"id": "c", **made}]},
    "function": lambda made: {"role": "assistant", "tool_calls": [{"function": {"x": 1, **made}}]},
    "item": lambda made: made,
    "action": lambda made: {"type": "web_search_call", "action": {"type": "search", **made}},
    "block": lambda made: {"role": "assistant", "content": [{"text": "hi", **made}]},
    "citations": lambda made: {"role": "assistant", "content": [{"text": "", "citations": [made]}]},
    "content": lambda made: {"parts": [{"text": "hi"}], **made},
    "part": lambda made: {"role": "model", "parts": [{"text": "hi", **made}]},
    "data": lambda made: {"role": "model", "parts": [{"function_call": {"name": "f", **made}}]},
}
"""A message around a mapping in each place of the table."""

CASES = [
    pytest.param(row, kind, id=f"{row.dialect}-{kind or row.place}-{row.field}")
    for row in TABLE
    for kind in row.kinds or ("",)
]


@pytest.mark.parametrize(("row", "kind"), CASES)
def test_each_field_of_the_table_is_left_out_where_it_stands(row, kind):
    bare = {"type": kind} if kind else {}
    field = "id" if row.field == "*" else row.field
    clean = OPEN[row.place](bare)
    assert without_client_only(clean) is clean
    gone = {"null": [None], "empty": [None, []], "always": [None, [], 0, "x", {"a": 1}]}[row.when]
    for value in gone:
        assert without_client_only(OPEN[row.place]({**bare, field: value})) == clean
    for value in [] if row.when == "always" else ["x", {"a": 1}, *([[]] * (row.when == "null"))]:
        said = OPEN[row.place]({**bare, field: value})
        assert without_client_only(said) is said


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi", "parsed": 1, "audio": None, "index": 0},
        {"role": "tool", "tool_call_id": "c", "content": "hi", "annotations": None},
        {"role": "assistant", "content": None, "reasoning_content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "tool_use", "input": {"caller": None}}]},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": "{}", "index": 0}}]},
        {"role": "assistant", "tool_calls": ["index"]},
        {"role": "model", "parts": [{"functionCall": {"args": {"a": None}}}, "text"]},
        {"role": "model", "parts": [{"partMetadata": {"a": None}}]},
        {"role": "model", "parts": [{"functionResponse": {"response": {"output": None}}}]},
        {"type": "code_interpreter_call", "code": None, "outputs": None},
        {"type": "image_generation_call", "result": None},
        {"type": "function_call", "status": "completed", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": [], "id": "msg_1"},
        {"type": "unknown", "status": None},
        {"role": "assistant", "content": "hi", "model": "m"},
        {"role": "user", "content": "hi", "parts": "none"},
    ],
)
def test_everything_else_stays_as_it_is(message):
    assert without_client_only(message) is message


def test_only_what_changed_is_copied_and_the_argument_stays():
    block, call = {"type": "text", "text": "hi"}, {"id": "c", "index": 0}
    message = {"role": "assistant", "content": [block], "tool_calls": [call]}
    made = without_client_only(message)
    assert made == {"role": "assistant", "content": [block], "tool_calls": [{"id": "c"}]}
    assert made["content"] is message["content"]
    assert call == {"id": "c", "index": 0}


def test_a_whole_reply_of_anthropics_is_reduced_to_its_role_and_content():
    content = [{"type": "text", "text": "hi", "citations": None}]
    reply = {"id": "msg_1", "type": "message", "content": content, "model": "m", "usage": {}}
    made = without_client_only(reply | {"role": "assistant", "stop_reason": "end_turn"})
    assert dumps(made) == dumps({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})


# --- the SDKs' own classes ------------------------------------------------------------------------


def members(kind):
    """Return the classes of a union."""
    if get_origin(kind) is Annotated:
        return members(get_args(kind)[0])
    return [one for arg in get_args(kind) for one in members(arg)] or [kind]


def optional(model):
    """Return the fields that a dump fills with null, by the names that the API has for them."""
    return {
        field.alias or name
        for name, field in model.model_fields.items()
        if type(None) in get_args(field.annotation) and not field.is_required()
    }


def kind_of(model):
    return get_args(model.model_fields["type"].annotation)[0]


SENT_AS_NULL = {
    "code_interpreter_call": {"code", "outputs"},
    "image_generation_call": {"result"},
}
"""Fields that a request has to have, if only as null."""


def test_no_field_that_the_openai_sdk_fills_with_null_is_left_in_an_item():
    item = pytest.importorskip("openai.types.responses.response_output_item")
    seen = 0
    for model in members(item.ResponseOutputItem):
        kind = kind_of(model)
        made = {"type": kind, **dict.fromkeys(optional(model))}
        left = without_client_only(made).keys() - {"type"} - SENT_AS_NULL.get(kind, set())
        assert not left, kind
        seen += len(made) - 1
    assert seen > 50


def test_no_field_that_only_a_response_has_is_left_in_an_item():
    item = pytest.importorskip("openai.types.responses.response_output_item")
    sent = pytest.importorskip("openai.types.responses.response_input_item_param")
    inputs: dict[str, set[str]] = {}
    for param in members(sent.ResponseInputItemParam):
        hints = get_type_hints(param)
        for kind in get_args(hints.get("type")):
            for one in [kind] if isinstance(kind, str) else get_args(kind):
                inputs.setdefault(one, set()).update(hints)
    for model in members(item.ResponseOutputItem):
        kind = kind_of(model)
        names = {field.alias or name for name, field in model.model_fields.items()}
        extra = names - inputs.get(kind, names)
        made = {"type": kind, **dict.fromkeys(extra, "x")}
        assert without_client_only(made).keys() == {"type"}, kind


def test_no_field_that_the_openai_sdk_fills_with_null_is_left_in_a_message():
    chat = pytest.importorskip("openai.types.chat")
    nulls = dict.fromkeys(optional(chat.ParsedChatCompletionMessage))
    made = without_client_only({**nulls, "role": "assistant", "content": None})
    assert made == {"content": None, "role": "assistant"}


def test_no_field_that_the_anthropic_sdk_fills_with_null_is_left_in_a_block():
    types = pytest.importorskip("anthropic.types")
    for model in members(types.ContentBlock):
        made = {"type": kind_of(model), **dict.fromkeys(optional(model))}
        said = without_client_only({"role": "assistant", "content": [made]})
        assert said["content"] == [{"type": made["type"]}]


def test_a_parsed_reply_of_chats_is_taken_without_what_was_parsed():
    parsing = pytest.importorskip("openai.lib._parsing._completions")
    types = pytest.importorskip("openai.types.chat")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    told = {"role": "assistant", "content": '{"n": 1}', "refusal": None, "annotations": []}
    choice = {"index": 0, "finish_reason": "stop", "message": told | {"tool_calls": [call]}}
    plain = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    completion = types.ChatCompletion.model_validate({**plain, "choices": [choice]})
    made = parsing.parse_chat_completion(
        response_format=answer_model(), input_tools=[], chat_completion=completion
    )
    message = made.choices[0].message
    assert message.parsed.n == 1
    (taken,) = accept([message])
    assert taken == {"content": '{"n": 1}', "role": "assistant", "tool_calls": [call]}
    assert dumps(without_client_only(message.model_dump(warnings=False))) == dumps(message)


def answer_model():
    pydantic = pytest.importorskip("pydantic")
    return pydantic.create_model("Answer", n=(int, ...))


def streamed():
    """Return a message as the SDK gathers it from a stream: its calls have an index."""
    streaming = pytest.importorskip("openai.lib.streaming.chat")
    types = pytest.importorskip("openai.types.chat")
    state = streaming.ChatCompletionStreamState()
    function = {"name": "f", "arguments": "{}"}
    call = {"index": 0, "id": "c", "type": "function", "function": function}
    for delta, reason in (({"role": "assistant", "tool_calls": [call]}, None), ({}, "tool_calls")):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        state.handle_chunk(types.ChatCompletionChunk.model_validate({**chunk, "choices": [choice]}))
    return state.get_final_completion().choices[0].message


def test_a_streamed_reply_of_chats_is_taken_without_the_index_of_its_calls():
    message = streamed()
    assert message.model_dump()["tool_calls"][0]["index"] == 0
    (taken,) = accept([message])
    (call,) = taken["tool_calls"]
    assert list(call) == ["id", "function", "type"]
    assert list(call["function"]) == ["arguments", "name"]
    assert "parsed" not in taken


def test_objects_inside_of_a_dict_are_cleaned_and_the_dict_stays():
    message = streamed()
    given = {"role": "assistant", "content": None, "tool_calls": message.tool_calls}
    (taken,) = accept([given])
    assert "index" not in taken["tool_calls"][0]
    assert given["tool_calls"] is message.tool_calls


def test_parsed_items_of_responses_are_taken_under_the_names_of_the_api():
    parsing = pytest.importorskip("openai.lib._parsing._responses")
    types = pytest.importorskip("openai.types.responses")
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    part = {"type": "output_text", "text": '{"n": 1}', "annotations": [], "logprobs": []}
    told = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    plain = {"id": "r", "object": "response", "created_at": 1, "model": "m", "tools": []}
    output = [thought | {"status": None}, told | {"content": [part]}, call | {"async": True}]
    made = parsing.parse_response(
        text_format=answer_model(),
        input_tools=[],
        response=types.Response.model_validate(
            {**plain, "parallel_tool_calls": True, "tool_choice": "auto", "output": output}
        ),
    )
    assert made.output_parsed.n == 1
    assert accept(made.output) == [thought, told | {"content": [part]}, call | {"async": True}]


def test_a_parsed_reply_of_anthropics_is_taken_as_a_message():
    parsing = pytest.importorskip("anthropic.lib._parse._response")
    types = pytest.importorskip("anthropic.types")
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": None}, "caller": None}
    text = {"type": "text", "text": '{"n": 1}', "citations": None}
    reply = types.Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "content": [text, use],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    made = parsing.parse_response(output_format=answer_model(), response=reply)
    assert made.parsed_output.n == 1
    expected = [
        {"type": "text", "text": '{"n": 1}'},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": None}},
    ]
    assert accept([made]) == [{"role": "assistant", "content": expected}]
    assert accept([{"role": "assistant", "content": made.content}])[0]["content"] == expected
    assert dumps(without_client_only(made.model_dump())) == dumps(made)


def test_a_content_of_googles_is_taken_with_its_bytes_as_text():
    types = pytest.importorskip("google.genai.types")
    call = types.FunctionCall(name="f", args={"a": None}, id="1")
    part = types.Part(function_call=call, thought_signature=b"\xff\xfe")
    content = types.Content(role="model", parts=[part, types.Part(text="hi")])
    (taken,) = accept([content])
    called = {"function_call": {"id": "1", "args": {"a": None}, "name": "f"}}
    assert taken == {
        "parts": [called | {"thought_signature": "__4="}, {"text": "hi"}],
        "role": "model",
    }
    assert dumps(without_client_only(content.model_dump(mode="json"))) == dumps(content)


# --- how an object is dumped ----------------------------------------------------------------------


def test_what_the_sdk_never_sends_is_not_dumped():
    class Item:
        __api_exclude__ = frozenset({"parsed"})

        def model_dump(self, *, exclude_unset, exclude=()):
            assert exclude_unset
            fields = {"role": "user", "content": "hi", "parsed": object()}
            return {key: value for key, value in fields.items() if key not in exclude}

    assert accept([Item()]) == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("field", "error", "why"),
    [
        ({"at": float("nan")}, NotFiniteError, "nan"),
        ({"at": float("inf"), "blob": b"x"}, NotFiniteError, "is inf"),
        ({"blob": b"x", "at": 1, "list": [(1, float("-inf"))]}, NotFiniteError, "holds -inf"),
        ({"blob": b"x", 1: 2}, InvalidMessageError, "key that is no string"),
        ({"blob": b"\xff"}, InvalidMessageError, "cannot be written as JSON"),
        ({"set": object()}, InvalidMessageError, "cannot be written as JSON"),
    ],
)
def test_a_model_cannot_change_a_value_silently_when_it_writes_json(field, error, why):
    pydantic = pytest.importorskip("pydantic")
    message = pydantic.create_model("Message", role=(str, ...), content=(dict, ...))
    with pytest.raises(error, match=rf"message 0: .*{why}"):
        accept([message(role="user", content=field)])


def test_an_object_that_is_no_model_is_asked_once():
    class Item:
        def model_dump(self, *, exclude_unset):
            assert exclude_unset
            return {"role": "user", "content": b"x"}

    with pytest.raises(InvalidMessageError, match="content is of type bytes"):
        accept([Item()])


def test_dates_bytes_and_names_of_a_model_are_written_as_its_sdk_writes_them():
    pydantic = pytest.importorskip("pydantic")
    kind = enum.Enum("Kind", ["text"], type=str)
    message = pydantic.create_model(
        "Message",
        role=(str, ...),
        content=(list, ...),
        from_=(bytes, pydantic.Field(alias="from")),
        kind=(kind, ...),
    )
    made = message.model_validate({"role": "user", "content": [], "from": b"x", "kind": kind.text})
    assert accept([made]) == [{"role": "user", "content": [], "from": "x", "kind": kind.text}]


def test_repair_returns_the_callers_own_objects():
    types = pytest.importorskip("openai.types.chat")
    said = types.ChatCompletionMessage(role="assistant", content="hi", audio=None)
    user = {"role": "user", "content": "hi", "parsed": None}
    stray = {"role": "tool", "tool_call_id": "c", "content": "hi"}
    for given in ([user, said], [user, said, stray]):
        made = repair(given)
        assert len(made.messages) == 2
        assert made.messages[0] is user
        assert made.messages[1] is said
        assert bool(made.changes) == (stray in given)
    assert repair(iter([user])).messages == [user]


@pytest.mark.parametrize("given", ["text", {"role": "user", "content": "hi"}])
def test_repair_of_one_message_asks_for_a_list(given):
    with pytest.raises(InvalidMessageError, match="wrap it in a list"):
        repair(given)
