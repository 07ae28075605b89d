"""Gemini Interactions: facts and units of steps, each rule on the smallest list, repair, tools."""

import copy

import pytest
from hypothesis import given, settings, strategies as st
from interaction_steps import (
    FOUND,
    IMAGE,
    SEARCH,
    STRANGE,
    STUB,
    block,
    call,
    output,
    result,
    stub,
    thought,
    user,
)

from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.messages import (
    LANGUAGES,
    Answer,
    Change,
    Facts,
    Use,
    detect,
    facts,
    known_dialect,
    repair,
    resolve,
    text_message,
    units,
    validate,
)
from warmset.messages.codec import accept, dumps

TOOLS = LANGUAGES["interactions"].tools
SAYS = {"role": "user", "content": "hi"}

FACTS = [
    (user(), Facts("user", "hi", request=True)),
    ({"type": "user_input"}, Facts("user", "", request=True)),
    (
        user(
            block("see"),
            IMAGE,
            {"type": "image", "uri": "https://a.b/plan.png?w=1"},
            {"type": "document", "uri": "https://a.b/a.pdf"},
            {"type": "video", "uri": "x", "name": "talk"},
            {"type": "audio", "data": "QUJD"},
        ),
        Facts(
            "user",
            "see\n[image]\n[image: plan.png]\n[document: a.pdf]\n[video: talk]\n[audio]",
            images=2,
            request=True,
        ),
    ),
    (output(block("a"), block("b")), Facts("assistant", "a\nb", bond=1)),
    ({"type": "model_output"}, Facts("assistant", "", bond=1)),
    (thought(summary=[block("hm"), IMAGE]), Facts("assistant", "", bond=2)),
    ({"type": "thought"}, Facts("assistant", "", bond=2)),
    (call(arguments={"a": 1}), Facts("assistant", 'f({"a":1})', ("a",), bond=2)),
    (result(), Facts("tool", "x", (), ("a",))),
    (result(said={"sun": 1}), Facts("tool", '{"sun":1}', (), ("a",))),
    (result(said=[block("x"), IMAGE]), Facts("tool", "x\n[image]", (), ("a",), images=1)),
    (result(said=[]), Facts("tool", "", (), ("a",))),
    (
        result(said=[{"type": "function", "name": "g"}]),
        Facts("tool", '{"type":"function","name":"g"}', (), ("a",)),
    ),
    (SEARCH, Facts("assistant", 'google_search({"queries":["kites"]})', bond=2)),
    (FOUND, Facts("assistant", '{"search_suggestions":"<b>kites</b>"}', bond=2)),
    (
        {"type": "mcp_server_tool_call", "id": "m", "name": "get", "arguments": {"a": 1}},
        Facts("assistant", 'get({"a":1})', bond=2),
    ),
    (
        {"type": "code_execution_result", "call_id": "c", "result": "2"},
        Facts("assistant", "2", bond=2),
    ),
    (
        {"type": "mcp_server_tool_result", "call_id": "m", "result": [{"type": "text"}, 3]},
        Facts("assistant", "3", bond=2),
    ),
    ({"type": "file_search_call", "id": "q"}, Facts("assistant", "file_search({})", bond=2)),
    ({"type": "file_search_result", "call_id": "q"}, Facts("assistant", "", bond=2)),
    (STRANGE, Facts("assistant", "[hologram_call]", bond=2)),
    ({**STRANGE, "content": [block("light")]}, Facts("assistant", "light", bond=2)),
]


@pytest.mark.parametrize(("step", "read"), FACTS)
def test_facts(step, read):
    assert resolve([step], "interactions") == "interactions"
    assert facts(step, "interactions") == read
    assert tuple(use.id for use in TOOLS.uses(step)) == read.calls
    assert tuple(answer.id for answer in TOOLS.answers(step)) == read.results


def members(*steps):
    return [unit.members for unit in units([facts(step, "interactions") for step in steps])]


