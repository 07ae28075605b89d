"""The plan of a window by itself: what stays, quotes and lines, against a naive reading.

Rooms are tried one token after the other, so that every exact boundary is met.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from checked_locks import alone
from hypothesis import given, strategies as st
from made_hits import made_hits
from unit_facts import fact

from warmset import Weights
from warmset.messages import Facts
from warmset.options import MIN_MATCH, MIN_SCORE, MIN_SHARE
from warmset.pick import Picked
from warmset.quote.cache import Cards
from warmset.quote.format import INDEX_TITLE
from warmset.state.entry import Entry
from warmset.state.ledger import Ledger
from warmset.store.records import TurnMeta
from warmset.text.markup import CLOSING, OPENING
from warmset.window.candidates import gather
from warmset.window.decisions import decisions_of
from warmset.window.layout import Frame, fit_tail, must_stay
from warmset.window.select import choose_lines, choose_quotes, lines_tokens


@pytest.fixture(autouse=True)
def _no_engine():
    with alone():
        yield


DAY = 86_400.0
PLAIN = Weights(decision=0)


def entry(id_, tokens, facts=None, *, decision=False):
    facts = facts or Facts("user", "said", request=True)
    return Entry(id_, facts, 0.0, None, 0, tokens, decision, False, None)


def shop(texts):
    """An engine whose messages say these texts, and what a line of ours costs."""
    cards = Cards(texts.__getitem__, "o200k_base")
    return SimpleNamespace(cards=cards, lock=nullcontext()), lambda text: cards.plain(text).tokens


# --- the verbatim tail ----------------------------------------------------------------------------


def newest(costs, must, room):
    """Return the places that stay: those that must, and the newest others up to the first gap."""
    left = room - sum(costs[at] for at in must)
    kept = set(must)
    for at in reversed(range(len(costs))):
        if at in must:
            continue
        if costs[at] > left:
            break
        kept.add(at)
        left -= costs[at]
    return sorted(kept)


@given(
    st.lists(st.integers(1, 9), max_size=5),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_the_tail_is_the_newest_that_fits_at_every_room(recent, current, share):
    units = [[entry(at, cost)] for at, cost in enumerate([*recent, *current], start=1)]
    behind = [
        [replace(unit[0], facts=Facts("assistant", "said", calls=("c",)))] for unit in units
    ]  # steps of a loop: the request and the last one must stay
    parts = Frame([], [], units[: len(recent)], [units[len(recent)], *behind[len(recent) + 1 :]])
    must = {0, len(current) - 1}
    least = sum(current[at] for at in must)
    assert must_stay(parts) == least
    for room in range(least, sum(recent) + 2 * sum(current) + 8):
        made = fit_tail(parts, room, share)
        stays = newest(current, must, room)
        assert made.current == [parts.current[at] for at in stays]
        left = room - sum(current[at] for at in stays)
        free = math.floor(left * share)
        last = recent[-1] if recent else 0
        if free < last <= math.floor(left * 0.25):
            expected = parts.recent[-1:]
        else:
            expected = [parts.recent[at] for at in newest(recent, set(), free)]
        assert made.recent == expected


def test_a_newest_unit_of_exactly_a_quarter_is_shown_alone():
    parts = Frame([], [], [[entry(1, 2)], [entry(2, 10)]], [[entry(3, 5)]])
    assert fit_tail(parts, 45, 0.1).recent == [[entry(2, 10)]]
    assert fit_tail(parts, 44, 0.1).recent == []
    assert fit_tail(parts, 5 + 99, 0.1).recent == [[entry(2, 10)]]
    assert fit_tail(parts, 5 + 120, 0.1).recent == parts.recent


def test_the_last_text_and_the_first_reply_of_a_loop_that_thinks_must_stay():
    thinks = Facts("assistant", "", calls=("a",), thinks=True)
    steps = [
        [entry(1, 5)],
        [entry(2, 5, thinks), entry(3, 5, Facts("tool", "", results=("a",)))],
        [entry(4, 5, Facts("assistant", "", calls=("b",))),
         entry(5, 5, Facts("tool", "", results=("b",)))],
        [entry(6, 5, Facts("assistant", "", calls=("c",))),
         entry(7, 5, Facts("tool", "", results=("c",)))],
    ]  # fmt: skip
    parts = Frame([], [], [], steps)
    assert must_stay(parts) == 25
    assert fit_tail(parts, 25).current == [steps[0], steps[1], steps[3]]
    said = [steps[0], *steps[2:], [entry(8, 5, Facts("assistant", "Wait."))], [entry(9, 5)],
            steps[2], steps[3]]  # fmt: skip
    parts = Frame([], [], [], said)
    assert must_stay(parts) == 5 + 10 + 5, "the request, the last said, and the last unit"


# --- quotes ---------------------------------------------------------------------------------------


def pool_of(scores, tokens, days, room=None, *, weights=PLAIN, more=None, by="lexical"):
    ledger = Ledger("t", "c", (0, 0))
    for at, (cost, day) in enumerate(zip(tokens, days, strict=True), start=1):
        meta = TurnMeta(at=(19_000 + day) * DAY, dialect="openai")
        ledger.admit(at, b"%016d" % at, fact("user", (), (), True), meta, cost)
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    found = made_hits([at + 1 for at in order], [scores[at] for at in order], by=by, signals=more)
    return gather(ledger, found, Picked(tuple(found.ids), "score"), weights, room)


def greedy(costs, room):
    """Return the places that are taken, the best first; what does not fit is skipped."""
    taken = []
    for at, cost in enumerate(costs):
        if cost <= room:
            taken.append(at)
            room -= cost
    return taken


@given(
    st.lists(st.integers(1, 14), min_size=1, max_size=4),
    st.lists(st.integers(0, 1), min_size=4, max_size=4).map(sorted),
    st.permutations([0.9, 0.8, 0.7, 0.6]),
)
def test_quotes_are_the_best_that_fit_at_every_room(words, days, scores):
    """Chosen by estimate, counted with the days, and chosen again with what is left then."""
    count = len(words)
    texts = {at: " boat" * size for at, size in enumerate(words, start=1)}
    engine, cost = shop(texts)
    tokens = [size + 4 for size in words]
    pool = pool_of(scores[:count], tokens, days[:count])
    best = sorted(range(count), key=lambda at: -scores[at])
    planned = [tokens[at] + 8 for at in best]
    ends = cost(OPENING) + cost(CLOSING)
    alike = {}
    for room in range(ends + sum(planned) + 40):
        free = room - ends
        taken = greedy(planned, free)
        real = sum(engine.cards.quote(entry_of(pool, best[at])).tokens for at in taken)
        real += sum(
            engine.cards.day(19_000 + day).tokens for day in {days[best[at]] for at in taken}
        )
        spent = sum(planned[at] for at in taken)
        if free > 0 and (real > free or free - real >= min(planned)):
            taken = greedy(planned, max(free - real + spent, 0))
        made = choose_quotes(engine, pool, room)
        assert [unit[0].id for unit in made] == [best[at] + 1 for at in taken if free > 0]
        alike[room] = len(made)
    assert alike[max(alike)] == count
    assert alike[ends] == 0


def entry_of(pool, at):
    return pool.live[at]


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_lines_are_the_first_that_fit_at_every_room(seed):
    """Decisions have half of the room first, then what was found, then the other decisions."""
    random = Random(seed)
    texts = {at: "boat " * random.choice([1, 1, 2, 9, 14]) for at in range(1, 9)}
    engine, cost = shop(texts)
    every = [entry(at, 1, Facts("user", "", request=True)) for at in texts]
    decisions, found = every[:4], random.sample(every, 5)  # some are both
    sizes = {one.id: engine.cards.line(one).tokens for one in every}
    title = cost(INDEX_TITLE)
    for room in range(title + sum(sizes.values()) + 8):
        left, taken = room - title, []
        for many, floor in ((decisions, int((room - title) * 0.5)), (found, 0), (decisions, 0)):
            for one in many:
                if left - floor < 6:
                    break
                if one not in taken and sizes[one.id] <= left - floor:
                    taken.append(one)
                    left -= sizes[one.id]
        made = choose_lines(engine, decisions, found, room)
        assert list(made) == taken
        spent = title + sum(sizes[one.id] for one in made) if made else 0
        assert lines_tokens(engine, made) == spent <= room


def test_a_line_of_six_tokens_needs_six():
    engine, cost = shop({1: "boat", 2: "boat"})
    one = entry(1, 1)
    size = engine.cards.line(one).tokens
    assert size == 6, "the shortest line that there is"
    room = cost(INDEX_TITLE) + size
    assert choose_lines(engine, (), (one,), room) == (one,)
    assert choose_lines(engine, (), (one,), room - 1) == ()


# --- the cut --------------------------------------------------------------------------------------


def test_a_hit_of_exactly_the_least_score_is_above_the_cut():
    scores = [1.0, MIN_SHARE, np.nextafter(MIN_SHARE, 0)]
    assert pool_of(scores, [5] * 3, [0] * 3).units.tolist() == [0, 1]
    scores = [0.2, MIN_SCORE, np.nextafter(MIN_SCORE, 0)]
    assert pool_of(scores, [5] * 3, [0] * 3).units.tolist() == [0, 1]


@pytest.mark.parametrize("first", [1, 5, 20])
def test_hits_that_fill_the_room_exactly_leave_the_cut_where_it_is(first):
    scores, tokens = [1.0, 0.3], [first, 4]
    full = pool_of(scores, tokens, [0, 0], first + 8)
    assert (full.filled, full.least, len(full.units)) == (False, MIN_SHARE, 1)
    part = pool_of(scores, tokens, [0, 0], first + 9)
    assert part.filled
    assert part.least == pytest.approx(MIN_SHARE * (first + 8) / (first + 9))
    half = pool_of(scores, tokens, [0, 0], 2 * (first + 8))
    assert (half.filled, len(half.units)) == (True, 2)


def test_the_cut_is_not_lowered_where_nothing_is_below_it_or_nothing_above():
    assert not pool_of([1.0, 0.9], [5, 5], [0, 0], 10_000).filled
    assert not pool_of([0.1, 0.05], [5, 5], [0, 0], 10_000).filled


def test_hits_that_match_by_exactly_the_least_are_on_the_subject():
    least = np.float32(MIN_MATCH)  # signals are of 32 bits
    for dense, there in ((least, 2), (np.nextafter(least, np.float32(0)), 0)):
        more = {"dense": [0.0, dense], "lexical": [0.0, 0.0]}
        pool = pool_of([0.9, 0.8], [5, 5], [0, 0], by="fused", more=more)
        assert len(pool.units) == there


# --- a path that grows between the steps ----------------------------------------------------------


def admit(ledger, id_, facts, tokens=5):
    said = facts if facts.text else replace(facts, text="we decided it")
    meta = TurnMeta(at=19_000 * DAY, dialect="openai")
    ledger.admit(id_, b"%016d" % id_, said, meta, tokens)
    return ledger.entries[id_]


def test_what_is_appended_after_the_hits_were_gathered_is_not_in_the_pool():
    """A call gets its result between the steps: the unit is quoted and counted as it was."""
    ledger = Ledger("t", "c", (0, 0))
    engine, _ = shop({at: "We decided on rope." * at for at in range(1, 9)})
    admit(ledger, 1, fact("user", (), (), True))
    admit(ledger, 2, fact("assistant", ("a",), (), False))
    admit(ledger, 3, fact("user", (), (), True))
    hits = made_hits([2, 3], [0.9, 0.8])
    picked = Picked((2, 3), "score")
    before = gather(ledger, hits, picked, PLAIN)
    call, other = ledger.live()[1], ledger.live()[2]
    quotes = [engine.cards.quote(one).tokens for one in (call, other)]
    day = engine.cards.day(19_000).tokens
    result = admit(ledger, 4, fact("tool", (), ("a",), False))
    new = admit(ledger, 5, Facts("user", "we decided it", request=True))
    assert new.decision, "the test would show nothing otherwise"
    now = gather(ledger, hits, picked, PLAIN)  # another window reads the path meanwhile
    assert before.chosen(np.array([0, 1])) == [(call,), (other,)]
    assert before.cost(engine.cards, np.array([0, 1]), engine.lock) == sum(quotes) + day
    held = decisions_of(engine.cards, ledger)
    assert new not in before.decisions(held, ())
    assert now.chosen(np.array([0, 1])) == [(call, result), (other,)]
    more = engine.cards.quote(result).tokens
    assert now.cost(engine.cards, np.array([0, 1]), engine.lock) == sum(quotes) + more + day, (
        "counted anew"
    )
    assert now.decisions(decisions_of(engine.cards, ledger), ())[0] == new


def test_the_first_message_may_get_a_line_and_a_picker_leaves_them_to_what_was_found():
    ledger = Ledger("t", "c", (0, 0))
    engine, _ = shop(dict.fromkeys(range(1, 9), "boat"))
    for at in range(1, 5):
        admit(ledger, at, Facts("user", "boat", request=True))
    hits = made_hits([3, 1, 4], [0.9, 0.8, 0.7])
    for picked in (Picked((3, 1, 4), "score"), Picked((4,), "picker")):
        pool = gather(ledger, hits, picked, PLAIN)
        held = decisions_of(engine.cards, ledger)
        quoted = pool.chosen(np.arange(len(pool.units)))[:1]
        there = {one.id for unit in quoted for one in unit}
        expected = [id_ for id_ in (3, 1, 4) if id_ not in there]
        assert [one.id for one in pool.others(held, quoted, 12)] == expected
