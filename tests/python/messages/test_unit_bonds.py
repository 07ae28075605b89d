"""Which items of a response stay together, where a tool loop begins, what answers stored calls."""

from itertools import takewhile

import pytest
from hypothesis import given, strategies as st

from warmset.messages import (
    Facts,
    answering_stored,
    facts,
    homes,
    is_unfinished,
    loop_start,
    units,
)

USER = Facts("user", "hi", request=True)
SYSTEM = Facts("system", "be brief")
IDS = [
    "",
    "r1",
    "r2",
    "aaaaaaaaaaaa111",  # a character too short to tell
    "aaaaaaaaaaaa1111",
    "aaaaaaaaaaaa2222",
    "aaaaaaaaaaab3333",  # shares eleven
    "4444bbbbbbbbbbbb",
    "5555bbbbbbbbbbbb",
    "66667bbbbbbbbbbb",
]


def call(*ids, bond=2, own=""):
    return Facts("assistant", "", ids, bond=bond, item_id=own)


def output(*ids):
    return Facts("tool", "", (), ids)


own_ids, call_ids = st.sampled_from(IDS), st.sampled_from(["a", "b"])
items = st.one_of(
    st.just(USER),
    st.builds(lambda own: Facts("assistant", "", bond=3, item_id=own), own_ids),
    st.builds(lambda own: Facts("assistant", "", bond=1, item_id=own), own_ids),
    st.builds(lambda one, own: call(one, own=own), call_ids, own_ids),
    st.builds(call, call_ids, call_ids),
    st.builds(output, call_ids),
    st.builds(output, call_ids, call_ids),
    st.just(Facts("assistant", "", bond=5)),
)


def made_together(reasoning, item):
    one, other = reasoning.item_id, item.item_id
    if not one or not other:
        return False
    if one == other:
        return True
    if min(len(one), len(other)) < 16:
        return item.bond != 3
    return max(shared(one, other), shared(one[::-1], other[::-1])) >= 12


def shared(one, other):
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def naive_units(read):
    """Join what belongs together pair by pair, then merge sets until nothing merges."""
    pairs, waiting = [], []
    for at, fact in enumerate(read):
        answered = False
        for one in fact.results:
            asked = [place for place, name in waiting if name == one]
            if asked:
                waiting.reverse()
                waiting.remove((asked[-1], one))
                waiting.reverse()
                pairs.append((asked[-1], at))
                answered = True
        waiting += [(at, one) for one in fact.calls]
        begin = max((n for n in range(at) if not read[n].bond and not read[n].results), default=-1)
        here = range(begin + 1, at)
        if fact.bond and at and read[at - 1].bond and (fact.bond > 1 or read[at - 1].bond > 1):
            pairs.append((at - 1, at))
        thoughts = [n for n in here if read[n].bond == 3]
        if fact.bond and thoughts and made_together(read[thoughts[-1]], fact):
            pairs.append((thoughts[-1], at))
        references = [n for n in here if read[n].bond == 5]
        if fact.results and not answered and references:
            pairs.append((references[-1], at))
    groups = [{at} for at in range(len(read))]
    for one, other in pairs:
        both = [group for group in groups if one in group or other in group]
        groups = [group for group in groups if group not in both] + [set().union(*both)]
    still_open = {at for at, _ in waiting}
    return sorted((tuple(sorted(group)), bool(group & still_open)) for group in groups)


@given(st.lists(items, max_size=9))
def test_units_are_those_of_a_naive_oracle(read):
    expected = naive_units(read)
    assert [(unit.members, unit.open) for unit in units(read)] == expected
    first = {at: members[0] for members, _ in expected for at in members}
    still_open = sorted(members[-1] for members, is_open in expected if is_open)
    assert homes(read) == ([first[at] for at in range(len(read))], still_open)


def test_a_unit_is_open_wherever_in_it_a_call_waits():
    read = [call("a"), call("b"), output("a")]
    assert [(unit.members, unit.open) for unit in units(read)] == [((0, 1, 2), True)]
    assert homes(read) == ([0, 0, 0], [2])


def reasons(own):
    return Facts("assistant", "", bond=3, item_id=own)


def says(own=""):
    return Facts("assistant", "", bond=1, item_id=own)


REFERS = Facts("assistant", "", bond=5)
LATER = output("z")


@pytest.mark.parametrize(
    ("read", "parts"),
    [
        ([reasons("r1"), LATER, reasons(""), says("r1")], [(0,), (1,), (2, 3)]),
        ([reasons(""), LATER, reasons("r1"), LATER, says("r1")], [(0,), (1,), (2, 4), (3,)]),
        ([reasons("r1"), LATER, call("a"), says("r1")], [(0, 2, 3), (1,)]),
        ([reasons("r1"), LATER, says()], [(0,), (1,), (2,)]),
        ([call("a"), LATER, REFERS, output("a")], [(0, 3), (1,), (2,)]),
        ([REFERS, LATER, REFERS, output("y")], [(0, 1), (2, 3)]),
        ([REFERS, call("a"), says()], [(0, 1, 2)]),
        ([call("a"), REFERS], [(0, 1)]),
    ],
)
def test_items_apart_from_each_other_that_stay_together(read, parts):
    assert [unit.members for unit in units(read)] == parts