def test_a_thought_stays_with_what_it_led_to():
    first = [user(), thought(), output(), user()]
    assert members(*first) == [(0,), (1, 2), (3,)]
    loop = [thought(), call("a"), call("b"), result("b"), result("a"), thought(), call(), result()]
    assert members(user(), *loop, output()) == [(0,), (1, 2, 3, 4, 5), (6, 7, 8), (9,)]
    assert members(user(), output(), output()) == [(0,), (1,), (2,)]
    assert members(user(), thought(), SEARCH, FOUND, output()) == [(0,), (1, 2, 3, 4)]
    assert members(user(), output(), call(), result()) == [(0,), (1, 2, 3)]
    assert members(user(), STRANGE, STRANGE, output(), user()) == [(0,), (1, 2, 3), (4,)]


@pytest.mark.parametrize(
    "step",
    [
        *(user(), user(IMAGE), output(), thought(), call(), result(), SEARCH, FOUND),
        {"type": "thought"},
        {"type": "tool_search_call", "id": "t", "arguments": {"function_names": ["f"]}},
    ],
)
def test_steps_are_told_from_all_other_dialects(step):
    assert detect([SAYS, step]) == "interactions"
    assert resolve([step]) == "interactions"


RESPONSES = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("message", "dialect"),
    [
        (SAYS, None),
        (STRANGE, None),
        (block(), None),
        (IMAGE, None),
        (RESPONSES, "responses"),
        ({**RESPONSES, "id": "fc_1"}, "responses"),
        ({"type": "tool_search_call", "call_id": "t", "arguments": {"q": 1}}, "responses"),
        ({"type": "tool_search_call", "execution": "server", "arguments": {}}, "responses"),
        ({"role": "model", "content": "hi"}, "gemini"),
        ({"type": "user_input", "role": "user", "content": "hi"}, None),
        ({"type": "message", "role": "user", "content": "hi"}, "responses"),
    ],
)
def test_what_others_have_is_not_claimed(message, dialect):
    assert detect([message]) == dialect
    assert LANGUAGES["interactions"].grammar.mark(message) is None


def test_names_of_the_dialect():
    for name in ("interactions", "Interactions", "gemini-interactions", "google_interactions"):
        assert known_dialect(name) == "interactions"


MALFORMED = [
    (SAYS, "a turn with the role 'user' is no step; the API takes steps, as {'type': 'user_input'"),
    ({"role": "model", "content": []}, "or 'model_output', or convert"),
    ({"role": "system", "content": "be kind"}, "pass it as system_instruction"),
    (block(), "a block of type 'text' is no step; put it into the content of one"),
    (IMAGE, "a block of type 'image' is no step"),
    ({"content": []}, "there is no type among"),
    ({"type": 3}, "there is no type among"),
    ({"type": "user_input", "content": "hi"}, "content is a str; it must be a list of blocks"),
    (user("hi"), r"content\[0\] must be a block"),
    (output({"type": "text"}), r"content\[0\] needs text"),
    (thought(3), "its signature as the string that came"),
    (thought(summary="hm"), "summary is a str"),
    (call(""), "needs id"),
    ({**call(), "id": None}, "needs id"),
    ({**call(), "name": ""}, "needs name"),
    ({**call(), "arguments": "{}"}, "needs arguments, a mapping"),
    ({**call(), "arguments": None}, "needs arguments, a mapping"),
    ({**result(), "call_id": None}, "needs call_id"),
    ({**result(), "result": None}, "needs result"),
    (result(said=[3]), r"result\[0\] must be a block"),
    ({**SEARCH, "id": None}, "a google_search_call needs id"),
    ({**SEARCH, "arguments": "{}"}, "a google_search_call needs arguments"),
    ({**FOUND, "call_id": ""}, "a google_search_result needs call_id"),
]


@pytest.mark.parametrize(("step", "why"), MALFORMED)
def test_malformed_steps_are_refused_with_their_place(step, why):
    with pytest.raises(InvalidMessageError, match=f"^message 1: .*{why}"):
        resolve([user(), step], "interactions")
    (found,) = validate([user(), step], dialect="interactions")
    assert (found.rule, found.index, found.severity) == ("shape", 1, "refused")


