"""OpenAI Chat: each rule on the smallest list that breaks it, its mender, its calls and results."""

import copy
import re
from functools import partial

import pytest
from hypothesis import given, strategies as st

from warmset.messages import LANGUAGES, Answer, Use, facts, repair, validate

repair = partial(repair, mend="discouraged")

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
NONE = "(no result: the call was interrupted)"
TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}
FILE = {"type": "file", "file": {"file_id": "f"}}
REFUSAL = {"type": "refusal", "refusal": "no"}
TOOLS = LANGUAGES["openai"].tools


def call(i, name="f", arguments="{}"):
    return {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}}


def custom(i, name="sh", given="ls"):
    return {"id": i, "type": "custom", "custom": {"name": name, "input": given}}


def calls(*made, content=None, **more):
    made = [call(one) if isinstance(one, str) else one for one in made]
    return {"role": "assistant", "content": content, "tool_calls": made, **more}


def tool(i, content="x"):
    return {"role": "tool", "tool_call_id": i, "content": content}


def function(name, content="x"):
    return {"role": "function", "name": name, "content": content}


def legacy(name, arguments="{}"):
    function_call = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "function_call": function_call}


def said(role, *parts):
    return {"role": role, "content": list(parts)}


def instructed(role):
    return {"role": role, "content": "be kind"}


RULES = [
    ([USER, tool("a")], [(1, "C1")]),
    ([calls("a"), tool("a"), USER, tool("a")], [(3, "C1"), (3, "C3")]),
    ([calls("a"), tool("a"), tool("b")], [(2, "C1")]),
    ([calls("a", "b"), tool("b"), tool("a"), SAID, calls("c"), tool("c")], []),
    ([calls("a")], [(0, "C2")]),
    ([calls("a", "b"), tool("a"), USER], [(0, "C2")]),
    ([calls(custom("a"))], [(0, "C2")]),
    ([calls("a"), tool("a"), tool("a")], [(2, "C3")]),
    ([calls("a", "a"), tool("a")], [(0, "C3")]),
    ([calls("a"), tool("a"), calls("b"), tool("b")], []),
    ([calls(content="hi")], [(0, "C4")]),
    ([{"role": "assistant", "content": None}], [(0, "C4")]),
    ([{"role": "assistant", "content": None, "refusal": "no"}], []),
    ([{"role": "assistant", "audio": {"id": "x"}}], []),
    ([legacy("f")], []),
    ([calls(call("a", arguments={"x": 1})), tool("a")], [(0, "C5")]),
    ([calls(call("a", arguments=None)), tool("a")], [(0, "C5")]),
    ([calls(custom("a", given=["ls"])), tool("a")], [(0, "C5")]),
    ([calls(call("a", name="a.b")), tool("a")], [(0, "C5")]),
    ([calls(call("a", name="")), tool("a")], [(0, "C5")]),
    ([calls(call("a", name="n" * 65)), tool("a")], [(0, "C5")]),
    ([calls(call("a", name="n\n")), tool("a")], [(0, "C5")]),
    ([calls(custom("a", name="é")), tool("a")], [(0, "C5")]),
    ([legacy("f", arguments={})], [(0, "C5")]),
    ([legacy("a b"), function("a b")], [(0, "C5"), (1, "C5")]),
    ([calls(call("a", name="A-z_0" + "n" * 59, arguments="no json")), tool("a")], []),
    ([calls({"id": "a", "type": "odd", "odd": {"name": "a b"}}), tool("a")], []),
    ([USER, function("f")], [(1, "C6")]),
    ([legacy("f"), function("g")], [(1, "C6")]),
    ([legacy("f"), USER, function("f")], [(2, "C6")]),
    ([legacy("f"), function("f"), function("f")], [(2, "C6")]),
    ([legacy("f"), function("f"), legacy("f"), function("f")], []),
    ([said("user")], [(0, "C7")]),
    ([said("user", TEXT, REFUSAL)], [(0, "C7")]),
    ([said("assistant", IMAGE)], [(0, "C7")]),
    ([said("system", AUDIO)], [(0, "C7")]),
    ([said("developer", FILE, FILE)], [(0, "C7"), (0, "C7")]),
    ([calls("a"), {**tool("a"), "content": [IMAGE]}], [(1, "C7")]),
    ([said("user", TEXT, IMAGE, AUDIO, FILE, {"type": "hologram"})], []),
    ([said("assistant", TEXT, REFUSAL), said("system", TEXT)], []),
    ([instructed("system"), instructed("developer"), instructed("system")], [(1, "C8")]),
    ([instructed("developer"), USER, instructed("system")], [(2, "C8")]),
    ([instructed("system"), USER, instructed("system")], []),
    ([instructed("developer"), USER, instructed("developer")], []),
]


@pytest.mark.parametrize(("messages", "found"), RULES)
def test_rules(messages, found):
    problems = validate(messages, dialect="openai")
    assert [(problem.index, problem.rule) for problem in problems] == found
    assert all(problem.why and problem.fix for problem in problems)


