"""Windows on generated conversations: valid, exact, faithful, the same twice; or an honest no."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st
from message_strategies import anthropic_lists, openai_lists

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.messages import alternate, validate

LISTS = {"openai": openai_lists, "anthropic": anthropic_lists}
CASES = st.sampled_from(sorted(LISTS)).flatmap(
    lambda dialect: st.tuples(
        st.just(dialect),
        LISTS[dialect](min_rounds=1),
        LISTS[dialect](),
        st.integers(1, 400) | st.integers(300, 3_000),
        st.sampled_from(["jit", "jit", "recency"]),
        st.integers(0, 5),
        st.sampled_from([0.0, 0.1, 0.5]),
        st.sampled_from([None, "what about the boat?"]),
        st.booleans(),
    )
)


def longer(first, second, *, pad):
    """One conversation of two lists, with ids of its own in each part, and long enough."""
    renamed = json.loads(
        json.dumps(second).replace('"call_', '"call_b').replace('"toolu_', '"toolu_b')
    )
    if renamed and renamed[0]["role"] == "system":
        renamed = renamed[1:]
    if first[-1]["role"] == "user":
        first = [*first, {"role": "assistant", "content": "well"}]
    middle = []
    for n in range(4 if pad else 0):
        middle += [
            {"role": "user", "content": f"what of boat {n}?"},
            {"role": "assistant", "content": f"boat {n} is blue. " + "It floats. " * 40},
        ]
    return [*first, *middle, *renamed]


def pieces(messages, dialect):
    """Messages as comparable texts; Anthropic's by block, since neighbours may be merged."""
    if dialect == "openai":
        return [json.dumps(message) for message in messages]
    out = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        out += [json.dumps([message["role"], block]) for block in blocks]
    return out


@given(CASES)
def test_a_window_is_valid_exact_and_faithful(case):
    dialect, first, second, budget, mode, recent, share, query, pad = case
    given_list = longer(first, second, pad=pad)
    assert validate(given_list, dialect=dialect) == []
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(given_list, at=1.7e9)
        options = {
            "mode": mode,
            "recent": recent,
            "index_share": share,
            "dialect": dialect,
        }
        window = None
        try:
            window = conversation.window(query, budget=budget, **options)
        except BudgetTooSmall as error:
            need, have = error.need, error.have
        if window is None:
            assert have == budget < need
            window, budget = conversation.window(query, budget=need, **options), need
        assert window.tokens == count_tokens(window.messages, system=window.system) <= budget
        assert validate(window.messages, dialect=dialect) == []

        # What is shown verbatim is a part of the list, in its order, not a byte changed.
        by_id = dict(zip(conversation.ids, given_list, strict=True))
        shown = [
            by_id[id_]
            for part in window.parts
            if part.name not in {"retrieved", "index"}
            for id_ in part.ids
        ]
        sent = pieces(window.messages, dialect)
        stand_ins = ("<earlier-turns>", "(The task, shortened)")
        verbatim = [one for one in sent if not any(mark in one for mark in stand_ins)]
        if query is not None:
            verbatim = verbatim[:-1]
        rest = iter(pieces(given_list if dialect == "openai" else alternate(given_list), dialect))
        assert all(one in rest for one in verbatim), "a subsequence of what was appended"
        if len(verbatim) == len(sent) - (query is not None):
            assert sorted(verbatim) == sorted(pieces(shown, dialect))

        # The request is there, and it is the last thing that is said by a user.
        if query is not None:
            assert json.dumps(query) in sent[-1]
        else:
            asked = [
                message
                for message in given_list
                if message["role"] == "user"
                and (isinstance(message["content"], str) or not is_result(message))
            ]
            assert pieces(asked[-1:], dialect)[-1] in sent
        again = conversation.window(query, budget=budget, **options)
        assert json.dumps(again.messages) == json.dumps(window.messages)
        assert (again.tokens, again.parts) == (window.tokens, window.parts)


def is_result(message):
    return all(block["type"] == "tool_result" for block in message["content"])


@given(CASES, st.lists(st.integers(0, 60), min_size=1, max_size=8), st.booleans())
def test_a_window_of_many_days_is_valid_exact_and_faithful(case, gaps, steady):
    """Lines with days come between messages, which stay as they are, and cost what is counted."""
    dialect, first, second, budget, _, recent, share, query, pad = case
    given_list = longer(first, second, pad=pad)
    mode = "steady" if steady else "jit"
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        at = 1.7e9
        for number, message in enumerate(given_list):
            at += gaps[number % len(gaps)] * 3_600
            conversation.append(message, at=at)
        options = {"mode": mode, "recent": recent, "index_share": share, "dialect": dialect}
        try:
            window = conversation.window(query, budget=budget, **options)
        except BudgetTooSmall as error:
            window, budget = conversation.window(query, budget=error.need, **options), error.need
        assert window.tokens == count_tokens(window.messages, system=window.system) <= budget
        assert validate(window.messages, dialect=dialect) == []
        sent = pieces(window.messages, dialect)
        ours = ("<earlier-turns>", "(The task, shortened)", '"[above: ', '"(Earlier messages')
        days = [f'"[{day} ' for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")]
        verbatim = [one for one in sent if not any(mark in one for mark in (*ours, *days))]
        if query is not None:
            verbatim = verbatim[:-1]
        rest = iter(pieces(given_list if dialect == "openai" else alternate(given_list), dialect))
        assert all(one in rest for one in verbatim), "a subsequence of what was appended"
        again = conversation.window(query, budget=budget, **options)
        assert json.dumps(again.messages) == json.dumps(window.messages)


@given(CASES)
def test_two_memories_make_the_same_window(case):
    _, first, second, budget, mode, recent, share, query, pad = case
    made = []
    for _ in range(2):
        with Memory.open(None, embedder="lexical") as memory:
            conversation = memory.conversation("log")
            for message in longer(first, second, pad=pad):
                conversation.append(message, at=1.7e9)
            try:
                window = conversation.window(
                    query, budget=budget, mode=mode, recent=recent, index_share=share
                )
                made.append((json.dumps(window.messages), window.tokens, window.parts))
            except BudgetTooSmall as error:
                made.append((error.need, error.have))
    assert made[0] == made[1]


@given(CASES)
def test_full_is_everything(case):
    _, first, second, *_ = case
    given_list = longer(first, second, pad=True)
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(given_list)
        window = conversation.window(budget=10**6, mode="full")
        assert json.dumps(window.messages) == json.dumps(given_list)
        with pytest.raises(BudgetTooSmall):
            conversation.window(budget=window.tokens - 1, mode="full")