RULES = [
    ([], ""),
    ([user()], ""),
    ([user(), output(), user(), user()], ""),
    ([user(), thought(), call("a"), call("b"), result("b"), result("a"), output()], ""),
    ([user(), call("a"), result("a"), call("b"), result("b")], ""),
    ([user(), output(), call(), output(), result(), thought(), SEARCH, FOUND, output()], ""),
    ([user(), STRANGE, user()], ""),
    ([user(), thought()], ""),
    ([user(), result()], "1:i1"),
    ([result(), user(), result("a")], "0:i1 2:I1"),
    ([user(), call("b"), result("b"), result("a")], "3:I1"),
    ([user(), call(), result(), result()], "3:I1"),
    ([user(), result(), call()], "1:I1 2:I2"),
    ([user(), result(), call(), result()], "1:I1"),
    ([user(), call()], "1:I2"),
    ([user(), call("a"), call("b"), result("b")], "1:I2"),
    ([user(), call(), user()], "1:I2"),
    ([user(), call(), user(), result()], "3:I3"),
    ([user(), call("a"), call("b"), result("a"), thought(), result("b")], "5:I3"),
    ([user(), call("a"), call("b"), result("a"), call("c"), result("b"), result("c")], "5:I3"),
    ([user(), call(), call(), result(), result()], "2:I4"),
    ([user(), call(), result(), call(), result()], "3:i4"),
    ([user(), call(), user(), call(), result()], "1:I2 3:I4"),
    ([output(), user()], "0:i5"),
    ([thought(), call(), result()], "0:i5"),
    ([user(), thought(""), output()], "1:i6"),
    ([user(), {"type": "thought", "signature": None}, output()], "1:i6"),
    ([user(), call(), result(name=None)], "2:i7"),
    ([user(), user(content=[])], "1:i8"),
    ([user(), {"type": "user_input"}], "1:i8"),
]


def told(found):
    """Name what was found: a rule in capitals where the provider refuses."""
    names = ((one, one.rule if one.severity == "refused" else one.rule.lower()) for one in found)
    return " ".join(f"{one.index}:{name}" for one, name in names)


@pytest.mark.parametrize(("steps", "found"), RULES)
def test_rules(steps, found):
    problems = validate(steps, dialect="interactions")
    assert told(problems) == found
    assert all(one.why and one.fix and one.why != one.fix for one in problems)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([result()], ""),
        ([result("a"), result("b"), output()], ""),
        ([call("b"), result("b"), result("a")], ""),
        ([thought(), call(), result()], ""),
        ([result(), result()], "1:I1"),
        ([result(), call()], "0:I1 1:I2"),
        ([call("a"), user()], "0:I2"),
    ],
)
def test_rules_behind_what_the_provider_has_stored(steps, found):
    assert told(validate(steps, dialect="interactions", continues=True)) == found


@pytest.mark.parametrize(
    ("model", "steps", "found"),
    [
        ("", [user(), call(), result()], ""),
        ("gemini-2.5-flash", [user(), call(), result()], ""),
        ("gemini-3.5-flash", [user(), thought(), call("a"), call("b"), *map(result, "ab")], ""),
        ("gemini-3.5-flash", [user(), call("a"), call("b"), *map(result, "ab")], "1:i9"),
        ("models/gemini-3-pro", [user(), thought(), call(), result(), call("b")], "4:I2 4:i9"),
        ("gemini-12-pro", [user(), thought(""), call(), result()], "1:i6 2:i9"),
        ("gemini-3.5-flash", [user(), call(signature="c2ln"), result()], ""),
        ("gemini-3.5-flash", [user(), call(), result(), output(), user()], ""),
        ("gemini-3.5-flash", [call(), result()], "0:i5 0:i9"),
    ],
)
def test_models_that_sign_every_call(model, steps, found):
    assert told(validate(steps, dialect="interactions", model=model)) == found


