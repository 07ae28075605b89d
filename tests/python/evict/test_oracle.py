"""`fit` against an oracle that tries every cut and shares no code with it: results and errors.

The deep profile tries 100,000 conversations, each written in all five dialects:
`HYPOTHESIS_PROFILE=deep pytest tests/python/evict/test_oracle.py`.
"""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from fitting import cases, in_shards

from warmset import HeadTail, Salience, SlidingWindow, TokenBudget, counter, fit
from warmset.errors import BudgetTooSmall
from warmset.messages import DIALECTS, LANGUAGES
from warmset.testing import Puzzle, between, by_age, by_place, by_score, random_history, solve
from warmset.testing.links import see

GAP = "(Earlier messages were left out.)"


def puzzle(history, rng):
    """Put a conversation in numbers, with a budget from nearly nothing to enough."""
    count = counter()
    say = LANGUAGES[history.dialect].grammar.say
    costs = count.costs(history.messages)
    share = rng.choice((0.1, 0.3, 0.5, 0.7, 0.9, 1.0))
    asked = [message for message in history.messages if see(message, history.dialect).asks]
    return Puzzle(
        messages=history.messages,
        dialect=history.dialect,
        budget=max(int((sum(costs) + count.overhead()) * share), 1),
        costs=costs,
        overhead=count.overhead(),
        gap={role: count.costs([say(role, GAP)])[0] for role in ("user", "assistant")},
        brief=count.costs([say("user", brief(asked[0], history.dialect))])[0] if asked else 0,
        pins=frozenset(history.pins if rng.random() < 0.5 else ()),
    )


def brief(message, dialect):
    """Write the one line that stands for a task, as its published form says."""
    facts = LANGUAGES[dialect].grammar.facts(message)
    from warmset.text.decisions import summarise  # noqa: PLC0415 - the words of a summary are not on trial

    return f"(The task, shortened) {summarise(facts.text) or '…'}"


def contestants(rng, count):
    last, first = rng.choice((1, 2, 4)), rng.choice((1, 2))
    scores = [rng.choice((0.0, -0.0, 1.0, 0.5)) for _ in range(count)]
    window, ends = by_place(0, last), by_place(first, last)
    return (
        (TokenBudget(), by_age, None),
        (SlidingWindow(last), window, None),
        (SlidingWindow(last, always=True), window, between(0, last)),
        (HeadTail(last, first), ends, None),
        (HeadTail(last, first, always=True), ends, between(first, last)),
        (Salience(scores), by_score(scores), None),
    )


def disagreements(dialect, seeds):
    """Return where `fit` and the oracle differ, and how many cases were refusals."""
    found, refused = [], 0
    for seed in seeds:
        history = random_history(seed, dialect, orphans=seed % 3 == 0)
        rng = Random(seed)
        told = puzzle(history, rng)
        for policy, leave, always in contestants(rng, len(history.messages)):
            verdict = solve(told, leave, always)
            try:
                made = fit(
                    history.messages,
                    budget=told.budget,
                    policy=policy,
                    protect=told.pins,
                    dialect=dialect,
                )
            except BudgetTooSmall as error:
                refused += 1
                answer = (frozenset(), error.need, error.have)
            else:
                stayed = frozenset(made.kept) | frozenset(made.thinking.changed)
                answer = (stayed, None, told.budget)
            if answer != (verdict.kept, verdict.need, told.budget):
                found.append((dialect, seed, policy, answer, verdict))
    return found, refused


@pytest.mark.parametrize("dialect", DIALECTS)
def test_fit_is_the_oracles_answer(dialect):
    count = cases(120, 100_000)
    answers = in_shards(partial(disagreements, dialect), count)
    refused = sum(number for _, number in answers)
    print(f"{dialect}: {count} conversations, {6 * count} cases, {refused} refused")
    assert [one for found, _ in answers for one in found] == []
    assert refused > count // 20, "too few refusals to say that errors are equal"
