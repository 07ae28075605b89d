"""Why candidates are left out, and that a record has them as they were."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import judging
import pytest

from warmset.errors import BudgetTooSmall
from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec, Verdict
from warmset.route.choice import Judged, choose
from warmset.route.decided import _candidates, _columns
from warmset.route.plan import why_left

ROOM = 100


def candidate(id_, tokens=10, *, similarity=0.5, relevance=0.5, **known):
    made = judging.candidate(id_, f"n{id_}", relevance=relevance, tokens=tokens, **known)
    return replace(made, similarity=similarity)


def left(*candidates, verdicts=None, tokens=None, gone=(), ids=()):
    plan = SimpleNamespace(
        gathered=SimpleNamespace(candidates=candidates),
        verdicts=verdicts or {},
        lines={id_: SimpleNamespace(tokens=count) for id_, count in (tokens or {}).items()},
        gone=frozenset(gone),
        room=ROOM,
    )
    return {one.id: verdict for one, verdict in why_left(plan, ids)}


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (ROOM, "less relevant than what fills the budget"),
        (ROOM + 1, f"no room for its {ROOM + 1} tokens"),
    ],
)
def test_what_was_not_read_is_less_relevant_unless_it_is_larger_than_the_room(tokens, reason):
    assert left(candidate(1, tokens)) == {1: Verdict("supplementary", reason)}


def test_what_was_read_has_no_room_for_its_quote():
    judged = Verdict("supplementary", "a need names it")
    found = left(
        candidate(1, 10),
        candidate(2, 10),
        candidate(3, 10),
        candidate(4, 10),
        verdicts=dict.fromkeys((1, 2, 3), judged) | {4: Verdict("redundant", "said in n1")},
        tokens={1: 31, 2: 32, 3: 31, 4: 33},
    )
    assert {id_: one.reason for id_, one in found.items()} == {
        1: "no room for its 31 tokens",
        2: "no room for its 32 tokens",
        3: "no room for its 31 tokens",
        4: "said in n1",
    }
    assert {one.classification for one in found.values()} == {"supplementary", "redundant"}


def test_what_stands_in_a_payload_is_not_left_and_what_is_gone_says_so():
    found = left(candidate(1), candidate(2), candidate(3), gone=[2, 3], ids={1, 3})
    assert found == {2: Verdict("irrelevant", "it was removed meanwhile")}


@pytest.mark.parametrize(
    "values",
    [
        [(0.5, 0.5), (0.25, 0.25)],
        [(0.5, 0.25), (0.1, 0.1)],
        [(None, 1.0), (None, 1.0)],
        [(1 / 3, 1 / 3), (None, 0.7)],
        [],
    ],
)
def test_a_record_has_candidates_as_they_were(values):
    every = [
        candidate(at, similarity=similarity, relevance=relevance, dependencies=("a",) * at)
        for at, (similarity, relevance) in enumerate(values)
    ]
    assert list(_candidates(_columns(every))) == every


def test_a_group_that_fits_exactly_is_taken():
    one, two, base = candidate(1), candidate(2), candidate(3)
    judged = Judged(
        candidates=[one, two, base],
        verdicts=dict.fromkeys((1, 2), Verdict("supplementary", "a need names it")),
        costs={1: 10, 2: 20, 3: 30},
        closures={1: frozenset({3}), 2: frozenset({3})},
    )
    assert choose(judged, 60) == {1, 2, 3}
    assert choose(judged, 59) == {1, 3}
    assert choose(judged, 40) == {1, 3}
    assert choose(judged, 39) == set()


def test_a_budget_below_the_query_is_refused(memory):
    spec = TaskSpec(
        task_type="t",
        required_memory=(Need(type="note", scope="global"),),
        max_context_tokens=500,
    )
    memory.items.put(NewItem(memory_type="note", text="The ferry sails."))
    router = Router(memory, specs=[spec], record=False)
    with pytest.raises(BudgetTooSmall) as raised:
        router.route("t", query="ferry", budget=1)
    need = raised.value.need
    assert router.route("t", query="ferry", budget=need).total_tokens <= need
    with pytest.raises(BudgetTooSmall) as raised:
        router.route("t", query="ferry", budget=need - 1)
    assert (raised.value.need, raised.value.have) == (need, need - 1)
