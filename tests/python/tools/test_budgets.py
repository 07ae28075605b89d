"""The limits of the tools, each tried at its value: budgets, and what arguments may ask for."""

from __future__ import annotations

import json
import re

import pytest

from warmset import Memory, count_tokens
from warmset.messages import DIALECTS
from warmset.tools.schema import MAX_HITS, MAX_IDS, MAX_QUERY, UnusableError, focus_of

LEAST = 48
"""The least tokens of a turn's beginning that is shown."""

FETCH, SEARCH = "fetch_turns", "search_turns"


@pytest.fixture(scope="module")
def talk():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        for n in range(17):
            text = f"turn {n} on the boat " + " ".join(f"w{n}x{at}" for at in range(9 + n))
            log.append({"role": "user", "content": text}, at=f"2024-05-{n + 1:02}")
        log.append({"role": "user", "content": " ".join(f"Long{at}" for at in range(400))})
        yield log


def cost(message):
    return count_tokens([message]) - count_tokens([])


def run(log, budget, name, arguments):
    """Give the answer to one call, its text, and the tools that gave it."""
    kit = log.tools(budget=budget, dialect="openai")
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = kit.run({"id": "call_1", "type": "function", "function": function})
    assert kit.spent == cost(made)
    assert kit.left == max(0, budget - kit.spent)
    return made, made["content"], kit


def same(log, budget, name, arguments):
    """Check that what a result cost is enough for it."""
    made, _, kit = run(log, budget, name, arguments)
    again, _, other = run(log, kit.spent, name, arguments)
    assert (again, other.granted, other.left) == (made, kit.granted, 0)
    return kit.spent


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("missing", [[], [999_999]])
def test_turns_that_fit_exactly_are_fetched_and_one_token_less_is_too_little(talk, count, missing):
    ids = [*talk.ids[3 : 3 + count], *missing]
    spent = same(talk, 10_000, FETCH, {"ids": ids})
    _, text, kit = run(talk, spent - 1, FETCH, {"ids": ids})
    assert len(kit.granted) < count or "it is cut" in text
    assert kit.spent < spent


def test_hits_that_fit_exactly_are_found_and_one_token_less_leaves_the_last_out(talk):
    query = {"query": "the boat of w12x5 w12x6 w12x7 and w9x3 w9x4", "limit": 5}
    spent = same(talk, 10_000, SEARCH, query)
    whole = run(talk, spent, SEARCH, query)[1]
    fewer = run(talk, spent - 1, SEARCH, query)[1]
    numbers = [re.findall(r"#(\d+)", text) for text in (whole, fewer)]
    assert len(numbers[0]) > 1
    assert numbers[1] == numbers[0][:-1]
    hits = [hit.id for hit in talk.search(query["query"], k=5)][: len(numbers[0])]
    assert hits != sorted(hits)
    assert [int(one) for one in numbers[0]] == hits, "the best first"


def test_a_beginning_is_as_long_as_the_budget_allows(talk):
    (id_,) = talk.ids[-1:]
    begun = [run(talk, budget, FETCH, {"ids": [id_]}) for budget in range(60, 180)]
    shown = [(made, kit) for made, _, kit in begun if kit.granted]
    assert 0 < len(shown) < len(begun)
    whole = talk.fetch(id_)["content"]
    for made, kit in shown:
        text = made["content"]
        assert "Not shown" not in text
        length = len(re.search(r"(Long0.*) …", text)[1])
        longer = text.replace(whole[:length] + " …", whole[: length + 1] + " …")
        assert cost({**made, "content": longer}) > kit.budget
        empty = text.replace(whole[:length] + " …", " …")
        assert cost({**made, "content": empty}) + LEAST <= kit.budget
    made, kit = shown[0]
    empty = re.sub(r"Long0.* …", " …", made["content"])
    assert cost({**made, "content": empty}) + LEAST == kit.budget


def test_a_turn_that_is_cut_is_not_among_those_that_are_not_shown(talk):
    long, other = talk.ids[-1], talk.ids[16]
    _, text, kit = run(talk, 160, FETCH, {"ids": [long, 999_999]})
    assert kit.granted == (long,)
    assert "no turns #999999" in text
    _, text, kit = run(talk, 150, FETCH, {"ids": [long, other]})
    if kit.granted == (other,):
        _, text, kit = run(talk, 150, FETCH, {"ids": [long]})
    assert kit.granted == (long,)
    assert f"#{long} is longer" in text
    assert f"Not shown, for want of tokens: #{long}" not in text


@pytest.mark.parametrize("name", ["unknown", FETCH, SEARCH])
def test_refusals_count_against_the_budget(talk, name):
    for budget in (1_000, 5):
        kit = run(talk, budget, name, {"ids": [], "query": ""})[2]
        assert kit.spent > 5
        assert kit.left == max(0, budget - kit.spent)


def test_definitions_are_the_callers_own(talk):
    for dialect in DIALECTS:
        first, second = (talk.tools(budget=9, dialect=dialect).definitions for _ in range(2))
        assert first == second
        emptied(first)
        assert talk.tools(budget=9, dialect=dialect).definitions == second


def emptied(value):
    """Empty every container in a value."""
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, (dict, list)):
            emptied(one)
    value.clear()


def test_as_many_as_are_allowed(talk):
    ids = talk.ids
    assert len(run(talk, 90_000, FETCH, {"ids": ids[:MAX_IDS]})[2].granted) == MAX_IDS == 16
    assert run(talk, 90_000, FETCH, {"ids": ids[: MAX_IDS + 1]})[2].granted == ()
    repeated = [ids[0]] * (4 * MAX_IDS)
    assert run(talk, 90_000, FETCH, {"ids": repeated})[2].granted == (ids[0],)
    assert run(talk, 90_000, FETCH, {"ids": [*repeated, ids[0]]})[2].granted == ()
    for limit, good in ((1, True), (MAX_HITS, True), (0, False), (MAX_HITS + 1, False)):
        text = run(talk, 90_000, SEARCH, {"query": "boat", "limit": limit})[1]
        assert len(re.findall(r"#\d+", text)) == (limit if good else 0)
    for length, good in ((MAX_QUERY, True), (MAX_QUERY + 1, False)):
        text = run(talk, 90_000, SEARCH, {"query": "boat".ljust(length, ".")})[1]
        assert ("boat w" in text) == good
    assert focus_of({"focus": "x" * 500}) == "x" * 500
    with pytest.raises(UnusableError):
        focus_of({"focus": "x" * 501})
    assert focus_of({"focus": " the crane\n"}) == "the crane"
    assert focus_of({"focus": " \n"}) is focus_of({"focus": ""}) is focus_of({}) is None
