"""Anthropic Messages: each rule on the smallest list that breaks it, tools, and repair."""

import copy
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.messages import LANGUAGES, alternate, facts, repair, units, validate
from warmset.messages.anthropic.rules import a1_roles_alternate
from warmset.messages.codec import dumps

repair = partial(repair, mend="discouraged")

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "d"}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS = LANGUAGES["anthropic"].tools


def text(said="x", **more):
    return {"type": "text", "text": said, **more}


def use(call, **more):
    return {"type": "tool_use", "id": call, "name": "f", "input": {}, **more}


def result(call, content="x", **more):
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def serve(call, kind="server_tool_use"):
    return {"type": kind, "id": call, "name": "web_search", "input": {}}


def served(call, kind="web_search_tool_result"):
    return {"type": kind, "tool_use_id": call, "content": []}


def user(*blocks, **more):
    return {"role": "user", "content": list(blocks), **more}


def assistant(*blocks, **more):
    return {"role": "assistant", "content": list(blocks), **more}


LOOP = [USER, assistant(use("a")), user(result("a"))]
SERVED = assistant(serve("s"), served("s"), text())

RULES = [
    ([], []),
    ([USER], []),
    ([USER, USER, SAID, SAID], []),
    ([SAID], ["A1"]),
    ([USER, assistant(use("a"), use("b")), user(result("b"), result("a"), text())], []),
    ([USER, assistant(use("a"))], ["A2"]),
    ([USER, assistant(use("a")), USER], ["A2"]),
    ([USER, assistant(use("a"), use("b")), user(result("a"))], ["A2"]),
    ([USER, assistant(use("a")), user(result("a", content=[text()]), text())], []),
    ([USER, assistant(use("a")), user(text(), result("a"))], ["A3"]),
    ([USER, user(result("a"))], ["A4"]),
    ([USER, assistant(use("a")), user(result("a"), result("a"))], ["A4"]),
    ([*LOOP, assistant(use("a")), user(result("a"))], ["A4"]),
    ([*LOOP, assistant(use("b")), user(result("b"))], []),
    ([USER, SERVED, USER], []),
    ([USER, assistant(serve("m", "mcp_tool_use"), served("m", "mcp_tool_result")), USER], []),
    ([USER, assistant(text(), serve("s"))], []),
    ([USER, assistant(serve("s")), assistant(served("s"), text())], []),
    (
        [
            USER,
            assistant(serve("s"), use("a")),
            user(result("a")),
            assistant(served("s"), text()),
            USER,
        ],
        [],
    ),
    ([USER, assistant(serve("s")), USER], ["A5"]),
    ([USER, assistant(served("s"), text()), USER], ["A5"]),
    ([USER, assistant(served("s"), serve("s"), text()), USER], ["A5", "A5"]),
    ([USER, user(served("s"))], ["A5"]),
    ([USER, assistant(serve("s")), USER, assistant(served("s"), text())], ["A5", "A5"]),
    ([USER, assistant(THOUGHT, HIDDEN, text(), use("a")), user(result("a"))], []),
    ([USER, assistant(text(), use("a")), user(result("a"))], []),
    ([USER, assistant({"type": "compaction", "content": "x"}, THOUGHT, use("a"))], ["A2"]),
    ([USER, assistant(text(), THOUGHT, use("a")), user(result("a"))], ["A6"]),
    ([USER, SAID, assistant(THOUGHT, use("a")), user(result("a"))], ["A6"]),
    ([USER, assistant(text(), THOUGHT, use("a")), user(result("a"), text())], []),
    ([USER, assistant({**THOUGHT, "signature": ""}, text()), USER], ["A6"]),
    ([USER, assistant({"type": "redacted_thinking"}, text()), USER], ["A6"]),
    ([{"role": "user", "content": " "}], ["A8"]),
    ([{"role": "user", "content": []}], ["A8"]),
    ([user(text(), text("\n"))], ["A8"]),
    ([USER, assistant(use("a")), user(result("a", content=[text("")]))], ["A8"]),
    ([USER, assistant(use("a")), user(result("a", content=""))], []),
    ([USER, {"role": "assistant", "content": "so "}], ["A8"]),
    ([USER, assistant(text("so "))], ["A8"]),
    ([USER, assistant(text("so "), serve("s"))], []),
    ([USER, {"role": "assistant", "content": "so "}, USER], []),
    ([user(*[text(**MARK)] * 4)], []),
    ([user(*[text(**MARK)] * 3), user(text(**MARK), text(**MARK))], ["A11"]),
    (
        [user(*[text(**MARK)] * 3), *LOOP[1:2], user(result("a", content=[text(**MARK)], **MARK))],
        ["A11"],
    ),
    ([user(*[text(**MARK)] * 4, text(cache_control=None))], []),
    ([USER, assistant(use("a", input="{}")), user(result("a"))], ["A14"]),
    ([USER, assistant(use("a", input=None)), user(result("a"))], ["A14"]),
]


