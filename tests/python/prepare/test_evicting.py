"""What mode "full" leaves out where no summary is ready."""

from __future__ import annotations

import pickle

import pytest

from warmset import Memory, PreparedCompaction

LOOPS = 6


def never(_messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
    raise ConnectionError("nobody there")


@pytest.fixture
def log():
    policy = PreparedCompaction(summarizer=never, fallback=None, deadline=0.0)
    with Memory.open(None, embedder="lexical", compaction=policy) as memory:
        yield memory.conversation("log")


def of_responses(number):
    """A request, a call that was thought about, its result, and an answer."""
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x"}
    call = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"c{number}",
        "name": "lift",
        "arguments": "{}",
    }
    said = {"type": "output_text", "text": f"Crane {number} lifts. " * 12, "annotations": []}
    yield (
        {"role": "user", "content": f"Question {number}: what does crane {number} lift? " * 3},
        False,
    )
    yield [thought, call], True
    yield {"type": "function_call_output", "call_id": f"c{number}", "output": "12"}, False
    answer = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    yield {**answer, "content": [said]}, True


def of_anthropic(number):
    """A request, a loop of calls that were thought about, and an answer."""
    yield (
        {"role": "user", "content": f"Question {number}: what does crane {number} lift? " * 3},
        False,
    )
    for step in range(LOOPS):
        id_ = f"c{number}{step}"
        thought = {"type": "thinking", "thinking": "Let me see.", "signature": f"s{id_}"}
        use = {"type": "tool_use", "id": id_, "name": "lift", "input": {}}
        yield {"role": "assistant", "content": [thought, use]}, True
        result = {"type": "tool_result", "tool_use_id": id_, "content": "12"}
        yield {"role": "user", "content": [result]}, False
    yield {"role": "assistant", "content": f"Crane {number} lifts. " * 12}, True


def without_id(message):
    """An item whose thinking left has no id."""
    return {name: value for name, value in message.items() if name != "id"}


@pytest.mark.parametrize("talk", [of_responses, of_anthropic])
def test_the_cut_stays_where_it_is_while_the_list_fits(log, talk):
    window, before, cuts, kept = None, [], [], 0
    for number in range(24):
        for messages, is_reply in talk(number):
            log.append(messages, window=window if is_reply else None)
            if is_reply:
                continue
            window = log.window(mode="full", budget=900)
            assert window.tokens <= 900
            told = window.report.compaction
            if not cuts or cuts[-1] != told.left_out:
                cuts.append(told.left_out)
            else:
                assert window.messages[: len(before)] == before
            before = window.messages
            kept += window.report.thinking.kept
    assert cuts == sorted(cuts)
    assert 3 < len(cuts) <= 24, "once an exchange at most"
    assert kept > 24, "within a loop the thinking stays"


def test_ids_and_messages_are_as_many_where_thinking_left(log):
    window, removed = None, 0
    for number in range(24):
        for messages, is_reply in of_responses(number):
            log.append(messages, window=window if is_reply else None)
            if is_reply:
                continue
            window = log.fit(budget=900)
            assert len(window) == len(window.turns) == len(window.messages)
            turns = [id_ for id_ in window.turns if id_]
            pairs = zip(window.messages, window.turns, strict=True)
            shown = [without_id(one) for one, turn in pairs if turn]
            assert shown == [without_id(turn) for turn in log.fetch(turns)]
            assert set(window.turns) - {0} <= set(window.ids)
            removed += len(window.thinking.removed)
    copied = pickle.loads(pickle.dumps(log.fit(budget=900)))  # noqa: S301 - our own
    assert copied.turns == log.fit(budget=900).turns
    assert removed
