"""What a conversion leaves out: metadata is listed, content is an error or, on demand, dropped."""

import copy

import pytest
from one_call import (
    ASK,
    CALLS,
    IMAGE,
    MARK,
    RESULTS,
    SAID,
    USER,
    ask,
    assistant,
    called,
    lost,
    model,
    others,
    text,
    user,
)

from warmset.errors import ConversionError, InvalidInputError
from warmset.messages import Lost, convert, validate

THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
METADATA = [
    (
        "openai",
        [{**SAID, "reasoning_content": "hm"}],
        ["the field 'reasoning_content' of the assistant message"],
    ),
    (
        "openai",
        [{**SAID, "annotations": [{"url": "x"}], "id": "m"}],
        ["fields 'annotations' and 'id'"],
    ),
    ("openai", [user(text(**MARK))], ["the field 'cache_control' of a text part"]),
    ("openai", [{**USER, **MARK}], ["the field 'cache_control' of the user message"]),
    (
        "openai",
        [assistant({"type": "thinking", "thinking": "hm"}, text())],
        ["a part of type 'thinking'"],
    ),
    (
        "openai",
        [called("openai", index=0, extra_content={"g": 1}), RESULTS["openai"]],
        ["the fields 'extra_content' and 'index' of a tool call"],
    ),
    (
        "openai",
        [CALLS["openai"], {**RESULTS["openai"], "name": "get"}],
        ["'name' of the tool message"],
    ),
    (
        "openai",
        [assistant({"type": "refusal", "refusal": "no"})],
        ["the mark that a text is a refusal"],
    ),
    ("openai", [{"role": "assistant", "content": None, "refusal": "no"}], ["is a refusal"]),
    (
        "responses",
        [{"type": "reasoning", "id": "rs", "summary": []}, SAID],
        ["an item of type 'reasoning'"],
    ),
    (
        "responses",
        [{"type": "item_reference", "id": "rs_1"}, SAID],
        ["an item of type 'item_reference'"],
    ),
    (
        "responses",
        [
            {"type": "tool_search_call", "arguments": {}, "execution": "server"},
            {"type": "tool_search_output", "tools": []},
        ],
        ["tool_search_call", "tool_search_output"],
    ),
    ("responses", [{"type": "configuration_update", "reasoning": {}}], ["'configuration_update'"]),
    ("responses", [{"type": "mcp_list_tools", "id": "m", "tools": []}], ["'mcp_list_tools'"]),
    (
        "responses",
        [{**SAID, "type": "message", "id": "msg_1", "status": "incomplete", "phase": "x"}],
        ["the fields 'id' and 'phase' and 'status' of the assistant message"],
    ),
    (
        "responses",
        [
            called("responses", id="fc", status="completed", caller={"type": "direct"}),
            {**RESULTS["responses"], "id": "fco", "name": "get"},
        ],
        ["'caller' and 'id' and 'status'", "'id' and 'name'"],
    ),
    ("responses", [assistant({"type": "refusal", "refusal": "no"})], ["is a refusal"]),
    (
        "responses",
        [assistant({"type": "output_text", "text": "a", "annotations": [1], "logprobs": [1]})],
        ["the fields 'annotations' and 'logprobs' of a text part"],
    ),
    (
        "anthropic",
        [assistant(THINKING, {"type": "redacted_thinking", "data": "x"}, text())],
        ["a block of type 'thinking'", "a block of type 'redacted_thinking'"],
    ),
    ("anthropic", [user(text(**MARK))], ["the field 'cache_control' of a text block"]),
    (
        "anthropic",
        [assistant(text(citations=[{"x": 1}]))],
        ["the field 'citations' of a text block"],
    ),
    (
        "anthropic",
        [
            called("anthropic", caller={"type": "direct"}, **MARK),
            user({**RESULTS["anthropic"]["content"][0], **MARK}),
        ],
        ["'cache_control' and 'caller' of a tool_use", "'cache_control' of a tool_result"],
    ),
    (
        "anthropic",
        [
            CALLS["anthropic"],
            user(
                {
                    **RESULTS["anthropic"]["content"][0],
                    "content": [{"type": "tool_reference", "tool_name": "x"}],
                }
            ),
        ],
        ["a block of type 'tool_reference'"],
    ),
    (
        "anthropic",
        [
            assistant(
                {
                    "type": "server_tool_use",
                    "id": "s",
                    "name": "tool_search_tool_regex",
                    "input": {},
                },
                {"type": "tool_search_tool_result", "tool_use_id": "s", "content": {}},
                text(),
            )
        ],
        ["'server_tool_use'", "'tool_search_tool_result'"],
    ),
    (
        "anthropic",
        [
            assistant(
                text(),
                id="msg",
                type="message",
                model="m",
                stop_reason="end_turn",
                stop_sequence=None,
                usage={"input_tokens": 1},
            )
        ],
        ["the fields 'id' and 'model' and 'stop_reason' and 'usage' of the assistant message"],
    ),
    ("gemini", [model({"text": "hm", "thought": True}, {"text": "a"})], ["a thought"]),
    ("gemini", [model({"text": "a", "thoughtSignature": "s"})], ["the field 'thoughtSignature'"]),
    (
        "gemini",
        [model({"text": "", "thoughtSignature": "s"}, {"text": "a"})],
        ["a part that says nothing"],
    ),
    ("gemini", [model({"text": "a"}, {"thoughtSignature": "s"})], ["a part that says nothing"]),
    (
        "gemini",
        [called("gemini", thought_signature="s"), RESULTS["gemini"]],
        ["'thought_signature'"],
    ),
    (
        "gemini",
        [{"role": "user", "parts": [{"text": "a", "videoMetadata": {"fps": 1}}]}],
        ["the field 'videoMetadata' of a part with text"],
    ),
    (
        "gemini",
        [
            {
                "role": "user",
                "parts": [{"inlineData": {**IMAGE["inlineData"], "displayName": "plan.png"}}],
            }
        ],
        ["'displayName'"],
    ),
]


