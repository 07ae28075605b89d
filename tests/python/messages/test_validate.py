"""Each rule by its name, on the smallest list that breaks it."""

import pytest

from warmset.errors import UnknownDialectError
from warmset.messages import DIALECTS, LANGUAGES, Request, Violation, validate

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}


def calls(*ids, **more):
    made = [{"id": i, "type": "function", "function": {"name": "f", "arguments": ""}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made} | more


def tool(call):
    return {"role": "tool", "tool_call_id": call, "content": ""}


def uses(*ids):
    blocks = [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]
    return {"role": "assistant", "content": blocks}


def results(*ids, content="x"):
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": content} for i in ids]
    return {"role": "user", "content": blocks}


def text(*texts, role="user"):
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def plus(message, *texts):
    return {**message, "content": message["content"] + text(*texts)["content"]}


def before(message, *texts):
    return {**message, "content": text(*texts)["content"] + message["content"]}


OPENAI = [
    ([], []),
    ([SAID, USER], []),
    ([USER, calls("a", "b"), tool("b"), tool("a"), SAID, calls("c"), tool("c")], []),
    ([USER, tool("a")], [(1, "C1")]),
    ([calls("a"), tool("a"), SAID, tool("a")], [(3, "C1"), (3, "C3")]),
    ([calls("a"), USER, tool("a")], [(0, "C2"), (2, "C1")]),
    ([calls("a", "b"), tool("b")], [(0, "C2")]),
    ([calls("a", "b"), USER], [(0, "C2"), (0, "C2")]),
    ([calls("a"), tool("a"), tool("a")], [(2, "C3")]),
    ([calls("a"), tool("a"), calls("a"), tool("a")], [(2, "C3")]),
    ([calls("a"), tool("a"), calls("a"), tool("a"), tool("a")], [(2, "C3"), (4, "C3")]),
    ([{"role": "assistant", "content": None}], [(0, "C4")]),
    ([{"role": "assistant", "content": []}], [(0, "C4"), (0, "C7")]),
    ([calls(content="hi")], [(0, "C4")]),
    ([calls()], [(0, "C4"), (0, "C4")]),
    ([{"role": "assistant", "content": ""}, {"role": "assistant", "refusal": "no"}], []),
    ([{"role": "assistant", "content": "x", "tool_calls": None}], []),
]
ANTHROPIC = [
    ([], []),
    ([USER, uses("a", "b"), plus(results("b", "a"), "go on"), SAID], []),
    ([USER, uses("a"), results("a", content=[]), text("x", role="assistant")], []),
    ([SAID], [(0, "A1")]),
    ([USER, uses("a")], [(1, "A2")]),
    ([USER, uses("a", "b"), results("a"), results("b")], []),
    ([USER, uses("a"), uses("b"), results("a"), results("b")], []),
    ([USER, uses("a", "b"), results("a"), SAID, results("b")], [(1, "A2"), (4, "A4")]),
    ([USER, uses("a"), USER, results("a")], [(3, "A3")]),
    ([USER, uses("a"), before(results("a"), "see:")], [(2, "A3")]),
    ([USER, results("a")], [(1, "A4")]),
    ([USER, uses("a"), results("a", "a")], [(2, "A4")]),
    ([USER, uses("a"), results("a"), uses("a"), results("a")], [(3, "A4")]),
    ([USER, uses("a", "a"), results("a")], [(1, "A4")]),
    ([text("")], [(0, "A8")]),
    ([text("a", " \n")], [(0, "A8")]),
    ([{"role": "user", "content": ""}], [(0, "A8")]),
    ([{"role": "user", "content": []}], [(0, "A8")]),
    ([USER, uses("a"), results("a", content=text("")["content"])], [(2, "A8")]),
    ([USER, {"role": "assistant", "content": "so "}], [(1, "A8")]),
    ([USER, text("so ", role="assistant")], [(1, "A8")]),
    ([USER, {"role": "assistant", "content": "so "}, USER], []),
]


@pytest.mark.parametrize(
    ("dialect", "messages", "found"),
    [("openai", *row) for row in OPENAI] + [("anthropic", *row) for row in ANTHROPIC],
)
def test_rules(dialect, messages, found):
    problems = validate(messages, dialect=dialect)
    assert [(problem.index, problem.rule) for problem in problems] == found
    assert all(problem.why and problem.fix for problem in problems)


def test_every_rule_is_named_by_its_predicate_and_tells_its_name_first():
    for language in LANGUAGES.values():
        for rule in language.rules(Request()):
            name = rule.__name__.split("_")[0].upper()
            assert rule.__doc__.startswith(f"{name}: ")


def test_every_dialect_is_known_in_full():
    assert tuple(LANGUAGES) == DIALECTS


def test_the_dialect_is_told_by_the_look_of_the_list():
    assert [one.rule for one in validate([USER, tool("a")])] == ["C1"]
    assert [one.rule for one in validate([SAID, results("a")])] == ["A1", "A4"]
    output = {"type": "function_call_output", "call_id": "a", "output": "x"}
    assert [one.rule for one in validate([USER, output])] == ["R1"]
    with pytest.raises(UnknownDialectError):
        validate([USER], dialect="esperanto")


def test_while_a_message_is_malformed_such_messages_alone_are_told():
    found = validate([tool("a"), {"role": "robot", "content": ""}, {"role": "user"}])
    assert [(one.rule, one.index) for one in found] == [("shape", 1), ("shape", 2)]


@pytest.mark.parametrize("what", [[USER, 3], [USER, {"role": "user", "content": float("nan")}]])
def test_what_is_no_json_is_a_violation_too(what):
    (found,) = validate(what)
    assert isinstance(found, Violation)
    assert found.rule == "shape"
    assert found.why
    assert found.fix
