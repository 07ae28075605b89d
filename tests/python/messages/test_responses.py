"""OpenAI Responses: each rule on the smallest list that breaks it, and its mender."""

import copy
from functools import partial

import pytest
from hypothesis import given, strategies as st
from responses_items import (
    ASKED,
    COMPACTED,
    LOST,
    PAIRS,
    REASONED,
    SAID,
    SEALED,
    SEARCHED,
    STRANGE,
    TOLD,
    USER,
    approval,
    approved,
    call,
    computer,
    custom,
    local,
    output,
    patch,
    program,
    reference,
    search,
    shell,
)

from warmset.messages import repair, validate

repair = partial(repair, mend="discouraged")

FOUND = {"type": "tool_search_output", "call_id": "a", "tools": []}
NONE = "(no result: the call was interrupted)"
RULES = [
    ([], []),
    ([USER, REASONED, call("a"), call("b"), output("b"), output("a"), SAID], []),
    ([call("a"), USER, output("a")], []),
    ([output("a")], [(0, "R1")]),
    ([output("a"), call("a")], [(0, "R1"), (1, "R2")]),
    ([call("a"), output("a"), output("a")], [(2, "R1")]),
    ([custom("a"), output("a")], [(0, "R2"), (1, "R1")]),
    ([reference("fc_1"), output("a")], []),
    ([reference("msg_1"), output("a")], [(1, "R1")]),
    ([reference("fc_1"), output("a"), output("a")], [(2, "R1")]),
    ([reference("fc_1"), output("a"), call("a"), output("a")], [(1, "R1")]),
    ([output("a"), reference("fc_1")], [(0, "R1")]),
    ([{"type": "function_call_output", "name": "f", "output": "x"}], []),
    ([call("a")], [(0, "R2")]),
    ([call("a"), call("b"), output("a")], [(1, "R2")]),
    ([{**search(), "call_id": None, "execution": "server"}], []),
    ([{**search(), "execution": "server"}], []),
    ([{**search(), "execution": "server"}, FOUND], []),
    ([search()], [(0, "R2")]),
    ([search(), FOUND], []),
    ([FOUND], [(0, "R1")]),
    ([program(), call("a"), output("a")], []),
    ([{"type": "program_output", "call_id": "p", "result": "1"}], [(0, "R1")]),
    ([REASONED], [(0, "R3")]),
    ([REASONED, USER], [(0, "R3")]),
    ([call("a"), REASONED, output("a")], [(1, "R3")]),
    ([REASONED, {"role": "developer", "content": "x"}, SAID], [(0, "R3")]),
    ([REASONED, SEALED, SAID], [(0, "R3")]),
    ([REASONED, SEALED, TOLD], []),
    ([REASONED, SAID], [(0, "R3")]),
    ([SEALED, SAID], []),
    ([REASONED, call("a"), output("a")], []),
    ([REASONED, SEALED], [(0, "R3"), (1, "R3")]),
    ([REASONED, SEARCHED, SEALED, TOLD], []),
    ([REASONED, reference("msg_1")], []),
    ([REASONED, STRANGE], []),
    ([LOST, SAID], [(0, "R4")]),
    ([{**LOST, "id": "", "encrypted_content": None}, SAID], [(0, "R4")]),
    ([call("a"), COMPACTED, output("a")], [(2, "R6")]),
    ([call("a"), output("a"), COMPACTED, USER], []),
    ([COMPACTED, call("a"), output("a")], []),
    ([SEARCHED, SEARCHED], [(1, "R7")]),
    ([TOLD, reference("msg_1")], [(1, "R7")]),
    ([reference("msg_1"), reference("msg_1")], [(1, "R7")]),
    ([TOLD, {**TOLD, "id": "msg_2"}, reference("msg_3")], []),
    ([call("a", id="fc_1"), output("a", id="fc_1")], [(1, "R7")]),
    ([local("a"), {"type": "local_shell_call_output", "id": "a", "output": "x"}], []),
    ([call("a"), output("a"), call("a"), output("a")], [(2, "R8")]),
    ([call("a"), output("a"), output("a"), call("a"), output("a")], [(2, "R1"), (3, "R8")]),
    ([call("a"), custom("a"), output("a"), PAIRS[1][1]], [(1, "R8")]),
    ([approval(), approval(), approved()], [(1, "R8")]),
    *(([made, answer], []) for made, answer in PAIRS),
    *(([made], [(0, "R2")]) for made, _ in PAIRS),
    *(([answer], [(0, "R1")]) for _, answer in PAIRS),
]


