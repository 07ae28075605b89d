"""`CollapseCalls`: what its lines say, what it leaves alone, and how it grows."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from agent_lists import count, said, session, step, tight

from warmset import (
    BlobStore,
    Chain,
    CollapseCalls,
    Salience,
    SlidingWindow,
    Summarize,
    convert,
    fit,
    validate,
)
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.evict import Fold
from warmset.messages import DIALECTS, text_message

ENOUGH = 10**6
HEADING = "(Earlier tool calls, one line each)"
ALL = CollapseCalls(keep=0, always=True)


def lines(made):
    [shown] = [one for one in made.messages if HEADING in str(one.get("content"))]
    return shown["content"].split("\n")


def test_a_line_has_the_call_its_result_and_the_handle_of_the_original():
    store = BlobStore()
    messages = session(2)
    made = fit(messages, budget=ENOUGH, policy=ALL, store=store)
    [inserted] = made.inserted
    assert (inserted.index, inserted.kind, inserted.stands_for) == (2, "collapsed", (2, 3, 4, 5))
    handles = inserted.handle.split()
    assert len(set(handles)) == 2
    result = " ".join(["found it"] * 20)[:160].rstrip()
    first, *rest = lines(made)
    assert first == HEADING
    assert len(rest) == 2
    assert rest == [f'search({{"q": "x"}}) → {result}… [{handle}]' for handle in handles]
    read = [json.loads(line) for line in store.read(handles[0]).split("\n")]
    assert read == messages[2:4]
    assert [(one.indices, one.handle) for one in made.evicted] == [
        ((2, 3), handles[0]),
        ((4, 5), handles[1]),
    ]
    assert made.messages == [*messages[:2], made.messages[2], *messages[-2:]]


def test_no_handle_is_named_without_a_store():
    made = fit(session(2), budget=ENOUGH, policy=ALL)
    assert all(line.endswith("…") for line in lines(made)[1:])
    assert made.inserted[0].handle is None
    assert {one.handle for one in made.evicted} == {None}


def test_the_store_of_a_policy_comes_before_that_of_fit():
    own, other = BlobStore(), BlobStore()
    policy = CollapseCalls(keep=0, store=own, always=True)
    made = fit(session(1), budget=ENOUGH, policy=policy, store=other)
    assert own.read(made.inserted[0].handle)
    assert made.evicted[0].handle == made.inserted[0].handle


def test_parallel_calls_have_a_line_each_in_their_order():
    ids = ("a", "b")
    calls = [
        {"id": one, "type": "function", "function": {"name": f"tool_{one}", "arguments": "{}"}}
        for one in ids
    ]
    results = [
        {"role": "tool", "tool_call_id": one, "content": f"result\n\n  of {one} " * 30}
        for one in reversed(ids)
    ]
    asking = {"role": "assistant", "content": "Let me\nlook.", "tool_calls": calls}
    messages = [said("user", "go"), asking, *results, said("user", "on")]
    made = fit(messages, budget=ENOUGH, policy=CollapseCalls(keep=0, result_chars=20, always=True))
    assert lines(made) == [
        HEADING,
        "Let me look.",
        "tool_a({}) → result of a result o…",
        "tool_b({}) → result of b result o…",
    ]


def test_lengths_are_limits():
    exact = CollapseCalls(keep=0, argument_chars=10, result_chars=9, always=True)
    messages = [said("user", "go"), *step(1, result="12345678\t9 " + "x" * 400), said("user", "on")]
    made = fit(messages, budget=ENOUGH, policy=exact)
    assert lines(made)[1] == 'search({"q": "x"}) → 12345678…'
    shorter = CollapseCalls(keep=0, argument_chars=9, result_chars=10, always=True)
    assert lines(fit(messages, budget=ENOUGH, policy=shorter))[1] == (
        'search({"q": "x"…) → 12345678 9…'
    )
    words = CollapseCalls(keep=0, result_chars=3, always=True)
    many = [said("user", "go"), *step(1, result="a b c " * 90), said("user", "on")]
    assert lines(fit(many, budget=ENOUGH, policy=words))[1].endswith("→ a b…")


def test_an_empty_result_is_said():
    long = "x" * 900
    messages = [said("user", "go"), *step(1, query=long, result=""), said("user", "on")]
    assert lines(fit(messages, budget=ENOUGH, policy=ALL))[1].endswith("…) → (empty)")


def test_calls_that_would_not_become_shorter_stay():
    store = BlobStore()
    messages = [said("user", "go"), *step(1, result="ok"), said("user", "on")]
    made = fit(messages, budget=ENOUGH, policy=ALL, store=store)
    assert made.messages == messages
    assert made.evicted == ()
    mixed = [said("user", "go"), *step(1), *step(2, result="ok"), *step(3), said("user", "on")]
    made = fit(mixed, budget=ENOUGH, policy=ALL, store=store)
    assert [one.stands_for for one in made.inserted] == [(1, 2), (5, 6)]
    assert made.messages[2:4] == mixed[3:5]
    assert made.tokens < count(mixed)


def test_a_handle_counts():
    """A unit whose line is shorter only without its handle stays."""
    store = BlobStore()
    short = [said("user", "go"), *step(1, result="word " * 30), said("user", "on")]
    policy = CollapseCalls(keep=0, result_chars=80, always=True)
    assert fit(short, budget=ENOUGH, policy=policy).inserted
    assert not fit(short, budget=ENOUGH, policy=policy, store=store).inserted


def test_the_newest_calls_stay():
    messages = session(5)
    for keep in range(7):
        made = fit(messages, budget=ENOUGH, policy=CollapseCalls(keep=keep, always=True))
        left = sum(one["role"] == "tool" for one in made.messages)
        assert left == min(keep, 5)


def test_open_calls_pins_and_a_users_words_stay():
    waiting = step(3)[0]
    messages = [said("user", "go"), *step(1), *step(2), waiting]
    made = fit(messages, budget=ENOUGH, policy=ALL, protect=[4])
    assert made.messages == [messages[0], made.messages[1], *messages[3:]]
    assert made.inserted[0].stands_for == (1, 2)
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "long " * 200}
    also = {"type": "text", "text": "And use tabs."}
    theirs = [
        said("user", "go"),
        said("assistant", [use]),
        said("user", [answer, also]),
        said("assistant", "done"),
        said("user", "on"),
    ]
    assert fit(theirs, budget=ENOUGH, policy=ALL, dialect="anthropic").messages == theirs


def test_a_call_without_its_result_stays_in_the_middle_too():
    half = step(1)[0]
    second = {"id": "z", "type": "function", "function": {"name": "f", "arguments": "x" * 900}}
    half["tool_calls"].append(second)
    messages = [said("user", "go"), half, step(1)[1], said("user", "on")]
    assert fit(messages, budget=ENOUGH, policy=ALL).messages == messages


def thinking_loop():
    messages = [said("user", "go")]
    for number in range(4):
        use = {"type": "tool_use", "id": f"t{number}", "name": "f", "input": {}}
        thought = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "word " * 90}
        messages.append(said("assistant", [*([] if number else thought), use]))
        messages.append(said("user", [result]))
    return messages


def test_an_unfinished_loop_that_thinks_stays_whole():
    """A6: its turn must begin with its thinking, and a user's text would begin another turn."""
    loop = thinking_loop()
    options = {"budget": ENOUGH, "policy": ALL, "dialect": "anthropic"}
    assert fit(loop, **options).messages == loop
    ended = [*loop, said("assistant", "done"), said("user", "thanks")]
    made = fit(ended, **options)
    assert "thinking" not in str(made.messages), "reasoning leaves with its calls"
    assert validate(made.messages, dialect="anthropic") == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lines_grow_as_the_list_grows(dialect):
    """A list that comes back is not collapsed twice; calls that were made since are added."""
    policy = CollapseCalls(keep=1, always=True)

    def written(messages):
        return convert(messages, source="openai", target=dialect).messages

    def go(messages):
        return fit(messages, budget=ENOUGH, policy=policy, dialect=dialect)

    messages = written(session(4)[1:])
    made = go(messages)
    assert validate(made.messages, dialect=dialect) == []
    text = str(made.messages)
    assert text.count(HEADING) == 1
    assert text.count("search(") == 3
    assert go(made.messages).messages == made.messages
    longer = [*made.messages, text_message(dialect, "assistant", "x")]
    more = [one for at in (8, 9) for one in step(at)]
    grown = [*made.messages[:-2], *written([said("user", "y"), *more])[1:], *made.messages[-2:]]
    later = go(grown)
    assert validate(later.messages, dialect=dialect) == []
    text = str(later.messages)
    assert text.count(HEADING) == 1
    assert text.count("search(") == 5
    assert go(later.messages).messages == later.messages
    assert go(longer).messages == longer


