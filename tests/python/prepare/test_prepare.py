"""Prepared compaction through the public API: what is begun, applied, kept, given up and told."""

from __future__ import annotations

import asyncio
import threading

import pytest
from preparing import (
    BUDGET,
    LINE,
    Writer,
    opened,
    prepared,
    shown,
    talk,
    until,
    window,
)

from warmset import Memory, PreparedCompaction, summarize, validate
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.messages import text_message
from warmset.money import Prices
from warmset.prepare import of
from warmset.prepare.jobs import Job
from warmset.tokens import PER_MESSAGE


def test_the_soft_line_begins_a_summary_and_the_hard_line_swaps_it_in(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        talk(log, 3)
        assert window(log).report.compaction.state == "idle"
        talk(log, 8, 3)
        first = window(log)
        assert first.report.compaction.state == "preparing"
        assert not shown(first)
        hand.run()
        ready = window(log)
        assert ready.report.compaction.state == "ready"
        assert len(ready.messages) == len(log), "nothing changes before the budget"
        talk(log, 4, 11)
        asked = len(policy.summarizer.asked)
        applied = window(log)
        told = applied.report.compaction
        assert (told.state, told.applied, told.left_out, told.waited) == ("applied", True, 0, 0)
        assert len(policy.summarizer.asked) == asked == 1
        [summary] = shown(applied)
        assert applied.messages[0]["content"].startswith("The task")
        assert applied.messages[1] is summary
        assert told.boundary + len(applied.messages) - 2 == len(log)
        assert applied.tokens < BUDGET * 2 / 3
        assert [part.name for part in applied.parts] == ["anchor", "summary", "recent"]
        again = window(log)
        assert again.messages == applied.messages
        assert not again.report.compaction.applied
        assert policy.counters.as_dict() | {"tokens_saved": 0} == policy.counters.as_dict() | {
            "prepared": 1,
            "applied": 1,
            "tokens_saved": 0,
            "evicted": 0,
            "discarded": 0,
        }
        assert policy.counters.tokens_saved > 100


def test_the_kept_messages_are_the_callers_bytes_and_their_front_stays(made, hand):
    memory, log = opened(made())
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        one = window(log)
        talk(log, 1, 15)
        two = window(log)
        assert two.messages[: len(one.messages)] == one.messages
        assert two.report.cached == one.report.tokens_sent - 3, "all but the reply's overhead"
        told = one.report.compaction.boundary
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        assert one.messages[2:] == turns[told : told + len(one.messages) - 2]


def test_the_agent_goes_on_while_a_thread_writes():
    begun, go_on = threading.Event(), threading.Event()

    def slow(messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        begun.set()
        assert go_on.wait(30)
        return "Much was counted."

    policy = PreparedCompaction(summarizer=slow)
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        assert window(log).report.compaction.state == "preparing"
        assert begun.wait(30)
        talk(log, 1, 11)
        assert window(log).report.compaction.state == "preparing"
        go_on.set()
        until(lambda: of(memory._engine, "default", "log").state == "ready")
        talk(log, 4, 12)
        assert shown(window(log))


@pytest.mark.parametrize(("ends_in", "applied"), [(1.9, True), (2.1, False), (None, False)])
def test_at_the_hard_line_it_waits_until_the_deadline_and_then_leaves_out(
    made, hand, ends_in, applied
):
    policy = made()
    hand.ends_in = ends_in
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        before = hand.clock()
        found = window(log)
        told = found.report.compaction
        assert hand.clock() - before == pytest.approx(1.9 if applied else 2.0)
        assert told.waited == pytest.approx(1.9 if applied else 2.0)
        assert bool(shown(found)) == applied
        assert (told.left_out == 0) == applied
        assert found.tokens <= BUDGET
        assert validate(found.messages) == []
        assert policy.counters.evicted == (not applied)
        if not applied:
            assert told.why == "no summary was ready in time"
            assert found.messages[0]["content"].startswith("The task")
            assert found.messages[-1] == dict(log.fetch(log.ids)[-1])
            cut = window(log)
            assert policy.counters.waits == 1, "a summary that is late stalls once"
            assert cut.messages == found.messages
            hand.run()  # late, and good all the same
            assert shown(window(log))


@pytest.mark.parametrize("answer", ["failing", "empty", "error", "growing"])
def test_what_is_no_summary_never_becomes_one(made, hand, answer):
    policy = made(fallback=None)
    policy.summarizer.answer = answer
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        found = window(log)
        told = found.report.compaction
        assert (told.state, told.applied, shown(found)) == ("failed", False, [])
        assert told.left_out
        assert told.why
        assert hand.tasks == [], "it is not asked again at once"
        assert policy.counters.failed == 1
        policy.summarizer.answer = "good"
        hand.clock.now += 1.0
        window(log)
        hand.run()
        assert shown(window(log))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_a_summarizer_that_would_end_its_thread_has_failed(error):
    def ends(_messages, **_options):
        raise error

    policy = PreparedCompaction(summarizer=ends)
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        told = window(log).report.compaction
        assert (told.state, policy.counters.failed) == ("failed", 1)
        assert repr(error) in told.why


def test_a_summarizer_that_was_cancelled_has_a_fallback():
    def cancelled(_messages, **_options):
        raise asyncio.CancelledError

    policy = PreparedCompaction(summarizer=cancelled)
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        assert shown(window(log))
        assert policy.counters.fallbacks == 1


@pytest.mark.parametrize("fallback", [None, lambda _m, max_tokens: "Crates came ashore."])  # noqa: ARG005
def test_refused_texts_are_counted_and_logged_with_the_reason(made, hand, fallback, caplog):
    policy = made(fallback=fallback)
    policy.summarizer.answer = '```json\n{"summary": "crates"}\n```'
    memory, log = opened(policy)
    with memory, caplog.at_level("WARNING", "warmset"):
        prepared(log, hand)
        counters = policy.counters
        assert (counters.refused, counters.failed) == (1, int(fallback is None))
        assert counters.fallbacks == int(fallback is not None)
        [told] = [one for one in caplog.records if one.name == "warmset.prepare"]
        assert told.event == ("failed" if fallback is None else "fell_back")
        assert told.refused == "json"
        assert "crates" not in caplog.text
        policy.summarizer.answer = "failing"
        talk(log, 12, 11)
        hand.clock.now += 60
        window(log)
        hand.run()
        assert counters.refused == 1, "an exception is no refusal"


def test_a_worker_that_cannot_begin_costs_no_window(made):
    class Full:
        def start(self, _task):
            raise RuntimeError("can't start new thread")

    policy = made(worker=Full())
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        told = window(log).report.compaction
        assert (told.state, told.left_out > 0, policy.counters.failed) == ("failed", True, 1)
        assert "can't start new thread" in told.why


def test_whoever_sets_no_deadline_waits():
    policy = PreparedCompaction(summarizer=Writer(), deadline=float("inf"))
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        assert shown(window(log))


def test_the_fallback_writes_where_the_summarizer_fails(hand):
    policy = PreparedCompaction(summarizer=Writer(), clock=hand.clock, worker=hand, carry_tokens=0)
    policy.summarizer.answer = "failing"
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        talk(log, 4, 11)
        [summary] = shown(window(log))
        assert "harbour master" in summary["content"], "sentences of the turns themselves"
        assert (policy.counters.fallbacks, policy.counters.failed) == (1, 0)


def test_a_summarizer_that_hangs_is_given_up_and_another_try_is_made(made, hand):
    policy = made(timeout=60.0)
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.clock.now += 61
        window(log)
        assert policy.counters.failed == 1
        hand.clock.now += 1
        window(log)
        assert len(hand.tasks) == 2
        hand.run(1)
        assert of(memory._engine, "default", "log").state == "ready"
        hand.run(0)
        assert policy.counters.prepared == 1, "what comes after it was given up is not used"


def test_the_next_summary_goes_on_from_the_last(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        at, boundaries = 0, []
        while len(boundaries) < 4:
            talk(log, 1, at)
            at += 1
            told = window(log).report.compaction
            assert told.left_out == 0
            if told.applied:
                boundaries.append(told.boundary)
            while hand.tasks:
                hand.run()
        assert boundaries == sorted(set(boundaries))
        spans = policy.summarizer.asked
        said = [m["content"] for messages, _ in spans for m in messages]
        assert len(said) == len(set(said)), "each message is summarised once"
        texts = [previous for _, previous in spans]
        assert texts[0] is None
        assert texts[1] == f"What was said in {len(spans[0][0])} messages, part 1."
        assert "The task" not in "".join(said), "the task stays as it is"


def test_a_tail_that_grew_too_large_is_prepared_again(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        log.append({"role": "user", "content": f"{LINE} " * 40})  # the budget, and far over it
        log.append({"role": "assistant", "content": "I see."})
        hand.ends_in = 0.5
        log.append({"role": "user", "content": "Go on."})
        found = window(log)
        assert found.tokens <= BUDGET
        assert len(policy.summarizer.asked) == 2
        assert found.report.compaction.waited == pytest.approx(0.5)


def test_prices_decide_on_a_swap_before_the_hard_line(made, hand):
    prices = Prices(fresh=1, cache_read=0.1, cache_write=1.25, output=5)
    for calls, early in ((1, False), (60, True)):
        policy = made(prices=prices, expected_calls=calls)
        memory, log = opened(policy)
        with memory:
            talk(log, 11)
            window(log)
            hand.run()
            found = window(log)
            assert bool(shown(found)) == early
            assert found.report.compaction.applied == early


def test_a_predicate_decides_instead_of_the_soft_line(made, hand):
    seen = []

    def due(messages, tokens):
        seen.append((len(messages), messages[0], messages[-1:], tokens))
        return len(messages) > 9

    memory, log = opened(made(should_compact=due, min_saving=0))
    with memory:
        talk(log, 4)
        found = window(log, 10_000)
        assert found.report.compaction.state == "idle"
        assert seen == [(9, found.messages[0], found.messages[-1:], found.tokens)]
        talk(log, 1, 4)
        assert window(log, 400).report.compaction.state == "preparing"
        hand.run()


def test_little_is_not_worth_a_summary(made, hand):
    memory, log = opened(made(min_saving=0.9))
    with memory:
        talk(log, 11)
        assert window(log).report.compaction.state == "idle"
        assert hand.tasks == []
        talk(log, 20, 11)
        told = window(log).report.compaction
        assert told.state == "preparing", "now it is"


def test_a_callback_that_fails_costs_no_window(made, hand):
    def broken(event):
        raise RuntimeError(event.state)

    policy = made(on_event=broken)
    memory, log = opened(policy)
    with memory:
        prepared(log, hand)
        assert policy.counters.faults == 2


def test_many_threads_have_one_summary_written():
    policy = PreparedCompaction(summarizer=Writer())
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        threads = [threading.Thread(target=window, args=(log,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: policy.counters.prepared)
        assert len(policy.summarizer.asked) == 1


def test_awindow_does_the_same(made, hand):
    memory, log = opened(made())
    with memory:
        talk(log, 20)
        hand.ends_in = 0.1
        found = asyncio.run(log.awindow(mode="full", budget=BUDGET))
        assert shown(found)


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "responses", "interactions"])
@pytest.mark.parametrize("query", [None, "What is left to do?"])
def test_windows_are_valid_in_every_dialect(made, hand, dialect, query):
    memory = Memory.open(None, embedder="lexical", compaction=made())
    with memory:
        log = memory.conversation("log")
        hand.ends_in = 0.1
        for at in range(16):
            log.append(text_message(dialect, "user", f"Question {at}: {LINE}?"))
            log.append(text_message(dialect, "assistant", f"Answer {at}: {LINE}."))
        if query is None:
            log.append(text_message(dialect, "user", "Go on."))
        for out in ("ready", "left out"):
            found = window(log, query=query, system="Be brief.", dialect=dialect)
            assert validate(found.messages, dialect=dialect) == []
            assert found.tokens <= BUDGET
            assert (found.report.compaction.left_out > 0) == (out == "left out")
            memory.erase(ids=[log.ids[4]])
            hand.ends_in = None


def test_a_tool_exchange_stays_whole_at_the_mark(made, hand):
    memory, log = opened(made(keep=1, tail=0.05))
    with memory:
        talk(log, 10)
        calls = [
            {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for at in range(3)
        ]
        log.append({"role": "assistant", "content": None, "tool_calls": calls})
        log.append({"role": "tool", "tool_call_id": "c0", "content": LINE})
        assert window(log, 520).report.compaction.state == "preparing"
        log.append({"role": "tool", "tool_call_id": "c1", "content": LINE})
        log.append({"role": "tool", "tool_call_id": "c2", "content": LINE})
        hand.run()
        log.append({"role": "assistant", "content": f"{LINE}. " * 4})
        found = window(log, 520)
        assert shown(found)
        assert validate(found.messages) == []
        assert sum(m["role"] == "tool" for m in found.messages) == 3


def test_recency_and_memories_without_it_are_as_they_were(made):
    memory, log = opened(made())
    with memory:
        talk(log, 20)
        assert log.window(mode="recency", budget=BUDGET).report.compaction is None
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        talk(log, 20)
        with pytest.raises(BudgetTooSmall):
            window(log)


def test_what_cannot_fit_is_told(made, hand):
    memory, log = opened(made())
    with memory:
        talk(log, 20)
        log.append({"role": "user", "content": f"{LINE} " * 60})
        with pytest.raises(BudgetTooSmall) as error:
            window(log)
        assert error.value.need > error.value.have == BUDGET
        del hand


def test_a_request_that_alone_exceeds_the_budget_is_told_with_its_tokens(made, hand):
    memory, log = opened(made())
    with memory:
        talk(log, 20)
        request = f"{LINE} " * 60
        with pytest.raises(BudgetTooSmall) as error:
            window(log, query=request)
        need = PER_MESSAGE + memory._engine.count(request)
        assert (error.value.need, error.value.have) == (need, BUDGET)
        del hand


@pytest.mark.parametrize(
    "options",
    [
        {"summarizer": 3},
        {"fallback": "x"},
        {"trigger_ratio": 0},
        {"trigger_ratio": 1.0},
        {"trigger_ratio": True},
        {"tail": 0.7},
        {"tail": -0.1},
        {"min_saving": 2},
        {"keep": 0},
        {"deadline": -1},
        {"timeout": float("nan")},
        {"max_tokens": 3},
        {"carry_tokens": -1},
        {"should_compact": 1},
        {"on_event": 1},
        {"clock": 1},
        {"worker": None},
        {"prices": 0.1},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        PreparedCompaction(**options)


def test_what_is_no_policy_is_refused():
    for given in (True, "trigger_ratio", PreparedCompaction):
        with pytest.raises(InvalidInputError, match="compaction"):
            Memory.open(None, embedder="lexical", compaction=given)
        with (
            Memory.open(None, embedder="lexical") as memory,
            pytest.raises(InvalidInputError, match="compaction"),
        ):
            window(memory.conversation("log"), compaction=given)


@pytest.mark.parametrize("mode", ["jit", "full", "recency"])
def test_what_is_no_policy_is_refused_by_short_lists_too(mode):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append({"role": "user", "content": "short"})
        with pytest.raises(InvalidInputError, match="compaction"):
            log.window(budget=900, mode=mode, compaction="soon")


FLAT = Prices(fresh=1, cache_read=0.1, output=5)


@pytest.mark.parametrize(
    "options",
    [
        {"expected_calls": -1, "prices": FLAT},
        {"expected_calls": 1.5, "prices": FLAT},
        {"expected_calls": True, "prices": FLAT},
        {"expected_calls": 10},
        {"prices": FLAT},
        {"prices": 0.1, "expected_calls": 10},
    ],
)
def test_prices_and_calls_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match=r"prices|expected_calls"):
        PreparedCompaction(**options)


def test_the_list_of_facts_has_a_fifth_of_the_room_at_most(made, hand, monkeypatch):
    asked, summary_of, run = [], summarize.summary_of, Job.run

    def watching(self, *args):
        asked.append((self.room, self.policy.carry_tokens))
        return run(self, *args)

    def summarised(*args, carry_tokens, **options):
        asked.append(carry_tokens)
        return summary_of(*args, carry_tokens=carry_tokens, **options)

    monkeypatch.setattr(Job, "run", watching)
    monkeypatch.setattr(summarize, "summary_of", summarised)
    for most, limit in ((10**6, 0.2), (1, None)):
        del asked[:]
        memory, log = opened(made(carry_tokens=most))
        with memory:
            prepared(log, hand)
        [(room, wanted), given] = asked
        assert (given, wanted) == (1 if limit is None else int(room * limit), most)
