"""A window as the keyword arguments of a provider's call."""

from __future__ import annotations

import subprocess
import sys

import pytest

from warmset import Memory, validate
from warmset.errors import InvalidInputError
from warmset.messages import DIALECTS
from warmset.tools import definitions
from warmset.window.tool_shapes import shaped

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "read", "description": "Read a file"}
TOOLS = {
    "openai": {"type": "function", "function": {**READ, "parameters": SCHEMA}},
    "responses": {"type": "function", **READ, "parameters": SCHEMA, "strict": False},
    "anthropic": {**READ, "input_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{**READ, "parametersJsonSchema": SCHEMA}]},
    "interactions": {"type": "function", **READ, "parameters": SCHEMA},
}
LIST = {
    "openai": "messages",
    "responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
    "interactions": "input",
}
ASK = {"role": "user", "content": "Which city?"}


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def arguments(window, dialect):
    return getattr(window, dialect)()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_system_and_tools_there_is_only_the_list(chat, dialect):
    chat.append(ASK)
    for tools in (None, []):
        window = chat.window(budget=900, dialect=dialect, tools=tools)
        config = {"config": {}} if dialect == "gemini" else {}
        assert arguments(window, dialect) == {LIST[dialect]: window.messages, **config}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_system_and_tools_stand_where_the_provider_wants_them(chat, dialect):
    chat.append(ASK)
    tools = [TOOLS["openai"]]
    window = chat.window(budget=900, dialect=dialect, system="Be brief.", tools=tools)
    made = arguments(window, dialect)
    listed, given = made.pop(LIST[dialect]), [TOOLS[dialect]]
    assert validate(listed, dialect=dialect) == []
    if dialect == "gemini":
        assert made == {"config": {"system_instruction": "Be brief.", "tools": given}}
    elif dialect == "interactions":
        assert made == {"system_instruction": "Be brief.", "tools": given}
    elif dialect == "anthropic":
        assert made == {"system": "Be brief.", "tools": given}
    else:
        assert made == {"tools": given}
        assert (listed[0]["role"], listed[0]["content"]) == ("system", "Be brief.")
    assert len(listed) == (2 if dialect in ("openai", "responses") else 1)
    assert window.tools == given


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("other", DIALECTS)
def test_the_window_of_another_dialect_names_the_option(chat, dialect, other):
    chat.append(ASK)
    window = chat.window(budget=900, dialect=dialect)
    if other == dialect:
        assert arguments(window, other)
        return
    with pytest.raises(InvalidInputError, match=f"dialect {dialect}; pass dialect='{other}'"):
        arguments(window, other)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_lists_are_the_callers_to_change(chat, dialect):
    chat.append(ASK)
    window = chat.window(budget=900, dialect=dialect, tools=[TOOLS[dialect]])
    made = arguments(window, dialect)
    made[LIST[dialect]].append("more")
    made.get("config", made)["tools"].append("more")
    assert len(window.messages) == len(window.tools) == 1
    assert "more" not in arguments(window, dialect)[LIST[dialect]]


def test_results_of_parallel_calls_are_one_message_for_anthropic(chat):
    kit = chat.tools(budget=900, dialect="anthropic")
    calls = [
        {"type": "tool_use", "id": id_, "name": "search_turns", "input": {"query": "city"}}
        for id_ in ("t1", "t2")
    ]
    chat.append([ASK, {"role": "assistant", "content": calls}])
    for call in calls:
        chat.append(kit.run(call))
    chat.append({"role": "user", "content": "Go on."})
    for mode in ("full", "jit"):
        window = chat.window(budget=2_000, mode=mode, tools=kit.definitions)
        asked, answered = window.anthropic()["messages"][1:]
        assert asked["content"] == calls
        assert answered["role"] == "user"
        assert [block["type"] for block in answered["content"]] == [
            *["tool_result", "tool_result"],
            "text",
        ]
        assert [block.get("tool_use_id") for block in answered["content"]] == ["t1", "t2", None]
    assert len(chat.window(budget=2_000, mode="full").messages) == 5  # stored as they came


# --- tools ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", DIALECTS)
@pytest.mark.parametrize("target", DIALECTS)
def test_a_function_is_written_in_the_shape_of_each_dialect(source, target):
    (made,) = shaped([TOOLS[source]], target)
    assert without_no(made) == without_no(TOOLS[target])
    if source == target:
        assert made is TOOLS[source]


@pytest.mark.parametrize("source", DIALECTS)
@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("strict", [False, True])
def test_the_kits_definitions_are_rewritten_as_the_kit_writes_them(source, target, strict):
    made = shaped(definitions(source, strict=strict), target)
    known = strict and source not in ("gemini", "interactions")  # Google's have no such option
    flat = [one for tool in made for one in tool.get("functionDeclarations", [tool])]
    want = [
        one
        for tool in definitions(target, strict=known)
        for one in tool.get("functionDeclarations", [tool])
    ]
    assert [without_no(one) for one in flat] == [without_no(one) for one in want]


def without_no(tool):
    """Return a tool without `strict: False`, which is the default wherever it is not written."""
    inner = tool.get("function", {})
    plain = {key: value for key, value in tool.items() if (key, value) != ("strict", False)}
    if inner:
        plain["function"] = without_no(inner)
    return plain


def test_what_is_no_function_stays_as_it_is():
    for tool in (
        {"type": "web_search"},
        {"type": "custom", "custom": {"name": "run"}},
        {"type": "web_search_20260209", "name": "web_search"},
        {"googleSearch": {}},
    ):
        for dialect in DIALECTS:
            assert shaped([tool], dialect)[0] is tool


def test_functions_with_less_and_in_snake_case_are_read():
    bare = {"type": "function", "function": {"name": "stop"}}
    empty = {"type": "object", "properties": {}}
    assert shaped([bare], "anthropic") == [{"name": "stop", "input_schema": empty}]
    snake = {"function_declarations": [{"name": "a", "parameters": SCHEMA}, {"name": "b"}]}
    assert shaped([snake], "openai") == [
        {"type": "function", "function": {"name": "a", "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "b", "parameters": empty}},
    ]


def test_no_sdk_is_imported():
    code = (
        "import sys, warmset.window.arguments, warmset.window.result\n"
        "assert not {'openai', 'anthropic', 'google.genai'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own