def model(text):
    return {"role": "model", "parts": [{"text": text}]}


def test_earlier_lines_are_not_stored_again():
    store = BlobStore()
    made = fit(session(3), budget=ENOUGH, policy=CollapseCalls(keep=1, always=True), store=store)
    again = fit(made.messages, budget=ENOUGH, policy=ALL, store=store)
    assert again.evicted[0].indices == (2,)
    assert again.evicted[0].handle is None
    shown = lines(again)
    assert shown[:3] == lines(made)
    assert again.inserted[0].handle in shown[3]


def test_lines_that_are_pinned_stay():
    made = fit(session(3), budget=ENOUGH, policy=CollapseCalls(keep=1, always=True))
    again = fit(made.messages, budget=ENOUGH, policy=ALL, protect=[2])
    assert again.messages[2] is made.messages[2]
    assert sum(HEADING in str(one) for one in again.messages) == 2


def test_lines_are_no_request():
    """What stands for calls must not take the place of what the user asked for."""
    messages = [said("user", "old"), said("assistant", "x"), said("user", "find it"), *step(1)]
    made = fit(messages, budget=ENOUGH, policy=ALL)
    assert HEADING in made.messages[-1]["content"]
    longer = [*made.messages, *step(2), *step(3)]
    again = fit(longer, budget=ENOUGH, policy=SlidingWindow(1, always=True))
    assert messages[2] in again.messages
    assert made.messages[-1] not in again.messages
    first = [made.messages[-1], said("assistant", "y"), said("user", "task"), *step(4)]
    kept = fit(first, budget=ENOUGH, policy=SlidingWindow(1, always=True)).messages
    assert kept == first[2:]