@pytest.mark.parametrize(
    ("source", "messages", "whats", "target"),
    [(*row, target) for row in METADATA for target in others(row[0])],
)
def test_metadata_is_left_out_and_listed(source, messages, whats, target):
    given = [ask(source), *messages, ask(source)]
    before = copy.deepcopy(given)
    found = convert(given, source=source, target=target)
    assert given == before
    assert [one.kind for one in found.lost] == ["metadata"] * len(whats)
    assert all(what in one.what for what, one in zip(whats, found.lost, strict=True))
    assert all(1 <= one.index <= len(messages) for one in found.lost)
    assert validate(found.messages, dialect=target) == []
    dropped = convert(given, source=source, target=target, lost="drop")
    assert dropped == found


def test_what_is_said_and_called_stays_without_its_marks():
    thought = assistant(THINKING, text("look", **MARK), *CALLS["anthropic"]["content"])
    found = convert([USER, thought, RESULTS["anthropic"]], source="anthropic", target="openai")
    assert found.messages == [USER, {**CALLS["openai"], "content": "look"}, RESULTS["openai"]]
    refused = {"role": "assistant", "content": None, "refusal": "I will not."}
    said = convert([USER, refused], source="openai", target="anthropic").messages[1]
    assert said == assistant(text("I will not."))


def test_a_list_without_losses_has_an_empty_tuple():
    assert convert([USER, SAID], source="openai", target="gemini").lost == ()
    marked = [user(text(**MARK))]
    assert convert(marked, source="anthropic", target="anthropic").lost == ()


def test_what_is_the_default_is_no_loss():
    auto = {"type": "image_url", "image_url": {"url": "https://a.b/c", "detail": "auto"}}
    assert convert([user(auto)], source="openai", target="responses").lost == ()
    high = {"type": "image_url", "image_url": {"url": "https://a.b/c", "detail": "high"}}
    (one,) = convert([user(high)], source="openai", target="responses").lost
    assert (one.kind, one.what) == ("metadata", "the field 'detail' of an image")
    stored = {"type": "input_image", "image_url": "https://a.b/c", "file_id": "f", "detail": "auto"}
    (one,) = convert([user(stored)], source="responses", target="openai").lost
    assert (one.kind, one.what) == ("metadata", "the field 'file_id' of an image")


def test_losses_of_the_system_prompt_have_no_index_and_come_first():
    system = [text("Be kind.", **MARK)]
    found = convert(
        [assistant(THINKING, text())], source="anthropic", target="openai", system=system
    )
    assert found.lost == (
        Lost(None, "the field 'cache_control' of a text block", "metadata"),
        Lost(0, "a block of type 'thinking'", "metadata"),
    )
    assert found.messages[0] == {"role": "system", "content": [text("Be kind.")]}
    parts = [{"text": "Be kind.", "thoughtSignature": "s"}]
    there = convert([ASK["gemini"]], source="gemini", target="openai", system=parts)
    assert [one.index for one in there.lost] == [None]


