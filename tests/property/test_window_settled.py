"""Windows with a prepared summary on made-up conversations: valid, exact, and the same twice."""

from __future__ import annotations

import json

from hypothesis import given, strategies as st

from warmset import Memory, PreparedCompaction, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.messages import validate
from warmset.summarize import HEADING
from warmset.testing import random_history

CASES = st.tuples(
    st.sampled_from(["openai", "anthropic", "gemini", "responses", "interactions"]),
    st.integers(0, 10**6),
    st.integers(2, 9),
    st.integers(60, 4_000),
    st.integers(0, 6),
    st.sampled_from([None, "what about the boat?"]),
)


class Now:
    """Writes a summary when a task is begun, and has it found by the next window."""

    def start(self, task):
        self.task = task
        return self

    def wait(self, _seconds):
        raise AssertionError("such a window waits for nobody")


def windows(case):
    """Every window of a conversation that grows, each checked; and how many showed a summary."""
    dialect, seed, exchanges, budget, recent, query = case
    history = random_history(seed, dialect, exchanges=exchanges)
    worker, made, count = Now(), [], 0
    policy = PreparedCompaction(
        worker=worker, clock=lambda: 0.0, keep=1, tail=0.1, trigger_ratio=0.2
    )
    with Memory.open(None, embedder="lexical", compaction=policy) as memory:
        log = memory.conversation("log")
        for start in range(0, len(history.messages), 3):
            log.append(history.messages[start : start + 3], at=1.7e9)
            if validate(history.messages[: start + 3], dialect=dialect):
                continue  # calls wait for their results
            try:
                window = log.window(query, budget=budget, recent=recent, dialect=dialect)
            except BudgetTooSmall as error:
                made.append(error.need)
                continue
            assert window.tokens == count_tokens(window.messages, system=window.system) <= budget
            assert validate(window.messages, dialect=dialect) == []
            summaries = [part for part in window.parts if part.name == "summary"]
            text = json.dumps(window.messages)
            assert text.count(HEADING) == len(summaries)
            for part in summaries:
                count += 1
                names = [one.name for one in window.parts]
                assert not set(names[: names.index("summary")]) - {"system", "anchor"}
                assert set(part.ids) <= set(log.ids)
                assert window.report.compaction.boundary > 0
            made.append(text)
            if getattr(worker, "task", None):
                worker.task()
                worker.task = None
        return made, count


@given(CASES)
def test_windows_with_a_summary_are_valid_exact_and_the_same_twice(case):
    first, _ = windows(case)
    again, _ = windows(case)
    assert first == again


def test_the_cases_have_summaries():
    shown = [
        windows((dialect, seed, 8, 3_000, 2, None))[1]
        for dialect in ("openai", "anthropic", "gemini", "responses", "interactions")
        for seed in range(4)
    ]
    assert sum(map(bool, shown)) >= 8
