"""Policies: off by default, needs left out by chance that is known, learnt from outcomes."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError, ReadOnly
from warmset.items import NewItem
from warmset.route import (
    Decision,
    LearnedPolicy,
    Need,
    OutcomeRecord,
    Request,
    Router,
    TaskSpec,
    need_names,
    outcomes,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPEC = TaskSpec(
    task_type="report",
    required_memory=[
        Need(type="figure", priority="essential", scope="global"),
        Need(type="note", scope="global"),
        Need(type="rumour", scope="global"),
    ],
    max_context_tokens=4_000,
)
NAMES = need_names(SPEC)


class Fixed:
    """Leaves out what it is told to."""

    def __init__(self, *kept, propensities=(1.0, 0.8, 0.3)):
        self.kept, self.propensities = kept, propensities
        self.records = None

    def decide(self, spec, request, records):
        self.records = records
        return Decision(
            id=f"d{request.query}",
            needs=need_names(spec),
            kept=self.kept,
            propensities=self.propensities,
        )


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        fill(made)
        yield made


def fill(memory):
    memory.items.put_many(
        [
            NewItem(memory_type=kind, memory_id=kind, text=f"the {kind} of sales")
            for kind in ("figure", "note", "rumour")
        ]
    )


def shown(payload):
    return {one.memory_id for one in payload.context_payload}


def record(kept, reward, needs=NAMES, propensities=None, task="report"):
    chances = propensities or tuple(0.5 for _ in needs)
    decision = Decision(id="d", needs=needs, kept=kept, propensities=chances)
    return OutcomeRecord(task=task, decision=decision, reward=reward, at=NOON)


def request(query="sales?", **fields):
    return Request(task="report", query=query, now=NOON, **fields)


def test_without_a_policy_nothing_is_left_out_and_nothing_is_stored(memory):
    router = Router(memory, specs=[SPEC], record=False)
    before = memory.stats()["records"]
    payload = router.route("report", query="sales?")
    assert (payload.decision, shown(payload)) == (None, {"figure", "note", "rumour"})
    assert router.outcome(payload, 1.0) == ()
    assert router.outcomes("report") == []
    assert memory.stats()["records"] == before


def test_a_need_that_the_policy_leaves_out_is_not_looked_up_and_says_so(memory):
    router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False))
    payload = router.route("report", query="sales?")
    assert shown(payload) == {"figure", "note"}
    assert [one.left for one in payload.needs] == [None, None, "left out by the policy"]
    assert payload.more("rumour").granted == ("rumour",)


def test_no_policy_leaves_an_essential_need_out(memory):
    router = Router(memory, specs=[SPEC], policy=Fixed(False, False, True))
    payload = router.route("report", query="sales?")
    assert shown(payload) == {"figure", "rumour"}
    assert payload.decision.kept == (True, False, True)
    assert payload.decision.propensities == (1.0, 0.8, 0.3)
    away = Fixed(False, True, True, propensities=(0.5, 0.8, 0.3))
    decision = Router(memory, specs=[SPEC], policy=away).route("report", query="a").decision
    assert decision.propensities == (1.0, 0.8, 0.3)


def test_an_outcome_is_stored_once_with_its_chances(memory):
    policy = Fixed(True, True, False)
    router = Router(memory, specs=[SPEC], policy=policy)
    payload = router.route("report", query="q", conversation="c")
    router.outcome(payload, 0.25)
    router.outcome(payload, 1.0)
    [found] = router.outcomes("report")
    assert found == OutcomeRecord(
        task="report", decision=payload.decision, reward=0.25, at=found.at, conversation="c"
    )
    assert abs((datetime.now(UTC) - found.at).total_seconds()) < 600
    assert router.outcomes("other") == []
    router.route("report", query="r")
    assert policy.records == [found]


def test_outcomes_stay_in_their_order_and_the_oldest_make_room(memory, monkeypatch):
    monkeypatch.setattr(outcomes, "MOST", 3)
    router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False))
    given = [0.5, 0.4, 0.3, 0.2, 0.1]
    for count, reward in enumerate(given, 1):
        router.outcome(router.route("report", query=f"{reward}"), reward)
        left = [one.reward for one in router.outcomes("report")]
        assert left == given[max(count - 3, 0) : count]


@pytest.mark.parametrize("encryption", [None, "keys"])
@pytest.mark.parametrize("kept", [True, False])
def test_an_outcome_after_its_conversation_was_erased_is_not_stored(tmp_path, kept, encryption):
    with Memory.open(tmp_path, embedder="lexical", encryption=encryption) as memory:
        fill(memory)
        memory.conversation("zebra").append({"role": "user", "content": "sales?"})
        memory.conversation("b").append({"role": "user", "content": "sales?"})
        router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False), record=kept)
        payloads = [
            router.route("report", query=name, conversation=name) for name in ("zebra", "b")
        ]
        memory.erase(conversation="zebra")
        for payload in payloads:
            assert router.outcome(payload, 1.0) == ()
        assert [one.conversation for one in router.outcomes("report")] == ["b"]
        memory.conversation("zebra").append({"role": "user", "content": "sales?"})  # another one
        router.outcome(payloads[0], 1.0)
        router.outcome(router.route("report", query="c", conversation="zebra"), 1.0)
        assert [one.conversation for one in router.outcomes("report")] == ["b", "zebra"]
        memory.erase(conversation="zebra")
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"zebra" not in stored


def test_no_outcome_outlives_a_conversation_that_is_erased_while_it_is_stored(memory, monkeypatch):
    memory.conversation("c").append({"role": "user", "content": "sales?"})
    router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False))
    payload = router.route("report", query="q", conversation="c")
    look, erasing = outcomes.is_erased, []

    def late(engine, trace):
        found = look(engine, trace)
        erasing.append(threading.Thread(target=memory.erase, kwargs={"conversation": "c"}))
        erasing[0].start()
        erasing[0].join(0.5)  # it waits until the outcome is stored
        return found

    monkeypatch.setattr(outcomes, "is_erased", late)
    router.outcome(payload, 1.0)
    erasing[0].join(30)
    assert not erasing[0].is_alive()
    assert router.outcomes("report") == []


def test_an_outcome_still_counts_for_the_fixes_after_its_conversation_was_erased(memory):
    fixes = replace(SPEC, required_memory=[Need(type="error_fix", scope="global")])
    router = Router(memory, specs=[fixes], policy=Fixed(True, propensities=(0.5,)))
    name = router.learn_fix("disk full", "remove the cache", origin="assistant")
    payload = router.route("report", query="disk full", conversation="c")
    memory.erase(conversation="c")
    assert router.outcome(payload, 1.0) == (name,)
    assert router.outcomes("report") == []


@pytest.mark.parametrize("kept", [True, False])
def test_an_outcome_is_stored_of_a_conversation_that_is_not_in_the_store(memory, kept):
    router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False), record=kept)
    router.outcome(router.route("report", query="q", conversation="c"), 1.0)
    assert [one.conversation for one in router.outcomes("report")] == ["c"]


def test_an_outcome_is_stored_after_the_record_of_its_payload_expired(memory):
    keep = timedelta(microseconds=1)
    router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False), keep_records=keep)
    payload = router.route("report", query="q", conversation="c")
    assert router.payloads() == []
    memory._handle.live().log.sweep()
    router.outcome(payload, 1.0)
    assert [one.conversation for one in router.outcomes("report")] == ["c"]


def test_outcomes_are_erased_with_their_conversation_and_hold_no_text(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        fill(memory)
        router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False))
        for query, conversation in (("secret", "a"), ("other", "b"), ("none", None)):
            payload = router.route("report", query=query, conversation=conversation)
            router.outcome(replace(payload, decision=replace(payload.decision, id=query[::-1])), 1)
        assert len(router.outcomes("report")) == 3
        memory.erase(conversation="a")
        assert [one.conversation for one in router.outcomes("report")] == ["b", None]
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"terces" not in stored
    assert b"secret" not in stored
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        router = Router(memory, specs=[SPEC], policy=Fixed(True, False, False))
        assert len(router.outcomes("report")) == 2
        payload = router.route("report", query="new")
        assert shown(payload) == {"figure"}
        with pytest.raises(ReadOnly):
            router.outcome(payload, 1.0)


def test_another_tenant_has_no_part_in_outcomes(tmp_path):
    for tenant in ("one", "other"):
        with Memory.open(tmp_path, embedder="lexical", tenant=tenant) as memory:
            fill(memory)
            router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False))
            assert router.outcomes("report") == []
            router.outcome(router.route("report", query="q"), 1.0)
            assert len(router.outcomes("report")) == 1


class Broken:
    def __init__(self, answer):
        self.answer = answer

    def decide(self, _spec, _request, _records):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("secret"),
        None,
        Decision(id="x", needs=NAMES[:2], kept=(True, False), propensities=(1.0, 0.5)),
    ],
)
def test_if_a_policy_fails_all_needs_count(memory, caplog, answer):
    caplog.set_level(logging.WARNING, logger="warmset")
    payload = Router(memory, specs=[SPEC], policy=Broken(answer)).route("report", query="q")
    assert (payload.decision, shown(payload)) == (None, {"figure", "note", "rumour"})
    [told] = [one for one in caplog.records if one.event == "fell_back"]
    assert (told.what, told.to, told.task) == ("policy", "spec", "report")
    assert "secret" not in told.getMessage()
    assert payload.notes == ("the policy failed, so that all needs count",)


def test_a_learnt_policy_keeps_needs_until_both_ways_were_tried():
    policy = LearnedPolicy(exploration=0.1, trials=5)
    assert policy.after([])(NAMES) == (0.9, 0.9, 0.9)
    tried = [record((True, True, True), 0.0)] * 9 + [record((True, False, True), 1.0)] * 4
    assert policy.after(tried)(NAMES)[1] == 0.9
    tried += [record((True, True, False), 0.5)] * 5
    assert policy.after(tried)(NAMES)[2] == pytest.approx(
        chance_of([0.0] * 9 + [1.0] * 4, [0.5] * 5)
    )
    assert 0.1 < policy.after(tried)(NAMES)[2] < 0.9


def chance_of(having, without, floor=0.1):
    """The documented rule, written down a second time."""
    from statistics import NormalDist  # noqa: PLC0415

    def moments(rewards):
        one, other = 1 + sum(rewards), 1 + len(rewards) - sum(rewards)
        both = one + other
        return one / both, one * other / (both**2 * (both + 1))

    (a, u), (b, v) = moments(having), moments(without)
    return min(max(NormalDist().cdf((a - b) / (u + v) ** 0.5), floor), 1 - floor)


def test_a_need_that_does_harm_is_left_out_as_far_as_exploration_lets_it():
    policy = LearnedPolicy(exploration=0.05, trials=1)
    found = [record((True, True, True), 0.0)] * 50 + [record((True, False, True), 1.0)] * 50
    chances = policy.after(found)(NAMES)
    assert chances[1] == 0.05
    assert policy.after([])(("unknown",)) == (0.95,)
    helped = [replace(one, reward=1 - one.reward) for one in found]
    assert policy.after(helped)(NAMES)[1] == 0.95


def test_decisions_are_drawn_as_their_chances_say_and_depend_on_nothing_else():
    policy = LearnedPolicy(exploration=0.25)
    made = [policy.decide(SPEC, request(f"q{at}"), []) for at in range(2_000)]
    again = [policy.decide(SPEC, request(f"q{at}"), []) for at in range(2_000)]
    assert [one.kept for one in made] == [one.kept for one in again]
    assert all(one.kept[0] and one.propensities[0] == 1.0 for one in made)
    for place in (1, 2):
        left = [one for one in made if not one.kept[place]]
        assert 0.22 < len(left) / len(made) < 0.28
        assert {one.propensities[place] for one in left} == {0.25}
        assert {one.propensities[place] for one in made if one.kept[place]} == {0.75}
    both = sum(not one.kept[1] and not one.kept[2] for one in made) / len(made)
    assert 0.045 < both < 0.08  # each on its own: a sixteenth
    assert len({one.id for one in made}) == len(made)
    other = [
        LearnedPolicy(exploration=0.25, seed=1).decide(SPEC, request(f"q{at}"), []).kept
        for at in range(50)
    ]
    assert other != [one.kept for one in made[:50]]
    after = [record((True, True, True), 1.0)]
    later = [policy.decide(SPEC, request(f"q{at}"), after).kept for at in range(50)]
    assert later != [one.kept for one in made[:50]]


def test_what_is_learnt_of_a_need_holds_in_another_specification():
    other = TaskSpec(
        task_type="report",
        required_memory=[
            Need(type="new", scope="global"),
            Need(type="rumour", priority="essential", scope="global"),
            Need(type="note", scope="global"),
            Need(type="note", scope="global"),
            Need(type="note", scope="global", sections=("a",)),
        ],
        max_context_tokens=10,
    )
    names = need_names(other)
    assert names[1] == NAMES[2]
    assert names[2] == NAMES[1]
    assert names[3] == f"{names[2]}#2"
    assert len({*names, *NAMES}) == 6


def test_a_policy_learns_which_need_is_worth_it(memory):
    router = Router(memory, specs=[SPEC], policy=LearnedPolicy(exploration=0.2, trials=10))
    left = {"note": 0, "rumour": 0}
    for at in range(300):
        payload = router.route("report", query=f"sales {at}?", now=NOON)
        there = shown(payload)
        router.outcome(payload, 0.3 + 0.4 * ("note" in there) - 0.3 * ("rumour" in there))
        if at >= 200:
            for kind in left:
                left[kind] += kind not in there
    assert left["rumour"] > 65
    assert left["note"] < 35


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"exploration": 0.0}, "exploration"),
        ({"exploration": 0.51}, "exploration"),
        ({"exploration": float("nan")}, "exploration"),
        ({"trials": 0}, "trials"),
        ({"trials": True}, "trials"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_arguments_of_a_policy_are_checked(fields, what):
    with pytest.raises(InvalidInputError, match=what):
        LearnedPolicy(**fields)


def test_decisions_and_outcomes_are_checked(memory):
    with pytest.raises(InvalidInputError, match="kept"):
        Decision(id="x", needs=("a",), kept=(True, True), propensities=(1.0,))
    with pytest.raises(InvalidInputError, match="needs"):
        Decision(id="x", needs=("a", "a"), kept=(True, True), propensities=(1.0, 1.0))
    with pytest.raises(InvalidInputError, match="kept"):
        Decision(id="x", needs=("a",), kept=("a",), propensities=(1.0,))
    for chance in (0.0, 1.01, float("nan"), True):
        with pytest.raises(InvalidInputError, match="propensities"):
            Decision(id="x", needs=("a",), kept=(True,), propensities=(chance,))
    for reward in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidInputError, match="reward"):
            record((True, True, True), reward)
    with pytest.raises(InvalidInputError, match="task"):
        Router(memory).outcomes("")


def test_outcomes_have_a_twin(memory):
    router = Router(memory, specs=[SPEC], policy=Fixed(True, True, False))
    router.outcome(router.route("report", query="q"), 1.0)
    assert asyncio.run(router.aoutcomes("report")) == router.outcomes("report")