SOUND = {"type": "input_audio", "input_audio": {}}
FILE = {"type": "document", "source": {"type": "base64"}}
CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
SEARCHED = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
]
CONTENT = [
    ("openai", [user(SOUND, text())], ["a part of type 'input_audio'"]),
    ("openai", [{**USER, "name": "ann"}], ["the field 'name' of the user message"]),
    ("openai", [{**SAID, "audio": {"id": "x"}}], ["the field 'audio'"]),
    (
        "openai",
        [{"role": "assistant", "content": None, "tool_calls": [CUSTOM]}, RESULTS["openai"]],
        ["a tool call of type 'custom'", "the result of call 'c', which is lost itself"],
    ),
    (
        "openai",
        [
            {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
            {"role": "function", "name": "g", "content": "x"},
        ],
        ["a function call without an id", "the result of a function call without an id"],
    ),
    (
        "openai",
        [user({"type": "image_url", "image_url": {}}, text())],
        ["an image_url without a url"],
    ),
    (
        "responses",
        [user({"type": "input_file", "file_id": "f"}, {"type": "input_text", "text": "a"})],
        ["a part of type 'input_file'"],
    ),
    (
        "responses",
        [{"type": "web_search_call", "id": "ws", "status": "completed"}, SAID],
        ["an item of type 'web_search_call'"],
    ),
    (
        "responses",
        [
            {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "x"},
        ],
        ["'custom_tool_call'", "'custom_tool_call_output'"],
    ),
    (
        "responses",
        [called("responses", arguments='{"a":'), RESULTS["responses"]],
        [
            "call 'c', whose arguments cannot be read",
            "the output of call 'c', which is lost itself",
        ],
    ),
    (
        "responses",
        [{"type": "compaction", "encrypted_content": "x"}],
        ["an item of type 'compaction'"],
    ),
    ("anthropic", [user(FILE, text())], ["a block of type 'document'"]),
    (
        "anthropic",
        [assistant(*SEARCHED, text("found"))],
        ["'server_tool_use'", "'web_search_tool_result'"],
    ),
    (
        "anthropic",
        [called("anthropic", input="x"), RESULTS["anthropic"]],
        ["call 'c', whose input is no mapping", "the result of call 'c', which is lost itself"],
    ),
    (
        "anthropic",
        [
            CALLS["anthropic"],
            user({**RESULTS["anthropic"]["content"][0], "content": [FILE, text()]}),
        ],
        ["'document'"],
    ),
    (
        "gemini",
        [
            model(
                {"executableCode": {"code": "1"}},
                {"codeExecutionResult": {"output": "1"}},
                {"text": "a"},
            )
        ],
        ["a part with executableCode", "a part with codeExecutionResult"],
    ),
    (
        "gemini",
        [{"role": "user", "parts": [{"fileData": {"fileUri": "x"}}, {"text": "a"}]}],
        ["a part with fileData"],
    ),
    (
        "gemini",
        [{"role": "user", "parts": [{"inlineData": {"mimeType": "audio/mp3", "data": "x"}}]}],
        ["inline data of type 'audio/mp3'"],
    ),
]


@pytest.mark.parametrize(
    ("source", "messages", "whats", "target"),
    [(*row, target) for row in CONTENT for target in others(row[0])],
)
def test_content_is_an_error_or_dropped_with_its_partner(source, messages, whats, target):
    given = [ask(source), *messages, ask(source)]
    before = copy.deepcopy(given)
    with pytest.raises(ConversionError, match=r"^message [12]: .* would be lost; take it out"):
        convert(given, source=source, target=target)
    found = convert(given, source=source, target=target, lost="drop")
    assert given == before
    content = [one.what for one in found.lost if one.kind == "content"]
    assert len(content) == len(whats)
    assert all(what in one for what, one in zip(whats, content, strict=True))
    assert validate(found.messages, dialect=target) == []
    again = convert(found.messages, source=target, target=source, system=found.system)
    assert validate(again.messages, dialect=source) == []


def test_an_unknown_word_for_lost_is_refused():
    with pytest.raises(InvalidInputError, match="'error' or 'drop', found 'ignore'"):
        convert([USER], source="openai", target="gemini", lost="ignore")
    with pytest.raises(InvalidInputError, match="'error' or 'drop'"):
        convert([USER], source="openai", target="openai", lost=None)


def test_a_call_of_a_dropped_id_that_can_be_read_keeps_its_result():
    bad = called("responses", arguments="[")
    items = [USER, bad, RESULTS["responses"], CALLS["responses"], RESULTS["responses"]]
    found = convert(items, source="responses", target="openai", lost="drop")
    assert found.messages == [USER, CALLS["openai"], RESULTS["openai"]]
    blocks = [USER, called("anthropic", input=1), RESULTS["anthropic"]]
    both = [*blocks, CALLS["anthropic"], RESULTS["anthropic"]]
    found = convert(both, source="anthropic", target="openai", lost="drop")
    assert found.messages == [USER, CALLS["openai"], RESULTS["openai"]]
    custom = {"role": "assistant", "content": None, "tool_calls": [CUSTOM]}
    chat = [USER, custom, RESULTS["openai"], CALLS["openai"], RESULTS["openai"]]
    found = convert(chat, source="openai", target="responses", lost="drop")
    assert found.messages == [USER, CALLS["responses"], RESULTS["responses"]]


def test_empty_arguments_are_none():
    calling = copy.deepcopy(CALLS["openai"])
    calling["tool_calls"][0]["function"]["arguments"] = ""
    found = convert([USER, calling, RESULTS["openai"]], source="openai", target="anthropic")
    assert found.messages[1] == CALLS["anthropic"]
    assert lost(found) == [(1, "the empty arguments of call 'c', now {}")]
