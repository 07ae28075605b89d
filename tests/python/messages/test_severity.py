"""What a provider takes is discouraged at most, and repair leaves it as it is."""

import pytest

from warmset.errors import InvalidInputError
from warmset.messages import repair, validate

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
ASKED = {"role": "user", "parts": [{"text": "hi"}]}
TOLD = {"role": "model", "parts": [{"text": "hello"}]}


def calls(*ids):
    made = [
        {"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(i):
    return {"role": "tool", "tool_call_id": i, "content": "x"}


def uses(*ids):
    blocks = [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]
    return {"role": "assistant", "content": blocks}


def results(*ids):
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": "x"} for i in ids]
    return {"role": "user", "content": blocks}


def function_call(**more):
    return {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", **more}


OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
COMPACTED = {"type": "compaction", "encrypted_content": "x"}
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
EMPTY = {"type": "compaction", "content": ""}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}

DISCOURAGED = [
    ("openai", [calls("a"), tool("a"), calls("a"), tool("a")], "C3"),
    ("openai", [USER, {"role": "function", "name": "f", "content": "x"}], "C6"),
    ("openai", [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}], "C8"),
    ("responses", [OUTPUT], "R1"),
    ("responses", [{"type": "reasoning", "summary": [], "encrypted_content": "x"}, USER], "R3"),
    ("responses", [function_call(), COMPACTED, OUTPUT], "R6"),
    ("responses", [function_call(), OUTPUT, function_call(), OUTPUT], "R8"),
    ("anthropic", [SAID, USER], "A1"),
    ("anthropic", [USER, uses("a"), results("a"), uses("a"), results("a")], "A4"),
    (
        "anthropic",
        [
            USER,
            {"role": "assistant", "content": [*uses("a")["content"], THOUGHT]},
            results("a"),
        ],
        "A6",
    ),
    ("gemini", [TOLD, ASKED], "G1"),
    ("gemini", [ASKED, TOLD], "G1"),
    ("gemini", [ASKED, {"role": "model", "parts": [{"text": ""}]}, ASKED], "G5"),
]

ACCEPTED = [
    ("anthropic", [USER, uses("a", "b"), results("a"), results("b"), SAID]),
    ("anthropic", [USER, uses("a"), uses("b"), results("b", "a")]),
    ("anthropic", [USER, {"role": "assistant", "content": ""}]),
    ("anthropic", [USER, {"role": "assistant", "content": []}]),
    ("gemini", [ASKED, TOLD, TOLD, ASKED]),
]

REFUSED = [
    ("openai", [calls("a", "a"), tool("a")], "C3"),
    ("openai", [calls("a"), tool("a"), tool("a")], "C3"),
    ("responses", [function_call(), function_call(), OUTPUT], "R8"),
    ("anthropic", [USER, uses("a", "a"), results("a")], "A4"),
    ("anthropic", [USER, {"role": "assistant", "content": ""}, USER], "A8"),
    ("anthropic", [USER, uses("a"), {"role": "user", "content": "x"}], "A2"),
    ("anthropic", [USER, uses("a"), USER, results("a")], "A3"),
    ("anthropic", [USER, uses("a:0"), results("a:0")], "A17"),
    ("anthropic", [USER, {"role": "system", "content": [PICTURE]}, SAID], "A10"),
    ("anthropic", [{"role": "assistant", "content": [EMPTY]}, USER], "A12"),
    ("responses", [function_call(name="eye.look"), OUTPUT], "C5"),
    ("responses", [USER, {"type": "compaction", "id": "c"}], "R4"),
    ("openai", [USER | {"name": "Mary Ann"}], "C5"),
    ("gemini", [{"role": "user", "parts": [{}]}], "G5"),
    ("gemini", [{"role": "user", "parts": []}], "G5"),
    ("gemini", [{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}], "G3"),
]


@pytest.mark.parametrize(("dialect", "messages", "rule"), DISCOURAGED)
def test_a_list_that_a_provider_takes_is_left_alone(dialect, messages, rule):
    found = validate(messages, dialect=dialect)
    assert {(one.rule, one.severity) for one in found} == {(rule, "discouraged")}
    kept = repair(messages, dialect=dialect)
    assert kept.changes == []
    assert all(a is b for a, b in zip(kept.messages, messages, strict=True))
    if rule != "R1":  # the call may be stored: nothing is to be mended
        mended = repair(messages, dialect=dialect, mend="discouraged")
        assert mended.changes
        assert validate(mended.messages, dialect=dialect) == []


@pytest.mark.parametrize(("dialect", "messages"), ACCEPTED)
def test_neighbours_count_as_merged(dialect, messages):
    assert validate(messages, dialect=dialect) == []
    assert repair(messages, dialect=dialect, mend="discouraged").changes == []


@pytest.mark.parametrize(("dialect", "messages", "rule"), REFUSED)
def test_a_list_that_a_provider_refuses_is_mended(dialect, messages, rule):
    refused = {one.rule for one in validate(messages, dialect=dialect) if one.severity == "refused"}
    assert rule in refused
    mended = repair(messages, dialect=dialect).messages
    assert validate(mended, dialect=dialect) == []
    assert mended


@pytest.mark.parametrize(
    ("dialect", "messages", "left"),
    [
        ("openai", [tool("a")], USER | {"content": "x"}),
        ("openai", [{"role": "assistant", "content": None}], USER | {"content": "(continued)"}),
        ("anthropic", [results("a")], USER | {"content": "x"}),
        ("anthropic", [{"role": "user", "content": " "}], USER | {"content": "(continued)"}),
        (
            "gemini",
            [{"role": "user", "parts": [{}]}],
            {"role": "user", "parts": [{"text": "(continued)"}]},
        ),
        (
            "responses",
            [{"type": "reasoning", "summary": []}],
            USER | {"content": "(continued)"},
        ),
    ],
)
def test_repair_never_empties_a_list(dialect, messages, left):
    mended = repair(messages, dialect=dialect)
    assert mended.messages == [left]
    assert mended.changes
    assert repair([], dialect=dialect).messages == []


def test_what_to_mend_is_checked():
    with pytest.raises(InvalidInputError, match="'refused' or 'discouraged', found 'all'"):
        repair([USER], mend="all")


def test_newer_models_take_no_reply_that_was_begun_for_them():
    begun = [USER, SAID]
    for model in ("claude-opus-4-6", "claude-sonnet-5", "claude-fable-5-1", "claude-haiku-5-5"):
        (found,) = validate(begun, dialect="anthropic", model=model)
        assert (found.rule, found.index, found.severity) == ("A13", 1, "refused")
        mended = repair(begun, dialect="anthropic", model=model).messages
        assert mended == [USER, SAID, USER | {"content": "(continue)"}]
    for model in ("", "claude-opus-4-5", "claude-sonnet-4-5-20250929", "claude-3-5-haiku-latest"):
        assert validate(begun, dialect="anthropic", model=model) == []
    searches = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    paused = [USER, {"role": "assistant", "content": [searches]}]
    assert validate(paused, dialect="anthropic", model="claude-opus-4-6") == []


def test_older_models_refuse_a_thinking_turn_that_begins_with_something_else():
    content = [*uses("a")["content"], THOUGHT]
    turn = [USER, {"role": "assistant", "content": content}, results("a")]
    for model, severity in (
        ("claude-sonnet-4-5", "refused"),
        ("claude-3-7-sonnet-20250219", "refused"),
        ("claude-opus-4-6", "discouraged"),
        ("", "discouraged"),
    ):
        (found,) = validate(turn, dialect="anthropic", model=model)
        assert (found.rule, found.severity) == ("A6", severity)


def test_gemini_3_demands_the_signature_of_each_step_of_the_current_turn():
    def model(*calls):
        parts = [{"functionCall": {"name": name}, **more} for name, more in calls]
        return {"role": "model", "parts": parts}

    def answer(*names):
        responses = [{"functionResponse": {"name": n, "response": {}}} for n in names]
        return {"role": "user", "parts": responses}

    signed, bare = {"thoughtSignature": "s"}, {}
    old = [ASKED, model(("f", bare)), answer("f"), TOLD]
    new = [ASKED, model(("f", signed), ("g", bare)), answer("f", "g"), model(("f", bare))]
    messages = [*old, *new, answer("f")]
    (found,) = validate(messages, dialect="gemini", model="gemini-3-pro-preview")
    assert (found.rule, found.index, found.severity) == ("G4", 7, "refused")
    assert validate(messages, dialect="gemini", model="gemini-2.5-pro") == []
    assert validate(messages, dialect="gemini") == []
    mended = repair(messages, dialect="gemini", model="gemini-3.5-flash").messages
    assert mended[7]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"
    assert mended[:7] == messages[:7]
    assert validate(mended, dialect="gemini", model="gemini-3-pro") == []