@pytest.mark.parametrize(("messages", "rules"), RULES)
def test_rules(messages, rules):
    found = validate(messages, dialect="anthropic")
    assert [one.rule for one in found] == rules
    assert all(one.why and one.fix and one.why != one.fix for one in found)


@pytest.mark.parametrize(("messages", "rules"), RULES)
@pytest.mark.parametrize("unanswered", ["stub", "drop"])
def test_whatever_breaks_a_rule_is_mended(messages, rules, unanswered):
    before = copy.deepcopy(messages)
    mended = repair(messages, dialect="anthropic", unanswered=unanswered)
    assert validate(mended.messages, dialect="anthropic") == []
    assert bool(mended.changes) == bool(rules)
    assert {change.rule for change in mended.changes} >= set(rules) - {"A3"}
    assert messages == before


def test_the_developer_role_is_a_fault_by_its_rule():
    developer = {"role": "developer", "content": "x"}
    (found,) = validate([developer], dialect="anthropic")
    assert (found.rule, found.index) == ("A9", 0)
    with pytest.raises(InvalidMessageError, match="system parameter"):
        repair([developer], dialect="anthropic")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (assistant({"type": "server_tool_use", "name": "x"}), "needs id and name"),
        (assistant({"type": "web_search_tool_result"}), "needs tool_use_id"),
        (user({"type": "tool_result", "tool_use_id": "a", "content": 1}), "type int"),
    ],
)
def test_malformed_messages_are_refused(message, why):
    (found,) = validate([message], dialect="anthropic")
    assert found.rule == "shape"
    assert why in found.why


def test_strict_alternation_is_a_predicate_of_its_own():
    assert not list(a1_roles_alternate([USER, SAID, USER]))
    assert [one.index for one in a1_roles_alternate([SAID, USER, USER, SAID])] == [0, 2]
    assert [one.index for one in a1_roles_alternate([USER, USER])] == [1]
    assert not list(a1_roles_alternate(alternate([USER, USER, SAID, SAID])))


def test_a_compaction_stays_and_a_call_of_a_split_turn_holds_to_its_result():
    assert facts(assistant({"type": "compaction", "content": "x"}), "anthropic").keep
    assert not facts(SAID, "anthropic").keep
    split = [USER, assistant(serve("s"), use("a")), user(result("a")), assistant(served("s"))]
    read = [facts(message, "anthropic") for message in split]
    assert read[1].calls == ("a", "s")
    assert [unit.members for unit in units(read)] == [(0,), (1, 2, 3)]
    assert facts(SERVED, "anthropic").calls == facts(SERVED, "anthropic").results == ()