@pytest.mark.parametrize("one", IDS[1:])
@pytest.mark.parametrize("other", IDS)
def test_items_are_of_one_response_if_their_ids_share_twelve_characters(one, other):
    for item in (says(other), call("a", own=other), reasons(other)):
        together = made_together(reasons(one), item)
        found = [unit.members for unit in units([reasons(one), LATER, item])]
        assert found == ([(0, 2), (1,)] if together else [(0,), (1,), (2,)])


@given(st.lists(items, max_size=8), st.booleans())
def test_results_that_answer_stored_calls_are_those_of_a_naive_oracle(read, continues):
    found = []
    for at, fact in enumerate(read):
        called = {one for before in read[:at] for one in before.calls}
        begin = max((n for n in range(at) if not read[n].bond and not read[n].results), default=-1)
        refers = any(read[n].bond == 5 for n in range(begin + 1, at))
        alone = continues or not (called or refers)
        if fact.results and alone and called.isdisjoint(fact.results):
            found.append(at)
    for dialect in ("responses", "interactions"):
        assert answering_stored(read, dialect, continues=continues) == found
    assert answering_stored(read, "openai", continues=continues) == []


THINKS = Facts("assistant", "", ("a",), thinks=True)
LOOP = [USER, THINKS, output("a"), call("b", bond=0), output("b")]


def test_a_tool_loop_begins_with_the_first_reply_to_the_request():
    assert loop_start(LOOP) == 1
    assert loop_start(LOOP[:-1]) == 1
    assert loop_start([USER, THINKS, output("a"), USER, *LOOP[3:]]) is None
    assert loop_start(LOOP[1:]) == 0


def test_a_system_message_does_not_end_a_tool_loop():
    assert loop_start([*LOOP, SYSTEM]) == 1
    assert loop_start([SYSTEM]) is None


def test_a_text_beside_the_results_ends_a_tool_loop():
    told = Facts("user", "go on", (), ("b",), request=True)
    assert not is_unfinished(told)
    assert loop_start([*LOOP[:-1], told]) is None
    assert all(map(is_unfinished, (LOOP[1], LOOP[2])))
    assert not is_unfinished(Facts("assistant", "done"))


def parts_of(messages, dialect):
    return [unit.members for unit in units([facts(one, dialect) for one in messages])]


def test_a_system_message_in_an_anthropic_list_stays_with_the_one_before_it():
    user, reply = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
    system = {"role": "system", "content": "s"}
    assert parts_of([user, system, reply], "anthropic") == [(0, 1), (2,)]
    assert parts_of([system, user, reply], "anthropic") == [(0,), (1,), (2,)]


def thought(own):
    return {"type": "reasoning", "id": f"rs_{own}", "summary": []}


def said(own):
    part = {"type": "output_text", "text": "t", "annotations": []}
    return {"type": "message", "id": f"msg_{own}", "role": "assistant", "content": [part]}


UNKNOWN = {"type": "future_item", "data": 1}
ASK = {"role": "user", "content": "q"}
LATE = {"type": "function_call_output", "call_id": "c9", "output": "o"}


@pytest.mark.parametrize(
    ("items", "parts"),
    [
        ([said("1"), said("2")], [(0,), (1,)]),
        ([UNKNOWN, said("2")], [(0,), (1,)]),
        ([UNKNOWN, thought("x"), said("x")], [(0, 1, 2)]),
        ([{"type": "item_reference", "id": "fc_1"}, LATE], [(0, 1)]),
        (
            [{"type": "program", "call_id": "c9"}, ASK, LATE | {"type": "program_output"}],
            [(0, 2), (1,)],
        ),
        ([{"type": "item_reference", "id": "fc_1"}, ASK, LATE], [(0,), (1,), (2,)]),
        ([{"type": "item_reference", "id": "msg_1"}, LATE], [(0,), (1,)]),
        ([thought("x"), said("x"), LATE, {"id": "msg_x"}], [(0, 1), (2,), (3,)]),
    ],
)
def test_items_of_responses_that_stay_together(items, parts):
    assert parts_of(items, "responses") == parts


def test_what_the_model_says_in_interactions_stands_for_itself():
    block = {"type": "text", "text": "t"}
    output_step = {"type": "model_output", "content": [block]}
    signed = {"type": "thought", "signature": "s"}
    assert parts_of([output_step, output_step], "interactions") == [(0,), (1,)]
    assert parts_of([signed, output_step], "interactions") == [(0, 1)]


def test_a_compaction_is_kept_and_does_not_hide_that_thinking_leads():
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"}
    assert facts(item, "responses").keep
    blocks = [
        {"type": "compaction", "content": "so far"},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ]
    read = facts({"role": "assistant", "content": blocks}, "anthropic")
    assert (read.keep, read.thinks) == (True, True)
    read = facts({"role": "assistant", "content": blocks[:1] + blocks[2:]}, "anthropic")
    assert (read.keep, read.thinks) == (True, False)


def test_a_tool_of_the_providers_stays_with_its_result_in_a_later_message():
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    own = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [use, own]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": [found, {"type": "text", "text": "t"}]},
        {"role": "assistant", "content": "and"},
    ]
    assert parts_of(messages, "anthropic") == [(0,), (1, 2, 3), (4,)]
    read = [facts(one, "anthropic") for one in messages]
    assert [one.request for one in read] == [True, False, False, False, False]