def test_a_summary_takes_collapsed_lines_up():
    seen = []

    def summarizer(messages, *, max_tokens):
        del max_tokens
        seen.extend(messages)
        return "Short."

    chain = Chain(CollapseCalls(keep=0), Summarize(0.5, summarizer, keep=1))
    messages = session()
    made = fit(messages, budget=tight(messages), policy=chain)
    assert HEADING not in str(made.messages) or not seen
    budget = count(messages) // 4
    fit(messages, budget=budget, policy=chain)
    assert any(HEADING in str(one["content"]) for one in seen)


def test_lines_leave_if_the_budget_asks_for_it():
    messages = session()
    need = count([*messages[:2], messages[-1]])
    made = fit(messages, budget=need, policy=CollapseCalls(keep=0))
    assert made.messages == [*messages[:2], messages[-1]]
    assert made.inserted == ()
    left = sorted(at for one in made.evicted for at in one.indices)
    assert left == list(range(2, len(messages) - 1))
    with pytest.raises(BudgetTooSmall):
        fit(messages, budget=need - 1, policy=CollapseCalls(keep=0))


def test_collapsing_holds_where_others_leave_by_score():
    """What becomes a neighbour by another policy's evictions is not collapsed the next time."""
    policy = Chain(CollapseCalls(keep=0, always=True), Salience(lambda one: len(str(one))))
    messages = [said("user", "task")]
    for number in range(6):
        messages += [
            *step(number, result="word " * (20 + 40 * (number % 3))),
            said("assistant", "k"),
        ]
    messages.append(said("user", "now"))
    for budget in range(80, count(messages), 40):
        made = fit(messages, budget=budget, policy=policy, dialect="openai")
        again = fit(made.messages, budget=budget, policy=policy, dialect="openai")
        assert again.messages == made.messages


