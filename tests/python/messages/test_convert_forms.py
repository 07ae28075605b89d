"""What a conversion has to write otherwise: errors, ids, names, ends, order, media."""

import copy

import pytest
from one_call import (
    ASK,
    CALLS,
    IMAGE,
    RESULTS,
    SAID,
    USER,
    assistant,
    lost,
    model,
    others,
    text,
    user,
)

from warmset.errors import ConversionError
from warmset.messages import DIALECTS, convert, validate

SOUND = {"type": "input_audio", "input_audio": {}}

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


# --- neighbours of one role -----------------------------------------------------------------------


def two_calls():
    """A call of two tools in two messages of the assistant, answered in two of the user."""
    use = CALLS["anthropic"]["content"][0]
    result = RESULTS["anthropic"]["content"][0]
    call = {"functionCall": {"name": "get", "args": {}}}
    answer = {"functionResponse": {"name": "get", "response": {"output": "x"}}}
    return {
        "anthropic": [
            USER,
            assistant(text("a"), use),
            assistant({**use, "id": "d"}),
            user({**result, "tool_use_id": "d"}),
            user(result, text("b")),
        ],
        "gemini": [
            ASK["gemini"],
            model({"text": "a"}, call),
            model({"functionCall": {"name": "put", "args": {}}}),
            {"role": "user", "parts": [answer]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "put", "response": {"output": "y"}}}],
            },
        ],
    }


@pytest.mark.parametrize("source", ["anthropic", "gemini"])
def test_calls_and_results_in_several_messages_are_one_turn(source):
    given = two_calls()[source]
    for target in others(source):
        found = convert(given, source=source, target=target)
        assert found.lost == ()
        refused = [v for v in validate(found.messages, dialect=target) if v.severity == "refused"]
        assert refused == []
    chat = convert(given, source=source, target="openai").messages
    assert [m["role"] for m in chat[:4]] == ["user", "assistant", "tool", "tool"]
    assert chat[1]["content"] == "a"
    ids = [call["id"] for call in chat[1]["tool_calls"]]
    assert sorted(ids) == sorted(m["tool_call_id"] for m in chat[2:4])


def test_assistant_messages_without_calls_stay_apart():
    blocks = [USER, assistant(text("a")), assistant(text("b")), USER]
    assert len(convert(blocks, source="anthropic", target="openai").messages) == 4
    last = [
        USER,
        assistant(text("a")),
        assistant(text("b")),
        CALLS["anthropic"],
        RESULTS["anthropic"],
    ]
    chat = convert(last, source="anthropic", target="openai").messages
    assert [message.get("content") for message in chat[1:3]] == [[text("a")], "b"]


def test_a_response_without_an_id_belongs_to_the_contents_right_before():
    response = {"functionResponse": {"name": "get", "response": {"output": "x"}}}
    call = model({"functionCall": {"name": "get", "args": {}}})
    given = [ASK["gemini"], call, model({"text": "a"}), {"role": "user", "parts": [response]}]
    found = convert(given, source="gemini", target="responses").messages
    assert [item.get("call_id") for item in found] == [None, "call_1_0", None, "call_1_0"]
    late = [ASK["gemini"], call, ASK["gemini"], model({"text": "a"}), given[3]]
    with pytest.raises(ConversionError, match="message 4: a response of 'get', which answers no"):
        convert(late, source="gemini", target="responses")
    dropped = convert(late, source="gemini", target="responses", lost="drop")
    assert [item.get("type", "said") for item in dropped.messages] == [
        "said", "function_call", "said", "said",
    ]  # fmt: skip


def test_results_stand_before_what_the_user_says_in_a_row():
    result = RESULTS["anthropic"]["content"][0]
    calling = assistant(
        *CALLS["anthropic"]["content"], {**CALLS["anthropic"]["content"][0], "id": "d"}
    )
    given = [
        USER,
        calling,
        user(result, text("a")),
        USER,
        user({**result, "tool_use_id": "d"}),
        SAID,
    ]
    with pytest.raises(ConversionError, match="message 4: the order of text and tool parts"):
        convert(given, source="anthropic", target="openai")
    chat = convert(given, source="anthropic", target="openai", lost="drop").messages
    assert [m["role"] for m in chat] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
        "assistant",
    ]
    assert [chat[4]["content"], chat[5]] == [[text("a")], USER]
    gemini = convert(given, source="anthropic", target="gemini", lost="drop").messages
    assert validate([*gemini, ASK["gemini"]], dialect="gemini") == []
    items = convert(given, source="anthropic", target="responses")
    assert items.lost == ()


# --- items of the provider's store ----------------------------------------------------------------


def test_an_output_whose_call_is_dropped_leaves_the_users_place():
    custom = {"type": "custom_tool_call_output", "call_id": "k", "output": "x"}
    alone = [RESULTS["responses"], CALLS["responses"], RESULTS["responses"]]
    found = convert(alone, source="responses", target="gemini", lost="drop")
    assert validate(found.messages, dialect="gemini") == []
    assert found.messages[0]["parts"] == [{"text": "(continued)"}]
    for target in others("responses"):
        ends = convert([USER, SAID, custom], source="responses", target=target, lost="drop")
        assert len(ends.messages) == (2 if target == "openai" else 3)
        nothing = convert([custom], source="responses", target=target, lost="drop")
        assert "(continue)" in str(nothing.messages)
        assert validate(nothing.messages, dialect=target) == []
    between = [CALLS["responses"], custom, {**CALLS["responses"], "call_id": "d"}]
    outputs = [RESULTS["responses"], {**RESULTS["responses"], "call_id": "d"}]
    chat = convert([USER, *between, *outputs], source="responses", target="openai", lost="drop")
    assert validate(chat.messages, dialect="openai") == []
    assert [call["id"] for call in chat.messages[1]["tool_calls"]] == ["c", "d"]
    assert len([one for one in chat.lost if one.kind == "content"]) == 1


