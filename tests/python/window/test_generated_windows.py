"""Windows of generated conversations, in every dialect and mode, are lists that providers take."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from fitting import cases, in_shards

from warmset import Memory
from warmset.errors import BudgetTooSmall
from warmset.messages import DIALECTS, validate
from warmset.testing import random_history

MODES = ("jit", "recency", "full")
EACH = 5
"""Windows of one conversation."""


def complaints(dialect, seeds):
    """Return what is wrong with the windows of conversations, and how many windows there were."""
    found, made = [], 0
    with Memory.open(None, embedder="lexical") as memory:
        for seed in seeds:
            rng = Random(seed)
            history = random_history(seed, dialect)
            given = history.messages
            chat = memory.conversation(f"{seed}")
            chat.append(given)
            whole = chat.window(budget=10**7, mode="full", dialect=dialect)
            already = refused(given, dialect)
            for _ in range(EACH):
                mode = rng.choice(MODES)
                budget = max(1, whole.tokens * rng.randrange(5, 110) // 100)
                options = {"mode": mode, "dialect": dialect, "recent": rng.choice((0, 1, 4))}
                try:
                    window = chat.window(budget=budget, **options)
                except BudgetTooSmall as error:
                    if mode == "full":
                        continue
                    window = chat.window(budget=max(error.need, budget + 1), **options)
                made += 1
                if window.tokens > window.budget:
                    found.append((seed, mode, budget, "over the budget"))
                if not window.messages:
                    found.append((seed, mode, budget, "empty"))
                found += [
                    (seed, mode, budget, why) for why in refused(window.messages, dialect) - already
                ]
            memory.erase(conversation=f"{seed}")
    return found, made


def refused(messages, dialect):
    """Return the rules that a provider refuses a list for."""
    broken = validate(messages, dialect=dialect)
    return {one.rule for one in broken if one.severity == "refused"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_windows_of_generated_conversations_are_taken(dialect):
    """The deep profile makes more than 20,000 windows in each dialect."""
    shards = in_shards(partial(complaints, dialect), cases(30, 5_000))
    made = sum(number for _, number in shards)
    print(f"{dialect}: {made} windows")
    assert [one for found, _ in shards for one in found] == []
    assert made >= cases(30, 5_000) * EACH * 3 // 5
