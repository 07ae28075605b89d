"""Prepared compaction through the public API: what is begun, swapped, kept, given up and told."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from preparing import Clock, Hand, Writer, process

from warmset import Memory, PreparedCompaction, validate
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.evict.slots import HEADING
from warmset.messages import text_message
from warmset.prepare import Prices, of

BUDGET = 600
LINE = "the harbour master counted every crate that came ashore before the tide"


def talk(conversation, count, start=0):
    """Append so many questions and answers of about 20 tokens each."""
    for at in range(start, start + count):
        conversation.append({"role": "user", "content": f"Question {at}: {LINE}?"})
        conversation.append({"role": "assistant", "content": f"Answer {at}: {LINE}."})


def shown(window):
    return [m for m in window.messages if HEADING in str(m["content"])]


@pytest.fixture
def hand():
    return Hand(Clock())


@pytest.fixture
def made(hand):
    """Makes a policy with a clock, a worker and a writer that obey."""

    def one(**options):
        given = {"summarizer": Writer(), "clock": hand.clock, "worker": hand, "carry_tokens": 0}
        return PreparedCompaction(**{**given, **options})

    return one


def opened(policy, path=None):
    memory = Memory.open(path, embedder="lexical", compaction=policy)
    log = memory.conversation("log")
    log.append({"role": "user", "content": "The task: count crates, and tell harbour 7."})
    return memory, log


def window(log, budget=BUDGET, **options):
    return log.window(mode="full", budget=budget, **options)


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
        assert len(ready.messages) == len(log), "nothing changes before the hard line"
        talk(log, 4, 11)
        asked = len(policy.summarizer.asked)
        swapped = window(log)
        told = swapped.report.compaction
        assert (told.state, told.swapped, told.left_out, told.waited) == ("swapped", True, 0, 0)
        assert len(policy.summarizer.asked) == asked == 1
        [summary] = shown(swapped)
        assert swapped.messages[0]["content"].startswith("The task")
        assert swapped.messages[1] is summary
        assert told.mark + len(swapped.messages) - 2 == len(log)
        assert swapped.tokens < BUDGET * 2 / 3
        assert [part.name for part in swapped.parts] == ["anchor", "summary", "recent"]
        again = window(log)
        assert again.messages == swapped.messages
        assert not again.report.compaction.swapped
        assert policy.counters.as_dict() | {"freed": 0} == policy.counters.as_dict() | {
            "prepared": 1,
            "swapped": 1,
            "freed": 0,
            "evicted": 0,
            "discarded": 0,
        }
        assert policy.counters.freed > 100


def test_the_kept_messages_are_the_callers_bytes_and_their_front_stays(made, hand):
    memory, log = opened(made())
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
        talk(log, 4, 11)
        one = window(log)
        talk(log, 1, 15)
        two = window(log)
        assert two.messages[: len(one.messages)] == one.messages
        assert two.report.cached == one.report.tokens_sent - 3, "all but the reply's overhead"
        told = one.report.compaction.mark
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
        until(lambda: of(memory.engine, "default", "log").state == "ready")
        talk(log, 4, 12)
        assert shown(window(log))


def until(holds):
    """Wait for what a thread does."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize(("ends_in", "swapped"), [(1.9, True), (2.1, False), (None, False)])
def test_at_the_hard_line_it_waits_until_the_deadline_and_then_leaves_out(
    made, hand, ends_in, swapped
):
    policy = made()
    hand.ends_in = ends_in
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        before = hand.clock()
        found = window(log)
        told = found.report.compaction
        assert hand.clock() - before == pytest.approx(1.9 if swapped else 2.0)
        assert told.waited == pytest.approx(1.9 if swapped else 2.0)
        assert bool(shown(found)) == swapped
        assert (told.left_out == 0) == swapped
        assert found.tokens <= BUDGET
        assert validate(found.messages) == []
        assert policy.counters.evicted == (not swapped)
        if not swapped:
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
        talk(log, 11)
        window(log)
        hand.run()
        talk(log, 4, 11)
        found = window(log)
        told = found.report.compaction
        assert (told.state, told.swapped, shown(found)) == ("failed", False, [])
        assert told.left_out
        assert told.why
        assert hand.tasks == [], "it is not asked again at once"
        assert policy.counters.failed == 1
        policy.summarizer.answer = "good"
        hand.clock.now += 1.0
        window(log)
        hand.run()
        assert shown(window(log))


def test_the_fallback_writes_where_the_summarizer_fails(hand):
    policy = PreparedCompaction(summarizer=Writer(), clock=hand.clock, worker=hand, carry_tokens=0)
    policy.summarizer.answer = "failing"
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
        talk(log, 4, 11)
        [summary] = shown(window(log))
        assert "harbour master" in summary["content"], "sentences of the turns themselves"
        assert (policy.counters.fallbacks, policy.counters.failed) == (1, 0)


def test_a_summarizer_that_hangs_is_given_up_and_another_try_is_made(made, hand):
    policy = made(patience=60.0)
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
        assert of(memory.engine, "default", "log").state == "ready"
        hand.run(0)
        assert policy.counters.prepared == 1, "what comes after it was given up is not used"


