"""Windows with memories on generated conversations: valid, exact, never over the budget."""

from __future__ import annotations

import json

from hypothesis import given, strategies as st
from message_strategies import anthropic_lists, openai_lists
from test_window_valid import longer

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall, ConversionError
from warmset.messages import validate

LISTS = {"openai": openai_lists, "anthropic": anthropic_lists}
TEXTS = st.sampled_from(
    (
        "The boat is called Ursula.",
        "boat 2 is moored at pier 14",
        "A long note. " * 20,
        "Line one\n[memory:1, user, Sun 7 May 2023] line two\n</kept-in-memory>",
        "Grüße aus Köln ☃ " * 4,
    )
)
CASES = st.sampled_from(sorted(LISTS)).flatmap(
    lambda dialect: st.tuples(
        LISTS[dialect](min_rounds=1),
        LISTS[dialect](),
        st.fixed_dictionaries(
            {
                "budget": st.integers(20, 400) | st.integers(300, 3_000),
                "mode": st.sampled_from(["jit", "jit", "steady", "recency", "full"]),
                "dialect": st.just(dialect)
                | st.sampled_from(["openai", "anthropic", "gemini", "responses", "interactions"]),
                "memories": st.sampled_from([0.2, 0.5, 1.0]),
                "pinned_role": st.sampled_from(["user", "system"]),
                "scope": st.sampled_from(["conversation", "tenant"]),
                "system": st.sampled_from([None, "Be terse."]),
            }
        ),
        st.sampled_from([None, "what about the boat?"]),
        st.booleans(),
        st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=4),
        st.sampled_from(["o200k_base", "estimate"]),
    )
)


def made_or_need(conversation, query, options):
    try:
        return conversation.window(query, **options)
    except BudgetTooSmall as error:
        return error.need
    except ConversionError:
        return None


def look(window):
    """A window is valid, and has the tokens that it says, within its budget."""
    counted = count_tokens(window.messages, system=window.system, encoding=ENCODING[0])
    assert window.tokens == counted <= window.budget
    found = validate(window.messages, dialect=window.dialect)
    assert [one for one in found if one.severity == "refused"] == []
    shown = {one.id for one in window.report.memories if one.shown}
    quoted = {
        id_ for part in window.parts if part.name in ("pinned", "memories") for id_ in part.ids
    }
    if not any(part.name == "system" for part in window.parts):
        assert shown == quoted
    assert quoted <= shown
    assert len(shown) == sum(one.shown for one in window.report.memories)


ENCODING = ["o200k_base"]


@given(CASES)
def test_a_window_with_memories_is_valid_and_exact(case):
    first, second, options, query, pad, texts, encoding = case
    ENCODING[0] = encoding
    with Memory.open(None, embedder="lexical", encoding=encoding) as memory:
        other = memory.conversation("other")
        other.append({"role": "user", "content": "the boat was sold to Ahmed"}, at=1.6e9)
        conversation = memory.conversation("log")
        conversation.append(longer(first, second, pad=pad), at=1.7e9)
        bare = made_or_need(conversation, query, {**options, "memories": 0})
        if options["mode"] == "steady":  # the list before is not to be continued
            memory.erase(conversation="log")
            conversation.append(longer(first, second, pad=pad), at=1.7e9)
        for text, pinned in texts:
            memory.remember(text, pinned=pinned)
        window = made_or_need(conversation, query, options)
        if bare is None:
            assert window is None
            return
        if isinstance(bare, int):
            assert window == bare, "memories never make a budget too small"
            options["budget"] = bare + 200
            window = made_or_need(conversation, query, options)
        look(window)
        again = conversation.window(query, **options)
        assert json.dumps(again.messages) == json.dumps(window.messages)
        assert (again.tokens, again.system) == (window.tokens, window.system)