@pytest.mark.parametrize(("items", "found"), RULES)
def test_rules(items, found):
    problems = validate(items, dialect="responses")
    assert [(problem.index, problem.rule) for problem in problems] == found
    assert all(problem.why and problem.fix for problem in problems)


@pytest.mark.parametrize(("items", "found"), RULES)
@pytest.mark.parametrize("unanswered", ["stub", "drop"])
def test_every_breach_is_mended(items, found, unanswered):
    repaired = repair(items, dialect="responses", unanswered=unanswered)
    left = validate(repaired.messages, dialect="responses")
    assert all(one.rule == "R1" and one.severity == "discouraged" for one in left)
    assert validate(repaired.messages, dialect="responses", continues=True) == []
    assert bool(repaired.changes) == bool(len(found) > len(left))


MENDED = [
    ([reference("fc_1"), output("a"), output("a")], [reference("fc_1"), output("a")]),
    (
        [{**TOLD, "id": "mcpr_1_2"}, approval(), approved(), approval(), approved()],
        [
            {**TOLD, "id": "mcpr_1_2"},
            approval(),
            approved(),
            approval("mcpr_1_3"),
            approved("mcpr_1_3"),
        ],
    ),
    ([USER, output("a"), SAID], [USER, output("a"), SAID]),
    ([USER, call("b"), output("b"), output("a")], [USER, call("b"), output("b")]),
    ([output("a"), USER, call("a"), SAID], [USER, call("a"), SAID, output("a")]),
    ([call("a"), output("a", "1"), output("a", "2")], [call("a"), output("a", "1")]),
    ([REASONED, call("a"), call("b")], None),
    ([REASONED, computer("a"), USER], [USER]),
    ([USER, REASONED], [USER]),
    ([LOST, SAID], [SAID]),
    ([call("a"), SAID, COMPACTED, output("a")], [call("a"), SAID, output("a"), COMPACTED]),
    (
        [call("a"), REASONED, COMPACTED, output("a")],
        [call("a"), output("a"), COMPACTED],  # the reasoning stood behind something else
    ),
    ([reference("msg_1"), TOLD], [TOLD]),
    ([TOLD, TOLD], [TOLD, {key: value for key, value in TOLD.items() if key != "id"}]),
    ([SEARCHED, SAID, SEARCHED], [SEARCHED, SAID]),
    ([REASONED, SAID, REASONED, SAID], [SAID, SAID]),
    ([REASONED, TOLD, REASONED, SAID], [REASONED, TOLD, SAID]),
    (
        [call("a"), output("a", "1"), call("a"), output("a", "2")],
        [call("a"), output("a", "1"), call("a_2"), output("a_2", "2")],
    ),
    (
        [approval(), approved(), approval(), approved(approve=False)],
        [approval(), approved(), approval("mcpr_1_2"), approved("mcpr_1_2", approve=False)],
    ),
    ([call("a", caller={"type": "direct"})], None),
]


@pytest.mark.parametrize(("items", "mended"), MENDED)
def test_how_a_breach_is_mended(items, mended):
    if mended is None:
        stubs = [
            output(one["call_id"], NONE, **{k: v for k, v in one.items() if k == "caller"})
            for one in items
            if one["type"] == "function_call"
        ]
        mended = [*items, *stubs]
    assert repair(items, dialect="responses").messages == mended


@pytest.mark.parametrize(
    ("made", "field", "said"),
    [
        (custom(), "output", NONE),
        (local(), "output", NONE),
        (patch(), "status", "failed"),
        (search(), "tools", []),
        (approval(), "approve", False),
    ],
)
def test_each_kind_of_call_gets_its_kind_of_stub(made, field, said):
    kept, stub = repair([made]).messages
    assert kept is made
    assert stub[field] == said
    kind = made["type"].removesuffix("_call").replace("approval_request", "approval_response")
    assert stub["type"].startswith(kind)


