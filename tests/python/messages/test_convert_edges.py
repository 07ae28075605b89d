"""Conversions at the edges: ids that are there or not, lists of which little is left."""

import pytest

from warmset import Memory, fit
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.messages import convert, repair, validate

USER = {"role": "user", "content": "q"}
ASKED = {"role": "user", "parts": [{"text": "q"}]}
FUNCTION = {"name": "f", "arguments": "{}"}


def calls(*ids):
    made = [{"id": one, "type": "function", "function": FUNCTION} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(call, said="r"):
    return {"role": "tool", "tool_call_id": call, "content": said}


def test_a_response_without_an_id_answers_the_call_that_is_open():
    def part(kind, said, **more):
        return {kind: {"name": "g", **said, **more}}

    one, two = {"response": {"output": "one"}}, {"response": {"output": "two"}}
    given = [
        ASKED,
        {
            "role": "model",
            "parts": [
                part("functionCall", {"args": {"n": 1}}, id="b"),
                part("functionCall", {"args": {"n": 2}}),
            ],
        },
        {
            "role": "user",
            "parts": [
                part("functionResponse", one, id="b"),
                part("functionResponse", two),
            ],
        },
    ]
    made = convert(given, source="gemini", target="openai").messages
    ids = [call["id"] for call in made[1]["tool_calls"]]
    assert [(one["tool_call_id"], one["content"]) for one in made[2:]] == [
        (ids[0], "one"),
        (ids[1], "two"),
    ]


@pytest.mark.parametrize(
    ("messages", "source", "target"),
    [
        ([{"role": "assistant", "content": []}], "anthropic", "openai"),
        ([{"role": "model", "parts": [{"text": "x", "thought": True}]}], "gemini", "responses"),
        ([{"role": "system", "content": "s"}], "openai", "gemini"),
        ([{"role": "system", "content": "s"}], "openai", "interactions"),
    ],
)
def test_no_conversion_is_empty(messages, source, target):
    found = convert(messages, source=source, target=target)
    assert len(found.messages) == 1
    assert "(continue)" in str(found.messages)
    assert found.lost
    assert validate(found.messages, dialect=target) == []
    assert convert([], source=source, target=target).messages == []


def test_a_window_that_begins_with_a_call_begins_with_the_user_for_gemini():
    given = [{"role": "system", "content": "s"}, calls("a"), tool("a")]
    with Memory.open(None, embedder="lexical") as memory:
        window = memory.process(given, conversation="c", budget=900, dialect="gemini")
    said = {"role": "user", "parts": [{"text": "(Earlier messages were left out.)"}]}
    assert window.messages[0] == said
    assert validate(window.messages, dialect="gemini") == []
    piece = convert(given[1:], source="openai", target="gemini").messages
    assert piece == window.messages[1:], "a piece of a list gets no turn"


def test_a_result_stands_before_what_the_user_says_in_interactions():
    given = [
        ASKED,
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {"text": "hi"},
                {"functionResponse": {"name": "f", "response": {"output": "r"}}},
            ],
        },
    ]
    found = convert(given, source="gemini", target="interactions", lost="drop")
    kinds = [step["type"] for step in found.messages]
    assert kinds == ["user_input", "function_call", "function_result", "user_input"]
    assert validate(found.messages, dialect="interactions") == []


def test_an_empty_id_becomes_one():
    given = [USER, calls(""), tool("")]
    found = convert(given, source="openai", target="interactions")
    assert validate(found.messages, dialect="interactions") == []
    assert found.messages[1]["id"] == found.messages[2]["call_id"] == "_"


def test_repair_looks_at_what_it_mended_again():
    begun = [{"role": "assistant", "content": []}]
    more = {"dialect": "anthropic", "model": "claude-opus-5"}
    mended = repair(begun, **more).messages
    assert [one for one in validate(mended, **more) if one.severity == "refused"] == []
    assert repair(mended, **more).changes == []


@pytest.mark.parametrize("mode", ["jit", "recency"])
def test_a_list_without_a_user_is_never_emptied(mode):
    lone = [{"role": "assistant", "content": "hello " * 50}]
    agent = [{"role": "system", "content": "be an agent"}, calls("a"), tool("a", "word " * 300)]
    with Memory.open(None, embedder="lexical") as memory:
        for name, given in (("lone", lone), ("agent", agent)):
            with pytest.raises(BudgetTooSmall) as caught:
                memory.process(given, conversation=name, budget=40, mode=mode)
            window = memory.process(given, conversation=name, budget=caught.value.need, mode=mode)
            assert window.messages[-1] == given[-1]
            with pytest.raises(BudgetTooSmall):
                fit(given, budget=40)
            with pytest.raises(BudgetTooSmall):
                memory.conversation(name).fit(budget=40)


def test_tools_are_mappings():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("c")
        conversation.append(USER)
        with pytest.raises(InvalidInputError, match="tools: expected definitions"):
            conversation.window(budget=900, tools=[5])
