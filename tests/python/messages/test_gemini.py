"""Gemini contents: grammar and facts, each rule on the smallest list that breaks it, repair."""

import copy
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from warmset.errors import ConversionError, InvalidMessageError
from warmset.messages import (
    LANGUAGES,
    ConversionResult,
    alternate,
    convert,
    detect,
    facts,
    repair,
    text_message,
    units,
    validate,
)
from warmset.messages.codec import dumps

repair = partial(repair, mend="discouraged")

USER = {"role": "user", "parts": [{"text": "hi"}]}
SAID = {"role": "model", "parts": [{"text": "hello"}]}
SIGNED = {"thoughtSignature": "c2ln"}
TOOLS = LANGUAGES["gemini"].tools
STUB = {"error": "(no result: the call was interrupted)"}


def text(said="x", **more):
    return {"text": said, **more}


def call(name, key=None, **more):
    known = {} if key is None else {"id": key}
    return {"functionCall": {**known, "name": name, "args": {}}, **more}


def answer(name, key=None, response=None, **more):
    known = {} if key is None else {"id": key}
    said = {"output": "x"} if response is None else response
    return {"functionResponse": {**known, "name": name, "response": said, **more}}


def user(*parts, **more):
    return {"role": "user", "parts": list(parts), **more}


def model(*parts, **more):
    return {"role": "model", "parts": list(parts), **more}


SNAKE = [
    USER,
    model({"function_call": {"name": "f", "args": {"a": 1}}}),
    user({"function_response": {"name": "f", "response": {"output": "x"}}}),
]
RULES = [
    ([], []),
    ([USER], []),
    ([{"parts": [text()]}], []),
    ([USER, SAID, SAID, USER, USER], []),
    ([SAID, USER], ["G1"]),
    ([USER, SAID], ["G1"]),
    ([USER, model(call("f")), user(answer("f"))], []),
    ([USER, model(call("f")), {"role": "function", "parts": [answer("f")]}], []),
    (SNAKE, []),
    ([USER, model(call("f")), user(answer("f")), model(call("f")), user(answer("f"))], []),
    ([model(call("f")), user(answer("f"))], ["G1", "G2"]),
    ([USER, SAID, model(call("f")), user(answer("f"))], []),
    ([USER, model(call("f"), call("g"), call("f")), user(*map(answer, "gff"))], []),
    ([USER, model(call("f"), call("f")), user(answer("f"))], ["G3"]),
    ([USER, model(call("f")), user(answer("f"), answer("f"))], ["G3"]),
    ([USER, model(call("f")), user(answer("g"))], ["G3", "G3"]),
    ([USER, model(call("f")), USER], ["G3"]),
    ([USER, model(call("f"))], ["G1", "G3"]),
    ([USER, user(answer("f"))], ["G3"]),
    ([USER, model(call("f", "1"), call("f", "2")), user(answer("f", "2"), answer("f", "1"))], []),
    ([USER, model(call("f", "1")), user(answer("f", "2"))], ["G3", "G3"]),
    ([USER, model(call("f", "1")), user(answer("f"))], ["G3", "G3"]),
    ([USER, model(call("f")), user(answer("f", "1"))], ["G3", "G3"]),
    ([USER, model(call("f"), call("g")), user(answer("f")), user(answer("g"))], []),
    ([USER, model(call("f")), model(call("g")), user(answer("f")), user(answer("g"))], []),
    ([USER, model(call("f")), model(call("g")), user(answer("f")), SAID, USER], ["G3"]),
    ([USER, model(call("f", **SIGNED)), user(answer("f"))], []),
    ([USER, model(call("f", thoughtSignature="")), user(answer("f"))], ["G4"]),
    ([USER, model(call("f", thought_signature=7)), user(answer("f"))], ["G4"]),
    ([USER, model(text("", **SIGNED), text("", thought=True), text()), USER], []),
    ([user()], ["G5"]),
    ([USER, {"role": "model"}, USER], ["G5"]),
    ([user(text("  "))], ["G5"]),
    ([user(text(), {})], ["G5"]),
    ([user(text(), {"text": None})], ["G5"]),
    ([USER, model(text(), {**SIGNED}), USER], ["G5"]),
]