@pytest.mark.parametrize(
    "options",
    [
        {"keep": -1},
        {"keep": True},
        {"argument_chars": 0},
        {"result_chars": 0},
        {"store": 5},
        {"always": None},
    ],
)
def test_options_out_of_range(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        CollapseCalls(**options)


class Folds:
    """A policy of somebody else's."""

    def __init__(self, **options):
        self.options = options

    def plan(self, view):
        del view
        return [Fold((2, 3), said("user", "x"), "why", **self.options)]


@pytest.mark.parametrize("options", [{"handles": ("a",)}, {"handles": "abc"}, {"kind": "sum"}])
def test_a_fold_that_is_none(options):
    with pytest.raises(InvalidInputError, match=r"handle|kind"):
        fit(session(), budget=ENOUGH, policy=Folds(**options))


def test_a_fold_may_have_handles_of_its_own():
    made = fit(session(), budget=ENOUGH, policy=Folds(kind="collapsed", handles=("a", None)))
    assert [one.handle for one in made.evicted] == ["a", None]
    assert (made.inserted[0].kind, made.inserted[0].handle) == ("collapsed", "a")
    stored = fit(session(), budget=ENOUGH, policy=Folds(), store=BlobStore())
    assert all(one.handle for one in stored.evicted)


def costs(lines_cost, other=5, gap=10):
    """Count a message by what it is: lines of calls, a filler message, or another one."""

    def cost(message):
        text = str(message)
        if HEADING in text:
            return lines_cost(text.count("→"))
        return gap if "left out" in text else other

    return lambda messages: sum(map(cost, messages))


def test_lines_that_cost_as_much_are_not_used():
    messages = [said("user", "go"), *step(1), said("assistant", "k"), said("user", "on")]
    for cost, collapsed in ((10, 0), (9, 1)):
        made = fit(messages, budget=ENOUGH, policy=ALL, counter=costs(lambda _, c=cost: c))
        assert len(made.inserted) == collapsed


def test_lines_of_several_units_that_would_cost_more_are_not_used():
    """A counter need not add up: the whole message counts, not only each unit's lines."""
    messages = [said("user", "go"), *step(1), *step(2), said("assistant", "k"), said("user", "on")]
    for power, collapsed in ((3, 0), (1, 1)):
        counter = costs(lambda calls, p=power: 8 * calls**p)
        made = fit(messages, budget=ENOUGH, policy=ALL, counter=counter)
        assert len(made.inserted) == collapsed


def test_roles_alternate_beside_lines_and_filler_messages_count():
    openai = [said("user", "go"), *step(1), said("assistant", "k"), said("user", "on")]
    messages = convert(openai, source="openai", target="anthropic").messages
    for each, collapsed in ((15, 0), (16, 1)):
        counter = costs(lambda _: 10, other=each)
        options = {"policy": ALL, "dialect": "anthropic", "counter": counter}
        made = fit(messages, budget=ENOUGH, **options)
        kinds = [one.kind for one in made.inserted]
        assert kinds.count("collapsed") == collapsed
        roles = [one["role"] for one in made.messages]
        assert all(one != other for one, other in pairwise(roles))
    assert kinds == ["gap", "collapsed"]


def test_filler_messages_between_parted_results_count():
    call = {"functionCall": {"name": "f", "args": {}}}
    result = {"functionResponse": {"name": "f", "response": {"output": "long " * 90}}}
    asked, ran = model("x"), {"role": "user", "parts": [result]}
    called = {"role": "model", "parts": [call]}
    now = {"role": "user", "parts": [{"text": "now"}]}
    for between, each, collapsed in (([], 6, 1), ([asked], 9, 0), ([asked], 11, 1)):
        messages = [{"role": "user", "parts": [{"text": "go"}]}, called, *between, ran, asked, now]
        counter = costs(lambda _: 10, other=each)
        made = fit(messages, budget=ENOUGH, policy=ALL, dialect="gemini", counter=counter)
        assert len([one for one in made.inserted if one.kind == "collapsed"]) == collapsed


def test_units_with_something_between_are_not_joined():
    """A pinned call's result stands between two units whose numbers follow each other."""
    pinned = {"type": "function_call", "call_id": "p", "name": "f", "arguments": "{}"}
    ends = {"type": "function_call_output", "call_id": "p", "output": "x"}
    pair = convert([said("user", "x"), *step(1)], source="openai", target="responses").messages[1:]
    other = convert([said("user", "x"), *step(2)], source="openai", target="responses").messages[1:]
    task, asked = said("user", "go"), said("user", "hm")
    messages = [task, pinned, asked, *pair, ends, *other, said("user", "now")]
    made = fit(messages, budget=ENOUGH, policy=ALL, dialect="responses", protect=[1])
    assert [one.stands_for for one in made.inserted] == [(3, 4), (6, 7)]
    assert made.messages[4] is ends


def test_reasoning_is_not_shown():
    thought = {"type": "summary_text", "text": "I wonder."}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [thought]}
    spoken = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
    spoken["content"] = [{"type": "output_text", "text": "I look.", "annotations": []}]
    calls = convert(session(1)[1:], source="openai", target="responses").messages
    messages = [calls[0], reasoning, spoken, *calls[1:]]
    made = fit(messages, budget=ENOUGH, policy=ALL, dialect="responses")
    assert made.inserted[0].stands_for == (1, 2, 3, 4)
    assert lines(made)[1] == "I look."
    assert "wonder" not in str(made.messages)


def test_an_assistant_that_imitates_the_lines_is_left_alone():
    imitation = said("assistant", f"{HEADING}\nsearch(x) → nothing")
    messages = [said("user", "go"), imitation, *step(1), said("assistant", "k"), said("user", "on")]
    made = fit(messages, budget=ENOUGH, policy=ALL)
    assert made.messages[1] is imitation
    assert made.inserted[0].stands_for == (2, 3)