def test_a_shell_that_nobody_ran_timed_out():
    _, stub = repair([shell()]).messages
    (chunk,) = stub["output"]
    assert (chunk["stderr"], chunk["outcome"]) == (NONE, {"type": "timeout"})


def test_calls_that_nobody_answered_may_be_dropped_with_what_led_to_them():
    items = [USER, REASONED, call("a"), SAID, SEALED, call("b"), {**USER, "content": "so?"}]
    mended = repair(items, unanswered="drop").messages
    assert mended == [USER, SAID, {**USER, "content": "so?"}]


ids = st.sampled_from(["a", "b", "a_2"])
item_ids = st.sampled_from([{}, {"id": "x_1"}, {"id": "x_2"}])
kinds = st.sampled_from([call, custom, computer, local, shell, patch, search])
answers = st.sampled_from([answer for _, answer in PAIRS if "approve" not in answer])
broken = st.lists(
    st.one_of(
        st.sampled_from([USER, SAID, ASKED, TOLD, REASONED, SEALED, LOST, COMPACTED, SEARCHED]),
        st.sampled_from([STRANGE, reference("msg_1"), reference("x_1"), approval(), approved()]),
        st.sampled_from([program(), {"type": "program_output", "call_id": "p", "result": "1"}]),
        st.builds(lambda make, i, own: {**make(i), **own}, kinds, ids, item_ids),
        st.builds(lambda answer, i, own: {**answer, "call_id": i, **own}, answers, ids, item_ids),
        st.builds(lambda i: {"type": "local_shell_call_output", "id": i, "output": "x"}, ids),
        st.builds(lambda own: {"type": "reasoning", "summary": [], **own}, item_ids),
    ),
    max_size=12,
)


def may_be_stored(found):
    """Tell whether a violation is only that of an output whose call may be stored."""
    return found.rule == "R1" and found.severity == "discouraged"


@given(broken, st.sampled_from(["stub", "drop"]), st.booleans())
def test_a_mended_list_is_valid_stays_so_and_nothing_is_touched_without_need(
    items, unanswered, continues
):
    before = copy.deepcopy(items)
    more = {"dialect": "responses", "continues": continues}
    valid = all(map(may_be_stored, validate(items, **more)))
    repaired = repair(items, unanswered=unanswered, **more)
    assert items == before
    assert all(map(may_be_stored, validate(repaired.messages, **more)))
    assert not continues or validate(repaired.messages, **more) == []
    assert (repaired.changes == []) == valid
    untouched = min((change.index for change in repaired.changes), default=len(items))
    assert all(
        one is other
        for one, other in zip(repaired.messages[:untouched], items[:untouched], strict=True)
    )
    again = repair(repaired.messages, unanswered=unanswered, **more)
    assert again.changes == []
    assert all(map(lambda one, two: one is two, again.messages, repaired.messages))


def test_mending_is_linear():
    count = 5_000
    made = [call(f"c{n}") for n in range(count)]
    late = [output(f"c{n}") for n in reversed(range(count))]
    pairs = [item for _ in range(count) for item in (REASONED, call("x"), output("x"))]
    mended = repair([*late, *made, *pairs], dialect="responses").messages
    assert len(mended) == 4 * count
    assert validate(mended, dialect="responses") == []


@pytest.mark.parametrize(
    ("role", "part", "mended"),
    [
        ("assistant", {"type": "input_text", "text": "x"}, "output_text"),
        ("user", {"type": "output_text", "text": "x", "annotations": []}, "input_text"),
        ("user", {"type": "refusal", "refusal": "x"}, "input_text"),
    ],
)
def test_parts_fit_the_role(role, part, mended):
    messages = [{"role": "user", "content": "hi"}, {"role": role, "content": [part]}]
    found = validate(messages, dialect="responses")
    assert [(one.rule, one.index) for one in found] == [("C7", 1)]
    repaired = repair(messages, dialect="responses")
    assert repaired.messages[1]["content"][0]["type"] == mended
    assert repaired.messages[1]["content"][0]["text"] == "x"
    assert validate(repaired.messages, dialect="responses") == []
    image = {"role": "assistant", "content": [{"type": "input_image", "image_url": "https://x/y"}]}
    assert repair([messages[0], image], dialect="responses").messages == messages[:1]
