"""Every policy in every dialect keeps to what must hold of an eviction."""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random

import pytest
from fitting import ALWAYS, OWN_TRIGGER, POLICIES, cases, in_shards
from hypothesis import HealthCheck, given, settings, strategies as st

from warmset import counter, fit
from warmset.errors import BudgetTooSmall
from warmset.messages import DIALECTS, facts, units
from warmset.testing import (
    INVARIANTS,
    Given,
    Outcome,
    check_evictor,
    histories,
    random_history,
)
from warmset.testing.invariants import leaves_what_fits_alone
from warmset.testing.links import without_thinking
from warmset.tokens import TokenCount

PAIRS = [(name, dialect) for name in POLICIES for dialect in DIALECTS]
COUNT = counter()


@pytest.mark.parametrize(("name", "dialect"), PAIRS)
def test_check_evictor_finds_nothing(name, dialect):
    """Several budgets each, run twice, and once more on their own result."""
    own = {leaves_what_fits_alone} if name in OWN_TRIGGER else set()
    check_evictor(
        lambda messages, budget: fit(
            messages, budget=budget, policy=POLICIES[name], dialect=dialect
        ),
        dialect,
        examples=cases(6, 500),
        seed=1_000_000,
        invariants=[one for one in INVARIANTS if one not in own],
    )


class Known:
    """Counts each message of a list once, so that the time goes into what is on trial."""

    def __init__(self, messages):
        self.given = messages
        self.known = dict(zip(map(id, messages), COUNT.costs(messages), strict=True))

    def costs(self, messages):
        fresh = [one for one in messages if id(one) not in self.known]
        counted = iter(COUNT.costs(fresh) if fresh else ())
        return [self.known[id(one)] if id(one) in self.known else next(counted) for one in messages]

    def overhead(self, system=None, tools=None):
        return COUNT.overhead(system, tools)

    def count(self, messages):
        return TokenCount(self.overhead() + sum(self.costs(messages)), exact=False)


def complaints(dialect, seeds):
    """Return what is wrong with every policy's answer to conversations, and how many answered."""
    found, answers = [], 0
    for seed in seeds:
        history = random_history(seed, dialect, orphans=seed % 5 == 0)
        given = Given(history.messages, dialect)
        known = Known(history.messages)
        total = int(known.count(history.messages))
        for at, (name, policy) in enumerate(POLICIES.items()):
            rng = Random(seed * 16 + at)
            budget = max(total * rng.randrange(5, 105) // 100, 1)
            pins = history.pins if rng.random() < 0.3 else ()
            try:
                made = fit(
                    history.messages,
                    budget=budget,
                    policy=policy,
                    dialect=dialect,
                    protect=pins,
                    counter=known,
                )
            except BudgetTooSmall:
                continue
            answers += 1
            found += [(name, seed, why) for why in wrong(given, made, known, total, pins, name)]
    return found, answers


def wrong(given, made, known, total, pins, name):
    stand_ins = {one.index for one in made.inserted}
    kept = iter(made.kept)
    outcome = Outcome(
        given=given,
        made=made.messages,
        places=[None if at in stand_ins else next(kept) for at in range(len(made.messages))],
        budget=made.budget,
        tokens=int(known.count(made.messages)),
        tokens_given=total,
        pins=pins,
        covered=frozenset(
            at for one in made.inserted if one.kind != "gap" for at in one.stands_for
        ),
        bare=frozenset(made.thinking.changed),
    )
    own = {leaves_what_fits_alone} if name in OWN_TRIGGER else set()
    found = [why for one in INVARIANTS if one not in own and (why := one(outcome))]
    left = [at for one in made.evicted for at in one.indices]
    if sorted({*made.kept, *made.thinking.changed, *left}) != list(range(len(given.messages))):
        found.append("survivors and evicted are not the input")
    if outcome.tokens != made.tokens:
        found.append(f"it says {made.tokens} tokens, and has {outcome.tokens}")
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_seeded_conversations_through_every_policy(dialect):
    """The deep profile tries 100,000 conversations, a quarter in each dialect."""
    count = cases(20, 25_000)
    shards = in_shards(partial(complaints, dialect), count)
    answers = sum(number for _, number in shards)
    print(f"{dialect}: {count} conversations, {answers} windows of {len(POLICIES)} policies")
    assert [one for found, _ in shards for one in found] == []
    assert answers > count * len(POLICIES) // 2


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", POLICIES)
def test_shrinking_conversations(name, dialect):
    # Hypothesis draws by constants of the modules that are loaded, and with some, lists are long.
    @settings(max_examples=cases(3, 500), suppress_health_check=[HealthCheck.data_too_large])
    @given(histories(dialect, orphans=True), st.integers(1, 110), st.booleans())
    def run(history, share, pinned):
        account_is_complete(history, POLICIES[name], share, history.pins if pinned else ())

    run()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ALWAYS)
