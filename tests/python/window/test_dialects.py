"""Windows on made-up conversations are valid: in their own dialect, and in every other one."""

from __future__ import annotations

from collections import Counter

import pytest

from warmset import Memory, PreparedCompaction, validate
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
                    # Only Google can say what a tool found that it ran.
                    if isinstance(error, ConversionError) and source != "interactions":
                        raise
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


CACHED = {"cache_control": {"type": "ephemeral"}}


def thinking(number):
    thought = {"type": "thinking", "thinking": "hm", "signature": f"s{number}"}
    return [
        {"role": "user", "content": f"question {number} " * 9},
        {"role": "assistant", "content": [thought, {"type": "text", "text": f"answer {number}"}]},
    ]


@pytest.mark.parametrize("mode", ["jit", "recency", "full"])
@pytest.mark.parametrize("compaction", [False, True])
@pytest.mark.parametrize("target", [one for one in DIALECTS if one != "anthropic"])
def test_a_window_in_another_dialect_names_what_it_leaves_out(mode, target, compaction):
    policy = PreparedCompaction(trigger_ratio=0.5) if compaction else None
    turns = [message for number in range(30) for message in thinking(number)]
    ask = {"role": "user", "content": [{"type": "text", "text": "and now?", **CACHED}]}
    with Memory.open(None, embedder="lexical", compaction=policy) as memory:
        conversation = memory.conversation("log")
        conversation.append([*turns, ask])
        options = {"budget": 1_600 if mode != "full" or compaction else 10**6, "mode": mode}
        assert "leaves out" not in str(conversation.window(**options).report.notes)
        window = conversation.window(**options, dialect=target)
        assert "signature" not in str(window.messages)
        (note,) = (one for one in window.report.notes if "leaves out" in one)
        assert note.startswith(f"{target} cannot hold, and the window leaves out: ")
        assert "times a block of type 'thinking'" in note
        assert "; the field 'cache_control' of a text block" in note


def test_a_note_names_three_kinds_of_loss_and_counts_the_rest():
    marks = {"id": "m", "usage": {"input_tokens": 1}}
    first = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "a", "citations": [{"x": 1}], **CACHED},
        {"type": "text", "text": "b", **CACHED},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "c", **CACHED},
    ]
    turns = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": first, **marks},
        {"role": "user", "content": "two"},
    ]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(turns)
        window = conversation.window(budget=900, dialect="openai")
        (note,) = window.report.notes
        assert note.endswith(
            "leaves out: 2 times the field 'cache_control' of a text block; the fields 'id' and "
            "'usage' of the assistant message; a block of type 'thinking'; 2 others"
        )
        few = memory.conversation("few")
        few.append([turns[0], {"role": "assistant", "content": first[:2]}, turns[2]])
        (note,) = few.window(budget=900, dialect="openai").report.notes
        assert "other" not in note
        three = memory.conversation("three")
        three.append([turns[0], {"role": "assistant", "content": first[:3]}, turns[2]])
        (note,) = three.window(budget=900, dialect="openai").report.notes
        assert "other" not in note
        four = memory.conversation("four")
        four.append([turns[0], {"role": "assistant", "content": first[:4]}, turns[2]])
        (note,) = four.window(budget=900, dialect="openai").report.notes
        assert note.endswith("; 1 other")


def test_a_window_does_not_lose_content():
    paper = {"type": "document", "source": {"type": "url", "url": "https://a.b/c.pdf"}}
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append([{"role": "user", "content": [paper, {"type": "text", "text": "hi"}]}])
        with pytest.raises(ConversionError, match="message 0: a block of type 'document'"):
            conversation.window(budget=9_000, dialect="openai")


@pytest.mark.parametrize("mode", ["jit", "recency", "steady"])
def test_a_request_behind_a_system_message_of_an_anthropic_list_is_accepted(mode):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": [{"type": "text", "text": "Count crates."}]}])
        log.append({"role": "system", "content": "It is noon."})
        found = log.window("Which crates?", budget=1_000, mode=mode, dialect="anthropic")
        assert validate(found.messages, dialect="anthropic") == []
        assert [one["role"] for one in found.messages] == ["user", "system", "assistant", "user"]
        assert "Which crates?" in str(found.messages[-1])
