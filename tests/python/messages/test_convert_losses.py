"""What a conversion leaves out: metadata is listed, content is an error or, on demand, dropped."""

import copy

import pytest

from warmset.errors import ConversionError, InvalidInputError
from warmset.messages import DIALECTS, Lost, convert, validate

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
MARK = {"cache_control": {"type": "ephemeral"}}
CALLS = {
    "openai": {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}
        ],
    },
    "responses": {"type": "function_call", "call_id": "c", "name": "get", "arguments": "{}"},
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "get", "input": {}}],
    },
    "gemini": {
        "role": "model",
        "parts": [{"functionCall": {"id": "c", "name": "get", "args": {}}}],
    },
}
RESULTS = {
    "openai": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "responses": {"type": "function_call_output", "call_id": "c", "output": "x"},
    "anthropic": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}],
    },
    "gemini": {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c", "name": "get", "response": {"output": "x"}}}],
    },
}
ASK = {"gemini": {"role": "user", "parts": [{"text": "hi"}]}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}


def ask(dialect):
    return ASK.get(dialect, USER)


def text(said="a", **more):
    return {"type": "text", "text": said, **more}


def user(*parts, **more):
    return {"role": "user", "content": list(parts), **more}


def assistant(*parts, **more):
    return {"role": "assistant", "content": list(parts), **more}


def model(*parts, **more):
    return {"role": "model", "parts": list(parts), **more}


def others(dialect):
    return [one for one in DIALECTS if one != dialect]


def lost(found):
    return [(one.index, one.what) for one in found.lost]


def called(dialect, **more):
    """A call with further fields, on the call itself."""
    made = copy.deepcopy(CALLS[dialect])
    place = {
        "openai": lambda: made["tool_calls"][0],
        "responses": lambda: made,
        "anthropic": lambda: made["content"][0],
        "gemini": lambda: made["parts"][0],
    }
    place[dialect]().update(more)
    return made


THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
FIELD = "the field {!r} of {}"
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


# --- results that are errors ----------------------------------------------------------------------


@pytest.mark.parametrize("said", ["no", '{"code":7}', '{"a": 1}', '{"output":"x"}', ""])
def test_an_error_is_an_error_in_anthropic_and_gemini(said):
    failed = user({"type": "tool_result", "tool_use_id": "c", "content": said, "is_error": True})
    blocks = [USER, CALLS["anthropic"], failed]
    gemini = convert(blocks, source="anthropic", target="gemini")
    assert gemini.lost == ()
    response = gemini.messages[2]["parts"][0]["functionResponse"]["response"]
    assert set(response) == {"error"}
    back = convert(gemini.messages, source="gemini", target="anthropic")
    assert back.messages == blocks
    for target, result in (("openai", "content"), ("responses", "output")):
        found = convert(blocks, source="anthropic", target=target)
        assert found.messages[2][result] == said
        assert lost(found) == [(2, "the mark that a tool result is an error")]
        assert found.lost[0].kind == "metadata"


def test_an_error_of_several_parts_goes_round():
    shown = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
    }
    parts = [text("a"), text("b"), shown]
    failed = user({"type": "tool_result", "tool_use_id": "c", "content": parts, "is_error": True})
    blocks = [USER, CALLS["anthropic"], failed]
    gemini = convert(blocks, source="anthropic", target="gemini").messages
    response = gemini[2]["parts"][0]["functionResponse"]
    assert response["response"] == {"error": ["a", "b"]}
    assert convert(gemini, source="gemini", target="anthropic").messages == blocks


@pytest.mark.parametrize(
    "response", [{"error": None}, {"error": "no", "code": 1}, {"error": "no", "output": "x"}]
)
def test_what_is_more_than_an_error_is_an_output(response):
    said = copy.deepcopy(RESULTS["gemini"])
    said["parts"][0]["functionResponse"]["response"] = response
    given = [ASK["gemini"], CALLS["gemini"], said]
    found = convert(given, source="gemini", target="anthropic")
    assert "is_error" not in found.messages[2]["content"][0]
    assert convert(found.messages, source="anthropic", target="gemini").messages == given


