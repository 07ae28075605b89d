"""What a changed specification would have earned: against worlds whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from warmset.errors import InvalidInputError
from warmset.route import (
    Decision,
    LearnedPolicy,
    Need,
    OutcomeRecord,
    TaskSpec,
    evaluate,
    need_names,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIGURE = Need(type="figure", priority="essential", scope="global")
NOTE = Need(type="note", scope="global")
RUMOUR = Need(type="rumour", scope="global")
CHANCES = (1.0, 0.8, 0.4)


def spec(*needs, task="report"):
    return TaskSpec(task_type=task, required_memory=needs, max_context_tokens=100)


NAMES = need_names(spec(FIGURE, NOTE, RUMOUR))


def worth(note, rumour, both=0.0):
    """The true mean reward of an action; `both` is what no linear model says."""
    return 0.35 + 0.4 * note - 0.2 * rumour + both * note * rumour


def world(seed, count=400, both=0.0, stated=CHANCES):
    """Outcomes of a policy that keeps each need with its chance, and says `stated`."""
    random = np.random.default_rng(seed)
    kept = random.random((count, 3)) < CHANCES
    rewards = random.random(count) < worth(kept[:, 1], kept[:, 2], both)
    chances = np.where(kept, stated, 1 - np.asarray(stated))
    chances[:, 0] = 1.0
    return [
        OutcomeRecord(
            task="report",
            decision=Decision(
                id=str(at),
                needs=NAMES,
                kept=tuple(kept[at].tolist()),
                propensities=tuple(chances[at].tolist()),
            ),
            reward=float(rewards[at]),
            at=NOON,
        )
        for at in range(count)
    ]


SPECS = {
    "all": (spec(FIGURE, NOTE, RUMOUR), worth(1, 1)),
    "without rumours": (spec(FIGURE, NOTE), worth(1, 0)),
    "without notes": (spec(FIGURE, RUMOUR), worth(0, 1)),
    "the essential one alone": (spec(FIGURE), worth(0, 0)),
    "another policy": (
        lambda names: [
            {"note": 0.5, "rumour": 0.25}.get(name.split(":")[0], 0.0) for name in names
        ],
        0.35 + 0.4 * 0.5 - 0.2 * 0.25,
    ),
}


@pytest.mark.parametrize("target", SPECS)
def test_estimates_are_right_on_the_whole_and_their_errors_are_those_that_they_have(target):
    wanted, true = SPECS[target]
    made = [evaluate(world(seed), wanted) for seed in range(60)]
    for name, error in (("ips", "ips_error"), ("dr", "standard_error")):
        values = np.array([getattr(one, name) for one in made])
        errors = np.array([getattr(one, error) for one in made])
        spread = values.std(ddof=1)
        assert abs(values.mean() - true) < 4 * spread / math.sqrt(len(made))
        assert 0.7 < errors.mean() / spread < 1.4
    snips = np.array([one.snips for one in made])
    assert abs(snips.mean() - true) < 0.02
    assert not any(one.unsupported for one in made)
    assert all(bool(one.warnings) == (one.effective_sample_size < 30) for one in made)


@pytest.mark.parametrize("target", SPECS)
def test_doubly_robust_estimates_vary_less_than_those_by_propensity_alone(target):
    wanted, _true = SPECS[target]
    made = [evaluate(world(seed), wanted) for seed in range(60)]
    assert np.var([one.dr for one in made]) < np.var([one.ips for one in made])
    assert np.mean([one.standard_error for one in made]) < np.mean([one.ips_error for one in made])


def test_a_model_that_is_wrong_leaves_doubly_robust_estimates_right():
    wanted = spec(FIGURE, NOTE, RUMOUR)
    made = [evaluate(world(seed, both=0.4), wanted).dr for seed in range(100)]
    true = worth(1, 1, both=0.4)
    error = np.std(made, ddof=1) / 10
    assert abs(np.mean(made) - true) < 4 * error
    assert abs(np.mean(made) - worth(1, 1)) > 20 * error  # so the world is no linear one


def test_wrong_propensities_break_the_one_and_not_the_other_whose_model_is_right():
    wanted = spec(FIGURE, NOTE)
    made = [evaluate(world(seed, stated=(1.0, 0.4, 0.8)), wanted) for seed in range(40)]
    true = worth(1, 0)
    assert abs(np.mean([one.ips for one in made]) - true) > 0.5
    assert abs(np.mean([one.dr for one in made]) - true) < 0.05


def test_what_was_logged_is_what_its_own_policy_earned():
    records = world(1)
    same = evaluate(records, lambda _names: CHANCES)
    rewards = [one.reward for one in records]
    assert same.ips == same.snips == pytest.approx(np.mean(rewards))
    assert same.logged == pytest.approx(np.mean(rewards))
    assert same.logged_error == same.ips_error == pytest.approx(np.std(rewards, ddof=1) / 20)
    assert same.dr == pytest.approx(np.mean(rewards), abs=0.02)
    assert same.effective_sample_size == pytest.approx(400)
    assert (same.n, same.unsupported, same.warnings) == (400, 0, ())


def test_weights_are_those_of_the_action_as_a_whole():
    def one(kept, reward):
        chances = [chance if keeps else 1 - chance for keeps, chance in zip(kept, CHANCES)]  # noqa: B905
        decision = Decision(id="", needs=NAMES, kept=kept, propensities=tuple(chances))
        return OutcomeRecord(task="report", decision=decision, reward=reward, at=NOON)

    records = [one((True, True, True), 0.5), one((True, True, False), 1.0)]
    found = evaluate(records, spec(FIGURE, NOTE))
    assert found.ips == pytest.approx(1.0 / (0.8 * 0.6) / 2)
    assert found.snips == 1.0
    assert found.effective_sample_size == 1.0
    assert found.warnings == ("the effective sample size is 1.0, less than 30",)


def test_each_outcome_is_judged_by_a_model_of_the_other_parts():
    """The documented estimate for one need that varies, written down a second time."""
    kept = [at % 3 != 0 for at in range(12)]
    rewards = [0.2 + 0.5 * keeps + 0.03 * (at % 4) for at, keeps in enumerate(kept)]
    records = [
        OutcomeRecord(
            task="report",
            decision=Decision(
                id=str(at), needs=NAMES[:2], kept=(True, keeps), propensities=(1.0, 0.5)
            ),
            reward=reward,
            at=NOON,
        )
        for at, (keeps, reward) in enumerate(zip(kept, rewards, strict=True))
    ]

    def term(at):
        others = [one for one in range(12) if one % 5 != at % 5]
        middle = sum(kept[one] for one in others) / len(others)
        mean = sum(rewards[one] for one in others) / len(others)
        both = sum((kept[one] - middle) * (rewards[one] - mean) for one in others)
        slope = both / (1 + sum((kept[one] - middle) ** 2 for one in others))
        weight = 2.0 if kept[at] else 0.0
        seen = mean + slope * (kept[at] - middle)
        return mean + slope * (1 - middle) + weight * (rewards[at] - seen)

    terms = [term(at) for at in range(12)]
    found = evaluate(records, spec(FIGURE, NOTE))
    assert found.dr == pytest.approx(np.mean(terms))
    assert found.standard_error == pytest.approx(np.std(terms, ddof=1) / math.sqrt(12))


def test_what_could_not_happen_is_said():
    records = world(3, stated=CHANCES)
    found = evaluate(records, spec(NOTE, RUMOUR))
    assert found.unsupported == found.n == 400
    assert found.ips == 0
    assert math.isnan(found.snips)
    assert any(NAMES[0] in one and "400 outcomes" in one for one in found.warnings)
    new = Need(type="new", scope="global")
    fresh = evaluate(records, spec(FIGURE, NOTE, RUMOUR, new))
    assert fresh.unsupported == 400
    assert f"need {need_names(spec(new))[0]} was never tried" in fresh.warnings
    assert fresh.effective_sample_size == 0


def test_outcomes_from_before_a_need_was_there_had_no_chance_of_it():
    old = [
        replace(
            one,
            decision=replace(
                one.decision,
                needs=NAMES[:2],
                kept=one.decision.kept[:2],
                propensities=one.decision.propensities[:2],
            ),
        )
        for one in world(4, count=40)
    ]
    both = [*old, *world(5)]
    found = evaluate(both, spec(FIGURE, NOTE, RUMOUR))
    assert found.unsupported == 40
    assert found.warnings == (f"40 outcomes had no chance of what is wanted of need {NAMES[2]}",)
    assert evaluate(both, spec(FIGURE, NOTE)).unsupported == 0


def test_a_learnt_policy_is_evaluated_by_outcomes_that_it_did_not_learn_from():
    policy = LearnedPolicy(exploration=0.1, trials=10)
    records = world(6, count=2_000)
    learnt = policy.after(records[:1_000])
    found = evaluate(records[1_000:], learnt)
    true = 0.35 + 0.4 * 0.9 - 0.2 * 0.1
    assert abs(found.dr - true) < 3 * found.standard_error
    assert found.dr - found.logged > 3 * found.standard_error
    assert found.unsupported == 0  # essential needs are kept, whatever was learnt of them


@pytest.mark.parametrize(
    ("records", "target", "what"),
    [
        ([], spec(FIGURE), "at least 2"),
        (world(1, count=1), spec(FIGURE), "at least 2"),
        (world(1, count=5), spec(FIGURE, task="other"), "'report', not of 'other'"),
        (world(1, count=5), lambda _names: [0.5], "a chance from 0 to 1"),
        (world(1, count=5), lambda _names: [0.5, 0.5, 1.5], "a chance from 0 to 1"),
        (world(1, count=5), lambda _names: [0.5, 0.5, math.nan], "a chance from 0 to 1"),
        (
            [*world(1, count=5), replace(world(1, count=1)[0], task="other")],
            spec(FIGURE),
            "2 tasks",
        ),
    ],
)
def test_outcomes_of_something_else_are_refused(records, target, what):
    with pytest.raises(InvalidInputError, match=what):
        evaluate(records, target)
