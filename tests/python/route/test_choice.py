"""What is chosen under a budget, against every choice there is."""

from __future__ import annotations

import random

import pytest

from warmset.errors import BudgetTooSmall
from warmset.route.candidates import Candidate, Facts
from warmset.route.choice import Judged, choose
from warmset.route.triage import Verdict

MUST, MAY, NOT = (Verdict(word, "") for word in ("essential", "supplementary", "redundant"))


def candidate(id_, relevance=0.5):
    known = Facts(memory_id=f"i{id_}", tokens=1, at=0, origin="user")
    return Candidate(
        id=id_,
        known=known,
        priority="supplementary",
        needs=(0,),
        similarity=None,
        relevance=relevance,
    )


def judged(verdicts, costs, closures=None, relevances=None, again=()):
    relevances = relevances or {}
    return Judged(
        candidates=[candidate(id_, relevances.get(id_, 0.5)) for id_ in costs],
        verdicts=verdicts,
        costs=costs,
        closures=closures or {},
        again=frozenset(again),
    )


def test_what_is_essential_fits_exactly_or_not_at_all():
    some = judged({1: MUST, 2: MUST, 3: MAY}, {1: 4, 2: 6, 3: 1})
    assert choose(some, 10) == {1, 2}
    assert choose(some, 11) == {1, 2, 3}
    with pytest.raises(BudgetTooSmall) as caught:
        choose(some, 9)
    assert (caught.value.need, caught.value.have) == (10, 9)


def test_what_is_essential_brings_what_it_depends_on_and_pays_for_it_once():
    some = judged({1: MUST, 2: MUST}, {1: 4, 2: 6, 3: 5}, {1: frozenset([3]), 2: frozenset([3])})
    assert choose(some, 15) == {1, 2, 3}
    with pytest.raises(BudgetTooSmall) as caught:
        choose(some, 14)
    assert caught.value.need == 15


def test_worth_is_counted_for_each_token_and_a_misfit_is_passed_over():
    some = judged(
        {1: MAY, 2: MAY, 3: MAY}, {1: 10, 2: 6, 3: 4}, relevances={1: 0.9, 2: 0.6, 3: 0.2}
    )
    assert choose(some, 10) == {2, 3}
    assert choose(some, 6) == {2}
    assert choose(some, 3) == set()
    assert choose(some, 20) == {1, 2, 3}


def test_what_is_redundant_stands_only_where_another_item_depends_on_it():
    verdicts, costs = {1: MAY, 2: NOT, 3: NOT}, {1: 1, 2: 1, 3: 1}
    assert choose(judged(verdicts, costs), 9) == {1}
    assert choose(judged(verdicts, costs, {1: frozenset([2])}), 9) == {1, 2}
    assert choose(judged(verdicts, costs, {1: frozenset([2])}), 1) == set()


def test_half_of_the_room_is_for_what_was_left_out_before():
    costs = {1: 4, 2: 4, 3: 4, 4: 4, 5: 2}
    verdicts = dict.fromkeys(costs, MAY) | {5: MUST}
    worth = {1: 0.9, 2: 0.8, 3: 0.2, 4: 0.1}
    some = judged(verdicts, costs, relevances=worth, again=[3, 4])
    assert choose(some, 10) == {5, 3, 1}
    assert choose(some, 18) == {5, 3, 4, 1, 2}
    assert choose(some, 9) == {5, 1}  # half of what is left is 3
    some = judged(verdicts, costs, relevances=worth, again=[1, 2, 3])
    assert choose(some, 18) == {5, 1, 2, 3, 4}
    assert choose(some, 14) == {5, 1, 4, 2}


@pytest.mark.parametrize("seed", range(60))
def test_a_choice_is_what_a_plain_walk_chooses(seed):
    draw = random.Random(seed)
    ids = range(1, draw.randrange(2, 9))
    costs = {id_: draw.randrange(1, 9) for id_ in ids}
    words = [MUST, MAY, MAY, MAY, NOT]
    verdicts = {id_: draw.choice(words) for id_ in ids}
    relevances = {id_: draw.choice([0.0, 0.25, 0.5, 1.0]) for id_ in ids}
    closures = {
        id_: frozenset(draw.sample(list(ids), draw.randrange(3)) if len(ids) > 2 else []) - {id_}
        for id_ in ids
        if draw.random() < 0.4
    }
    some, room = judged(verdicts, costs, closures, relevances), draw.randrange(1, 40)
    chosen = set()
    for id_ in ids:
        if verdicts[id_] is MUST:
            chosen |= {id_, *closures.get(id_, ())}
    if sum(costs[id_] for id_ in chosen) > room:
        with pytest.raises(BudgetTooSmall):
            choose(some, room)
        return

    def density(id_):
        group = {id_, *closures.get(id_, ())} - must
        return relevances[id_] / sum(costs[one] for one in group)

    must = frozenset(chosen)
    rest = [id_ for id_ in ids if verdicts[id_] is MAY and id_ not in chosen]
    for id_ in sorted(rest, key=lambda one: (-density(one), one)):
        group = {id_, *closures.get(id_, ())} | chosen
        if sum(costs[one] for one in group) <= room:
            chosen = group
    assert choose(some, room) == chosen
