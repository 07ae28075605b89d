"""`check_evictor` on other people's trimmers: empty results, errors, junk, promises never made."""

from __future__ import annotations

import pytest
from agent_lists import said, step

from warmset import count_tokens, fit
from warmset.errors import BudgetTooSmall, CountError, InvalidInputError
from warmset.messages import DIALECTS, validate
from warmset.testing import (
    INVARIANTS,
    INVARIANTS_WITHOUT_TASK,
    EvictorError,
    Failure,
    Given,
    Outcome,
    check_evictor,
    with_refusals,
)
from warmset.tokens import PER_REPLY


def failures_of(evict, dialect="openai", examples=15, **options):
    with pytest.raises(EvictorError) as caught:
        check_evictor(evict, dialect, examples=examples, **options)
    return {one.invariant: one for one in caught.value.failures}


def keeps_nothing(messages, budget):
    del messages, budget
    return []


def needs_a_message(messages, budget):
    """Return nothing where it has no room, and fail where there is nothing."""
    assert messages[0]
    return messages if count_tokens(messages) <= budget else []


class NoRoomError(Exception):
    """What a trimmer of somebody else's raises."""


def raises_if_tight(messages, budget):
    if count_tokens(messages) > budget:
        raise NoRoomError("no room for call_0123456789_0123456789_0123456789")
    return messages


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("evict", [keeps_nothing, needs_a_message])
def test_an_empty_result_is_a_finding_with_a_small_case(evict, dialect):
    found = failures_of(evict, dialect)
    smallest = found["keeps_what_must_stay"]
    assert len(smallest.messages) <= 2
    assert smallest.made == []
    assert "raises_only_budget_too_small" not in found
    assert "is_idempotent" not in found, "an empty list cannot be shortened again"
    assert "nothing came back" in str(smallest)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_is_a_finding_with_a_small_case(dialect):
    found = failures_of(raises_if_tight, dialect)
    assert set(found) == {"raises_only_budget_too_small"}
    [failure] = found.values()
    assert len(failure.messages) == 1
    assert count_tokens(failure.messages) > failure.budget
    assert failure.made == []
    assert isinstance(failure.error, NoRoomError)
    assert failure.why == "it raised NoRoomError: no room for call_0123456789_0123456789_0123456789"
    assert failure.why in str(failure)


def test_an_error_on_its_own_result_is_a_finding():
    def once(messages, budget):
        if messages and messages[0]["content"] == "cut":
            raise NoRoomError("I was here")
        made = messages if count_tokens(messages) <= budget else messages[-1:]
        return [said("user", "cut"), *made]

    found = failures_of(once)
    assert (
        "given its own result, it raised NoRoomError" in found["raises_only_budget_too_small"].why
    )


def test_an_error_in_a_second_run_is_a_finding():
    runs = []

    def moody(messages, budget):
        runs.append(budget)
        if len(runs) % 2 == 0:
            raise NoRoomError("the second time")
        return messages

    found = failures_of(moody, invariants=())
    assert "in a second run, it raised" in found["raises_only_budget_too_small"].why


def test_an_error_while_messages_are_made_is_a_finding():
    def one_by_one(messages, budget):
        yield from messages
        if count_tokens(messages) > budget:
            raise NoRoomError("at the end")

    assert set(failures_of(one_by_one)) == {"raises_only_budget_too_small"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_no_finding(error):
    def stops(_messages, _budget):
        raise error

    with pytest.raises(error):
        check_evictor(stops, "openai", examples=1)


class Odd:
    def __init__(self, messages, inserted):
        self.messages = messages
        self.inserted = inserted


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "expected it to return messages, found None"),
        ("text", "found 'text'"),
        ({"messages": []}, "found {'messages'"),
        (5, "found 5"),
        ([5], "message 0"),
        (Odd([said("user", "x")], [5]), "inserted"),
        (Odd([said("user", "x")], 5), "inserted"),
    ],
)
def test_what_is_no_list_of_messages_is_a_finding(answer, why):
    found = failures_of(lambda _messages, _budget: answer, examples=3)
    assert set(found) == {"returns_messages"}
    assert why in found["returns_messages"].why
    assert len(found["returns_messages"].messages) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "message", [{}, {"content": "x"}, {"role": "user", "content": 5}, {"role": 5}, {"parts": [5]}]
)
def test_malformed_messages_are_a_finding(message, dialect):
    found = failures_of(lambda _messages, _budget: [message], dialect, examples=3)
    assert set(found) & {"returns_messages", "stays_valid"}


