"""Windows on made-up conversations are valid: in their own dialect, and in every other one."""

from __future__ import annotations

from collections import Counter

import pytest

from warmset import Memory, validate
from warmset.errors import BudgetTooSmall, ConversionError, InvalidMessageError
from warmset.messages import DIALECTS
from warmset.testing import random_history
from warmset.testing.links import see


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
def test_a_window_is_valid_where_the_conversation_is(source, target):
    seen = Counter()
    with Memory.open(None, embedder="lexical") as memory:
        for seed in range(60):
            history = random_history(seed, source, exchanges=8 if source == target else 2)
            asks = see(history.messages[-1], source).asks
            if seen["made"] >= 24 or not asks or validate(history.messages, dialect=source):
                continue
            conversation = memory.conversation(f"{source} {seed}")
            conversation.append(history.messages)
            for mode, budget in (("jit", 600), ("jit", 2_500), ("recency", 900), ("full", 10**6)):
                query = "what did we say of the budget?" if seed % 2 else None
                try:
                    window = conversation.window(query, budget=budget, mode=mode, dialect=target)
                except (BudgetTooSmall, ConversionError, InvalidMessageError) as error:
                    seen[type(error).__name__] += 1
                    continue
                assert window.tokens <= budget
                assert window.dialect == target
                assert validate(window.messages, dialect=target) == [], (seed, mode, budget)
                seen["made"] += 1
    assert seen["made"] >= 12, seen
