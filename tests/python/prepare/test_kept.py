"""Prepared summaries as records: good in other processes, void when what they stand for changes."""

from __future__ import annotations

import pytest
from preparing import (
    opened,
    prepared,
    process,
    shown,
    talk,
    window,
)

from warmset import Memory, PreparedCompaction
from warmset.messages import text_message
from warmset.prepare import of
from warmset.receipts import Spooled


def test_a_prepared_summary_is_good_in_the_next_process(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        prepared(log, hand)
    policy = made()
    with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
        log = memory.conversation("log")
        talk(log, 4, 11)
        assert shown(window(log))
        assert policy.summarizer.asked == []
        assert (policy.counters.adopted, policy.counters.applied) == (1, 1)
        assert policy.counters.tokens_saved == window(log).report.compaction.tokens_saved > 50


def test_another_policy_does_not_take_it_up(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        assert shown(window(log))
        other = made(max_tokens=99)
        hand.ends_in = None
        found = window(log, compaction=other)
        assert not shown(found)
        assert found.report.compaction.left_out
        assert other.counters.stale == 1


def test_an_edit_before_the_mark_makes_it_void_and_one_behind_it_does_not(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        boundary = window(log).report.compaction.boundary
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        behind = boundary + 2
        log.sync([*turns[:behind], text_message("openai", "user", "edited behind")])
        found = log.window(mode="full", budget=330)
        assert shown(found)
        assert found.messages[-1]["content"] == "edited behind"
        log.sync([*turns[:3], text_message("openai", "user", "edited before"), *turns[4:]])
        hand.ends_in = None
        found = window(log)
        assert not shown(found)
        assert policy.counters.stale == 1
        assert found.report.compaction.state == "preparing"


@pytest.mark.parametrize("reopened", [False, True])
def test_a_summary_of_a_whole_path_is_void(made, hand, tmp_path, reopened):
    memory, log = opened(made(), tmp_path)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        boundary = window(log).report.compaction.boundary
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        log.sync(turns[:boundary])
        hand.ends_in = None
        if not reopened:
            assert not shown(window(log, budget=330))
            assert window(log, budget=330).messages[-1]["content"] == turns[boundary - 1]["content"]
    if reopened:
        policy = made()
        with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
            log = memory.conversation("log")
            assert not shown(window(log, budget=330))
            assert policy.counters.adopted == 0


def test_a_summary_of_twins_on_another_branch_is_not_taken_up(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        prepared(log, hand)
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        log.sync(turns[:4])
        log.append(turns[4:])  # they say the same as those that were summarised
        talk(log, 4, 11)
        hand.ends_in = None
        assert not shown(window(log))
    policy = made()
    with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
        assert not shown(window(memory.conversation("log")))
        assert policy.counters.adopted == 0


def test_an_edit_while_it_is_written_makes_it_void(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        log.sync([*turns[:1], text_message("openai", "user", "edited"), *turns[2:]])
        hand.run()
        assert of(memory._engine, "default", "log").state == "stale"
        assert (policy.counters.prepared, policy.counters.stale) == (0, 1)
        assert list(memory._engine.derived.of("prepared", "default")) == []


def test_what_is_erased_is_in_no_summary_and_in_no_file(made, hand, tmp_path):
    policy = made()
    policy.summarizer.answer = "The secret is Zanzibar."
    memory, log = opened(policy, tmp_path)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        assert "Zanzibar" in shown(window(log))[0]["content"]
        memory.erase(ids=[log.ids[3]])
        policy.summarizer.answer = "good"
        found = window(log)
        assert "Zanzibar" not in str(found.messages)
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert not [file for file in files if b"Zanzibar" in file.read_bytes()]


def test_an_erasure_while_it_is_written_leaves_nothing(made, hand, tmp_path):
    policy = made()
    policy.summarizer.answer = "The secret is Zanzibar."
    memory, log = opened(policy, tmp_path)
    with memory:
        talk(log, 11)
        window(log)
        memory.erase(ids=[log.ids[3]])
        hand.run()
        assert policy.counters.prepared == 0
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert not [file for file in files if b"Zanzibar" in file.read_bytes()]


@pytest.mark.parametrize("answer", ["raises", "I'm sorry, I cannot summarise Zanzibar."])
def test_what_a_failed_summary_said_of_a_message_goes_with_it(hand, tmp_path, answer):
    def write(messages, **_options):
        if answer == "raises":
            raise ValueError(str(messages))
        return answer

    policy = PreparedCompaction(summarizer=write, fallback=None, clock=hand.clock, worker=hand)
    memory, log = opened(policy, tmp_path)
    with memory:
        [secret] = log.append({"role": "user", "content": "The secret is Zanzibar."})
        prepared(log, hand)
        assert "Zanzibar" in str(memory.episodes())
        memory.erase(ids=[secret])
        assert memory.episodes() == []
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert not [file for file in files if b"Zanzibar" in file.read_bytes()]


def test_a_summary_that_goes_on_from_one_in_the_spool_names_its_messages(made, hand, monkeypatch):
    memory, log = opened(made())
    with memory:
        with monkeypatch.context() as busy:
            busy.setattr(memory._engine, "put", lambda _drafts, **_: Spooled("x"))
            prepared(log, hand)
        talk(log, 20, 11)
        window(log, 900)
        hand.run()
        [record] = memory._engine.derived.of("prepared", "default", "log")
        assert record.sources[0] == log.ids[1]
        assert len(record.sources) > record.fields["mark"] - 3
        memory.erase(ids=[log.ids[2]])
        assert list(memory._engine.derived.of("prepared", "default", "log")) == []


def test_closing_gives_up_what_is_written_and_waits_for_nobody(made, hand, tmp_path):
    events = []
    policy = made(on_event=events.append)
    memory, log = opened(policy, tmp_path)
    talk(log, 11)
    window(log)
    memory.close()
    assert [event.state for event in events] == ["preparing", "discarded"]
    assert events[-1].why == "the memory was closed"
    assert events[-1].boundary == events[0].boundary > 0
    hand.run()
    assert policy.counters.prepared == 0
    with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
        assert window(memory.conversation("log")).report.compaction.state == "preparing"


def test_one_process_writes_at_a_time(made, hand, tmp_path):
    one, other = made(), made()
    with process(tmp_path, one) as first, process(tmp_path, other) as second:
        log = first.conversation("log")
        log.append({"role": "user", "content": "The task."})
        talk(log, 11)
        window(log)
        found = window(second.conversation("log"))
        assert found.report.compaction.state == "idle"
        assert len(hand.tasks) == 1
        hand.run()
        assert window(second.conversation("log")).report.compaction.state == "ready"
        talk(log, 4, 11)
        assert window(second.conversation("log")).messages == window(log).messages
        assert other.summarizer.asked == []


def test_what_became_of_summaries_is_on_record(made, hand, tmp_path):
    policy = made(fallback=None)
    memory, log = opened(policy, tmp_path)
    with memory:
        talk(log, 11)
        policy.summarizer.answer = "failing"
        window(log)
        hand.run()
        policy.summarizer.answer = "good"
        hand.clock.now += 1
        window(log)
        hand.run()
        talk(log, 4, 11)
        told = window(log).report.compaction
    with Memory.open(tmp_path, embedder="lexical") as memory:
        runs = memory.episodes(conversation="log")
        assert [run.what for run in runs] == ["failed", "prepared", "applied"]
        assert "nobody there" in runs[0].figures["why"]
        assert runs[1].figures["dropped"] == told.boundary - 1, "the task stays"
        assert runs[2].figures["tokens_saved"] > 100
        assert memory.episodes(conversation="other") == []


def test_what_a_window_showed_is_on_record_before_the_summary_that_follows(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        at, applied = 0, 0
        while applied < 2:
            talk(log, 1, at)
            at += 1
            applied += window(log).report.compaction.applied
            while hand.tasks:
                hand.run()
    with Memory.open(tmp_path, embedder="lexical") as memory:
        runs = memory.episodes(conversation="log")
        assert [run.what for run in runs] == ["prepared", "applied", "prepared", "applied"]


def test_of_many_summaries_the_next_process_reads_the_newest_only(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        for at in range(60):
            talk(log, 1, at)
            last = window(log)
            while hand.tasks:
                hand.run()
        summaries = list(memory._engine.derived.of("prepared", "default", "log"))
        assert len(summaries) > 3
    policy = made()
    with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
        found = window(memory.conversation("log"))
        assert found.tokens <= last.tokens
        assert policy.counters.adopted == 1
        assert found.report.compaction.boundary == summaries[-1].fields["mark"]
        assert policy.summarizer.asked == []


def test_a_summary_is_found_by_its_record(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        [record] = memory._engine.derived.of("prepared", "default", "log")
        there = of(memory._engine, "default", "log")
        found = there.stored(policy, record.id)
        assert (found.id, found.boundary) == (record.id, record.fields["mark"])
        assert there.stored(policy, record.id + 99) is None