def test_a_counter_that_fails_is_not_the_evictors_fault():
    def counts(_messages):
        raise NoRoomError("the counter")

    with pytest.raises(CountError, match="counter"):
        check_evictor(keeps_nothing, "openai", examples=1, counter=counts)


def test_empty_results_and_errors_can_count_as_refusals():
    quiet = with_refusals(needs_a_message)
    check_evictor(quiet, "openai", examples=15, refusals=False)
    quiet = with_refusals(raises_if_tight, errors=(NoRoomError,))
    check_evictor(quiet, "openai", examples=15, refusals=False)
    found = failures_of(with_refusals(raises_if_tight, errors=(KeyError,)))
    assert set(found) == {"raises_only_budget_too_small"}
    assert set(failures_of(quiet)) == {"refuses_only_what_cannot_fit"}
    assert "leaves_what_fits_alone" in failures_of(with_refusals(keeps_nothing), refusals=False)


def test_an_adapter_passes_on_what_is_no_refusal():
    def trim(messages, budget):
        return fit(messages, budget=budget, dialect="openai")

    check_evictor(with_refusals(trim, errors=(NoRoomError,)), "openai", examples=10)
    messages = [said("user", "x")]
    assert with_refusals(lambda given, _: iter(given))(messages, 5) == messages
    assert with_refusals(keeps_nothing)([], 5) == []
    with pytest.raises(BudgetTooSmall) as caught:
        with_refusals(raises_if_tight, errors=(NoRoomError,))(messages, 1)
    assert (caught.value.need, caught.value.have) == (2, 1)
    assert isinstance(caught.value.__cause__, NoRoomError)
    with pytest.raises(BudgetTooSmall) as caught:
        with_refusals(trim)(messages, 1)
    assert caught.value.need > 2, "its own refusal, as it is"
    with pytest.raises(InvalidInputError, match="errors"):
        with_refusals(trim, errors=(5,))
    with pytest.raises(InvalidInputError, match="errors"):
        with_refusals(trim, errors=ValueError())


def forgets_the_task(messages, budget):
    """Keep what `fit` keeps of the list without its first request."""
    users = [at for at, one in enumerate(messages) if one["role"] == "user"]
    if count_tokens(messages) <= budget or len(users) < 2:
        made = fit(messages, budget=budget, dialect="openai")
    else:
        rest = [*messages[: users[0]], *messages[users[0] + 1 :]]
        made = fit(rest, budget=budget, dialect="openai")
    if made.inserted:
        raise BudgetTooSmall(budget + 1, budget)
    return made.messages


def test_a_trimmer_that_never_promised_the_task_can_pass():
    assert set(failures_of(forgets_the_task, examples=40)) >= {"shows_the_task"}
    names = {one.__name__ for one in INVARIANTS}
    assert names - {one.__name__ for one in INVARIANTS_WITHOUT_TASK} == {"shows_the_task"}
    check_evictor(
        forgets_the_task,
        "openai",
        examples=40,
        invariants=INVARIANTS_WITHOUT_TASK,
        refusals=False,
    )


def test_a_complaint_says_what_the_list_itself_costs():
    """A trimmer that counts its messages alone is over by the tokens of the reply's beginning."""

    def alone(messages):
        return int(count_tokens(messages)) - PER_REPLY

    def newest(messages, budget):
        made = list(messages)
        while made and alone(made) > budget:
            made.pop(0)
        return made

    invariants = [one for one in INVARIANTS if one.__name__ == "fits_the_budget"]
    failure = failures_of(newest, invariants=invariants, examples=60)["fits_the_budget"]
    tokens = int(count_tokens(failure.made))
    spoken = tokens - PER_REPLY
    assert spoken <= failure.budget < tokens
    assert failure.why == (
        f"it costs {tokens} tokens, over the budget of {failure.budget}: {spoken} for its "
        f"messages, and {PER_REPLY} that the counter adds for every list; leave room for them, or "
        "check with counter= that adds none"
    )
    quiet = with_refusals(newest)
    options = {"invariants": invariants, "refusals": False, "examples": 60}
    check_evictor(quiet, "openai", counter=alone, **options)