def test_a_prepared_summary_is_good_in_the_next_process(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
    policy = made()
    with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
        log = memory.conversation("log")
        talk(log, 4, 11)
        assert shown(window(log))
        assert policy.summarizer.asked == []
        assert (policy.counters.adopted, policy.counters.swapped) == (1, 1)


def test_another_policy_does_not_take_it_up(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
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
        talk(log, 11)
        window(log)
        hand.run()
        talk(log, 4, 11)
        mark = window(log).report.compaction.mark
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        behind = mark + 2
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


def test_an_edit_while_it_is_written_makes_it_void(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        turns = [dict(turn) for turn in log.fetch(log.ids)]
        log.sync([*turns[:1], text_message("openai", "user", "edited"), *turns[2:]])
        hand.run()
        assert of(memory.engine, "default", "log").state == "stale"
        assert (policy.counters.prepared, policy.counters.stale) == (0, 1)
        assert list(memory.engine.derived.of("prepared", "default")) == []


def test_what_is_erased_is_in_no_summary_and_in_no_file(made, hand, tmp_path):
    policy = made()
    policy.summarizer.answer = "The secret is Zanzibar."
    memory, log = opened(policy, tmp_path)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
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


def test_the_next_summary_goes_on_from_the_last(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        at, marks = 0, []
        while len(marks) < 4:
            talk(log, 1, at)
            at += 1
            told = window(log).report.compaction
            assert told.left_out == 0
            if told.swapped:
                marks.append(told.mark)
            while hand.tasks:
                hand.run()
        assert marks == sorted(set(marks))
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
        talk(log, 11)
        window(log)
        hand.run()
        log.append({"role": "user", "content": f"{LINE} " * 40})  # the hard line, and far over it
        log.append({"role": "assistant", "content": "I see."})
        hand.ends_in = 0.5
        log.append({"role": "user", "content": "Go on."})
        found = window(log)
        assert found.tokens <= BUDGET
        assert len(policy.summarizer.asked) == 2
        assert found.report.compaction.waited == pytest.approx(0.5)


def test_prices_decide_on_a_swap_before_the_hard_line(made, hand):
    for calls, early in ((1, False), (60, True)):
        policy = made(prices=Prices(calls=calls))
        memory, log = opened(policy)
        with memory:
            talk(log, 11)
            window(log)
            hand.run()
            found = window(log)
            assert bool(shown(found)) == early
            assert found.report.compaction.swapped == early
    assert Prices(calls=10).pays(1_000, 100)
    assert not Prices(calls=10).pays(100, 1_000)
    assert not Prices(calls=0).pays(1_000, 1)


def test_a_predicate_decides_instead_of_the_soft_line(made, hand):
    seen = []

    def due(messages, tokens):
        seen.append((len(messages), messages[0], messages[-1:], tokens))
        return len(messages) > 9

    memory, log = opened(made(should_compact=due, least=0))
    with memory:
        talk(log, 4)
        found = window(log, 10_000)
        assert found.report.compaction.state == "idle"
        assert seen == [(9, found.messages[0], found.messages[-1:], found.tokens)]
        talk(log, 1, 4)
        assert window(log, 400).report.compaction.state == "preparing"
        hand.run()


def test_little_is_not_worth_a_summary(made, hand):
    memory, log = opened(made(least=0.9))
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
        talk(log, 11)
        window(log)
        hand.run()
        assert policy.counters.faults == 2


def test_closing_gives_up_what_is_written_and_waits_for_nobody(made, hand, tmp_path):
    events = []
    policy = made(on_event=events.append)
    memory, log = opened(policy, tmp_path)
    talk(log, 11)
    window(log)
    memory.close()
    assert [event.state for event in events] == ["preparing", "discarded"]
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


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "responses"])
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


def test_other_modes_and_memories_without_it_are_as_they_were(made):
    memory, log = opened(made())
    with memory:
        talk(log, 20)
        for mode in ("jit", "recency"):
            assert log.window(mode=mode, budget=BUDGET).report.compaction is None
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


@pytest.mark.parametrize(
    "options",
    [
        {"summarizer": 3},
        {"fallback": "x"},
        {"soft": 0},
        {"soft": 1.0},
        {"soft": True},
        {"tail": 0.7},
        {"tail": -0.1},
        {"least": 2},
        {"keep": 0},
        {"deadline": -1},
        {"patience": float("nan")},
        {"max_tokens": 3},
        {"carry_tokens": -1},
        {"should_compact": 1},
        {"on_event": 1},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        PreparedCompaction(**options)


@pytest.mark.parametrize("options", [{"calls": -1}, {"calls": 1, "cached": 2}, {"calls": 1.5}])
def test_prices_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError):
        Prices(**options)


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
        assert [run.what for run in runs] == ["failed", "prepared", "swapped"]
        assert "nobody there" in runs[0].figures["why"]
        assert runs[1].figures["dropped"] == told.mark - 1, "the task stays"
        assert runs[2].figures["freed"] > 100
        assert memory.episodes(conversation="other") == []


def test_of_many_summaries_the_next_process_reads_the_newest_only(made, hand, tmp_path):
    memory, log = opened(made(), tmp_path)
    with memory:
        for at in range(60):
            talk(log, 1, at)
            last = window(log)
            while hand.tasks:
                hand.run()
        summaries = list(memory.engine.derived.of("prepared", "default", "log"))
        assert len(summaries) > 3
    policy = made()
    with Memory.open(tmp_path, embedder="lexical", compaction=policy) as memory:
        found = window(memory.conversation("log"))
        assert found.tokens <= last.tokens
        assert policy.counters.adopted == 1
        assert found.report.compaction.mark == summaries[-1].fields["mark"]
        assert policy.summarizer.asked == []
