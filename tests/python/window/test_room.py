"""How a window uses its room: the cut falls where room is left, small budgets are for evidence."""

from __future__ import annotations

import math

import pytest
from bag import Bag
from checked_locks import alone
from hypothesis import given, strategies as st
from made_hits import made_hits
from unit_facts import fact

from warmset import Memory, Weights
from warmset.options import (
    MIN_MATCH,
    MIN_SCORE,
    MIN_SHARE,
    NEWEST_SHARE,
    RANKED,
    SMALL_BUDGET,
    grown,
    least_score,
    ranked,
)
from warmset.pick import Picked
from warmset.retrieve.searcher import Searcher
from warmset.state.ledger import Ledger
from warmset.store.records import TurnMeta
from warmset.window.candidates import QUOTE_OVERHEAD, gather

LINE = "and so we go on about the harbour for quite a while"


PLAIN = Weights(decision=0)
ALONE = Weights(lexical=3, near=0, session=0, reply=0)
"""A turn's score is its own, so that turns of one conversation differ."""


class Few:
    """Picks the first candidate only."""

    def pick(self, _request, candidates, *, limit):  # noqa: ARG002 - a picker's shape
        return [candidates[0].id]


def said(text, role="user"):
    return {"role": role, "content": text}


def talk(memory, boats=40, name="log"):
    """A task, and pairs: a third of a boat at a pier, a third of a pier, a third of whales."""
    one = memory.conversation(name)
    one.append([said("Note what I tell you of the boats, all of it."), said("Yes.", "assistant")])
    for n in range(boats):
        kinds = (f"boat {n} lies at pier {n}", f"pier {n} was mended", f"whales came {n} times")
        one.append([said(f"{kinds[n % 3]}, {LINE}"), said(f"Noted, number {n}.", "assistant")])
    assert memory.flush(20)
    return one


@pytest.fixture
def words():
    with Memory.open(None, embedder="lexical", weights=ALONE) as memory:
        yield memory


# --- the cut --------------------------------------------------------------------------------------


@alone()
def pool_of(scores, tokens, room, *, by="lexical", signals=None, weights=PLAIN):
    ledger = Ledger("t", "c", (0, 0))
    for at, cost in enumerate(tokens, start=1):
        meta = TurnMeta(at=0.0, dialect="openai")
        ledger.admit(at, b"%016d" % at, fact("user", (), (), True), meta, cost)
    ids = range(1, len(scores) + 1)
    found = made_hits(ids, scores, by=by, signals=signals)
    return gather(ledger, found, Picked(tuple(found.ids), "score"), weights, room)


@given(
    st.lists(st.floats(0, 2, width=32), min_size=1, max_size=12),
    st.lists(st.integers(1, 50), min_size=12, max_size=12),
    st.integers(0, 700),
)
def test_the_cut_falls_by_the_room_that_is_left(scores, tokens, room):
    scores = sorted(scores, reverse=True)
    tokens = tokens[: len(scores)]
    costs = [cost + QUOTE_OVERHEAD for cost in tokens]
    strict = max(MIN_SCORE, MIN_SHARE * scores[0])
    above = sum(c for c, score in zip(costs, scores, strict=True) if score >= strict)
    least = (
        strict if above >= room or not above else max(MIN_SCORE, strict_part(scores, above, room))
    )
    if all(score >= strict for score in scores):
        least = strict  # nothing is below it
    pool = pool_of(scores, tokens, room)
    assert pool.least == pytest.approx(least)
    assert len(pool.units) == sum(score >= pool.least for score in scores)
    assert pool_of(scores, tokens, None).least == strict
    assert pool.least >= MIN_SCORE


def strict_part(scores, above, room):
    return MIN_SHARE * scores[0] * above / room