@pytest.mark.parametrize(("steps", "found"), RULES)
@pytest.mark.parametrize("unanswered", ["stub", "drop"])
@pytest.mark.parametrize("continues", [False, True])
def test_every_refusal_is_mended(steps, found, unanswered, continues):
    options = {"dialect": "interactions", "continues": continues}
    refused = [one for one in validate(steps, **options) if one.severity == "refused"]
    mended = repair(steps, unanswered=unanswered, **options)
    assert all(one.severity != "refused" for one in validate(mended.messages, **options))
    assert bool(mended.changes) == bool(refused)
    assert continues or bool(refused) == (found != found.lower())


MENDED = [
    ([user(), call("b"), result("b"), result("a")], {}, [user(), call("b"), result("b")]),
    ([user(), result(), call()], {}, [user(), call(), result()]),
    ([user(), result(said="1"), call(), result()], {}, [user(), call(), result()]),
    ([user(), call(), user()], {}, [user(), call(), stub(), user()]),
    ([user(), call(), user(), result()], {}, [user(), call(), result(), user()]),
    (
        [user(), call("a"), call("b"), result("a"), thought(), result("b")],
        {},
        [user(), call("a"), call("b"), result("a"), result("b"), thought()],
    ),
    (
        [user(), thought(), call("a"), call("b"), result("b"), output()],
        {},
        [user(), thought(), call("a"), call("b"), result("b"), stub("a"), output()],
    ),
    (
        [user(), call(), call(name="g"), result(said="1"), result(said="2")],
        {},
        [user(), call(), call("a_2", "g"), result("a_2", "1"), result(said="2")],
    ),
    (
        [user(), call(), result(), call(), call(), *[result()] * 2],
        {},
        [user(), call(), result(), call(), call("a_3"), result("a_3"), result()],
    ),
    (
        [user(), call(), call(), user()],
        {},
        [user(), call(), call("a_2"), stub(), stub("a_2"), user()],
    ),
    ([user(), thought(), call(), user()], {"unanswered": "drop"}, [user(), user()]),
    (
        [user(), thought(), output(), call(), user()],
        {"unanswered": "drop"},
        [user(), thought(), output(), user()],
    ),
    (
        [user(), thought("a"), call("a"), thought("b"), call("b"), result("b")],
        {"unanswered": "drop"},
        [user(), thought("a"), thought("b"), call("b"), result("b")],
    ),
    (
        [user(), thought(), call(), user(), output()],
        {"unanswered": "drop"},
        [user(), user(), output()],
    ),
    (
        [user(), thought("a"), user(), thought("b"), call()],
        {"unanswered": "drop"},
        [user(), thought("a"), user()],
    ),
    ([thought(), call()], {"unanswered": "drop"}, [thought(), call(), stub()]),
    ([result("c"), call(), user()], {}, [result("c"), call(), stub(), user()]),
    ([result("c"), result("c")], {}, [result("c")]),
    ([result("c"), result("c"), call()], {}, [result("c"), call(), stub()]),
    (
        [call("b"), result("b"), result("a"), call("c")],
        {"continues": True},
        [call("b"), result("b"), result("a"), call("c"), stub("c")],
    ),
]


@pytest.mark.parametrize(("steps", "options", "mended"), MENDED)
def test_how_a_refusal_is_mended(steps, options, mended):
    before = copy.deepcopy(steps)
    found = repair(steps, dialect="interactions", **options)
    assert found.messages == mended
    assert steps == before


def test_a_change_names_its_rule_and_place():
    mended = repair([user(), call(), user(), result()], dialect="interactions")
    what = "the result in step 3 moved behind its call in step 1"
    assert mended.changes == [Change("I3", 1, what)]
    mended = repair([user(), thought(), call()], dialect="interactions", unanswered="drop")
    assert [(one.rule, one.index) for one in mended.changes] == [("I2", 1), ("I2", 2)]


IDS = st.sampled_from(["a", "b", "a_2"])
STEPS = st.one_of(
    st.sampled_from([user(), output(), thought(), thought("eA=="), SEARCH, FOUND, STRANGE]),
    st.sampled_from([{"type": "thought"}, {"type": "user_input"}, result(name=None)]),
    st.builds(call, IDS),
    st.builds(call, IDS),
    st.builds(result, IDS),
    st.builds(result, IDS),
)


