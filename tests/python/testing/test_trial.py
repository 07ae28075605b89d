"""`check_evictor` at its exact boundaries: budgets, counterexamples, refusals, what is inserted."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from warmset.errors import BudgetTooSmall
from warmset.evict import TokenBudget, fit
from warmset.messages import validate
from warmset.testing import EvictorError, check_evictor, random_history, with_refusals
from warmset.testing.answers import places_of, read_answer
from warmset.testing.histories import History
from warmset.testing.invariants import (
    INVARIANTS,
    Given,
    Outcome,
    fits_the_budget,
    invents_nothing,
    keeps_the_order,
    keeps_units_whole,
    keeps_what_must_stay,
    leaves_what_fits_alone,
    needed,
    shows_the_task,
    stays_valid,
)
from warmset.testing.oracle import together
from warmset.testing.smallest import Case, smallest
from warmset.testing.trial import Finding, Trial
from warmset.tokens import counter

ASK = {"role": "user", "content": "Count crates."}
SAID = {"role": "assistant", "content": "Yes."}
MORE = {"role": "user", "content": "And boats?"}
LIST = [ASK, SAID, MORE]


def outcome(made, places, **more):
    options = {"budget": 10, "tokens": 10, "tokens_given": 30, "given": Given(LIST, "openai")}
    return Outcome(made=made, places=places, **{**options, **more})


# --- invariants -----------------------------------------------------------------------------------


def test_the_budget_is_met_by_exactly_its_tokens():
    assert fits_the_budget(outcome(LIST, [0, 1, 2])) is None
    assert fits_the_budget(outcome(LIST, [0, 1, 2], tokens=11)) is not None
    said = fits_the_budget(outcome(LIST, [0, 1, 2], tokens=13, overhead=3))
    assert "counter adds" in said
    assert "counter adds" not in fits_the_budget(outcome(LIST, [0, 1, 2], tokens=14, overhead=3))


def test_a_list_of_exactly_the_budget_must_stay():
    changed = {"made": LIST[1:], "places": [1, 2]}
    assert leaves_what_fits_alone(outcome(**changed, tokens_given=10)) is not None
    assert leaves_what_fits_alone(outcome(**changed, tokens_given=11)) is None


def test_pins_stay_and_a_task_may_be_replaced():
    assert keeps_what_must_stay(outcome(LIST[1:], [1, 2])) is None
    assert keeps_what_must_stay(outcome(LIST[1:], [1, 2], pins=(0,))) is not None
    assert shows_the_task(outcome(LIST[1:], [1, 2])) is not None
    assert shows_the_task(outcome(LIST[1:], [1, 2], covered=frozenset({0}))) is None


def test_a_message_that_comes_twice_or_from_nowhere_is_seen():
    assert keeps_the_order(outcome(LIST, [0, 1, 2])) is None
    assert keeps_the_order(outcome([ASK, SAID, SAID, MORE], [0, 1, 1, 2])) is not None
    assert keeps_the_order(outcome([SAID, ASK], [1, 0])) is not None
    assert invents_nothing(outcome([ASK, MORE], [0, None])) is None
    assert invents_nothing(outcome([ASK, MORE], [0, -1])) is not None


def test_what_is_only_discouraged_is_no_refusal():
    odd = [{"role": "system", "content": "One."}, {"role": "developer", "content": "Two."}, ASK]
    assert [found.severity for found in validate(odd, dialect="openai")] == ["discouraged"]
    given = Given(odd, "openai")
    assert given.valid
    assert stays_valid(outcome(odd, [0, 1, 2], given=given)) is None


def test_an_open_call_must_stay_only_behind_the_last_request():
    use = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [use]}
    assert needed(Given([ASK, call, MORE], "openai")) == {2}
    assert needed(Given([ASK, SAID, MORE, call], "openai")) == {2, 3}
    result = {"role": "tool", "tool_call_id": "c", "content": "none"}
    assert needed(Given([ASK, SAID, MORE, call, result], "openai")) == {2}


def test_a_unit_is_whole_where_a_part_of_it_is_replaced():
    use = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [use]}
    result = {"role": "tool", "tool_call_id": "c", "content": "none"}
    given = Given([ASK, call, result, MORE], "openai")
    made = [ASK, call, {**result, "content": "cut"}, MORE]
    replaced = {"places": [0, 1, None, 3], "given": given}
    assert keeps_units_whole(outcome(made, **replaced, covered=frozenset({2}))) is None
    assert keeps_units_whole(outcome(made, **replaced)) is not None
    assert keeps_units_whole(outcome([ASK, MORE], [0, 3], given=given)) is None


def test_units_are_those_of_the_latest_call_and_of_a_system_message_of_anthropic():
    use = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [use]}
    result = {"role": "tool", "tool_call_id": "c", "content": "none"}
    assert together([ASK, call, call, result], "openai") == [[0], [1], [2, 3]]
    assert together([ASK, call, result, call, result], "openai") == [[0], [1, 2], [3, 4]]
    system = {"role": "system", "content": "Be brief."}
    assert together([ASK, system, SAID], "anthropic") == [[0, 1], [2]]
    assert together([ASK, system, SAID], "openai") == [[0], [1], [2]]


# --- answers --------------------------------------------------------------------------------------


def test_a_filler_message_covers_nothing_and_an_inserted_one_is_not_of_the_input():
    gap = SimpleNamespace(index=1, kind="gap", stands_for=(0, 1))
    line = SimpleNamespace(index=0, kind="task", stands_for=(0,))
    answer = read_answer(SimpleNamespace(messages=[MORE, SAID, MORE], inserted=[gap, line]))
    assert (answer.inserted, answer.covered) == ({0, 1}, {0})
    assert places_of(LIST, [dict(SAID), MORE], frozenset({0})) == [None, 2]
    assert places_of(LIST, [dict(SAID), MORE], frozenset()) == [1, 2]


def test_a_reply_without_its_thinking_is_that_behind_the_one_before():
    thinks = [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": f"{n}", "signature": "s"},
                {"type": "text", "text": "Yes."},
            ],
        }
        for n in range(2)
    ]
    bare = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    given = [ASK, thinks[0], MORE, thinks[1]]
    assert places_of(given, [ASK, dict(bare), MORE, dict(bare)], frozenset()) == [0, 1, 2, 3]


# --- trials ---------------------------------------------------------------------------------------


def trial(evictor, **options):
    made = {"counter": counter(None), "invariants": INVARIANTS, "refusals": True, **options}
    return Trial(evictor, **made)


def refusing(need, have):
    def evictor(_messages, _budget):
        raise BudgetTooSmall(need, have)

    return evictor


def names(found):
    return {one.invariant for one in found}


def test_a_refusal_is_judged_at_exact_budgets():
    history = History(LIST, "openai", ())
    whole = int(counter(None).count(LIST))
    at = trial(refusing(whole + 1, whole)).broken(history, whole)
    assert "leaves_what_fits_alone" in names(at)
    below = trial(refusing(whole, whole - 1)).broken(history, whole - 1)
    assert names(below) == set()
    equal = trial(refusing(7, 7)).broken(history, 7)
    assert names(equal) == {"refuses_only_what_cannot_fit"}
    assert trial(refusing(7, 7), refusals=False).broken(history, 7) == []


def test_a_second_run_that_differs_is_found():
    runs = []

    def forgetful(messages, _budget):
        runs.append(1)
        return messages[len(runs) % 2 :]

    made = trial(forgetful, invariants=()).broken(History(LIST, "openai", ()), 10)
    assert names(made) == {"is_deterministic"}


def test_the_smallest_counterexample_of_all_is_reported():
    """The first conversation that fails is long, a later one is short."""

    def evictor(messages, budget):
        made = fit(messages, budget=budget, policy=TokenBudget()).messages
        return made[:-1] if len(made) > 1 else made

    with pytest.raises(EvictorError) as caught:
        check_evictor(evictor, "openai", examples=30)
    sizes = {one.invariant: len(one.messages) for one in caught.value.failures}
    assert min(sizes.values()) <= 2
    for failure in caught.value.failures:
        shrunk = trial(evictor).broken(History(failure.messages, "openai", ()), failure.budget)
        assert failure.invariant in names(shrunk)


@pytest.mark.parametrize(("first", "shorter"), [(5, 5), (6, 7)])
def test_of_two_cases_that_cannot_be_made_smaller_the_shorter_one_is_reported(first, shorter):
    talks = [random_history(number, "openai").messages for number in (first, first + 1)]
    assert min(talks, key=len) == talks[shorter - first]

    def is_neither(one):
        return "it is one of two" if one.given.messages in talks else None

    def evictor(messages, _budget):
        return messages

    with pytest.raises(EvictorError) as caught:
        check_evictor(
            evictor, "openai", examples=2, seed=first, invariants=[is_neither], refusals=False
        )
    assert [one.messages for one in caught.value.failures] == [talks[shorter - first]]


@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_case_shrinks_with_its_own_invariant_and_stays_a_list_that_is_taken(role):
    history = random_history(3, "openai", exchanges=8)

    class Tried:
        """Every list breaks something; only those with a certain message break what is asked."""

        def budgets(self, _history, _rng):
            return [10]

        def broken(self, given, _budget):
            found = [Finding("another", "always")]
            return [*found, Finding("mine", "it is there")] if wanted in given.messages else found

    wanted = next(one for one in reversed(history.messages) if one["role"] == role)
    assert Given(history.messages, "openai").valid
    case = Case(history, 10, Finding("mine", "it is there"))
    made = smallest(Tried(), case)
    assert wanted in made.history.messages
    assert made.finding.invariant == "mine"
    assert Given(made.history.messages, "openai").valid
    assert len(made.history.messages) <= (2 if role == "user" else 5)


def test_an_empty_list_is_a_refusal_unless_it_was_given_one():
    adapted = with_refusals(lambda _messages, _budget: [])
    assert adapted([], 5) == []
    with pytest.raises(BudgetTooSmall):
        adapted([ASK], 5)


def test_only_the_errors_that_were_named_are_refusals():
    def wrong(_messages, _budget):
        raise KeyError("x")

    with pytest.raises(KeyError):
        with_refusals(wrong, errors=[ValueError])([ASK], 5)
    with pytest.raises(BudgetTooSmall):
        with_refusals(wrong, errors=[KeyError])([ASK], 5)
