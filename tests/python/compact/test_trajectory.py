"""`trajectory`: the formula, the cut, the last two turns, the budget."""

from __future__ import annotations

import statistics

import pytest
from vectors_by_word import WordEmbedder

from warmset import count_tokens, trajectory
from warmset.errors import InvalidInputError

WORDS = WordEmbedder()


def turns(n):
    roles = ("user", "assistant")
    return [
        {"role": roles[at % 2], "content": f"turn word{at} " + "boat sail mast keel deck " * 3}
        for at in range(n)
    ]


def oracle(given, query):
    vector = WORDS.embed([query])[0]
    out = []
    for at, one in enumerate(given):
        near = float(WORDS.embed([one["content"]])[0] @ vector)
        recency = 0.2 + 0.8 * at / (len(given) - 1)
        factor = 1.1 if one["role"] == "user" else 1
        out.append(factor * (0.65 * near + 0.25 * recency + 0.10))
    return out


def test_scores_cut_and_order_are_those_of_the_formula():
    given = turns(41)
    made = trajectory(given, "word7", tokens=400, embedder=WORDS)
    scores = oracle(given, "word7")
    middle = statistics.median(scores)
    spread = statistics.median(abs(score - middle) for score in scores)
    assert made.cut == pytest.approx(middle + 1.5 * spread, abs=1e-5)
    assert [one.id for one in made.moments] == sorted(one.id for one in made.moments)
    for one in made.moments:
        assert one.score == pytest.approx(scores[one.id], abs=1e-5)
        assert one.text == given[one.id]["content"]
        if one.why != "recent":
            assert (one.score >= made.cut) == (one.why == "outstanding")
    chosen = {one.id for one in made.moments if one.why != "recent"}
    best = sorted(range(39), key=lambda at: -scores[at])[: len(chosen)]
    assert chosen == set(best)
    assert {"recent", "outstanding"} <= {one.why for one in made.moments}
    assert made.tokens == count_tokens(made.text) <= 400
    assert made.embedding == "words"


def test_the_last_two_are_told_up_to_a_fifth_over_the_budget():
    given = turns(12)
    line = count_tokens(f"#11 assistant: {given[11]['content']}") + 1
    both = trajectory(given, "word3", tokens=int(2 * line / 1.2) + 1)
    assert [one.id for one in both.moments] == [10, 11]
    assert both.tokens > int(2 * line / 1.2) + 1
    one = trajectory(given, "word3", tokens=int(2 * line / 1.2) - 2)
    assert [moment.id for moment in one.moments] == [11]
    assert trajectory(given, "word3", tokens=3).moments == ()
    assert both.embedding == "none"


def test_short_turns_and_instructions_are_left_out():
    given = [{"role": "system", "content": "You are a sailor of long voyages."}, *turns(6)]
    given[3] = {"role": "user", "content": "yes, do that please"}
    made = trajectory(given, "word1")
    assert [one.id for one in made.moments] == [1, 2, 4, 5, 6]
    assert trajectory([], "x").moments == ()
    single = trajectory(given[1:2], "word1", embedder=WORDS)
    assert single.moments[0].score == pytest.approx(oracle([given[1], given[1]], "word1")[1])


def test_it_reads_every_dialect_and_refuses_nonsense():
    parts = [{"role": "user", "parts": [{"text": "the mast of the boat is broken"}]}]
    assert trajectory(parts, "mast").moments[0].text == "the mast of the boat is broken"
    with pytest.raises(InvalidInputError, match="tokens"):
        trajectory(parts, "mast", tokens=0)
    with pytest.raises(InvalidInputError, match="query"):
        trajectory(parts, None)
    for messages in (None, 3, "text", parts[0]):
        with pytest.raises(InvalidInputError, match="messages"):
            trajectory(messages, "mast")