@pytest.mark.parametrize(("messages", "rules"), RULES)
def test_rules(messages, rules):
    found = validate(messages, dialect="gemini")
    assert [one.rule for one in found] == rules
    assert all(one.why and one.fix and one.why != one.fix for one in found)


@pytest.mark.parametrize(("messages", "rules"), RULES)
@pytest.mark.parametrize("unanswered", ["stub", "drop"])
def test_whatever_breaks_a_rule_is_mended(messages, rules, unanswered):
    before = copy.deepcopy(messages)
    mended = repair(messages, dialect="gemini", unanswered=unanswered)
    assert validate(mended.messages, dialect="gemini") == []
    assert bool(mended.changes) == bool(rules)
    assert messages == before


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "system", "parts": [text()]}, "systemInstruction"),
        ({"role": "assistant", "parts": [text()]}, "Gemini's is 'model'"),
        ({"role": "bot", "parts": []}, "use 'user' or 'model'"),
        ({"role": "user", "content": "x"}, "Gemini has parts"),
        ({"role": "user"}, "parts are missing"),
        ({"role": "user", "parts": "x"}, "a list of parts"),
        (user("x"), r"parts\[0\] must be a mapping"),
        (user(text(7)), "needs text, a string"),
        (user({"inlineData": "x"}), "needs inlineData, a mapping"),
        (model({**text(), **call("f")}), "says text and functionCall at once"),
        (user(call("f")), "only the model"),
        (model(answer("f")), "go into a user content"),
        (model({"functionCall": {"args": {}}}), "needs name"),
        (model(call("f", 7)), "needs a string as id"),
        (model({"function_call": {"name": "f", "args": "{}"}}), "needs args, a mapping"),
        (user(answer("f", response="x")), "needs response, a mapping"),
        (user(answer("f", parts=["x"])), "a list of mappings"),
        (user(answer("f", parts=[{"inlineData": 1}])), "needs inlineData or fileData"),
    ],
)
def test_malformed_contents_are_refused(message, why):
    with pytest.raises(InvalidMessageError, match=why):
        repair([USER, message], dialect="gemini")
    (found,) = validate([USER, message], dialect="gemini")
    assert (found.rule, found.index) == ("shape", 1)


def test_contents_are_told_by_their_look():
    assert detect([{"parts": [text()]}]) == "gemini"
    assert detect([{"role": "model"}]) == "gemini"
    assert text_message("gemini", "assistant", "x") == model(text())
    assert text_message("gemini", "user", "x") == user(text())


IMAGE = {"inlineData": {"mimeType": "image/png", "data": "QUJD", "displayName": "plan.png"}}
SOUND = {"file_data": {"mime_type": "audio/mp3", "file_uri": "https://a.b/song.mp3"}}


