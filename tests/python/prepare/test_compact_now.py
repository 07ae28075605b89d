"""A compaction that somebody asks for: the caller, or the model with a tool."""

from __future__ import annotations

import asyncio
import json

import pytest
from preparing import Writer, opened, process, shown, talk, window

from warmset import Memory, PreparedCompaction, validate
from warmset.errors import InvalidInputError
from warmset.prepare.jobs import claim
from warmset.tools import COMPACT

LARGE = 5_000


class Focused(Writer):
    """A writer that knows the focus."""

    def __call__(self, messages, /, *, max_tokens, previous=None, focus=None):  # noqa: ARG002
        self.asked.append((len(messages), previous, focus))
        if self.answer == "empty":
            return ""
        return f"{len(messages)} messages about {focus}: Question 1, Answer 1."


@pytest.fixture
def policy(made):
    return made(summarizer=Focused())


@pytest.fixture
def writing(policy):
    """A conversation whose summary is being written, far below the budget of a large window."""
    memory, log = opened(policy)
    with memory:
        talk(log, 11)
        window(log)
        yield log


def texts(found):
    return [one["content"] for one in shown(found)]


def test_the_next_window_shows_a_summary_that_was_asked_for(policy, hand):
    hand.ends_in = 0.5
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        assert not shown(window(log, LARGE)), "the budget is far away"
        told = log.compact_now()
        assert (told.state, told.why, told.waited) == ("ready", None, 0.5)
        assert 0 < told.boundary < len(log)
        assert told.tokens_saved > 0
        found = window(log, LARGE)
        assert "messages about None" in texts(found)[0]
        assert found.report.compaction.applied
        assert found.report.compaction.boundary == told.boundary
        assert validate(found.messages) == []
        again = window(log, LARGE)
        assert again.messages == found.messages
        assert not again.report.compaction.applied


def test_it_waits_for_nothing_if_it_is_told_not_to(policy, hand):
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        told = log.compact_now(wait=False)
        assert (told.state, told.waited, hand.waited) == ("preparing", 0.0, [])
        assert log.compact_now(wait=False).state == "preparing"
        assert len(hand.tasks) == 1, "one is being written already"
        hand.run()
        assert shown(window(log, LARGE))


def test_a_summary_that_is_being_written_is_shown_at_once_if_it_is_asked_for(writing, hand):
    assert writing.compact_now(wait=False).state == "preparing"
    assert len(hand.tasks) == 1
    hand.run()
    assert shown(window(writing, LARGE))


def test_a_ready_summary_is_shown_at_once_if_it_is_asked_for(writing, hand):
    hand.run()
    assert not shown(window(writing, LARGE))
    told = writing.compact_now()
    assert (told.state, hand.tasks) == ("ready", [])
    assert shown(window(writing, LARGE))


def test_where_there_is_nothing_to_summarise_it_says_so(policy, hand):
    memory, log = opened(policy)
    with memory:
        told = log.compact_now()
        assert (told.state, told.boundary) == ("idle", 0)
        assert told.why == "too little could be summarised"
        talk(log, 12)
        hand.ends_in = 0
        log.compact_now()
        before = window(log, LARGE)
        again = log.compact_now()
        assert again.why == "too little could be summarised"
        assert hand.tasks == []
        assert window(log, LARGE).messages == before.messages


def test_another_focus_makes_another_summary_from_the_messages(policy, hand):
    hand.ends_in = 0
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        log.compact_now(focus="the tide")
        assert "about the tide" in texts(window(log, LARGE))[0]
        first = policy.summarizer.asked[-1]
        told = log.compact_now(focus="the crates")
        assert told.state == "ready"
        assert policy.summarizer.asked[-1] == (first[0], None, "the crates"), "from the messages"
        assert "about the crates" in texts(window(log, LARGE))[0]
        log.compact_now(focus="the crates")
        log.compact_now()
        assert len(policy.summarizer.asked) == 2, "the same focus, and none, are content with it"


def test_a_focus_holds_for_later_summaries_and_in_other_processes(policy, hand, tmp_path):
    hand.ends_in = 0
    memory, log = opened(policy, tmp_path / "a")
    with memory:
        talk(log, 12)
        log.compact_now(focus="the tide")
        talk(log, 12, 12)
        window(log)
        assert policy.summarizer.asked[-1][2] == "the tide"
        assert policy.summarizer.asked[-1][1] is not None, "it takes up the earlier one"
    with process(tmp_path / "a", policy) as other:
        log = other.conversation("log")
        count = len(policy.summarizer.asked)
        assert "about the tide" in texts(window(log))[0]
        log.compact_now(focus="the tide")
        assert [focus for _, _, focus in policy.summarizer.asked[count:]] == []
        log.compact_now(focus="harbour 7")
        assert policy.summarizer.asked[-1][1:] == (None, "harbour 7")
        assert "about harbour 7" in texts(window(log, LARGE))[0]


def test_another_focus_ends_what_is_being_written(policy, hand):
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        log.compact_now(focus="the tide", wait=False)
        log.compact_now(focus="the crates", wait=False)
        assert len(hand.tasks) == 2
        hand.run(1)
        hand.run(0)
        assert "about the crates" in texts(window(log, LARGE))[0]
        assert policy.counters.discarded == 1