def test_an_output_behind_the_next_calls_is_apart():
    later = {**CALLS["responses"], "call_id": "d"}
    answers = [{**RESULTS["responses"], "call_id": one, "output": one} for one in "cd"]
    items = [USER, CALLS["responses"], later, answers[1], SAID, answers[0], USER]
    with pytest.raises(ConversionError, match="message 5: the place of the output"):
        convert(items, source="responses", target="openai")
    found = convert(items, source="responses", target="openai", lost="drop")
    assert validate(found.messages, dialect="openai") == []
    assert [m["content"] for m in found.messages if m["role"] == "tool"] == ["c", "d"]


def test_a_compaction_in_words_is_a_text():
    block = {"type": "compaction", "content": "They chose Riga."}
    found = convert([assistant(block), USER], source="anthropic", target="openai")
    assert found.messages == [assistant(text("They chose Riga.")), USER]
    assert lost(found) == [(0, "the mark that a text is a summary of earlier messages")]
    failed = convert(
        [USER, assistant({"type": "compaction", "content": None}, text())],
        source="anthropic",
        target="openai",
    )
    assert failed.messages == [USER, assistant(text())]
    assert lost(failed) == [(1, "a block of type 'compaction'")]


# --- blank texts and long names -------------------------------------------------------------------


def test_blank_texts_in_results_leave_for_anthropic():
    def result(*said):
        parts = [{"type": "input_text", "text": one} for one in said]
        given = [USER, CALLS["responses"], {**RESULTS["responses"], "output": parts}]
        found = convert(given, source="responses", target="anthropic")
        assert validate(found.messages, dialect="anthropic") == []
        return found.messages[2]["content"][0]["content"], lost(found)

    assert result("a", " ", "b") == ([text("a"), text("b")], [(2, "a blank text")])
    assert result("") == ("", [(2, "a blank text")])
    referred = {**RESULTS["anthropic"]["content"][0], "content": [{"type": "tool_reference"}]}
    items = convert(
        [USER, CALLS["anthropic"], user(referred)], source="anthropic", target="responses"
    )
    assert items.messages[2]["output"] == ""


def test_a_blank_text_of_gemini_is_one_where_blank_texts_may_be():
    given = [ASK["gemini"], model({"text": "a"}, {"text": " "}), ASK["gemini"]]
    chat = convert(given, source="gemini", target="openai")
    assert chat.messages[1]["content"] == [text("a"), text(" ")]
    assert chat.lost == ()
    assert lost(convert(given, source="gemini", target="anthropic")) == [(1, "a blank text")]


def test_ids_and_names_have_a_length_and_are_not_empty():
    calling = copy.deepcopy(CALLS["openai"])
    calling["tool_calls"][0]["id"] = ""
    given = [USER, calling, {**RESULTS["openai"], "tool_call_id": ""}]
    found = convert(given, source="openai", target="anthropic").messages
    assert found[1]["content"][0]["id"] == found[2]["content"][0]["tool_use_id"] == "_"
    named = [ASK["gemini"], *copy.deepcopy([CALLS["gemini"], RESULTS["gemini"]])]
    named[1]["parts"][0]["functionCall"]["name"] = "x" * 200
    named[2]["parts"][0]["functionResponse"]["name"] = "x" * 200
    chat = convert(named, source="gemini", target="openai").messages
    assert chat[1]["tool_calls"][0]["function"]["name"] == "x" * 64
    claude = convert(named, source="gemini", target="anthropic").messages
    assert claude[1]["content"][0]["name"] == "x" * 128


def test_text_among_responses_leaves_no_empty_message():
    answer = RESULTS["gemini"]["parts"][0]
    other = {"functionResponse": {**answer["functionResponse"], "id": "d"}}
    put = {"functionCall": {"id": "d", "name": "get", "args": {}}}
    given = [
        ASK["gemini"],
        model(*CALLS["gemini"]["parts"], put),
        {"role": "user", "parts": [answer, {"text": "b"}]},
        {"role": "user", "parts": [other]},
    ]
    for target in others("gemini"):
        found = convert(given, source="gemini", target=target, lost="drop").messages
        assert validate(found, dialect=target) == []
        assert [] not in [message.get("content") for message in found]


def test_an_image_before_a_text_of_a_result_loses_its_place_in_gemini():
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    shown = {"type": "image", "source": source}
    result = {**RESULTS["anthropic"]["content"][0], "content": [shown, text()]}
    given = [USER, CALLS["anthropic"], user(result)]
    with pytest.raises(ConversionError, match="message 2: the order of texts and images"):
        convert(given, source="anthropic", target="gemini")
    found = convert(given, source="anthropic", target="gemini", lost="drop").messages
    response = found[2]["parts"][0]["functionResponse"]
    assert (response["response"], response["parts"]) == ({"output": ["a"]}, [IMAGE])