@settings(max_examples=600, deadline=None)
@given(st.lists(STEPS, max_size=12), st.sampled_from(["stub", "drop"]), st.booleans())
def test_repair_keeps_its_promises(steps, unanswered, continues):
    options = {"dialect": "interactions", "continues": continues}
    before = [dumps(step) for step in steps]
    refused = any(one.severity == "refused" for one in validate(steps, **options))
    mended = repair(steps, unanswered=unanswered, **options)
    assert all(one.severity != "refused" for one in validate(mended.messages, **options))
    assert [dumps(step) for step in steps] == before
    assert bool(mended.changes) == refused
    assert bool(mended.messages) == bool(steps), "a list is never emptied"
    again = repair(mended.messages, unanswered=unanswered, **options)
    assert again.changes == []
    assert all(a is b for a, b in zip(again.messages, mended.messages, strict=True))
    indices = [change.index for change in mended.changes]
    assert indices == sorted(indices)
    prefix = indices[0] if indices else len(steps)
    assert all(a is b for a, b in zip(steps[:prefix], mended.messages, strict=False))
    given_thoughts = [dumps(step) for step in steps if step["type"] == "thought"]
    kept = [dumps(step) for step in mended.messages if step["type"] == "thought"]
    assert kept == given_thoughts or (unanswered == "drop" and len(kept) < len(given_thoughts))
    answered = [unit.open for unit in units([facts(s, "interactions") for s in mended.messages])]
    assert not any(answered)


def test_mending_is_linear():
    count = 5_000
    made = [call(f"c{n}") for n in range(count)]
    late = [result(f"c{n}") for n in reversed(range(count))]
    pairs = [step for _ in range(count) for step in (thought(), call("x"), result("x"))]
    mended = repair([user(), *late, *made, *pairs], dialect="interactions").messages
    assert len(mended) == 5 * count + 1
    refused = validate(mended, dialect="interactions")
    assert {one.rule for one in refused if one.severity == "refused"} == set()


def test_calls_and_results_can_be_read_and_replaced():
    made, given_result = call(arguments={"a": 1}, signature="s"), result(said=[block("sun")], n=1)
    before = copy.deepcopy([made, given_result])
    assert TOOLS.uses(made) == [Use("a", "f", '{"a":1}')]
    assert TOOLS.answers(given_result) == [Answer("a", "sun")]
    assert TOOLS.without_inputs(made, {0}) == call(signature="s")
    assert TOOLS.without_inputs(made, set()) == made
    assert TOOLS.without_inputs(SEARCH, {0}) == SEARCH
    assert TOOLS.with_answers(given_result, {0: "gone"}) == result(said="gone", n=1)
    assert TOOLS.with_answers(given_result, {}) == given_result
    assert TOOLS.with_answers(FOUND, {0: "gone"}) == FOUND
    assert [made, given_result] == before


def test_a_text_step_can_be_made():
    assert text_message("interactions", "user", "hi") == user()
    assert text_message("interactions", "assistant", "hello") == output()
    for role in ("system", "tool"):
        with pytest.raises(InvalidInputError, match=r"system_instruction|no step"):
            text_message("interactions", role, "be kind")


def test_what_the_sdk_returns_is_taken_as_it_is():
    interactions = pytest.importorskip("google.genai.interactions")
    given_steps = [
        thought(summary=[block("hm")]),
        SEARCH,
        FOUND,
        output(),
        call(arguments={"a": 1}),
    ]
    made = interactions.Interaction.model_validate({"status": "completed", "steps": given_steps})
    steps = [user(), *made.steps, result()]
    assert detect(steps) == "interactions"
    assert validate(steps) == []
    cut = repair(steps[:-1])
    assert accept(cut.messages) == [user(), *given_steps, stub()]
    assert cut.messages[1] is steps[1]
    assert cut.messages[-1]["result"] == STUB