@pytest.mark.parametrize(
    ("tokens", "overhead", "budget", "complains", "explains"),
    [
        (13, 3, 13, False, False),
        (13, 3, 12, True, True),
        (13, 3, 10, True, True),
        (13, 3, 9, True, False),
        (13, 0, 12, True, False),
    ],
)
def test_list_overhead_is_explained_where_the_complaint_depends_on_it(
    tokens, overhead, budget, complains, explains
):
    outcome = Outcome(
        given=Given([said("user", "x")], "openai"),
        made=[said("user", "x")],
        places=[0],
        budget=budget,
        tokens=tokens,
        tokens_given=tokens,
        overhead=overhead,
    )
    why = INVARIANTS[0](outcome)
    assert (why is not None) == complains
    assert ("for every list" in (why or "")) == explains


LONG = "call_" + "0123456789" * 20


def test_ids_and_names_are_shown_whole_and_long_texts_are_not():
    function = {"name": "tool_" + "n" * 50, "arguments": '{"q": "' + "a" * 900 + '"}'}
    calls = [{"id": f"{LONG}{at}", "type": "function", "function": function} for at in range(30)]
    asking = {"role": "assistant", "content": "t" * 900, "tool_calls": calls}
    results = [
        {"role": "tool", "tool_call_id": f"{LONG}{at}", "content": "r" * 900} for at in range(30)
    ]
    shown = str(Failure("x", "why", [asking, *results], 5, [object(), 5, "s" * 9_000], 0))
    for at in range(30):
        assert shown.count(f"{LONG}{at}'") == 2
    assert shown.count(function["name"]) == 30
    assert "t" * 81 not in shown
    assert "t" * 80 + "…" in shown
    assert "r" * 81 not in shown
    assert "a" * 81 not in shown
    assert len(max(shown.split("\n"), key=len)) < 20_000
    assert "made  1: 5" in shown
    blocks = [
        {"type": "tool_use", "id": LONG, "name": "n" * 120, "input": {"x": "i" * 900}},
        {"type": "tool_result", "tool_use_id": LONG, "content": [{"type": "text", "text": "x"}]},
        {"functionCall": {"id": LONG, "name": "g" * 120, "args": {}}},
    ]
    shown = str(Failure("x", "why", [{"role": "user", "content": blocks}], 5, [], 0))
    assert shown.count(LONG) == 3
    assert "n" * 120 in shown
    assert "g" * 120 in shown
    assert "i" * 81 not in shown


def test_a_text_is_cut_behind_its_limit_in_lists_too():
    for length, cut in ((80, False), (81, True)):
        message = {"role": "user", "content": ["z" * length]}
        shown = str(Failure("x", "why", [message], 5, [message], 0))
        assert ("…" in shown) == cut
        assert ("z" * 81 in shown) is False


def test_complaints_of_parted_units_name_the_calls():
    def drops_results(messages, budget):
        del budget
        return [one for one in messages if one["role"] != "tool"]

    invariants = [one for one in INVARIANTS if one.__name__ == "keeps_units_whole"]
    failure = failures_of(drops_results, invariants=invariants)["keeps_units_whole"]
    [call, *_] = next(one["tool_calls"] for one in failure.messages if one.get("tool_calls"))
    assert f"{call['function']['name']} {call['id']}" in failure.why


def test_a_made_up_message_is_shown_with_its_ids():
    def makes_up(messages, budget):
        del budget
        made = step(1, result="r" * 900)
        made[0]["tool_calls"][0]["id"] = made[1]["tool_call_id"] = LONG
        return [*messages, *made]

    invariants = [one for one in INVARIANTS if one.__name__ == "invents_nothing"]
    why = failures_of(makes_up, invariants=invariants)["invents_nothing"].why
    assert LONG in why


def test_small_cases_of_errors_are_lists_that_providers_take():
    failure = failures_of(raises_if_tight)["raises_only_budget_too_small"]
    assert {one.rule for one in validate(failure.messages, dialect="openai")} <= {"C2"}