@pytest.mark.parametrize(("messages", "found"), RULES)
@pytest.mark.parametrize("unanswered", ["stub", "drop"])
def test_every_breach_is_mended_under_the_name_of_its_rule(messages, found, unanswered):
    repaired = repair(messages, dialect="openai", unanswered=unanswered)
    assert validate(repaired.messages, dialect="openai") == []
    assert bool(repaired.changes) == bool(found)
    rules = {rule for _, rule in found}
    told_apart = {"C2"} if "C3" in rules else set()  # two calls of one id need two answers
    assert {change.rule for change in repaired.changes} <= rules | told_apart


CALLED = calls("a", "b")
LONG = "n" * 70
MENDED = [
    ([USER, tool("a"), SAID], [USER, SAID]),
    ([CALLED, tool("b"), tool("a")], [CALLED, tool("b"), tool("a")]),
    ([CALLED, USER, tool("b"), tool("a")], [CALLED, tool("a"), tool("b"), USER]),
    ([CALLED, tool("b"), USER, tool("a")], [CALLED, tool("b"), tool("a"), USER]),
    ([tool("a"), USER, calls("a")], [USER, calls("a"), tool("a")]),
    ([CALLED, tool("b")], [CALLED, tool("b"), tool("a", NONE)]),
    ([calls("a"), tool("a", "1"), tool("a", "2")], [calls("a"), tool("a", "1")]),
    (
        [calls("a"), tool("a", "1"), calls("a"), tool("a", "2"), calls("a_2"), tool("a_2")],
        [calls("a"), tool("a", "1"), calls("a_3"), tool("a_3", "2"), calls("a_2"), tool("a_2")],
    ),
    (
        [calls("a"), calls("a"), tool("a"), tool("a", "1")],
        [calls("a"), tool("a", "1"), calls("a_2"), tool("a_2")],
    ),
    ([calls("a", "a"), tool("a")], [calls("a", "a_2"), tool("a"), tool("a_2", NONE)]),
    ([calls(content="hi")], [{"role": "assistant", "content": "hi"}]),
    ([calls(), {"role": "assistant", "content": []}, USER], [USER]),
    (
        [calls(call("a", "x.y", {"k": [1]})), tool("a")],
        [calls(call("a", "x_y", '{"k":[1]}')), tool("a")],
    ),
    ([calls(call("a", LONG, None)), tool("a")], [calls(call("a", LONG[:64])), tool("a")]),
    ([calls(custom("a", "", None)), tool("a")], [calls(custom("a", "_", "")), tool("a")]),
    ([legacy("f"), USER, function("f")], [legacy("f"), function("f"), USER]),
    ([legacy("a b"), function("a b")], [legacy("a_b"), function("a_b")]),
    ([function("f"), legacy("g")], [legacy("g")]),
    ([said("user"), SAID], [SAID]),
    ([said("user", REFUSAL, TEXT)], [said("user", TEXT)]),
    ([calls("a", content=[IMAGE]), tool("a", [])], [calls("a"), tool("a", "")]),
    (
        [instructed("system"), instructed("developer")],
        [instructed("system"), instructed("system")],
    ),
]


@pytest.mark.parametrize(("messages", "mended"), MENDED)
def test_how_a_breach_is_mended(messages, mended):
    assert repair(messages, dialect="openai").messages == mended


@pytest.mark.parametrize(
    ("messages", "mended"),
    [
        ([USER, calls("a")], [USER]),
        ([calls("a", content="I look.")], [{"role": "assistant", "content": "I look."}]),
        ([CALLED, tool("b"), USER], [calls("b"), tool("b"), USER]),
        ([CALLED, USER, tool("b"), calls("a"), tool("a")], None),
        ([{**calls("a"), "refusal": "no"}], [{**legacy("f"), "refusal": "no"}]),
    ],
)
def test_calls_that_nobody_answered_may_be_dropped(messages, mended):
    found = repair(messages, dialect="openai", unanswered="drop").messages
    if mended is None:
        mended = [calls("b"), tool("b"), USER, calls("a"), tool("a")]
    elif "refusal" in mended[0]:
        mended = [{"role": "assistant", "content": None, "refusal": "no"}]
    assert found == mended


def test_changes_say_what_was_done_and_where():
    changes = repair([CALLED, USER, tool("b"), tool("z")], dialect="openai").changes
    assert [(change.rule, change.index) for change in changes] == [
        ("C2", 0),
        ("C2", 0),
        ("C1", 3),
    ]
    assert "'a'" in changes[0].what
    assert "message 2" in changes[1].what


