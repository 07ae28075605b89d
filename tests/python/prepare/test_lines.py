"""What happens at a line exactly, and one token, second or message beside it."""

from __future__ import annotations

import pytest
from preparing import LINE, Writer, opened, shown, talk, window

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.money import Prices
from warmset.summarize.making import CARRIED

LARGE = 100_000
REQUEST = "How many crates came ashore?"


def tokens(message):
    return count_tokens([message]) - 3


def state(log, budget, **options):
    return window(log, budget, **options).report.compaction.state


@pytest.fixture
def ready(made, hand):
    """Makes a memory whose summary is ready; its conversation, and the tokens of the whole."""

    def one(query=None):
        memory, log = opened(made(trigger_ratio=0.5))
        talk(log, 11)
        whole = window(log, LARGE, query=query).tokens
        window(log, 2 * whole, query=query)
        hand.run(-1)
        return memory, log, whole

    return one


@pytest.mark.parametrize("query", [None, REQUEST])
@pytest.mark.parametrize("system", [None, "Be brief."])
def test_a_summary_is_begun_at_the_trigger_and_not_below(made, query, system):
    options = {"query": query, "system": system}
    memory, log = opened(made(trigger_ratio=0.5, min_saving=0))
    with memory:
        talk(log, 11)
        whole = window(log, LARGE, **options).tokens
        assert state(log, 2 * whole + 1, **options) == "idle"
        assert state(log, 2 * whole, **options) == "preparing"


@pytest.mark.parametrize("query", [None, REQUEST])
def test_a_summary_is_shown_above_the_budget_and_not_at_it(ready, query):
    memory, log, whole = ready(query)
    with memory:
        assert not shown(window(log, whole, query=query))
        found = window(log, whole - 1, query=query)
        told = found.report.compaction
        assert shown(found)
        assert told.applied
        assert told.left_out == 0
        assert told.tokens_saved == whole - found.tokens
        again = window(log, found.tokens, query=query)
        assert again.messages == found.messages, "it fits exactly"
        less = window(log, found.tokens - 1, query=query)
        told = less.report.compaction
        assert told.left_out == len(found.messages) - len(less.messages) > 0
        assert less.tokens < found.tokens * 2 / 3, "it leaves room for the next calls"
        assert not told.applied


def test_a_summary_that_fits_exactly_is_taken_and_with_a_token_less_units_leave(ready):
    memory, log, whole = ready()
    with memory:
        size = window(log, whole - 1).tokens
    for budget, left_out in ((size, False), (size - 1, True)):
        memory, log, _ = ready()
        with memory:
            told = window(log, budget).report.compaction
            assert (told.applied, told.left_out > 0) == (True, left_out)


def test_no_window_waits_where_a_summary_makes_it_fit_exactly(made, hand):
    """Another summary is being written; a token less, and the window waits for it."""

    def ready():
        hand.tasks.clear()
        policy = made(trigger_ratio=0.5, deadline=2.0)
        memory, log = opened(policy)
        talk(log, 11)
        window(log, 2 * window(log, LARGE).tokens)
        hand.run(-1)
        talk(log, 11, 11)
        return memory, log, policy

    memory, log, _ = ready()
    with memory:
        size = window(log, window(log, LARGE).tokens - 1).tokens
    for budget, waited in ((size, 0), (size - 1, 2.0)):
        memory, log, policy = ready()
        with memory:
            assert window(log, budget).report.compaction.waited == waited
            assert policy.counters.prepared == 1
            assert len(hand.tasks) == 1, "one is being written"
            assert policy.counters.waits == bool(waited)


