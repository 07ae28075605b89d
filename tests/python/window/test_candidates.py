"""What was found, as columns: the units and lines that a walk over the messages would give."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from checked_locks import alone
from hypothesis import given, strategies as st
from unit_facts import FACTS, fact

from warmset import Weights, _core
from warmset.errors import InvalidInputError
from warmset.options import least_score
from warmset.pick import Picked
from warmset.quote.cache import Cards
from warmset.state.ledger import Ledger
from warmset.store.records import TurnMeta
from warmset.window.candidates import gather
from warmset.window.decisions import decisions_of
from warmset.window.report_builder import Choices

WEIGHTS = Weights(decision=0.05)


def found(ids, scores):
    scores = sorted((float(np.float32(score)) for score in scores), reverse=True)[: len(ids)]
    columns = np.array(ids, np.int64), np.array(scores, np.float64)
    return SimpleNamespace(ids=list(ids), scores=scores, columns=columns, by="lexical")


def walked(ledger, hits, picked):
    """Return the units and what they are worth, the best first."""
    scores = dict(zip(hits.ids, hits.scores, strict=True))
    best = {}
    for rank, id_ in enumerate(picked.ids):
        [unit] = ledger.together([id_])
        value = 1 / (1 + rank)
        if picked.by == "score":
            if scores[id_] < least_score(hits.scores):
                continue
            value = scores[id_] + WEIGHTS.decision * any(entry.decision for entry in unit)
        if unit:
            best[unit] = max(value, best.get(unit, value))
    return sorted(best.items(), key=lambda item: (-item[1], item[0][0].id))


@given(
    st.lists(st.tuples(FACTS, st.booleans()), max_size=14),
    st.permutations(range(1, 17)),
    st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.4, 0.41, 0.9]), min_size=16, max_size=16),
    st.sampled_from(["score", "picker"]),
    st.integers(0, 5),
)
@alone()
def test_units_and_lines_are_those_of_a_walk(facts, ids, scores, by, most):
    ledger, hits = Ledger("t", "c", (0, 0)), found(ids, scores)
    cards = Cards("We decided it in meeting {}.".format, "o200k_base")
    picked = Picked(tuple(ids) if by == "score" else tuple(ids[:6]), by)
    for at, (one, settles) in enumerate(facts, start=1):
        said = replace(one, text="we decided it" if settles else "hello")
        ledger.admit(at, b"%016d" % at, said, TurnMeta(at=0.0, dialect="openai"), at)
        pool = gather(ledger, hits, picked, WEIGHTS)  # it grows by one message at a time
        expected = walked(ledger, hits, picked)
        units = pool.chosen(np.arange(len(pool.units)))
        assert list(zip(units, pool.values.tolist(), strict=True)) == expected
        assert pool.tokens.tolist() == [sum(e.tokens for e in unit) for unit in units]
        assert pool.sizes.tolist() == [len(unit) for unit in units]
        shown = units[:1]
        least = least_score(hits.scores) if by == "score" else -1.0
        near = [
            ledger.entries[id_]
            for id_, score in zip(hits.ids, hits.scores, strict=True)
            if score >= least and id_ in ledger.entries
        ]
        near = [entry for entry in near if not any(entry in unit for unit in shown)]
        kept = [entry for at, entry in enumerate(near) if at < most or entry.decision]
        assert pool.others(decisions_of(cards, ledger), shown, most) == kept


@given(st.lists(st.tuples(FACTS, st.integers(0, 2)), min_size=1, max_size=14), st.data())
@alone()
def test_quotes_cost_what_they_add_up_to(facts, data):
    """It is asked after every message, so what is kept of a unit must go where the unit grows."""
    ledger, day = Ledger("t", "c", (0, 0)), 19_000
    cards = Cards("said {}".format, "o200k_base")
    for at, (one, later) in enumerate(facts, start=1):
        day += later
        ledger.admit(at, b"%016d" % at, one, TurnMeta(at=day * 86_400.0, dialect="openai"), at)
        hits = found(range(1, at + 1), [1.0] * at)
        pool = gather(ledger, hits, Picked(tuple(hits.ids), "score"), WEIGHTS)
        every = range(len(pool.units))
        ranks = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
        units = pool.chosen(np.array(ranks, np.int64))
        # A unit whose parts were said on several days counts as said on the first of them.
        first = sorted((unit[0] for unit in units), key=lambda entry: entry.id)
        lines = sum(line.tokens for line in cards.quotes(first))
        rest = sum(cards.quote(entry).tokens for unit in units for entry in unit[1:])
        assert pool.cost(cards, np.array(ranks, np.int64), nullcontext()) == lines + rest


@alone()
def test_a_path_that_was_cut_is_read_anew():
    ledger, meta = Ledger("t", "c", (0, 0)), TurnMeta(at=0.0, dialect="openai")
    for at in range(1, 301):
        ledger.admit(at, b"%016d" % at, fact("user", (), (), True), meta, at)
    hits = found([300, 20, 150], [0.9, 0.8, 0.7])
    picked = Picked((300, 20, 150), "score")

    def ids():
        pool = gather(ledger, hits, picked, WEIGHTS)
        return [unit[0].id for unit in pool.chosen(np.arange(len(pool.units)))]

    assert ids() == [300, 20, 150]
    ledger.history.move(150)
    assert ids() == [20, 150]
    ledger.admit(301, b"%016d" % 301, fact("assistant", (), (), False), meta, 5)
    assert ids() == [20, 150]
    ledger.history.move(300)
    assert ids() == [300, 20, 150]


def test_groups_refuse_what_does_not_fit():
    ids, values = np.array([1, 2], np.int64), np.array([0.5, 0.25])
    kept = {"groups": np.array([0, 0], np.int64), "raised": np.array([True]), "more": 1.0}
    found = _core.rank_groups(ids, values, members=np.array([2, 7], np.int64), **kept)
    assert [column.tolist() for column in found] == [[-1, 0], [0], [1.25]]
    with pytest.raises(InvalidInputError, match="values"):
        _core.rank_groups(ids, values[:1], members=ids, **kept)
    with pytest.raises(InvalidInputError, match="groups"):
        _core.rank_groups(ids, values, members=ids[:1], **kept)
    with pytest.raises(InvalidInputError, match="contiguous"):
        _core.rank_groups(ids[::-1], values, members=ids, **kept)


def test_a_candidate_of_exactly_the_least_score_was_above_the_cut():
    found = SimpleNamespace(ids=[1, 2, 3], scores=[0.75, 0.5, 0.25], terms=lambda _at: None)
    picked = SimpleNamespace(ids=[1], by="score")
    draft = SimpleNamespace(quoted=(), least=0.5)
    entries = {one: SimpleNamespace(tokens=9) for one in found.ids}
    reasons = [one.reason for one in Choices(found, picked, entries, draft)]
    assert reasons == ["over_budget", "over_budget", "below_cut"]
