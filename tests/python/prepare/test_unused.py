"""Summaries that were ready and that nobody used: counted, and reported when the memory closes."""

from __future__ import annotations

import logging

import pytest
from preparing import Writer, opened, prepared, process, shown, talk, window

from warmset import Memory
from warmset.summarize import SummaryReply
from warmset.usage import Usage


class Paid(Writer):
    """A summarizer whose model takes 40 tokens a summary."""

    def __call__(self, messages, /, *, max_tokens, previous=None, focus=None):  # noqa: ARG002
        text = super().__call__(messages, max_tokens=max_tokens, previous=previous)
        return SummaryReply(text, Usage(30, 10, 5.0))


@pytest.fixture
def records(caplog):
    caplog.set_level(logging.INFO, logger="warmset.prepare")
    return lambda: [one for one in caplog.records if one.event == "unused"]


def counted(memory):
    found = memory.stats()["unused_summaries"]
    assert (found["milliseconds"] > 0) == (found["summaries"] > 0)
    return found["summaries"], found["tokens"]


def test_a_summary_that_nobody_saw_is_reported_at_close(made, hand, records):
    policy = made(summarizer=Paid())
    memory, log = opened(policy)
    with memory:
        assert counted(memory) == (0, 0)
        prepared(log, hand)
        assert counted(memory) == (1, 40)
        assert records() == []
        assert (policy.counters.unused, policy.counters.wasted) == (0, 0)
    [record] = records()
    assert record.levelname == "INFO"
    assert (record.tenant, record.conversation) == ("default", "log")
    assert (record.summaries, record.tokens) == (1, 40)
    assert record.milliseconds > 0
    assert (policy.counters.unused, policy.counters.wasted) == (1, 40)


def test_one_that_was_shown_is_not(made, hand, records):
    policy = made(summarizer=Paid())
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        assert shown(window(log))
        assert counted(memory) == (0, 0)
    assert records() == []
    assert (policy.counters.unused, policy.counters.wasted) == (0, 0)


@pytest.mark.parametrize("mode", ["jit", "steady"])
def test_one_that_stands_beside_quotes_or_in_a_list_is_not(made, hand, records, mode):
    policy = made(summarizer=Paid())
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        assert counted(memory) == (1, 40)
        talk(log, 8, 11)
        log.append({"role": "user", "content": "How many crates came ashore?"})
        assert shown(log.window(mode=mode, budget=600))
        assert counted(memory) == (0, 0)
    assert records() == []
    assert (policy.counters.unused, policy.counters.wasted) == (0, 0)


def test_of_two_of_the_same_messages_the_one_that_is_not_shown_counts_once(made, hand, records):
    policy = made(summarizer=Paid())
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        hand.ends_in = 0.1
        one, other = (log.compact_now(focus=focus) for focus in ("the tide", "the crates"))
        assert one.boundary == other.boundary > 0
        assert counted(memory) == (2, 80)
        assert shown(window(log, 10_000))
        assert counted(memory) == (1, 40)
    assert len(records()) == 1
    assert (policy.counters.unused, policy.counters.wasted) == (1, 40)


def test_what_comes_after_its_timeout_is_wasted(made, hand):
    policy = made(summarizer=Paid(), timeout=60.0)
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.clock.now += 61
        window(log)
        assert (policy.counters.failed, policy.counters.wasted) == (1, 0)
        hand.run()
        assert (policy.counters.spent, policy.counters.wasted) == (40, 40)
        assert counted(memory) == (0, 0), "it was never ready"


def test_one_that_became_invalid_before_is_reported_with_it(made, hand, records):
    policy = made(summarizer=Paid())
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        turns = [dict(turn) for turn in log]
        log.sync([{"role": "user", "content": "another task"}, *turns[1:]])
        window(log, 10_000)
        assert counted(memory) == (1, 40)
        assert (policy.counters.unused, policy.counters.wasted) == (1, 40)
    [record] = records()
    assert (record.summaries, record.tokens) == (1, 40)
    assert (policy.counters.unused, policy.counters.wasted) == (1, 40)


def test_those_of_other_processes_and_tenants_do_not_count(made, hand, records, tmp_path):
    memory, log = opened(made(summarizer=Paid()), tmp_path)
    with memory:
        prepared(log, hand)
        policy = made(summarizer=Paid())
        other = process(tmp_path, policy)
        with other:
            window(other.conversation("log"))
            assert policy.counters.adopted == 1
            assert counted(other) == (0, 0)
        assert records() == []
        assert (policy.counters.unused, policy.counters.wasted) == (0, 0)
        with Memory.open(tmp_path, embedder="lexical", tenant="b") as stranger:
            assert counted(stranger) == (0, 0)
    assert len(records()) == 1
