"""`timeline`: the formula, the cut, the last two turns, the budget."""

from __future__ import annotations

import statistics

import pytest
from vectors_by_word import WordEmbedder

from warmset import count_tokens
from warmset.compact import timeline
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
    made = timeline(given, "word7", tokens=400, embedder=WORDS)
    scores = oracle(given, "word7")
    middle = statistics.median(scores)
    spread = statistics.median(abs(score - middle) for score in scores)
    assert made.cut == pytest.approx(middle + 1.5 * spread, abs=1e-5)
    assert [one.id for one in made.turns] == sorted(one.id for one in made.turns)
    for one in made.turns:
        assert one.score == pytest.approx(scores[one.id], abs=1e-5)
        assert one.text == given[one.id]["content"]
        if one.why != "recent":
            assert (one.score >= made.cut) == (one.why == "outstanding")
    chosen = {one.id for one in made.turns if one.why != "recent"}
    best = sorted(range(39), key=lambda at: -scores[at])[: len(chosen)]
    assert chosen == set(best)
    assert {"recent", "outstanding"} <= {one.why for one in made.turns}
    assert made.tokens == count_tokens(made.text) <= 400
    assert made.embedding == "words"


def test_the_last_two_are_told_up_to_a_fifth_over_the_budget():
    given = turns(12)
    line = count_tokens(f"#11 assistant: {given[11]['content']}") + 1
    both = timeline(given, "word3", tokens=int(2 * line / 1.2) + 1)
    assert [one.id for one in both.turns] == [10, 11]
    assert both.tokens > int(2 * line / 1.2) + 1
    one = timeline(given, "word3", tokens=int(2 * line / 1.2) - 2)
    assert [turn.id for turn in one.turns] == [11]
    assert timeline(given, "word3", tokens=3).turns == ()
    assert both.embedding == "none"


def test_short_turns_and_instructions_are_left_out():
    given = [{"role": "system", "content": "You are a sailor of long voyages."}, *turns(6)]
    given[3] = {"role": "user", "content": "yes, do that please"}
    made = timeline(given, "word1")
    assert [one.id for one in made.turns] == [1, 2, 4, 5, 6]
    assert timeline([], "x").turns == ()
    single = timeline(given[1:2], "word1", embedder=WORDS)
    assert single.turns[0].score == pytest.approx(oracle([given[1], given[1]], "word1")[1])


def test_it_reads_every_dialect_and_refuses_nonsense():
    parts = [{"role": "user", "parts": [{"text": "the mast of the boat is broken"}]}]
    assert timeline(parts, "mast").turns[0].text == "the mast of the boat is broken"
    with pytest.raises(InvalidInputError, match="tokens"):
        timeline(parts, "mast", tokens=0)
    with pytest.raises(InvalidInputError, match="query"):
        timeline(parts, None)
    for messages in (None, 3, "text", parts[0]):
        with pytest.raises(InvalidInputError, match="messages"):
            timeline(messages, "mast")