def test_tools_are_read_and_rewritten_in_copies():
    calling = assistant(text(), use("a", input={"q": "é"}), serve("s"), use("b", input="{}"), x=1)
    assert [(u.id, u.name, u.arguments) for u in TOOLS.uses(calling)] == [
        ("a", "f", '{"q":"é"}'),
        ("b", "f", "{}"),
    ]
    bare = TOOLS.without_inputs(calling, [1])
    assert bare == assistant(
        text(), use("a", input={"q": "é"}), serve("s"), use("b", input={}), x=1
    )
    image = {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
    rich = user(result("a", content=[text("one"), image], is_error=True, **MARK), result("b", ""))
    before = copy.deepcopy(rich)
    assert [(a.id, a.text) for a in TOOLS.answers(rich)] == [
        ("a", "one\n[image: c.png]"),
        ("b", ""),
    ]
    cleared = TOOLS.with_answers(rich, {0: "gone"})
    assert cleared == user(result("a", "gone", is_error=True, **MARK), result("b", ""))
    assert rich == before
    assert TOOLS.with_answers(USER, {0: "x"}) is USER
    assert TOOLS.uses(USER) == TOOLS.answers(USER) == []


def mend(*messages, unanswered="stub"):
    return repair(list(messages), dialect="anthropic", unanswered=unanswered).messages


def stub(call):
    return result(call, "(no result: the call was interrupted)", is_error=True)


def test_a_stray_result_moves_behind_its_call_and_the_rest_stays():
    calling = assistant(use("a"), use("b"))
    assert mend(USER, calling, USER, user(result("b"), text("late")), user(result("a"))) == [
        USER,
        calling,
        user(result("a"), result("b"), text("hi")),
        user(text("late")),
    ]


def test_calls_without_results_are_stubbed_or_dropped():
    asked = assistant(THOUGHT, use("a"))
    both = assistant(text(), use("a"), use("b"))
    assert mend(USER, asked) == [USER, asked, user(stub("a"))]
    assert mend(USER, asked, USER, unanswered="drop") == [USER, USER]
    assert mend(USER, both, user(result("b"))) == [USER, both, user(result("b"), stub("a"))]
    assert mend(USER, both, user(result("b")), unanswered="drop") == [
        USER,
        assistant(text(), use("b")),
        user(result("b")),
    ]


def test_second_calls_get_ids_of_their_own_with_their_results():
    taken = [assistant(use("a_2")), user(result("a_2"))]
    assert mend(*LOOP, *LOOP[1:], *taken, *LOOP[1:]) == [
        *LOOP,
        assistant(use("a_3")),
        user(result("a_3")),
        *taken,
        assistant(use("a_4")),
        user(result("a_4")),
    ]
    assert mend(USER, assistant(use("a"), use("a")), user(result("a", "1"), result("a", "2"))) == [
        USER,
        assistant(use("a"), use("a_2")),
        user(result("a", "1"), result("a_2", "2")),
    ]


def test_inputs_are_parsed_where_they_say_a_mapping():
    def parsed(written):
        mended = mend(USER, assistant(use("a", input=written)), user(result("a")))
        return mended[1]["content"][0]["input"]

    assert parsed('{"a": [1, "é"]}') == {"a": [1, "é"]}
    deep = '{"a":' + "[" * 200 + "]" * 200 + "}"
    for bad in ("{", "[1]", '{"a": NaN}', '{"a": 1e999}', deep, None, [1], "\ud800"):
        assert parsed(bad) == {}


def test_the_latest_cache_marks_stay():
    nested = user(result("a", content=[text(**MARK)], **MARK))
    asked = user(text("1", **MARK), text("2", **MARK))
    mended = mend(asked, LOOP[1], nested, user(text(**MARK), text(**MARK)))
    assert mended[0] == user(text("1"), text("2"))
    assert mended[2] is nested
    outer_left = mend(user(text()), LOOP[1], nested, user(*[text(**MARK)] * 3))
    assert outer_left[2] == user(result("a", content=[text(**MARK)]))


def test_thinking_is_put_first_in_a_turn_of_several_messages():
    given = [USER, SAID, assistant(text("y"), THOUGHT, use("a")), user(result("a"))]
    mended = repair(given, model="claude-opus-4-1").messages
    assert mended[1] == assistant(THOUGHT, text("hello"), text("y"), use("a"))
    assert mend(*given)[1] == assistant(text("hello"), text("y"), use("a"))  # bound, perhaps


def test_small_things():
    in_place = [assistant(use("a"), use("b")), user(result("b"), result("a"))]
    assert all(a is b for a, b in zip(mend(SAID, *in_place)[2:], in_place, strict=True))
    assert mend(USER, assistant(THOUGHT, serve("s")), USER) == [USER, USER]
    assert mend(SAID) == [user("x") | {"content": "(continued)"}, SAID]
    assert mend(USER, {"role": "assistant", "content": "so \n"})[1]["content"] == "so"
    assert mend(USER, assistant(serve("s")), USER) == [USER, USER]
    assert mend(user(result("a"))) == [user("x") | {"content": "x"}]


def test_alternation_is_for_the_dialects_that_ask_for_it():
    with pytest.raises(InvalidInputError, match="gemini"):
        alternate([USER], "openai")


class Block:
    """An object as a provider's SDK has it."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, *, exclude_unset):
        assert exclude_unset
        return dict(self.fields)


def test_sdk_objects_are_accepted():
    message = {"role": "assistant", "content": [Block(**use("a"))]}
    assert validate([USER, message, user(result("a"))]) == []
    (*_, stubbed) = repair([USER, message]).messages
    assert stubbed == user(stub("a"))


IDS = st.sampled_from(["a", "b", "a_2"])
SAYINGS = st.sampled_from(["x", "", " ", "so "])
TEXTS = st.builds(text, SAYINGS) | st.builds(text, SAYINGS, cache_control=st.just({"t": 1}))
ASSISTANT = (
    TEXTS
    | st.builds(use, IDS)
    | st.builds(use, IDS, input=st.sampled_from(["{}", '{"a":1}', "no", None]))
    | st.builds(serve, st.sampled_from("st"))
    | st.builds(served, st.sampled_from("st"))
    | st.sampled_from([THOUGHT, HIDDEN, {"type": "thinking", "thinking": "x"}])
    | st.just({"type": "compaction", "content": "x"})
)
OURS = TEXTS | st.builds(
    result, IDS, st.just("x") | st.lists(TEXTS, max_size=2), cache_control=st.just({"t": 1})
)
MESSAGES = (
    st.builds(lambda said: {"role": "user", "content": said}, SAYINGS)
    | st.builds(lambda said: {"role": "assistant", "content": said}, SAYINGS)
    | st.builds(
        lambda found: user(*found, n=1),
        st.lists(
            OURS | ASSISTANT.filter(lambda block: block["type"] not in {"tool_use", "compaction"}),
            max_size=4,
        ),
    )
    | st.builds(lambda found: assistant(*found, n=1), st.lists(ASSISTANT, max_size=4))
    | st.builds(lambda ids: assistant(*map(use, ids)), st.lists(IDS, min_size=1, max_size=3))
    | st.builds(lambda ids: user(*map(result, ids)), st.lists(IDS, min_size=1, max_size=3))
)
LISTS = st.lists(MESSAGES, max_size=8)


@settings(max_examples=400, deadline=None)
@given(LISTS, st.sampled_from(["stub", "drop"]))
def test_repair_keeps_its_promises(messages, unanswered):
    before = [dumps(message) for message in messages]
    broken = validate(messages, dialect="anthropic")
    mended = repair(messages, dialect="anthropic", unanswered=unanswered)
    assert validate(mended.messages, dialect="anthropic") == []
    assert [dumps(message) for message in messages] == before
    again = repair(mended.messages, dialect="anthropic", unanswered=unanswered)
    assert again.changes == []
    assert all(map(lambda a, b: a is b, again.messages, mended.messages))
    assert bool(mended.changes) == bool(broken)
    indices = [change.index for change in mended.changes]
    assert indices == sorted(indices)
    prefix = indices[0] if indices else len(messages)
    assert len(mended.messages) >= prefix
    assert all(a is b for a, b in zip(messages[:prefix], mended.messages, strict=False))
    merged = alternate(mended.messages)
    assert validate(merged, dialect="anthropic") == []
    assert not list(a1_roles_alternate(merged))