@pytest.mark.parametrize(
    ("dense", "lexical", "weights", "quoted"),
    [
        (MIN_MATCH - 0.01, 0.0, {}, 0),
        (MIN_MATCH + 0.01, 0.0, {}, 2),
        (0.0, MIN_MATCH + 0.01, {}, 2),
        (MIN_MATCH / 2, MIN_MATCH / 2 - 0.01, {}, 0),
        (MIN_MATCH / 2, MIN_MATCH / 2 + 0.01, {}, 2),
        (MIN_MATCH - 0.01, 0.0, {"dense": 2.0}, 0),
        (MIN_MATCH / 2, MIN_MATCH - 0.01, {"dense": 2.0}, 0),
        (0.0, 0.01, {"dense": 0.0}, 2),
        (MIN_MATCH - 0.01, 1.0, {"lexical": 0.0}, 0),
    ],
)
def test_nothing_is_picked_of_another_subject(dense, lexical, weights, quoted):
    signals = {"dense": [0.0, dense], "lexical": [0.0, lexical]}
    given = {"by": "fused", "signals": signals, "weights": Weights(**weights)}
    for room in (None, 10_000):
        pool = pool_of([0.9, 0.8], [5, 5], room, **given)
        assert len(pool.units) == quoted
        assert (pool.least == math.inf) == (quoted == 0)
    assert len(pool_of([0.9, 0.8], [5, 5], None).units) == 2, "words alone have no such limit"