def test_an_output_that_looks_like_an_error_is_none():
    told = {**RESULTS["openai"], "content": '{"error":"no"}'}
    chat = [USER, CALLS["openai"], told]
    there = convert(chat, source="openai", target="gemini").messages
    assert there[2]["parts"][0]["functionResponse"]["response"] == {"output": '{"error":"no"}'}
    assert convert(there, source="gemini", target="openai").messages[2] == told


# --- ids and names --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai", "responses", "gemini"])
def test_a_repeated_id_becomes_one_of_its_own(target):
    blocks = [USER, *[CALLS["anthropic"], RESULTS["anthropic"]] * 2, USER]
    found = convert(blocks, source="anthropic", target=target)
    assert validate(found.messages, dialect=target) == []
    assert lost(found) == [(3, "the id 'c' of a call, now 'c_2'")]


def test_ids_and_names_are_written_with_what_the_target_allows():
    calling = copy.deepcopy(CALLS["openai"])
    calling["tool_calls"][0]["id"] = "functions.get:0"
    again = copy.deepcopy(calling)
    again["tool_calls"][0]["id"] = "functions_get_0"
    results = [
        {**RESULTS["openai"], "tool_call_id": one["tool_calls"][0]["id"]}
        for one in (calling, again)
    ]
    chat = [USER, calling, results[0], again, results[1]]
    found = convert(chat, source="openai", target="anthropic")
    assert [m["content"][0]["id"] for m in found.messages[1::2]] == [
        "functions_get_0",
        "functions_get_0_2",
    ]
    assert [m["content"][0]["tool_use_id"] for m in found.messages[2::2]] == [
        "functions_get_0",
        "functions_get_0_2",
    ]
    assert [index for index, _ in lost(found)] == [1, 3]
    assert convert(chat, source="openai", target="responses").lost == ()
    named = copy.deepcopy([CALLS["gemini"], RESULTS["gemini"]])
    named[0]["parts"][0]["functionCall"]["name"] = "files:read.all"
    named[1]["parts"][0]["functionResponse"]["name"] = "files:read.all"
    for target in others("gemini"):
        found = convert([ASK["gemini"], *named], source="gemini", target=target)
        name = "files:read.all" if target == "interactions" else "files_read_all"
        assert name in str(found.messages[1])
        renamed = (1, "the name 'files:read.all' of a function, now 'files_read_all'")
        assert lost(found) == ([] if target == "interactions" else [renamed])
        assert validate(found.messages, dialect=target) == []


# --- messages of which nothing is left ------------------------------------------------------------

ONLY_SOUND = user(SOUND)
NOTHING = "the user message, as nothing is left in it"


def test_a_message_of_which_nothing_is_left_leaves():
    found = convert(
        [USER, SAID, ONLY_SOUND, SAID, USER], source="openai", target="responses", lost="drop"
    )
    assert found.messages == [USER, SAID, SAID, USER]
    assert lost(found) == [(2, "a part of type 'input_audio'"), (2, NOTHING)]
    assert [one.kind for one in found.lost] == ["content", "metadata"]
    silent = [USER, {"role": "assistant", "content": ""}, user(), {"role": "user", "content": " "}]
    there = convert(silent, source="openai", target="anthropic")
    assert there.messages == [USER]
    assert {index for index, _ in lost(there)} == {1, 2, 3}
    kept = convert(silent, source="openai", target="responses")
    assert kept.messages == [USER, silent[1], silent[3]]


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
def test_ends_that_were_the_users_stay_so(target):
    def said(messages):
        found = convert(messages, source="openai", target=target, lost="drop")
        assert validate(found.messages, dialect=target) == []
        texts = [m.get("content") or m["parts"][0]["text"] for m in found.messages]
        return texts, [what for _, what in lost(found) if what.startswith("the user")]

    assert said([ONLY_SOUND, SAID, USER]) == (
        ["(continued)", "hello", "hi"],
        [f"{NOTHING} but '(continued)'"],
    )
    assert said([ONLY_SOUND, ONLY_SOUND, SAID, USER])[0] == ["(continued)", "hello", "hi"]
    assert said([USER, SAID, ONLY_SOUND]) == (
        ["hi", "hello", "(continue)"],
        [f"{NOTHING} but '(continue)'"],
    )
    assert said([ONLY_SOUND]) == (["(continue)"], [f"{NOTHING} but '(continue)'"])
    assert said([ONLY_SOUND, USER]) == (["hi"], [NOTHING])
    assert said([USER, ONLY_SOUND]) == (["hi"], [NOTHING])
    assert said([USER, SAID, USER, ONLY_SOUND, SAID, USER])[1] == [NOTHING]