def test_facts():
    said = facts(
        model(text("hm", thought=True), text("I look."), call("f", "1"), call("g"), **SIGNED),
        "gemini",
    )
    assert (said.role, said.text, said.calls) == ("assistant", "I look.\nf({})\ng({})", ("1", "g"))
    assert not said.request
    responses = user(answer("f", "1"), answer("g", response={"t": 20}, parts=[IMAGE, SOUND]))
    read = facts(responses, "gemini")
    assert (read.role, read.results, read.images, read.request) == ("tool", ("1", "g"), 1, False)
    assert read.text == 'x\n{"t":20}\n[image: plan.png]\n[audio: song.mp3]'
    both = facts(user(answer("f"), text("and?")), "gemini")
    assert (both.role, both.results, both.request) == ("user", ("f",), True)
    asked = facts({"parts": [IMAGE, SOUND, {"inlineData": {}}]}, "gemini")
    assert (asked.role, asked.images, asked.request) == ("user", 1, True)
    assert asked.text == "[image: plan.png]\n[audio: song.mp3]\n[file]"
    ran = model(
        {"executableCode": {"language": "PYTHON", "code": "1+1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"toolCall": {"id": "t"}},
    )
    assert facts(ran, "gemini").text == '1+1\n2\n{"id":"t"}'
    assert facts({"role": "model"}, "gemini").text == ""


def test_units_hold_calls_by_name_together():
    messages = [USER, model(call("f"), call("f")), user(answer("f"), answer("f")), SAID]
    found = units([facts(message, "gemini") for message in messages])
    assert [unit.members for unit in found] == [(0,), (1, 2), (3,)]
    assert not any(unit.open for unit in found)


def test_tools_are_read_and_rewritten_in_copies():
    calling = model({**SNAKE[1]["parts"][0], "thought_signature": "c2ln"})
    calling["parts"].append(call("g", "1"))
    assert [(u.id, u.name, u.arguments) for u in TOOLS.uses(calling)] == [
        ("f", "f", '{"a":1}'),
        ("1", "g", "{}"),
    ]
    bare = TOOLS.without_inputs(calling, [0])
    assert bare["parts"][0] == {
        "function_call": {"name": "f", "args": {}},
        "thought_signature": "c2ln",
    }
    rich = user(answer("f", "1", {"t": 1}, parts=[IMAGE], willContinue=False), answer("g"))
    before = copy.deepcopy(rich)
    assert [(a.id, a.text) for a in TOOLS.answers(rich)] == [
        ("1", '{"t":1}\n[image: plan.png]'),
        ("g", "x"),
    ]
    cleared = TOOLS.with_answers(rich, {0: "gone"})
    assert cleared == user(answer("f", "1", {"output": "gone"}, willContinue=False), answer("g"))
    assert rich == before
    assert TOOLS.without_inputs(USER, [0]) is USER


def mend(*messages, unanswered="stub"):
    return repair(list(messages), dialect="gemini", unanswered=unanswered).messages


def test_split_and_stray_responses_are_joined_in_the_order_of_the_calls():
    calling = model(call("f"), call("g"), call("f"))
    one, two, three = (answer(name, response={"n": n}) for n, name in enumerate("fgf"))
    said = user(text("late"))
    split = [USER, calling, user(two), said, user(one, text("and"), three)]
    assert mend(*split) == split  # neighbours of one side are one content to the provider
    assert mend(*split, user(answer("h"))) == [
        USER,
        calling,
        user(one, two, three),
        said,
        user(text("and")),
    ]
    late = [USER, calling, said, user(three, one, two)]
    assert mend(*late) == late
    assert mend(*late, user(answer("h")))[2:] == [user(three, two, one), said]


def test_calls_without_responses_are_stubbed_or_dropped():
    asked = model(text("hm", thought=True), call("f", "1"))
    snake = SNAKE[1]
    assert mend(USER, asked) == [USER, asked, user(answer("f", "1", STUB))]
    assert mend(USER, snake)[2] == user({"function_response": {"name": "f", "response": STUB}})
    assert mend(USER, asked, USER, unanswered="drop") == [USER, USER]
    both = model(text(), call("f"), call("g"))
    assert mend(USER, both, user(answer("g"))) == [
        USER,
        both,
        user(answer("f", None, STUB), answer("g")),
    ]
    assert mend(USER, both, user(answer("g")), unanswered="drop") == [
        USER,
        model(text(), call("g")),
        user(answer("g")),
    ]


def test_a_response_takes_the_id_and_name_of_its_call():
    with_id, without = model(call("f", "1")), model(call("f"))
    assert mend(USER, with_id, user(answer("f")))[2] == user(answer("f", "1"))
    assert mend(USER, with_id, user(answer("g", "1")))[2] == user(answer("f", "1"))
    assert mend(USER, without, user(answer("f", "7")))[2] == user(answer("f"))
    assert mend(USER, with_id, user(answer("f", "7")))[2] == user(answer("f", "1", STUB))
    both = model(call("f", "1"), call("f", "2"))
    assert mend(USER, both, user(answer("f", "1"), answer("f")))[2] == user(
        answer("f", "1"), answer("f", "2")
    )


def test_the_ends_and_neighbours():
    calling = model(call("f"), n=1)
    assert mend(USER, SAID, SAID, calling, user(answer("f")), user(answer("g"))) == [
        USER,
        SAID,
        SAID,
        calling,
        user(answer("f")),
    ]
    assert mend(SAID) == [user(text("(continued)")), SAID, user(text("(continue)"))]
    assert mend(user(answer("f"))) == [user(text())]
    empty = text("", thoughtSignature="")
    assert mend(USER, model(empty, call("f", thoughtSignature=""), SIGNED), user(answer("f"))) == [
        USER,
        model(call("f"), text("", **SIGNED)),
        user(answer("f")),
    ]


def test_alternate_merges_the_models_contents_alone():
    responses = user(answer("f"))
    messages = [USER, USER, SAID, model(text("y"), n=1), responses, USER]
    both = model(text("hello"), text("y"), n=1)
    assert alternate(messages, "gemini") == [USER, USER, both, responses, USER]


class Content:
    """An object as Google's SDK has it."""

    def __init__(self, **fields):
        self.model_dump = lambda *, exclude_unset: exclude_unset and fields


def test_sdk_objects_are_accepted():
    part = Content(function_call=Content(name="f", args=None, id=None), text=None)
    messages = [Content(**USER), Content(role="model", parts=[part])]
    assert [one.rule for one in validate(messages)] == ["G1", "G3"]
    assert repair(messages).messages[2] == user(
        {"function_response": {"name": "f", "response": STUB}}
    )


IDS = st.sampled_from([None, None, "1", "2"])
NAMES = st.sampled_from("fg")
SIGNATURES = st.sampled_from([{}, {}, SIGNED, {"thoughtSignature": ""}, {"thought": True}])
TEXTS = st.builds(
    lambda said, more: text(said, **more), st.sampled_from(["x", "", " "]), SIGNATURES
)
CALLS = st.builds(lambda name, key, more: call(name, key, **more), NAMES, IDS, SIGNATURES)
ANSWERS = st.builds(answer, NAMES, IDS)
SPARE = st.sampled_from([{}, SIGNED, IMAGE])
MESSAGES = (
    st.builds(lambda found: user(*found), st.lists(TEXTS | ANSWERS | SPARE, max_size=4))
    | st.builds(lambda found: model(*found, n=1), st.lists(TEXTS | CALLS | SPARE, max_size=4))
    | st.builds(lambda found: model(*map(call, found)), st.lists(NAMES, min_size=1, max_size=3))
    | st.builds(lambda found: user(*map(answer, found)), st.lists(NAMES, min_size=1, max_size=3))
    | st.sampled_from([USER, SAID, {"role": "model"}, *SNAKE[1:]])
)


@settings(max_examples=400, deadline=None)
@given(st.lists(MESSAGES, max_size=8), st.sampled_from(["stub", "drop"]))
def test_repair_keeps_its_promises(messages, unanswered):
    before = [dumps(message) for message in messages]
    broken = validate(messages, dialect="gemini")
    mended = repair(messages, dialect="gemini", unanswered=unanswered)
    assert validate(mended.messages, dialect="gemini") == []
    assert [dumps(message) for message in messages] == before
    again = repair(mended.messages, dialect="gemini", unanswered=unanswered)
    assert again.changes == []
    assert all(a is b for a, b in zip(again.messages, mended.messages, strict=True))
    assert bool(mended.changes) == bool(broken)
    indices = [change.index for change in mended.changes]
    assert indices == sorted(indices)
    prefix = indices[0] if indices else len(messages)
    assert len(mended.messages) >= prefix
    assert all(a is b for a, b in zip(messages[:prefix], mended.messages, strict=False))
    merged = alternate(mended.messages, "gemini")
    assert validate(merged, dialect="gemini") == []
    read = [facts(message, "gemini") for message in mended.messages]
    assert not any(unit.open for unit in units(read))


GEMINI = [
    user(text("Weather in Paris and Rome?")),
    model(
        text("I look."),
        {"functionCall": {"id": "c1", "name": "get", "args": {"a": 1}}},
        call("get", "c2"),
    ),
    user(answer("get", "c2", {"output": "rain"}), answer("get", "c1", {"output": ["sun", "!"]})),
    user(text("And now?"), {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}),
    model(text("Wet.")),
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


def test_conversions_go_round():
    chat = convert(GEMINI, source="gemini", target="openai", system="Be kind.")
    assert chat == ConversionResult(OPENAI)
    assert convert(OPENAI, source="openai", target="gemini") == ConversionResult(GEMINI, "Be kind.")
    claude = convert(GEMINI, source="gemini", target="anthropic", system="Be kind.")
    assert validate(claude.messages, dialect="anthropic") == []
    assert claude == convert(OPENAI, source="openai", target="anthropic")
    back = convert(claude.messages, source="anthropic", target="gemini", system=claude.system)
    assert back == ConversionResult(GEMINI, "Be kind.")


def to_openai(*messages, system=None):
    return convert(messages, source="gemini", target="openai", system=system).messages


def from_openai(*messages):
    return convert(messages, source="openai", target="gemini")


def test_calls_without_ids_get_them_by_their_position():
    messages = [USER, model(call("f"), call("g"), call("f"), call("g", "call_1_1"))]
    answers = user(*map(answer, "fgf"), answer("g", "call_1_1"))
    chat = to_openai(*messages, answers)
    made = ["call_1_0", "call_1_1_", "call_1_2", "call_1_1"]
    assert [one["id"] for one in chat[1]["tool_calls"]] == made
    assert [one["tool_call_id"] for one in chat[2:]] == made
    assert to_openai(*SNAKE)[2]["tool_call_id"] == "call_1_0"
    with pytest.raises(ConversionError, match="message 4"):
        to_openai(*SNAKE[:2], USER, SAID, SNAKE[2])


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"output": "x"}, "x"),
        ({"t": 20}, '{"t":20}'),
        ({"output": {"a": 1}}, '{"output":{"a":1}}'),
        ({"output": [1]}, '{"output":[1]}'),
        ({"output": '{"a": 1}'}, '{"a": 1}'),
        ({"output": '{"output":"x"}'}, '{"output":"x"}'),
        ({"output": '{"a":1e5}'}, '{"a":1e5}'),
        ({"output": "{"}, "{"),
        ({"output": ""}, ""),
    ],
)
def test_responses_and_texts_go_round(response, content):
    gemini = [USER, model(call("f", "1")), user(answer("f", "1", response))]
    chat = to_openai(*gemini)
    assert chat[2]["content"] == content
    assert from_openai(*chat).messages == gemini