def test_the_pool_follows_the_budget(words, monkeypatch):
    assert ranked(1_000, 10_000, 400_000) == RANKED
    assert ranked(40_000, 10_000, 400_000) == 2_000
    assert ranked(10**6, 700, 20_000) == 700
    assert ranked(10**6, 7, 200) == RANKED
    assert ranked(10**6, 0, 0) == RANKED
    one, asked, kept = talk(words, boats=300), [], Searcher.shortlist

    def watching(self, *args, k, **others):
        asked.append(k)
        return kept(self, *args, k=k, **others)

    monkeypatch.setattr(Searcher, "shortlist", watching)
    tokens = one.window("boat?", budget=500).report.tokens_in
    one.window("boats?", budget=tokens // 2)
    assert asked == [RANKED, pytest.approx(len(one), rel=0.05)]


# --- the report -----------------------------------------------------------------------------------


def test_the_report_says_what_was_left_empty_and_why(words):
    one = talk(words)

    def report(query="at which pier lies the boat?", budget=600, **options):
        window = one.window(query, budget=budget, **options)
        assert window.report.unused == window.budget - window.tokens >= 0
        assert window.report.to_dict()["unused_why"] == window.report.unused_why
        assert f"{window.report.unused:,}" in window.report._repr_html_()
        return window.report

    assert report(budget=250).unused_why == "over_budget"
    assert report(budget=20_000, recent=0).unused_why == "below_cut"
    assert report("zebra crossing").unused_why == "complete", "nothing was found"
    assert report(picker=Few()).unused_why == "not_picked"
    assert report(mode="full", budget=20_000).unused_why == "complete"
    assert report(mode="recency").unused_why is None
    assert report(mode="steady", budget=900).unused_why is None


def test_another_subject_is_said_and_kept_within_the_exchange():
    with Memory.open(None, embedder=Bag(dim=2_048)) as memory:
        one = talk(memory)
        window = one.window("zebra crossing", budget=600)
        assert window.report.unused_why == "no_match"
        assert not window.report.picked
        assert {choice.reason for choice in window.report.choices} == {"below_cut"}
        assert one.window("where does boat 8 lie?", budget=600).report.picked
        one.append(said("zebra crossing"))
        for _ in range(2):
            again = one.window(budget=600).report
            assert again.unused_why == "no_match"
            assert {choice.reason for choice in again.choices} == {"below_cut"}


def test_room_that_is_left_is_filled_unless_all_fits(words):
    one = talk(words, boats=120)
    tokens = one.window("at which pier lies the boat?", budget=400).report.tokens_in
    options = {"recent": 0, "index_share": 0}
    part = one.window("at which pier lies the boat?", budget=tokens * 3 // 4, **options)
    whole = one.window("at which pier lies the boat?", budget=4 * tokens, **options)
    cut = [choice for choice in whole.report.choices if choice.reason == "below_cut"]
    strict = least_score([choice.score for choice in whole.report.choices])
    assert cut
    assert all(choice.score < strict for choice in cut)
    assert {choice.id for choice in cut} & set(part.report.picked)
    assert len(part.report.picked) > len(whole.report.picked)
    assert min(one.score for one in part.report.choices if one.shown) >= MIN_SCORE


# --- small budgets --------------------------------------------------------------------------------


def test_shares_grow_with_the_budget():
    assert grown(SMALL_BUDGET) == grown(10 * SMALL_BUDGET) == 1
    assert grown(SMALL_BUDGET // 2) == 0.5
    assert grown(0) == 0


@pytest.mark.parametrize("budget", [300, 600, 1_000])
def test_small_budgets_are_for_what_was_retrieved(words, budget):
    one = talk(words, boats=600)
    window = one.window("at which pier lies the boat?", budget=budget)
    tokens = {part.name: part.tokens for part in window.parts}
    assert list(window.report.recent) == one.ids[-len(window.report.recent) :]
    assert 1 <= len(window.report.recent) < 4
    assert tokens["retrieved"] > 0.7 * budget
    large = one.window("at which pier lies the boat?", budget=SMALL_BUDGET)
    assert list(large.report.recent) == one.ids[-4:]


def test_room_that_retrieval_leaves_goes_back_to_recent_units(words):
    one = talk(words, boats=100)
    one.append([said(f"{LINE} {LINE} {n}") for n in range(8)])
    for budget in (300, 500, 900):
        window = one.window("zebra crossing", budget=budget)
        recency = one.window("zebra crossing", budget=budget, mode="recency")
        assert not window.report.picked
        recent = list(window.report.recent)
        assert recent == one.ids[-len(recent) :]
        assert len(recent) <= 4
        taken = sum(part.tokens for part in window.parts if part.name == "recent")
        assert taken <= budget / 2
        assert len(recent) == 4 or len(recent) < len(recency.report.recent)
    assert len(recent) == 4


def test_a_recent_unit_that_comes_back_is_not_quoted(words):
    one = talk(words, boats=60)
    one.append(
        [said(f"the boat {n} lies at the last pier, {LINE} {LINE} {LINE}") for n in range(4)]
    )
    came_back = 0
    for budget in range(400, 1_900, 100):
        query = "at which last pier lies the boat?"
        window = one.window(query, budget=budget, index_share=0.4, min_saving=0)
        ids = [id_ for part in window.parts for id_ in part.ids]
        assert len(ids) == len(set(ids))
        newest = one.window(query, budget=budget, recent=1).report.picked
        came_back += bool(set(window.report.recent) & set(newest))
    assert came_back, "the test would show nothing otherwise"


def test_what_fills_the_room_leaves_some_to_the_exchange(words):
    one = talk(words, boats=60)
    one.append(said("at which pier lies the boat?"))
    first = one.window(budget=1_300)
    assert first.report.picked
    assert first.tokens <= 0.92 * 1_300
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    one.append({"role": "assistant", "content": None, "tool_calls": [call]})
    one.append({"role": "tool", "tool_call_id": "c", "content": LINE * 4})
    step = one.window(budget=1_300)
    assert step.messages[: len(first.messages)] == first.messages


def test_a_large_newest_unit_leaves_a_small_budget_to_evidence(words):
    one = talk(words, boats=60)
    one.append(said(LINE * 20, "assistant"))
    window = one.window("at which pier lies the boat?", budget=800)
    assert not window.report.recent
    assert window.report.picked
    one.append(said("at which pier lies the boat?"))
    first = one.window(budget=800)
    assert not first.report.recent
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    one.append({"role": "assistant", "content": None, "tool_calls": [call]})
    one.append({"role": "tool", "tool_call_id": "c", "content": "nothing"})
    assert not one.window(budget=800).report.recent, "what was left out stays out"
    one = talk(words, boats=60, name="other")
    one.append(said(LINE * 20, "assistant"))
    large = one.window("at which pier lies the boat?", budget=2_000, recent=1)
    assert list(large.report.recent) == one.ids[-1:]
    assert 0 < NEWEST_SHARE < 0.5


def test_the_index_has_less_of_a_small_budget(words):
    one = talk(words, boats=300)
    one.append([said(f"We decided on rope {n}, {LINE}.") for n in range(60)])
    for budget, most in ((1_000, 0.05), (2_000, 0.1), (SMALL_BUDGET, 0.2)):
        window = one.window("at which pier lies the boat?", budget=budget, index_share=0.2)
        (index,) = [part.tokens for part in window.parts if part.name == "index"] or [0]
        assert index <= budget * most
    assert index > SMALL_BUDGET * 0.1


def test_room_that_no_line_takes_is_for_quotes(words):
    """An index that has room for no line leaves its room to the turns that are quoted whole."""
    one = talk(words, boats=300)
    for budget in range(300, 900, 50):
        bare = one.window("at which pier lies the boat?", budget=budget, index_share=0)
        window = one.window("at which pier lies the boat?", budget=budget)
        if not any(part.name == "index" for part in window.parts):
            assert window.report.picked == bare.report.picked
        ids = [id_ for part in window.parts for id_ in part.ids]
        assert len(ids) == len(set(ids)), "no turn is quoted and listed"