names = st.sampled_from(["f", "g", "a b", ""])
ids = st.sampled_from(["a", "b", "a_2"])
arguments = st.sampled_from(["{}", "", None, {"x": 1}])
contents = st.sampled_from(["x", "", [TEXT], [], [IMAGE], [TEXT, REFUSAL], [{"type": "odd"}]])
broken = st.lists(
    st.one_of(
        st.builds(
            lambda role, content: {"role": role, "content": content},
            st.sampled_from(["user", "system", "developer", "assistant"]),
            contents,
        ),
        st.builds(
            lambda made, content: calls(*made, content=content),
            st.lists(
                st.builds(call, ids, names, arguments) | st.builds(custom, ids, names, arguments),
                max_size=3,
            ),
            contents | st.none(),
        ),
        st.builds(tool, ids, contents),
        st.builds(tool, ids),
        st.builds(legacy, names, arguments),
        st.builds(lambda one, two: {**one, **two}, st.builds(legacy, names), st.builds(calls, ids)),
        st.builds(function, names, contents),
        st.just(USER),
    ),
    max_size=10,
)


@given(broken, st.sampled_from(["stub", "drop"]))
def test_a_mended_list_is_valid_stays_so_and_nothing_is_touched_without_need(messages, unanswered):
    before = copy.deepcopy(messages)
    valid = validate(messages, dialect="openai") == []
    repaired = repair(messages, dialect="openai", unanswered=unanswered)
    assert messages == before
    assert validate(repaired.messages, dialect="openai") == []
    assert (repaired.changes == []) == valid
    places = [change.index for change in repaired.changes]
    assert places == sorted(places)
    untouched = min(places, default=len(messages))
    assert all(
        one is other
        for one, other in zip(repaired.messages[:untouched], messages[:untouched], strict=True)
    )
    again = repair(repaired.messages, dialect="openai", unanswered=unanswered)
    assert again.changes == []
    assert all(map(lambda one, two: one is two, again.messages, repaired.messages))


@given(broken)
def test_no_request_is_lost_and_nothing_new_is_said(messages):
    mended = repair(messages, dialect="openai").messages
    asked, kept = (
        [m["content"] for m in these if m["role"] == "user" and isinstance(m["content"], str)]
        for these in (messages, mended)
    )
    assert kept == asked or (asked == [] and len(mended) == 1)  # a list is never emptied
    texts = {m["content"] for m in messages if isinstance(m["content"], str)}
    texts |= {NONE, "", "(continued)", facts(messages[-1], "openai").text if messages else ""}
    assert {m["content"] for m in mended if isinstance(m["content"], str)} <= texts


def test_mending_is_linear():
    count = 5_000
    made = [calls(*(f"c{n}" for n in range(count)))]
    answers = [tool(f"c{n}") for n in reversed(range(count))]
    pairs = [m for n in range(count) for m in (calls("x"), tool("x"))]
    repaired = repair([*answers, *made, *pairs], dialect="openai").messages
    assert len(repaired) == 1 + 3 * count
    assert validate(repaired, dialect="openai") == []


BOTH = {**calls("a", custom("b")), "function_call": legacy("g", "{1}")["function_call"]}


@pytest.mark.parametrize(
    "message",
    [BOTH, USER, SAID, tool("a"), function("f"), said("user", IMAGE), calls(call("a", "f", {}))],
)
def test_calls_and_results_are_those_of_the_facts(message):
    read = facts(message, "openai")
    assert tuple(use.id for use in TOOLS.uses(message)) == read.calls
    assert tuple(answer.id for answer in TOOLS.answers(message)) == read.results
    assert all(f"{use.name}({use.arguments})" in read.text for use in TOOLS.uses(message))


def test_calls_and_results_can_be_read():
    assert TOOLS.uses(BOTH) == [
        Use("a", "f", "{}"),
        Use("b", "sh", "ls"),
        Use("function_call:g", "g", "{1}"),
    ]
    assert TOOLS.answers(tool("a", [TEXT, TEXT])) == [Answer("a", "a\na")]
    assert TOOLS.answers(function("f")) == [Answer("function_call:f", "x")]


def test_results_and_arguments_are_replaced_in_a_copy():
    before = copy.deepcopy(BOTH)
    emptied = TOOLS.without_inputs(BOTH, {1, 2})
    assert [use.arguments for use in TOOLS.uses(emptied)] == ["{}", "", "{}"]
    assert emptied["tool_calls"][0] is BOTH["tool_calls"][0]
    assert TOOLS.without_inputs(calls(call("a", "f", "[]")), {0}) == calls("a")
    assert TOOLS.without_inputs(BOTH, set()) == BOTH
    assert before == BOTH
    given = {**tool("a", [TEXT]), "extra": 1}
    assert TOOLS.with_answers(given, {0: "gone"}) == {**tool("a", "gone"), "extra": 1}
    assert TOOLS.with_answers(function("f"), {0: "gone"}) == function("f", "gone")
    assert TOOLS.with_answers(given, {}) == given
    assert TOOLS.with_answers(USER, {0: "gone"}) == USER


def test_names_after_mending_are_what_the_rule_asks_for():
    message = calls(call("a", "läuft/schön? " + LONG))
    (name,) = (use.name for use in TOOLS.uses(repair([message]).messages[0]))
    assert re.fullmatch(r"[a-zA-Z0-9_-]{64}", name)
