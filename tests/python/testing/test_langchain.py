"""What langchain-core's `trim_messages` does to the invariants, with the smallest cases.

A demonstration of `warmset.testing`, and no reproach: `trim_messages` promises to keep the last
messages that fit, and does. What an agent needs beside that is in the table, and which option
helps. langchain's options are `strategy="last"` and `include_system=True` unless a case says more.

The check is fair to it: the counter has no overhead for a list, messages come back as the objects
that went in, an empty answer where the list does not fit counts as a refusal, and only lists that
OpenAI takes are judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is what these tests are about")

from langchain_core.messages.utils import convert_to_messages, trim_messages as reference

import warmset
from warmset.errors import BudgetTooSmall
from warmset.testing import INVARIANTS, EvictorError, check_evictor, with_refusals
from warmset.testing.invariants import Given, Outcome
from warmset.tokens import PER_REPLY, count_tokens

PLAIN: dict[str, Any] = {"include_system": True}
BEGIN: dict[str, Any] = PLAIN | {"start_on": "human"}
BOTH: dict[str, Any] = BEGIN | {"end_on": ("human", "tool")}

SYSTEM = {"role": "system", "content": "Be brief."}
TASK = {"role": "user", "content": "Mend the build."}
SAID = {"role": "assistant", "content": "Done."}
THANKS = {"role": "user", "content": "And the docs?"}


def calls(*ids: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": "{}"}
    made = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "red"}


@dataclass(frozen=True)
class Case:
    """A list that breaks an invariant; every message costs ten tokens.

    `made` has the positions of what comes back; `helps` has options that avoid it, None if none do.
    """

    invariant: str
    why: str
    given: list[dict[str, Any]]
    budget: int
    made: list[int]
    options: dict[str, Any] = field(default_factory=lambda: PLAIN)
    helps: dict[str, Any] | None = None


CASES = [
    Case(
        "keeps_units_whole",
        "A message at a time is cut away, so a result stays whose call has left. "
        "start_on='human' avoids it, and so does pairs=True of warmset.",
        [TASK, calls("a"), result("a")],
        budget=10,
        made=[2],
        helps=BEGIN,
    ),
    Case(
        "stays_valid",
        "Of two parallel results one stays, and the provider refuses the list. "
        "start_on='human' avoids it, and so does pairs=True of warmset.",
        [TASK, calls("a", "b"), result("a"), result("b")],
        budget=10,
        made=[3],
        helps=BEGIN,
    ),
    Case(
        "keeps_what_must_stay",
        "What the agent did since the request fills the budget, and the request leaves. "
        "No option avoids it; with start_on='human' everything behind the request leaves as well.",
        [SYSTEM, TASK, calls("a"), result("a")],
        budget=30,
        made=[0],
        options=BEGIN,
    ),
    Case(
        "shows_the_task",
        "The first request is the oldest message, so it leaves first. No option avoids it.",
        [TASK, SAID, THANKS],
        budget=20,
        made=[1, 2],
    ),
    Case(
        "fits_the_budget",
        "The system message is put back whatever it costs. Without include_system it leaves.",
        [SYSTEM],
        budget=5,
        made=[0],
        helps={"include_system": False},
    ),
    Case(
        "leaves_what_fits_alone",
        "end_on cuts before it looks at the budget; that is what it is for. Without it, it holds.",
        [TASK, SAID],
        budget=100,
        made=[0],
        options=BOTH,
        helps=BEGIN,
    ),
    Case(
        "is_idempotent",
        "What comes back ends on the system message, which end_on cuts away the next time. "
        "Without end_on it holds.",
        [SYSTEM, TASK],
        budget=10,
        made=[0],
        options=BOTH,
        helps=BEGIN,
    ),
]

REMAINS = {
    "as it is": (
        PLAIN,
        {
            "keeps_units_whole",
            "stays_valid",
            "keeps_what_must_stay",
            "shows_the_task",
            "fits_the_budget",
        },
    ),
    "start_on": (BEGIN, {"keeps_what_must_stay", "shows_the_task", "fits_the_budget"}),
    "start_on and end_on": (
        BOTH,
        {
            "keeps_what_must_stay",
            "shows_the_task",
            "fits_the_budget",
            "leaves_what_fits_alone",
            "is_idempotent",
        },
    ),
}


def tens(messages: list[dict[str, Any]]) -> int:
    return 10 * len(messages)


def tokens(messages: list[dict[str, Any]]) -> int:
    """Count without overhead: what is counted in two parts must not cost more than as one."""
    return int(count_tokens(messages)) - PER_REPLY


def langchains(count, **options: Any):
    """Make an evictor of langchain-core's, for dicts."""

    def evict(messages: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
        given = convert_to_messages(messages)
        named = [one.model_copy(update={"id": str(at)}) for at, one in enumerate(given)]
        made = reference(
            named,
            max_tokens=budget,
            token_counter=lambda kept: count([messages[int(one.id)] for one in kept]),
            strategy="last",
            **options,
        )
        return [messages[int(one.id)] for one in made]

    return with_refusals(evict)


def ours(count, **options: Any):
    def evict(messages: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
        return warmset.trim_messages(messages, max_tokens=budget, token_counter=count, **options)

    return with_refusals(evict)


def of_valid_lists(invariant):
    @wraps(invariant)
    def judged(outcome: Outcome) -> str | None:
        return invariant(outcome) if outcome.given.valid else None

    return judged


def broken(evict, **options: Any) -> dict[str, Any]:
    """Return the failures that the check finds, by invariant."""
    judged = [of_valid_lists(one) for one in INVARIANTS]
    with pytest.raises(EvictorError) as caught:
        check_evictor(evict, "openai", counter=tokens, invariants=judged, refusals=False, **options)
    return {one.invariant: one for one in caught.value.failures}


def again(evict, made, budget):
    """Run an evictor on its own result; None if it refuses that."""
    try:
        return evict(made, budget)
    except BudgetTooSmall:
        return None


def complaint(case: Case, options: dict[str, Any]) -> str | None:
    """Judge one case by its invariant."""
    evict = langchains(tens, **options)
    try:
        made = evict(case.given, case.budget)
    except BudgetTooSmall:
        return None
    if case.invariant == "is_idempotent":
        return None if again(evict, made, case.budget) == made else "changed again"
    outcome = Outcome(
        given=Given(case.given, "openai"),
        made=made,
        places=[case.given.index(one) for one in made],
        budget=case.budget,
        tokens=tens(made),
        tokens_given=tens(case.given),
    )
    return next(one for one in INVARIANTS if one.__name__ == case.invariant)(outcome)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.invariant)
def test_the_smallest_cases(case):
    assert warmset.validate(case.given, dialect="openai") == []
    made = langchains(tens, **case.options)(case.given, case.budget)
    assert made == [case.given[at] for at in case.made]
    assert complaint(case, case.options)
    if case.helps is not None:
        assert complaint(case, case.helps) is None
    else:
        assert all(complaint(case, one) for one in (PLAIN, BEGIN) if one != case.options)


@pytest.mark.parametrize("name", REMAINS)
def test_the_check_finds_what_the_table_says(name):
    options, expected = REMAINS[name]
    failures = broken(langchains(tokens, **options), seed=26, examples=20)
    assert set(failures) == expected
    assert all(len(one.messages) <= 4 for one in failures.values())


def test_every_case_of_the_table_is_of_a_run():
    assert {case.invariant for case in CASES} == set.union(
        *(found for _, found in REMAINS.values())
    )


def test_pairs_mend_what_they_promise():
    """With pairs=True calls and results stay together; the task is not its business."""
    failures = broken(ours(tokens, include_system=True), seed=26, examples=20)
    assert set(failures) == {"keeps_what_must_stay", "shows_the_task", "fits_the_budget"}


def test_pairs_keep_every_other_invariant():
    """Without a system message that must come back, the budget holds too."""
    not_promised = {"keeps_what_must_stay", "shows_the_task"}
    promised = [one for one in INVARIANTS if one.__name__ not in not_promised]
    assert len(promised) == len(INVARIANTS) - 2
    check_evictor(
        ours(tokens), "openai", examples=150, counter=tokens, invariants=promised, refusals=False
    )


def test_fit_breaks_none():
    check_evictor(
        lambda messages, budget: warmset.fit(messages, budget=budget, counter=tokens),
        "openai",
        seed=26,
        examples=40,
        counter=tokens,
    )