def test_images_in_responses_and_url_safe_data():
    inline = {"inline_data": {"mime_type": "image/png", "data": "-_=="}}
    gemini = [USER, model(call("f", "1")), user(answer("f", "1", {"output": ["a"]}, parts=[]))]
    gemini[2]["parts"][0]["functionResponse"]["parts"] = [inline]
    claude = convert(gemini, source="gemini", target="anthropic").messages
    source = {"type": "base64", "media_type": "image/png", "data": "+/=="}
    assert claude[2]["content"][0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "image", "source": source},
    ]
    back = convert(claude, source="anthropic", target="gemini").messages
    plain = {"inlineData": {"mimeType": "image/png", "data": "+/=="}}
    assert back[2] == user(answer("f", "1", {"output": ["a"]}, parts=[plain]))


def test_neighbours_of_the_model_are_merged_and_system_parts_are_kept():
    calling = {**OPENAI[2], "content": None}
    said = {"role": "assistant", "content": "hm"}
    there = from_openai(*OPENAI[:1] * 2, OPENAI[1], said, calling, *OPENAI[3:5])
    assert there.system == [text("Be kind."), text("Be kind.")]
    assert there.messages[1]["parts"][0] == text("hm")
    assert [one.rule for one in validate(there.messages, dialect="gemini")] == []
    chat = to_openai(USER, system=there.system)
    assert chat[0]["content"] == [{"type": "text", "text": "Be kind."}] * 2


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (model({"executableCode": {"code": "1"}}), "executableCode"),
        (user(SOUND), "fileData"),
        (user({"inlineData": {"mimeType": "audio/mp3", "data": "x"}}), "type 'audio/mp3'"),
        (user(text(ticker=1)), "the field 'ticker' of a part with text"),
        (user(answer("f")), "answers no call"),
        (user(answer("f", "1", parts=[SOUND])), "a file in a function response"),
        (model(call("f", "1"), n=1), "the field 'n'"),
        (model(text(), call("f"), text()), "the order of text and tool parts"),
    ],
)
def test_what_others_cannot_say_is_refused(message, what):
    with pytest.raises(ConversionError, match=rf"^message 1: .*{what}"):
        to_openai(USER, message)


LINKED = {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ({"role": "system", "content": "late"}, "the place of a system message"),
        ({"role": "tool", "tool_call_id": "x", "content": ""}, "has no name"),
        ({"role": "user", "content": [LINKED]}, "by its URL"),
    ],
)
def test_what_gemini_cannot_say_is_refused(message, what):
    with pytest.raises(ConversionError, match=rf"^message 1: .*{what}"):
        from_openai({"role": "user", "content": "hi"}, message)
