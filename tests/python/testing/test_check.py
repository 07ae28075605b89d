"""`check_evictor` finds what is broken, in a small case, and nothing where nothing is."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, find, settings

from warmset import count_tokens, fit
from warmset.errors import BudgetTooSmall, UnknownDialectError
from warmset.messages import DIALECTS, dumps, validate
from warmset.testing import (
    INVARIANTS,
    EvictorError,
    Failure,
    check_evictor,
    histories,
    random_history,
)

SEVERAL = {
    "is_deterministic",
    "is_idempotent",
    "changes_nothing_given",
    "refuses_only_what_cannot_fit",
}
"""What the check adds to the invariants of one outcome."""


def kept(messages, budget):
    """Keep what fits; a list is no place to say what a stand-in is, so there are none."""
    made = fit(messages, budget=budget, dialect="openai")
    if made.inserted:
        raise BudgetTooSmall(budget + 1, budget)
    return made.messages


def keeps_everything(messages, budget):
    del budget
    return messages


def forgets_the_request(messages, budget):
    made = kept(messages, budget)
    users = [at for at, message in enumerate(made) if message["role"] == "user"]
    return made if len(made) == len(messages) else [*made[: users[-1]], *made[users[-1] + 1 :]]


def forgets_the_task(messages, budget):
    made = kept(messages, budget)
    users = [at for at, message in enumerate(made) if message["role"] == "user"]
    if len(made) == len(messages) or len(users) < 2:
        return made
    return [*made[: users[0]], *made[users[0] + 1 :]]


def parts_pairs(messages, budget):
    """Keep the newest messages that fit, one by one, as most people begin."""
    made = []
    for message in reversed(messages):
        if count_tokens([message, *made]) > budget:
            break
        made.insert(0, message)
    return made


def swaps_the_last_two(messages, budget):
    made = kept(messages, budget)
    return made if len(made) in (len(messages), 1) else [*made[:-2], made[-1], made[-2]]


def loses_a_parallel_result(messages, budget):
    made = kept(messages, budget)
    results = [at for at, message in enumerate(made) if message["role"] == "tool"]
    if len(made) == len(messages) or not results:
        return made
    return [*made[: results[-1]], *made[results[-1] + 1 :]]


def cuts_what_fits(messages, budget):
    try:
        return kept(messages, min(budget, count_tokens(messages) - 1))
    except BudgetTooSmall:
        if count_tokens(messages) <= budget:
            return messages
        raise


class Moody:
    """Keeps something else at every second call."""

    def __init__(self):
        self.turns = itertools.count()

    def __call__(self, messages, budget):
        made = kept(messages, budget)
        if next(self.turns) % 2 and len(made) < len(messages) and len(made) > 1:
            return made[1:]
        return made


def shortens_again_and_again(messages, budget):
    made = kept(messages, budget)
    return [
        {**one, "content": one["content"][:-1]}
        if one["role"] == "assistant" and one["content"] and "tool_calls" not in one
        else one
        for one in made
    ]


def takes_out_of_the_list(messages, budget):
    made = kept(messages, budget)
    messages[:] = made
    return made


def makes_something_up(messages, budget):
    made = kept(messages, budget)
    return made if len(made) == len(messages) else [*made, {"role": "assistant", "content": "x"}]


def gives_up_early(messages, budget):
    if count_tokens(messages) > budget:
        raise BudgetTooSmall(budget + 1, budget)
    return messages


def changes_a_message(messages, budget):
    made = kept(messages, budget)
    for message in made:
        message.setdefault("name", "me")
    return made


BROKEN = {
    "fits_the_budget": keeps_everything,
    "keeps_what_must_stay": forgets_the_request,
    "shows_the_task": forgets_the_task,
    "keeps_units_whole": loses_a_parallel_result,
    "keeps_the_order": swaps_the_last_two,
    "invents_nothing": makes_something_up,
    "stays_valid": parts_pairs,
    "leaves_what_fits_alone": cuts_what_fits,
    "is_deterministic": Moody(),
    "is_idempotent": shortens_again_and_again,
    "changes_nothing_given": takes_out_of_the_list,
    "refuses_only_what_cannot_fit": gives_up_early,
}
ALONE = {
    "fits_the_budget": {"fits_the_budget"},
    "shows_the_task": {"shows_the_task"},
    "changes_nothing_given": {"changes_nothing_given"},
}
"""Evictors with one fault only, and so with one complaint only."""


def failures_of(evict, dialect="openai", **options):
    with pytest.raises(EvictorError) as caught:
        check_evictor(evict, dialect, **options)
    return caught.value


@pytest.mark.parametrize("invariant", BROKEN)
def test_every_fault_is_found_in_a_small_case(invariant):
    refusals = invariant == "refuses_only_what_cannot_fit"
    error = failures_of(BROKEN[invariant], examples=40, refusals=refusals)
    found = {one.invariant: one for one in error.failures}
    assert invariant in found
    assert set(found) <= {one.__name__ for one in INVARIANTS} | SEVERAL
    smallest = found[invariant]
    assert 1 <= len(smallest.messages) <= 6
    assert smallest.why
    assert smallest.why in str(error)
    assert f"budget {smallest.budget}" in str(error)
    if invariant in ALONE:
        assert set(found) == ALONE[invariant]


def test_there_is_a_broken_evictor_for_every_invariant():
    assert set(BROKEN) == {one.__name__ for one in INVARIANTS} | SEVERAL


def test_a_change_of_a_message_in_place_is_found():
    found = {one.invariant for one in failures_of(changes_a_message, examples=5).failures}
    assert "changes_nothing_given" in found


def test_refusing_what_fits_is_found():
    def refuses(messages, budget):
        raise BudgetTooSmall(count_tokens(messages), budget)

    (one,) = failures_of(refuses, examples=5, refusals=False).failures
    assert one.invariant == "leaves_what_fits_alone"
    assert len(one.messages) == 1
    assert one.made == []


def test_a_counterexample_is_a_list_that_the_provider_takes():
    for one in failures_of(parts_pairs, examples=40).failures:
        assert {found.rule for found in validate(one.messages, dialect="openai")} <= {"C2"}


def test_the_case_that_is_reported_breaks_the_invariant_by_itself():
    one = failures_of(keeps_everything, examples=10).failures[0]
    assert count_tokens(one.messages) > one.budget
    assert one.made == one.messages
    assert one.seed in range(10)


def test_a_complaint_shows_ids_and_names_whole_and_cuts_texts():
    name, text = "n" * 81, "t" * 81
    call = {"id": name, "type": "function", "function": {"name": name, "arguments": text}}
    given = [
        {"role": "user", "name": name, "content": text},
        {"role": "assistant", "content": text[1:], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": text},
    ]
    said = str(Failure("keeps", "it went", given, 9, given[:1], 0))
    assert said.count(f"'{name}'") == 5
    assert said.count(f"'{text[1:]}…'") == 4
    assert f"'{text[1:]}'" in said
    assert text not in said


def test_only_what_was_asked_for_is_checked():
    check_evictor(keeps_everything, "openai", examples=20, invariants=INVARIANTS[1:])
    with pytest.raises(EvictorError):
        check_evictor(keeps_everything, "openai", examples=20, invariants=INVARIANTS[:1])


def test_the_counter_is_the_authority():
    def flat(messages):
        return len(messages)

    def newest(messages, budget):
        return fit(messages, budget=budget, dialect="openai", counter=flat)

    check_evictor(newest, "openai", examples=20, counter=flat)
    with pytest.raises(EvictorError, match="fits_the_budget"):
        check_evictor(
            newest, "openai", examples=20, counter=lambda messages: len(messages) ** 2 + 1
        )


def test_an_unknown_dialect_is_refused():
    with pytest.raises(UnknownDialectError):
        check_evictor(kept, "morse", examples=1)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("orphans", [False, True])
def test_fit_passes(dialect, orphans):
    check_evictor(
        lambda messages, budget: fit(messages, budget=budget, dialect=dialect),
        dialect,
        examples=20,
        seed=7_000_000,
        orphans=orphans,
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fault_is_found_in_every_dialect(dialect):
    def loses_the_last(messages, budget):
        made = fit(messages, budget=budget, dialect=dialect).messages
        return made if len(made) == len(messages) else made[:-1]

    found = {one.invariant for one in failures_of(loses_the_last, dialect, examples=40).failures}
    assert "keeps_what_must_stay" in found


QUIET = settings(
    database=None,
    derandomize=True,
    deadline=None,
    max_examples=300,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_made_up_conversations_shrink(dialect):
    def has_three(history):
        return len(history.messages) >= 3

    smallest = find(histories(dialect), has_three, settings=QUIET)
    assert len(smallest.messages) <= 4, "two exchanges"
    assert count_tokens(smallest.messages) < 60
    assert not smallest.pins
    again = find(histories(dialect), has_three, settings=QUIET)
    assert again == smallest


@pytest.mark.parametrize("dialect", DIALECTS)
def test_conversations_without_orphans_are_valid_but_for_their_end(dialect):
    seen = 0
    for seed in range(60):
        history = random_history(seed, dialect)
        broken = validate(history.messages, dialect=dialect)
        found = [one for one in broken if one.severity == "refused"]
        seen += bool(found)
        texts = [dumps(message) for message in history.messages]
        assert len(set(texts)) == len(texts), "no two are equal"
        assert set(history.pins) <= set(range(len(texts)))
        assert {one.index for one in found} <= set(range(len(texts) - 30, len(texts)))
    assert seen < 30


PRINT_DIGEST = """
import hashlib
from warmset.messages import DIALECTS, dumps
from warmset.testing import random_history
made = [random_history(seed, one, orphans=True) for one in DIALECTS for seed in range(12)]
text = repr([([dumps(message) for message in one.messages], one.pins) for one in made])
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_a_seed_says_the_same_in_every_process():
    digests = {
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", PRINT_DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    }
    assert len(digests) == 1
    assert len(digests.pop()) == 2 * hashlib.sha256().digest_size
    assert random_history(1, "openai") != random_history(2, "openai")