def test_what_always_acts_leaves_its_own_result_alone(name, dialect):
    """7: a second call evicts and inserts nothing, with a store and pins too."""
    seen = Counter()
    for seed in range(cases(20, 5_000)):
        history = random_history(seed, dialect, orphans=seed % 3 == 0)
        total = int(COUNT.count(history.messages))
        budget = max(total * Random(seed).choice((40, 70, 100, 300)) // 100, 1)
        options = {"policy": POLICIES[name], "dialect": dialect, "budget": budget}
        # Whole units, as reasoning that is pinned leaves with what it was bound to.
        whole = units([facts(message, dialect) for message in history.messages])
        pinned = [unit.members for unit in whole if {*unit.members} & {*history.pins}]
        pins = [at for members in pinned for at in members] if seed % 2 else []
        try:
            made = fit(history.messages, protect=pins, **options)
        except BudgetTooSmall:
            continue
        seen["changed"] += bool(made.evicted)
        if made.thinking.disabled:
            continue  # without its thinking, the reply that begins the loop need not stay
        stood, kept = {one.index for one in made.inserted}, iter(made.kept)
        homes = [None if at in stood else next(kept) for at in range(len(made.messages))]
        held = [at for at, home in enumerate(homes) if home in pins]
        again = fit(made.messages, protect=held, **options)
        assert len(again.messages) == len(made.messages), seed
        pairs = zip(again.messages, made.messages, strict=True)
        assert all(one is other for one, other in pairs), seed
        assert (again.evicted, again.inserted) == ((), ()), seed
        assert again.tokens == made.tokens
    assert seen["changed"] > 10


def account_is_complete(history, policy, share, pins):
    total = int(fit(history.messages, budget=10**9, dialect=history.dialect).tokens)
    budget = max(total * share // 100, 1)
    try:
        made = fit(
            history.messages,
            budget=budget,
            policy=policy,
            dialect=history.dialect,
            protect=pins,
        )
    except BudgetTooSmall as error:
        refusal = error
    else:
        refusal = None
    if refusal is not None:
        assert refusal.have == budget < refusal.need
        enough = fit(
            history.messages,
            budget=refusal.need,
            policy=policy,
            dialect=history.dialect,
            protect=pins,
        )
        assert enough.tokens <= refusal.need
        return
    assert made.tokens <= budget
    left = [at for one in made.evicted for at in one.indices]
    changed = set(made.thinking.changed)
    assert sorted({*made.kept, *changed, *left}) == list(range(len(history.messages)))
    assert set(pins) <= {*made.kept, *changed}
    stood = {one.index for one in made.inserted}
    stayed = [message for at, message in enumerate(made.messages) if at not in stood]
    assert len(stayed) == len(made.kept)
    for one, at in zip(stayed, made.kept, strict=True):
        if at in changed:
            assert one == without_thinking(history.messages[at]) != history.messages[at]
        else:
            assert one is history.messages[at]
    assert all(one.reason for one in made.evicted)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_larger_budget_keeps_more(dialect):
    for seed in range(cases(12, 5_000)):
        history = random_history(seed, dialect)
        total = int(fit(history.messages, budget=10**9, dialect=dialect).tokens)
        before = set()
        for share in sorted(Random(seed).sample(range(1, 101), 6)):
            try:
                made = fit(history.messages, budget=max(total * share // 100, 1), dialect=dialect)
            except BudgetTooSmall:
                continue
            if any(one.kind == "summary" for one in made.inserted):
                continue  # one line of the task leaves room that the whole task takes again
            assert before <= set(made.kept), (seed, share)
            before = set(made.kept)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_that_left_could_be_put_back(dialect):
    """13: under the order of age, the newest unit that left does not fit beside what stayed."""
    seen = Counter()
    for seed in range(cases(25, 5_000)):
        history = random_history(seed, dialect)
        total = int(fit(history.messages, budget=10**9, dialect=dialect).tokens)
        budget = total * Random(seed).randrange(30, 100) // 100
        try:
            made = fit(history.messages, budget=budget, dialect=dialect)
        except BudgetTooSmall:
            continue
        if not made.evicted:
            continue
        seen["evicted"] += 1
        newest = made.evicted[-1]
        pins = [*made.kept, *newest.indices]
        with pytest.raises(BudgetTooSmall) as caught:
            fit(history.messages, budget=budget, dialect=dialect, protect=pins)
        assert caught.value.need > budget
    assert seen["evicted"] > 20


@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_do_not_matter_where_tokens_are_equal(dialect):
    """12: policies that do not read texts see only what they cost."""
    for seed in range(cases(20, 2_000)):
        history = random_history(seed, dialect)

        def flat(messages):
            return 10 * len(messages)

        budget = max(10 * len(history.messages) * Random(seed).randrange(20, 100) // 100, 1)

        def kept(messages, budget=budget, flat=flat):
            try:
                return fit(messages, budget=budget, counter=flat, dialect=dialect).kept
            except BudgetTooSmall as error:
                return error.need

        other = random_history(seed, dialect)
        for message in other.messages:
            if isinstance(message.get("content"), str) and message["content"]:
                message["content"] = "other words"
        assert kept(history.messages) == kept(other.messages)


def test_ten_thousand_parallel_calls_are_one_unit():
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for at in range(10_000)
    ]
    results = [{"role": "tool", "tool_call_id": f"c{at}", "content": "ok"} for at in range(10_000)]
    old = [{"role": "user", "content": "do it"}, {"role": "assistant", "tool_calls": calls}]
    now = [{"role": "assistant", "content": "done"}, {"role": "user", "content": "thanks"}]
    made = fit([*old, *results, *now], budget=200)
    assert made.messages == [old[0], *now]
    assert [len(one.indices) for one in made.evicted] == [10_001]


def test_a_hundred_thousand_messages():
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": f"message {at}"} for at in range(100_001)]
    made = fit(messages, budget=50_000)
    assert made.tokens <= 50_000
    assert made.messages[0] is messages[0]
    assert made.messages[-1] is messages[-1]


def test_counts_saturate():
    huge = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 3
    with pytest.raises(BudgetTooSmall):
        fit(huge, budget=10, counter=lambda messages: 2**62 * len(messages))