def test_nothing_is_added_at_ends_that_were_the_assistants():
    for target in DIALECTS:
        found = convert([SAID], source="openai", target=target)
        assert len(found.messages) == 1
        assert found.lost == ()


def test_white_space_at_the_end_of_anthropics_last_message_is_left_out():
    ends = [USER, {"role": "assistant", "content": "so: \n"}]
    found = convert(ends, source="openai", target="anthropic")
    assert found.messages[1]["content"] == "so:"
    assert lost(found) == [(1, "white space at the end of the last message")]
    assert validate(found.messages, dialect="anthropic") == []
    middle = convert([*ends, USER], source="openai", target="anthropic")
    assert (middle.messages[1]["content"], middle.lost) == ("so: \n", ())


# --- order ----------------------------------------------------------------------------------------


def test_the_order_of_parts_is_kept_or_an_error():
    late = assistant(*CALLS["anthropic"]["content"], text("after"))
    blocks = [USER, late, RESULTS["anthropic"]]
    with pytest.raises(ConversionError, match="message 1: the order of text and tool parts"):
        convert(blocks, source="anthropic", target="openai")
    found = convert(blocks, source="anthropic", target="openai", lost="drop")
    assert found.messages == [USER, {**CALLS["openai"], "content": "after"}, RESULTS["openai"]]
    mixed = {"role": "user", "parts": [{"text": "b"}, *RESULTS["gemini"]["parts"]]}
    given = [ASK["gemini"], CALLS["gemini"], mixed]
    assert validate(given, dialect="gemini") == []
    for target in ("openai", "anthropic"):
        with pytest.raises(ConversionError, match="message 2: the order of text and tool parts"):
            convert(given, source="gemini", target=target)
        dropped = convert(given, source="gemini", target=target, lost="drop")
        assert validate(dropped.messages, dialect=target) == []
    kept = convert(given, source="gemini", target="responses")
    assert [item.get("type", "said") for item in kept.messages] == [
        "said",
        "function_call",
        "said",
        "function_call_output",
    ]


@pytest.mark.parametrize("target", others("responses"))
def test_an_output_apart_from_its_call_is_moved_to_it(target):
    items = [USER, CALLS["responses"], SAID | {"content": "wait"}, USER, RESULTS["responses"], USER]
    with pytest.raises(
        ConversionError, match="message 4: the place of the output that stands apart"
    ):
        convert(items, source="responses", target=target)
    found = convert(items, source="responses", target=target, lost="drop")
    assert validate(found.messages, dialect=target) == []
    assert "'x'" in str(found.messages[2])


def test_images_that_the_target_cannot_hold_are_dropped_and_the_result_stays():
    png = {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
    shown = user({"type": "tool_result", "tool_use_id": "c", "content": [png]})
    blocks = [USER, CALLS["anthropic"], shown, user(png, text())]
    chat = convert(blocks, source="anthropic", target="openai", lost="drop")
    assert chat.messages[2] == {"role": "tool", "tool_call_id": "c", "content": ""}
    assert lost(chat) == [(2, "an image in a tool result")]
    gemini = convert(blocks, source="anthropic", target="gemini", lost="drop")
    assert [index for index, _ in lost(gemini)] == [2, 3]
    assert validate([*gemini.messages], dialect="gemini") == []
    drawn = [ASK["gemini"], model(IMAGE, {"text": "a"}), ASK["gemini"]]
    for target in sorted({*others("gemini")} - {"interactions"}):
        with pytest.raises(ConversionError, match="message 1: an image in the assistant message"):
            convert(drawn, source="gemini", target=target)
        found = convert(drawn, source="gemini", target=target, lost="drop")
        assert validate(found.messages, dialect=target) == []
