"""`compact_context` without a memory: the formula, the choice, and what it tells of itself."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, strategies as st
from vectors_by_word import WordEmbedder

from warmset import _core, compact_context, count_tokens, fit, validate
from warmset.compact import CompactWeights
from warmset.errors import (
    EmbedderError,
    InvalidInputError,
    InvalidMessageError,
    UnknownDialectError,
)
from warmset.messages import DIALECTS, facts, units
from warmset.testing import histories, random_history
from warmset.testing.links import without_thinking

WORDS = WordEmbedder()


def chat(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def long_chat(n, seed=0):
    random = Random(seed)
    words = [f"word{number}" for number in range(60)]
    return chat(*(" ".join(random.choices(words, k=random.randint(3, 30))) for _ in range(n)))


# --- the formula, in ten lines that share nothing with the product -------------------------------


def oracle_worth(roles, similarity, coverage, factors, weights):
    n, out = len(roles), []
    for at, role in enumerate(roles):
        recency = 1.0 if n == 1 else 0.1 + 0.9 * (at / (n - 1))
        r, s, c = weights
        out.append(factors[role] * (r * recency + s * similarity[at] + c * (1.0 - coverage[at])))
    return out


def oracle_keep(values, costs, home, must, budget):
    members = {unit: [at for at in range(len(home)) if home[at] == unit] for unit in home}
    kept = {unit for unit, own in members.items() if any(must[at] for at in own)}
    left = max(budget - sum(costs[at] for unit in kept for at in members[unit]), 0)
    rest = sorted(
        members.keys() - kept, key=lambda u: (-max(values[i] for i in members[u]), members[u])
    )
    for unit in rest:
        cost = sum(costs[at] for at in members[unit])
        if cost <= left:
            kept.add(unit)
            left -= cost
    return [at for at in range(len(home)) if home[at] in kept]


COLUMNS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.floats(-1, 1),
        st.floats(0, 1),
        st.integers(0, 60),
        st.integers(0, 30),
        st.booleans(),
        st.sampled_from([0.0, -0.0, 0.25, 0.5, 0.5, 1.0]),
    ),
    min_size=1,
    max_size=30,
)


@given(COLUMNS, st.tuples(*[st.floats(0, 3)] * 3), st.integers(0, 400))
def test_scores_and_choice_equal_the_oracle_bit_for_bit(rows, weights, budget):
    roles, near, known, costs, units_, must, ties = map(list, zip(*rows, strict=True))
    home = [one % len(rows) for one in units_]
    factors = [1.0, 0.8, 0.5, 0.6, 1.0, 1.0]
    values, recency = _core.worth(roles, near, known, factors=factors, weights=weights)
    assert values.tolist() == oracle_worth(roles, near, known, factors, weights)
    assert recency[-1] == 1.0
    pinned = [flag and at % 5 == 0 for at, flag in enumerate(must)]
    for scores in (values.tolist(), ties):
        kept, taken = _core.keep_worthy(scores, costs, home, pinned, budget)
        assert kept.tolist() == oracle_keep(scores, costs, home, pinned, budget)
        assert not {home[at] for at in range(len(home)) if pinned[at]} & set(taken.tolist())


@pytest.mark.parametrize(
    "broken",
    [
        {"similarity": [float("nan")]},
        {"similarity": [1.5]},
        {"coverage": [-0.1]},
        {"coverage": [0.1, 0.2]},
        {"roles": [9]},
        {"factors": [float("inf")]},
        {"weights": (0.3, -1.0, 0.3)},
    ],
)
def test_what_cannot_be_scored_is_refused(broken):
    whole = {"roles": [0], "similarity": [0.5], "coverage": [0.0], "factors": [1.0]}
    asked = {**whole, "weights": (0.3, 0.4, 0.3), **broken}
    with pytest.raises(InvalidInputError, match=next(iter(broken))):
        _core.worth(
            asked["roles"],
            asked["similarity"],
            asked["coverage"],
            factors=asked["factors"],
            weights=asked["weights"],
        )
    with pytest.raises(InvalidInputError, match="values"):
        _core.keep_worthy([float("nan")], [1], [0], [False], 5)
    with pytest.raises(InvalidInputError, match="units"):
        _core.keep_worthy([0.5], [1], [7], [False], 5)


def test_the_terms_are_those_of_the_formula():
    given_list = long_chat(40)
    made = compact_context(given_list, query="word1 word2 word3", embedder=WORDS)
    vectors = WORDS.embed([one["content"] for one in given_list])
    query = WORDS.embed(["word1 word2 word3"])[0]
    assert made.dropped
    for drop in made.dropped:
        terms = drop.terms
        assert terms.role == (1.0 if given_list[drop.id]["role"] == "user" else 0.8)
        assert terms.recency == pytest.approx(0.1 + 0.9 * drop.id / 39)
        assert terms.similarity == pytest.approx(float(vectors[drop.id] @ query), abs=1e-5)
        signals = 0.3 * terms.recency + 0.4 * terms.similarity + 0.3 * (1 - terms.coverage)
        assert drop.score == pytest.approx(terms.role * signals)
    assert [drop.id for drop in made.dropped[:3]] == made.dropped.ids[:3]


def test_recency_is_that_among_messages_that_are_not_of_the_system():
    given_list = long_chat(40)
    plain = {drop.id: drop.terms for drop in compact_context(given_list).dropped}
    system = [{"role": "system", "content": f"Rule {n}."} for n in range(3)]
    mixed = [*system[:2], *given_list[:20], system[2], *given_list[20:]]
    made = compact_context(mixed, protect=lambda one: one not in given_list)
    assert made.dropped
    for drop in made.dropped:
        place = given_list.index(mixed[drop.id])
        assert drop.terms.recency == pytest.approx(0.1 + 0.9 * place / 39)
        assert drop.terms.recency == plain.get(place, drop.terms).recency
    alone = compact_context([*system, given_list[0]], target_ratio=0.05)
    assert not alone.dropped


# --- what must hold, in every dialect ------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_what_must_hold_of_a_compaction(dialect, data):
    history = data.draw(histories(dialect))
    given_list = history.messages
    ratio = data.draw(st.sampled_from([0.05, 0.2, 0.4, 0.7, 1.0]))
    query = data.draw(st.sampled_from([None, "the boat", "word1"]))
    embedder = data.draw(st.sampled_from([None, WORDS]))
    before = json.dumps(given_list)
    ask = {"query": query, "target_ratio": ratio, "embedder": embedder, "dialect": dialect}
    made = compact_context(given_list, **ask)
    assert json.dumps(given_list) == before
    stand_ins = {one.index for one in made.inserted}
    kept = [one for at, one in enumerate(made.messages) if at not in stand_ins]
    gone = set(made.dropped.ids)
    stayed = [one for at, one in enumerate(given_list) if at not in gone]
    changed = {id(given_list[at]): without_thinking(given_list[at]) for at in made.thinking.changed}
    left = {id(given_list[one.index]) for one in made.thinking.removed if dialect == "responses"}
    stayed = [one for one in stayed if id(one) not in left]
    assert len(kept) == len(stayed)
    assert all(changed.get(id(b), b) == a for a, b in zip(kept, stayed, strict=True))
    assert all(a is b for a, b in zip(kept, stayed, strict=True) if id(b) not in changed)
    told = [facts(one, dialect) for one in given_list]
    for unit in units(told):
        assert len(gone & set(unit.members)) in (0, len(unit.members))
    assert not [at for at in gone if told[at].is_system or told[at].keep]
    stats = made.stats
    assert stats.before_tokens == count_tokens(given_list)
    assert stats.after_tokens == count_tokens(made.messages)
    assert stats.budget == int(ratio * stats.before_tokens)
    assert stats.over_budget == (stats.after_tokens > stats.budget)
    if not validate(given_list, dialect=dialect):
        assert validate(made.messages, dialect=dialect) == []
    again = compact_context(given_list, **ask)
    assert again.dropped.ids == made.dropped.ids
    if not stats.over_budget:
        once_more = compact_context(made.messages, budget=max(stats.budget, 1), dialect=dialect)
        assert once_more.messages == made.messages


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_protected_stays(dialect):
    for seed in range(30):
        given_list = random_history(Random(seed), dialect).messages
        made = compact_context(given_list, target_ratio=0.05, dialect=dialect)
        told = [facts(one, dialect) for one in given_list]
        asks = [at for at, fact in enumerate(told) if fact.request]
        parted = [unit for unit in units(told) if unit.kind != "system"]
        tail = sorted(parted, key=lambda unit: unit.members[-1])[-4:]
        must = {*asks[:1], *asks[-1:], *(at for unit in tail for at in unit.members)}
        assert not must & set(made.dropped.ids)


def test_what_must_stay_alone_may_be_over_the_budget():
    given_list = long_chat(9)
    made = compact_context(given_list, budget=20)
    assert made.stats.over_budget
    assert made.stats.after_tokens > made.stats.budget == 20
    assert made.messages == [given_list[0], *given_list[5:]]
    assert "no room" in made.dropped[0].reason


def test_pins_stay_by_position_and_by_a_function():
    given_list = long_chat(30)
    plain = compact_context(given_list, target_ratio=0.3)
    pins = plain.dropped.ids[:2]
    assert not set(pins) & set(
        compact_context(given_list, target_ratio=0.3, protect=pins).dropped.ids
    )
    wanted = given_list[pins[0]]
    made = compact_context(given_list, target_ratio=0.3, protect=lambda one: one is wanted)
    assert pins[0] not in made.dropped.ids
    with pytest.raises(InvalidInputError, match="protect"):
        compact_context(given_list, protect=[99])


def test_a_tool_exchange_is_worth_its_best_member_and_leaves_whole():
    call = {
        "role": "assistant",
        "content": "word1 word1 word1",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    }
    result = {"role": "tool", "tool_call_id": "c", "content": "word9 " * 40}
    given_list = [*long_chat(6), call, result, *long_chat(12, seed=1)]
    kept = compact_context(given_list, query="word1", embedder=WORDS, target_ratio=0.7)
    assert not {6, 7} & set(kept.dropped.ids)
    gone = compact_context(given_list, query="word7", embedder=WORDS, target_ratio=0.4)
    assert {6, 7} <= set(gone.dropped.ids)


def test_alternation_costs_tokens_and_is_told():
    given_list = [{**one, "content": one["content"] * 4} for one in long_chat(40)]
    for one in given_list:
        one["content"] = [{"type": "text", "text": one["content"]}]
    made = compact_context(given_list, dialect="anthropic", target_ratio=0.5)
    assert made.inserted
    roles = [one["role"] for one in made.messages]
    assert all(one != other for one, other in pairwise(roles))
    assert made.stats.after_tokens == count_tokens(made.messages) <= made.stats.budget
    assert all(set(one.stands_for) <= set(made.dropped.ids) for one in made.inserted)


# --- honest figures and typed errors -------------------------------------------------------------


def test_without_an_embedder_the_stats_say_so():
    stats = compact_context(long_chat(30), query="word1").stats
    assert (stats.embedding, stats.embedder) == (False, "none")
    assert stats.signals == ("role", "recency")
    assert set(stats.missing) == {"similarity", "coverage"}
    assert "no embedder" in stats.missing["similarity"]
    with_words = compact_context(long_chat(30), embedder=WORDS).stats
    assert (with_words.embedding, with_words.embedder) == (True, "words")
    assert with_words.signals == ("role", "recency", "coverage")
    assert with_words.missing == {"similarity": "there is no query"}
    both = compact_context(long_chat(30), query="word1", embedder=WORDS).stats
    assert both.missing == {}
    assert json.loads(json.dumps(both.as_dict()))["signals"][-1] == "coverage"
    assert both.dropped_pct == pytest.approx(100 * both.dropped / 30, abs=1e-3)
    saved = both.before_tokens - both.after_tokens
    assert both.tokens_pct == pytest.approx(100 * saved / both.before_tokens, abs=1e-3)


def test_a_list_that_fits_comes_back_and_nothing_is_embedded():
    def refuse(_texts):
        raise AssertionError

    given_list = long_chat(20)
    made = compact_context(given_list, target_ratio=1, query="word1", embedder=refuse)
    assert made.messages == given_list
    assert not made.dropped
    assert made.stats.dropped_pct == made.stats.tokens_pct == 0
    assert "fits" in made.stats.missing["similarity"]
    assert compact_context([]).messages == []
    assert compact_context(given_list[:1]).messages == given_list[:1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"target_ratio": 0.04}, "target_ratio"),
        ({"target_ratio": 1.1}, "target_ratio"),
        ({"target_ratio": float("nan")}, "target_ratio"),
        ({"target_ratio": True}, "target_ratio"),
        ({"budget": 0}, "budget"),
        ({"query": 3}, "query"),
        ({"distill_novel": True}, "memory"),
        ({"memory": object()}, "memory"),
        ({"weights": 3}, "weights"),
        ({"encoding": "nonsense"}, "encoding"),
        ({"encoding": "\udc00"}, "encoding"),
        ({"embedder": 3}, "embedder|Embedder"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, why):
    with pytest.raises(InvalidInputError, match=why):
        compact_context(long_chat(30), **options)


def test_messages_that_are_none_are_refused():
    with pytest.raises(InvalidInputError):
        compact_context("hello")
    with pytest.raises(InvalidMessageError) as caught:
        compact_context([*long_chat(5), {"role": "tool"}])
    assert caught.value.index == 5
    known = long_chat(5)
    compact_context(known)
    with pytest.raises(InvalidMessageError, match="write it as a string") as caught:
        compact_context([*known, {"role": "user", "content": "x", "n": 10**5000}])
    assert caught.value.index == 5
    with pytest.raises(UnknownDialectError):
        compact_context(long_chat(5), dialect="latin")
    with pytest.raises(InvalidInputError, match="recency"):
        CompactWeights(recency=-1)
    for wrong in (0.5, 0.7499, 1.0001):
        with pytest.raises(InvalidInputError, match="same"):
            CompactWeights(same=wrong)
    assert [CompactWeights(same=one).same for one in (0.75, 1)] == [0.75, 1]


def test_an_embedder_whose_vectors_change_their_length_is_refused():
    class Growing(WordEmbedder):
        fingerprint = "growing"

        def embed(self, texts):
            rows = super().embed(texts)
            return rows if self.embedded == len(texts) else rows[:, :9]

    embedder = Growing()
    known = long_chat(30)
    assert compact_context(known, embedder=embedder).stats.embedder == "words"
    for _ in range(2):
        with pytest.raises(EmbedderError, match="64 dimensions before"):
            compact_context([*known, {"role": "user", "content": "anew"}], embedder=embedder)


def test_weights_decide():
    given_list = long_chat(60)
    by_role = CompactWeights(recency=0, assistant=0)
    assert {
        at % 2 for at in compact_context(given_list, weights=by_role, target_ratio=0.8).dropped.ids
    } == {1}
    flat = CompactWeights(recency=0, assistant=1)
    made = compact_context(given_list, weights=flat)
    assert made.dropped.ids[-1] == 55  # of equal scores the earlier stays
    assert made.dropped.ids[0] > 10


def test_it_agrees_with_fit_about_what_must_stay():
    given_list = long_chat(30)
    made = compact_context(given_list, budget=count_tokens(given_list) // 2)
    assert (
        count_tokens(fit(made.messages, budget=made.stats.budget).messages)
        == made.stats.after_tokens
    )
