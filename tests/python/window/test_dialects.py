"""Windows on made-up conversations are valid: in their own dialect, and in every other one."""

from __future__ import annotations

from collections import Counter

import pytest

from warmset import Memory, validate
from warmset.errors import BudgetTooSmall, ConversionError, InvalidMessageError
from warmset.messages import DIALECTS, text_message
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


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
@pytest.mark.parametrize("mode", ["jit", "full"])
def test_a_system_prompt_beside_the_conversation_is_sent(source, target, mode):
    turns = [text_message(source, "user", f"word {n} " * 20) for n in range(40)]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(turns)
        window = conversation.window(
            "word 7", budget=600 if mode == "jit" else 10**6, mode=mode,
            dialect=target, system="Be brief.",
        )  # fmt: skip
        assert str((window.system, window.messages)).count("Be brief.") == 1
        assert (window.system is None) == (target in {"openai", "responses"})
        assert validate(window.messages, dialect=target) == []


def test_a_quoted_call_whose_result_comes_later_is_shown_once():
    call = {"type": "function_call", "call_id": "c", "name": "zebra_job", "arguments": "{}"}
    late = {"type": "function_call_output", "call_id": "c", "output": "zebra done"}
    talk = [text_message("responses", "user", f"word {n} " * 20) for n in range(12)]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        ask = text_message("responses", "user", "what of the zebra_job?")
        conversation.append([text_message("responses", "user", "the task"), call, *talk, ask])
        first = conversation.window(budget=900, recent=1, index_share=0)
        assert conversation.ids[1] in first.report.picked
        conversation.append(late)
        again = conversation.window(budget=900, recent=1, index_share=0)
        assert str(again.messages).count("zebra done") == 1
        assert validate(again.messages, dialect="responses") == []