def test_a_failure_is_told_and_costs_nothing(made, hand):
    hand.ends_in = 0
    policy = made(summarizer=Focused(), fallback=None)
    policy.summarizer.answer = "empty"
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        told = log.compact_now()
        assert told.state == "failed"
        assert "empty" in told.why
        assert not shown(window(log, LARGE))


def test_a_window_of_mode_jit_shows_it():
    policy = PreparedCompaction()
    memory, log = opened(policy)
    with memory:
        talk(log, 120)
        told = asyncio.run(log.acompact_now(focus="the tide"))
        assert told.state == "ready"
        log.append({"role": "user", "content": "How many crates are there?"})
        found = log.window(budget=3_000)
        assert [part.name for part in found.parts if part.name == "summary"] == ["summary"]


def test_it_is_no_longer_than_the_windows_have_room_for(made, hand):
    most = []

    def writes(messages, *, max_tokens):
        most.append(max_tokens)
        return f"{len(messages)} messages, Question 1."

    policy = made(summarizer=writes)
    hand.ends_in = 0
    memory, log = opened(policy)
    with memory:
        talk(log, 60)
        window(log, 100_000)
        log.compact_now()
        log.window(budget=400)
        log.compact_now(focus="the tide")
        assert most[0] > 200
        assert most[-1] == 100, "a quarter of the last window's budget"


def test_it_needs_a_policy():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        talk(log, 12)
        with pytest.raises(InvalidInputError, match=r"Memory.open\(compaction="):
            log.compact_now()
        assert log.compact_now(compaction=PreparedCompaction(keep=1)).state == "ready"
        with pytest.raises(InvalidInputError, match="focus"):
            log.compact_now(focus=3, compaction=PreparedCompaction())


# --- the tool -------------------------------------------------------------------------------------


def calls(dialect, focus):
    given = {"focus": focus}
    match dialect:
        case "openai":
            function = {"name": COMPACT, "arguments": json.dumps(given)}
            return {"id": "c1", "type": "function", "function": function}
        case "responses":
            made = {"type": "function_call", "call_id": "c1", "name": COMPACT}
            return {**made, "arguments": json.dumps(given)}
        case "anthropic":
            return {"type": "tool_use", "id": "c1", "name": COMPACT, "input": given}
        case "gemini":
            return {"functionCall": {"id": "c1", "name": COMPACT, "args": given}}
        case _:
            made = {"type": "function_call", "id": "c1", "name": COMPACT}
            return {**made, "arguments": given}


DIALECTS = ["openai", "responses", "anthropic", "gemini", "interactions"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_asks_for_a_compaction(policy, hand, dialect):
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        kit = log.tools(dialect=dialect, strict=True)
        assert COMPACT in str(kit.definitions)
        call = calls(dialect, "the tide")
        assert kit.handles(call)
        assert "being summarised in the background" in str(kit.run(call))
        assert hand.waited == []
        assert kit.spent > 10
        hand.run()
        assert "about the tide" in texts(window(log, LARGE))[0]
        assert "nothing to compact yet" in str(kit.run(calls(dialect, "")))


def test_a_model_is_not_promised_what_another_process_keeps_from_being_written(
    policy, hand, tmp_path
):
    memory, log = opened(policy, tmp_path / "a")
    with memory:
        talk(log, 11)
        window(log)
        hand.run()  # a summary is ready, about nothing in particular
        kit = log.tools()
        with claim(tmp_path / "a", "default", "log"):
            told = log.compact_now(focus="the tide", wait=False)
            assert (told.state, told.why) == ("ready", "another process is writing the summary")
            refused = kit.run(calls("openai", "the tide"))["content"]
        begun = kit.run(calls("openai", "the tide"))["content"]
        assert refused != begun
        assert len(hand.tasks) == 1


def test_the_tool_is_offered_only_where_there_is_a_compaction():
    with Memory.open(None, embedder="lexical") as memory:
        kit = memory.conversation("log").tools()
        assert COMPACT not in str(kit.definitions)
        call = calls("openai", "")
        assert not kit.handles(call)
        assert "There is no such tool" in kit.run(call)["content"]


@pytest.mark.parametrize("focus", [3, ["x"], "x" * 501])
def test_a_focus_that_is_none_is_explained_to_the_model(policy, hand, focus):
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        said = log.tools().run(calls("openai", focus))["content"]
        assert said.startswith('"focus" must be a text')
        assert hand.tasks == []


def test_a_tool_without_budget_starts_nothing(policy, hand):
    memory, log = opened(policy)
    with memory:
        talk(log, 12)
        kit = log.tools(budget=1)
        kit.run(calls("openai", 3))
        assert kit.left == 0
        assert "budget" in kit.run(calls("openai", ""))["content"]
        assert hand.tasks == []


def test_a_focus_is_redacted_before_it_is_stored_or_sent(policy, hand):
    hand.ends_in = 0.5
    with Memory.open(
        None, embedder="lexical", compaction=policy, redact=lambda text: text.replace("4711", "[x]")
    ) as memory:
        log = memory.conversation("c")
        talk(log, 12)
        log.compact_now(focus="the pin 4711")
        assert [focus for _, _, focus in policy.summarizer.asked] == ["the pin [x]"]