@pytest.mark.parametrize("query", [None, REQUEST])
def test_without_a_summary_the_longest_tail_under_the_low_line_is_shown(made, query):
    """The first cut is to the low line, and the next only where that cut does not fit."""
    memory, log = opened(made(trigger_ratio=0.5))
    with memory:
        talk(log, 11)
        kept = [dict(one) for one in log.fetch(log.ids)]
        more = [] if query is None else [{"role": "user", "content": query}]
        compared = 0
        for budget in (200, 301, 302, 303, 304, 305, 306, 307, 308):
            found = window(log, budget, query=query)
            sizes = [(count_tokens([kept[0], *kept[at:], *more]), at) for at in range(1, len(kept))]
            asked = len(kept) - 2  # the last question stays, as the task does
            fits = [at for size, at in sizes if size <= budget // 2 and at <= asked]
            if not fits:
                continue
            compared += 1
            assert found.messages == [kept[0], *kept[fits[0] :], *more]
            assert found.report.compaction.left_out == fits[0] - 1
            log = memory.conversation(f"log {budget} {query}")
            log.append(kept)
        assert compared > 5


def test_where_only_the_request_is_too_much_no_more_leaves_than_must(made):
    """The conversation alone fits; with the request it is cut, to the low line and no further."""
    memory, log = opened(made(trigger_ratio=0.5))
    with memory:
        talk(log, 11)
        kept = [dict(one) for one in log.fetch(log.ids)]
        whole = count_tokens(kept)
        asked = {"role": "user", "content": REQUEST}
        for budget in (whole, whole + 1, whole + tokens(asked) - 1):
            log = memory.conversation(f"log {budget}")
            log.append(kept)
            found = window(log, budget, query=REQUEST)
            lists = [[kept[0], *kept[at:], asked] for at in range(1, len(kept))]
            longest = next(one for one in lists if count_tokens(one) <= budget // 2)
            assert found.messages == longest
            assert found.report.compaction.left_out == len(kept) + 1 - len(longest)


def test_the_least_saving_is_enough(made):
    policy = made(trigger_ratio=0.5)
    memory, log = opened(policy)
    with memory:
        talk(log, 16)
        window(log, 1_024)
        [ticket] = policy.worker.tasks
        ticket.end()
        cost = sum(tokens(one) for one in policy.summarizer.asked[0][0])
    for saving, begun in ((cost, True), (cost + 1, False)):
        memory, log = opened(made(trigger_ratio=0.5, min_saving=saving / 1_024))
        with memory:
            talk(log, 16)
            assert (state(log, 1_024) == "preparing") == begun


@pytest.mark.parametrize("budget", [600, 1_200])
def test_what_a_summary_lacks_takes_a_fifth_of_its_room_at_most(made, hand, budget):
    memory, log = opened(made(carry_tokens=400))
    with memory:
        for at in range(budget // 30):
            asked = f"Question {at}: what does /quay/{at}/log.txt say of pier {at + 300}?"
            log.append({"role": "user", "content": asked})
            log.append({"role": "assistant", "content": f"Answer {at}: {LINE}."})
        window(log, budget)
        hand.run()
        [summary] = shown(window(log, budget))
        _, head, listed = summary["content"].partition(CARRIED)
        room = budget // 2  # a summary has half of the budget at most
        assert room // 10 < tokens({"role": "user", "content": head + listed}) <= room // 5


def test_a_summarizer_has_its_whole_timeout(made, hand):
    policy = made(timeout=60.0)
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.clock.now += 60
        window(log)
        assert policy.counters.failed == 0
        hand.clock.now += 0.5
        window(log)
        assert policy.counters.failed == 1


def test_pauses_double_from_one_second_and_end_with_a_summary(made, hand):
    policy = made(fallback=None)
    policy.summarizer.answer = "failing"
    memory, log = opened(policy)
    with memory:
        talk(log, 11)

        def fails():
            window(log)
            hand.run()

        def pause():
            """Return after how many seconds of a grid the next try is made."""
            for waited in range(1, 70):
                hand.clock.now += 1
                window(log)
                if hand.tasks:
                    return waited
            return None

        fails()
        waited = []
        for _ in range(3):
            waited.append(pause())
            hand.run()
        assert waited == [1, 2, 4]
        assert pause() == 8
        policy.summarizer.answer = "good"
        hand.run()
        talk(log, 12, 11)
        policy.summarizer.answer = "failing"
        window(log)
        hand.run()
        assert policy.counters.failed == 5
        assert pause() == 1, "the count of failures begins anew behind a summary"
        assert [policy.pause(one) for one in (6, 7, 8, 99)] == [32, 60, 60, 60]


@pytest.mark.parametrize("fit", ["one", "both"])
def test_of_two_summaries_that_fit_the_later_boundary_is_taken(made, hand, fit):
    policy = made(trigger_ratio=0.5)
    memory, log = opened(policy)
    with memory:
        talk(log, 16)
        whole = window(log, LARGE).tokens
        window(log, 2 * whole)
        hand.run()
        talk(log, 12, 16)
        window(log, 2 * whole)
        hand.run()
        assert policy.counters.prepared == 2
        budget = whole if fit == "one" else window(log, LARGE).tokens - 1
        told = window(log, budget).report.compaction
        assert told.applied
        [first, second] = [len(messages) for messages, _ in policy.summarizer.asked]
        assert told.boundary == 1 + first + second, "the task, and what both stand for"
        whole = sum(tokens(one) for messages, _ in policy.summarizer.asked for one in messages)
        assert told.tokens_saved == whole - told.tokens


def test_the_report_counts_each_part_by_itself(made, hand):
    memory, log = opened(made(trigger_ratio=0.5))
    with memory:
        talk(log, 11)
        whole = window(log, LARGE).tokens
        window(log, 2 * whole)
        hand.run()
        found = window(log, whole - 1, query=REQUEST, system="Be brief.")
        [summary] = shown(found)
        kept = [dict(one) for one in log.fetch(log.ids)]
        boundary = found.report.compaction.boundary
        asked = {"role": "user", "content": REQUEST}
        system = {"role": "system", "content": "Be brief."}
        assert {part.name: part.tokens for part in found.parts} == {
            "system": tokens(system),
            "anchor": tokens(kept[0]),
            "summary": tokens(summary),
            "recent": sum(map(tokens, kept[boundary:])),
            "request": tokens(asked),
        }


def test_the_report_of_a_cut_counts_each_part_by_itself(made):
    memory, log = opened(made(trigger_ratio=0.5))
    with memory:
        talk(log, 11)
        whole = window(log, LARGE).tokens
        found = window(log, whole // 2, query=REQUEST, system="Be brief.")
        assert found.report.compaction.left_out > 0
        kept = [one for one in found.messages if one["content"] not in {REQUEST, "Be brief."}]
        assert {part.name: part.tokens for part in found.parts} == {
            "system": tokens({"role": "system", "content": "Be brief."}),
            "recent": sum(map(tokens, kept)),
            "request": tokens({"role": "user", "content": REQUEST}),
        }


def test_the_list_of_facts_has_at_most_a_fifth_of_the_room(made, hand):
    """A window of mode "full" has half of its budget for a summary, and a tenth for the list."""
    policy = made(carry_tokens=400)
    memory, log = opened(policy)
    with memory:
        for at in range(40):
            log.append({"role": "user", "content": f"See src/part_{at}/harbour_{at}.py and rope."})
            log.append({"role": "assistant", "content": "Yes."})
        budget = 2 * window(log, LARGE).tokens // 3
        window(log, budget)
        hand.run()
        [summary] = shown(window(log, budget))
        _, listed = summary["content"].split("(Also stated there)")
        assert budget // 10 / 2 < count_tokens(listed) <= budget // 10


def test_a_tail_is_smaller_than_the_trigger(made):
    assert made(trigger_ratio=0.5, tail=0.499).tail == 0.499
    for tail in (0.5, 0.501):
        with pytest.raises(InvalidInputError, match="tail"):
            made(trigger_ratio=0.5, tail=tail)


def test_an_early_summary_is_paid_for_by_what_is_written_behind_the_task(made, hand):
    """The task stands before the summary, so a provider still has it in its cache."""
    prices = Prices(fresh=1, cache_read=0.1, cache_write=1.25, output=5)
    task = f"The task: count crates. {LINE} " * 20

    def shown_with(calls, budget=LARGE):
        hand.tasks.clear()
        options = {} if calls is None else {"prices": prices, "expected_calls": calls}
        with Memory.open(None, embedder="lexical", compaction=made(**options)) as memory:
            log = memory.conversation("log")
            log.append({"role": "user", "content": task})
            talk(log, 11)
            whole = window(log, LARGE).tokens
            window(log, whole)
            hand.run(-1)
            found = window(log, budget or whole - 1)
            return whole, found.tokens, bool(shown(found))

    whole, size, is_shown = shown_with(None, budget=None)
    assert is_shown
    written = size - 3 - tokens({"role": "user", "content": task})
    first = next(calls for calls in range(1_000) if 0.1 * (whole - size) * calls > 1.15 * written)
    assert [shown_with(calls)[2] for calls in (first - 1, first)] == [False, True]


def test_summaries_are_those_of_a_policy_by_who_writes_and_how_much(made):
    def named(**options):
        return made(**options).fingerprint

    class Other(Writer):
        fingerprint = "other"

    policy = named()
    assert policy == named(trigger_ratio=0.5, tail=0.1, keep=9, deadline=0, min_saving=0.2)
    others = [{"summarizer": Other()}, {"fallback": None}, {"fallback": Other()}]
    others += [{"max_tokens": 99}, {"carry_tokens": 99}]
    assert len({policy, *(named(**one) for one in others)}) == 1 + len(others)


def test_another_focus_makes_no_summary_of_fewer_messages(made, hand):
    """A late result binds its call, which was summarised, to what stands behind the summary."""

    class Focused(Writer):
        def __call__(self, messages, /, *, max_tokens, previous=None, focus=None):
            text = super().__call__(messages, max_tokens=max_tokens, previous=previous)
            return f"{text} It is about {focus}."

    hand.ends_in = 0.1
    policy = made(summarizer=Focused())
    memory, log = opened(policy)
    with memory:
        function = {"name": "look", "arguments": "{}"}
        call = {"id": "late", "type": "function", "function": function}
        talk(log, 6)
        log.append({"role": "assistant", "content": None, "tool_calls": [call]})
        talk(log, 10, 6)
        first = log.compact_now()
        assert first.boundary > 13 + 2
        log.append({"role": "tool", "tool_call_id": "late", "content": "here"})
        told = log.compact_now(focus="the tide")
        assert len(policy.summarizer.asked) == 1
        assert (told.boundary, told.why) == (first.boundary, "too little could be summarised")


def test_of_two_summaries_of_the_same_messages_the_later_is_shown(made, hand):
    class Focused(Writer):
        def __call__(self, messages, /, *, max_tokens, previous=None, focus=None):  # noqa: ARG002
            return f"{len(messages)} messages about {focus}: Question 1, Answer 1."

    memory, log = opened(made(summarizer=Focused()))
    with memory:
        talk(log, 12)
        hand.ends_in = 0.1
        one = log.compact_now(focus="the tide")
        other = log.compact_now(focus="the crates")
        assert one.boundary == other.boundary > 0
        [summary] = shown(window(log, LARGE))
        assert "about the crates" in summary["content"]


def test_what_was_asked_for_and_does_not_fit_is_cut_or_waits(made, hand):
    """A summary that was asked for is shown below the budget only where it fits."""
    hand.ends_in = 0.1
    memory, log = opened(made())
    with memory:
        talk(log, 12)
        told = log.compact_now()
        assert told.boundary
        log.append({"role": "user", "content": f"{LINE} " * 30})
        kept = [dict(one) for one in log.fetch(log.ids)]
        least = count_tokens([kept[0], kept[-1]]) + told.tokens
        hand.ends_in = None
        found = window(log, least)
        assert found.tokens <= least
        assert found.messages[-1] == kept[-1]
        told = found.report.compaction
        assert told.left_out == len(kept) - told.boundary - 1
        with pytest.raises(BudgetTooSmall):
            window(log, count_tokens([kept[0], kept[-1]]) - 1)


def test_a_summary_whose_messages_are_erased_while_a_window_is_built_is_not_shown(made, hand):
    """A callback of the policy runs between the choice and the window."""
    gone = []

    def due(_messages, _tokens):
        if gone == ["now"]:
            gone.append(log.ids[3])
            memory.erase(ids=gone[-1:])
        return False

    policy = made(should_compact=due, trigger_ratio=0.5)
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        hand.ends_in = 0.1
        log.compact_now()
        hand.ends_in = None
        found = window(log, LARGE)
        assert shown(found)
        gone.append("now")
        found = window(log, LARGE)
        assert len(gone) == 2
        assert not shown(found), "it stands for a message that is erased"
        assert found.report.compaction.boundary == 0


def test_a_deadline_is_for_all_windows_together(made, hand):
    policy = made(deadline=3.0)
    memory, log = opened(policy)
    with memory:
        talk(log, 20)
        hand.ends_in = None
        window(log)
        window(log)
        window(log)
        assert hand.waited == [3.0]
        assert policy.counters.waited == 3.0


def test_a_callback_sees_what_a_window_would_show(made, hand):
    seen = []
    policy = made(should_compact=lambda messages, tokens: seen.append((list(messages), tokens)))
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        hand.ends_in = 0.1
        log.compact_now()
        window(log, LARGE)
        seen.clear()
        found = window(log, LARGE)
        [(messages, size)] = seen
        assert messages == found.messages
        assert size == found.tokens


def test_the_tokens_that_a_summary_stands_for_are_those_of_all_before_it(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        hand.ends_in = 0.1
        talk(log, 8)
        log.compact_now()
        talk(log, 8, 8)
        told = log.compact_now()
        assert len(policy.summarizer.asked) == 2
        kept = [dict(one) for one in log.fetch(log.ids)]
        before = sum(tokens(one) for one in kept[1 : told.boundary])
        assert told.tokens_saved == before - told.tokens


# --- what was valid and is not any more, or is again ---------------------------------------------


def test_a_claim_is_released_by_a_failure_and_by_a_summary(made, hand, tmp_path):
    policy = made(fallback=None)
    policy.summarizer.answer = "failing"
    memory, log = opened(policy, tmp_path / "store")
    with memory:
        talk(log, 11)
        for at, answer in enumerate(("failing", "good", "good")):
            policy.summarizer.answer = answer
            window(log)
            assert len(hand.tasks) == 1
            hand.run()
            hand.clock.now += 60
            talk(log, 12 * at, 11)
        assert (policy.counters.failed, policy.counters.prepared) == (1, 2)


def test_a_summary_made_from_one_that_was_erased_is_not_kept(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
        [first] = memory._engine.derived.of("prepared", "default", "log")
        talk(log, 12, 11)
        window(log, 900)
        [ticket] = hand.tasks
        memory.erase(ids=[first.id])
        hand.run()
        assert ticket.ended
        assert policy.summarizer.asked[-1][1] is not None, "it goes on from the first"
        assert policy.counters.prepared == 1
        assert not shown(window(log, 900))
        assert list(memory._engine.derived.of("prepared", "default", "log")) == []
        assert policy.counters.failed == 0, "the summarizer did nothing wrong"
        assert len(hand.tasks) == 1, "so the next one is begun without a pause"


def test_on_the_way_back_to_a_list_its_summary_is_valid_again(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
        talk(log, 4, 11)
        first = [dict(one) for one in log.fetch(log.ids)]
        found = window(log)
        assert shown(found)
        other = [{"role": "user", "content": "Another task: count ropes."}, *first[1:7]]
        log.sync(other)
        assert not shown(window(log))
        log.sync(first)
        again = window(log)
        assert again.messages == found.messages
        assert len(policy.summarizer.asked) == 1


def test_a_list_that_ends_at_the_boundary_has_no_use_for_the_summary(made, hand):
    policy = made()
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        hand.run()
        talk(log, 4, 11)
        told = window(log).report.compaction
        whole = [dict(one) for one in log.fetch(log.ids)]
        log.sync(whole[: told.boundary])
        hand.tasks.clear()
        found = window(log, count_tokens(whole[: told.boundary]) - 1)
        assert not shown(found)
        assert found.messages[-1] == whole[told.boundary - 1]
