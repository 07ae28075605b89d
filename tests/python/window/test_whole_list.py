"""Do no harm: a list that fits is sent unchanged, unless a window saves enough."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError

BUDGET = 100_000


def said(role, text):
    return {"role": role, "content": text}


def talk(count, more=1):
    """Turns that all have the words of the last one, so that as many as possible are quoted."""
    tail = ", again and again" * more
    return [
        said(
            "assistant" if at % 2 else "user",
            f"Boat {at} lies at quay {at * 7 % 5}, says the harbour master of boats{tail}.",
        )
        for at in range(count)
    ]


class Picker:
    """Picks the first candidates, and counts how often it is asked."""

    def __init__(self, most=6):
        self.asked, self.most = 0, most

    def pick(self, _request, candidates, /, limit):
        self.asked += 1
        return [one.id for one in candidates[: min(limit, self.most)]]


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


@pytest.mark.parametrize("count", [*range(11, 32, 2), 61])
@pytest.mark.parametrize("more", [1, 5, 14])
@pytest.mark.parametrize("min_saving", [0, 0.2, 0.6])
def test_a_window_of_a_list_that_fits_saves_enough_or_is_the_list(memory, count, more, min_saving):
    history = talk(count, more)
    window = memory.process(history, conversation="c", budget=BUDGET, min_saving=min_saving)
    report = window.report
    if report.active:
        assert report.tokens_sent <= report.tokens_in * (1 - min_saving)
    else:
        assert window.messages == history
        assert (report.saved, report.tokens_sent) == (0, report.tokens_in)
        assert (report.picked, report.choices, report.turns_sent) == ((), (), count)


def test_the_limit_is_min_saving(memory):
    conversation = memory.conversation("c")
    conversation.append(talk(31, 14))
    least = conversation.window(budget=BUDGET, min_saving=0).report
    assert 0.2 < least.saved < 1
    at = conversation.window(budget=BUDGET, min_saving=least.saved - 1e-9)
    assert (at.report.active, at.tokens) == (True, least.tokens_sent)
    equal = conversation.window(budget=BUDGET, recent=100, min_saving=0)
    assert (equal.report.active, equal.report.saved) == (True, 0)
    above = conversation.window(budget=BUDGET, min_saving=least.saved + 1e-9)
    assert (above.report.active, above.tokens) == (False, least.tokens_in)


def test_twelve_messages_are_left_alone_by_default(memory):
    history = talk(12)
    assert memory.process(history, conversation="c", budget=BUDGET).messages == history
    window = memory.conversation("c").window(budget=BUDGET, min_saving=0)
    assert (window.report.active, 0 < window.report.saved < 0.2) == (True, True)


def test_a_list_over_the_budget_is_changed_however_little_that_saves(memory):
    conversation = memory.conversation("c")
    conversation.append(talk(31, 14))
    tokens = conversation.window(budget=BUDGET).report.tokens_in
    fits = conversation.window(budget=tokens, min_saving=0.99)
    assert (fits.report.active, fits.tokens) == (False, tokens)
    over = conversation.window(budget=tokens - 1, min_saving=0.99)
    assert (over.report.active, over.tokens < tokens) == (True, True)


@pytest.mark.parametrize("mode", ["full", "recency"])
def test_other_modes_do_as_they_say(memory, mode):
    conversation = memory.conversation("c")
    conversation.append(talk(31, 14))
    window = conversation.window(budget=BUDGET, mode=mode, min_saving=0.99)
    assert window.report.active == (mode == "recency")


def test_within_an_exchange_the_choice_stays(memory):
    conversation = memory.conversation("c")
    conversation.append(talk(13))
    options = {"budget": 1_500, "recent": 4}
    first = conversation.window(**options)
    assert not first.report.active
    shown = first.messages
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for at in range(12)
    ]
    kinds = []
    for call in calls:
        conversation.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = "Wind and tide tables. " * 25
        conversation.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        window = conversation.window(**options)
        kinds.append(window.report.active)
        if not window.report.active:
            assert window.messages[: len(shown)] == shown
            shown = window.messages
    fitting = kinds.index(True)
    assert fitting > 3
    assert kinds == [False] * fitting + [True] * (len(calls) - fitting)
    assert len(conversation.fetch(conversation.ids)) == 13 + 24


def test_a_window_stays_a_window_until_the_next_request(memory):
    conversation = memory.conversation("c")
    conversation.append([*talk(31, 14), said("assistant", "Wait."), said("user", "Boat 3?")])
    assert conversation.window(budget=BUDGET).report.active
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    conversation.append({"role": "assistant", "content": None, "tool_calls": [call]})
    conversation.append({"role": "tool", "tool_call_id": "c1", "content": "Wind. " * 12_000})
    assert conversation.window(budget=BUDGET).report.active
    fresh = conversation.window(budget=BUDGET, recent=3)  # other options, another choice
    assert not fresh.report.active


def test_a_picker_is_not_asked_where_verbatim_turns_are_too_many(memory):
    picker, conversation = Picker(), memory.conversation("c")
    conversation.append(talk(13))
    window = conversation.window(budget=BUDGET, recent=11, picker=picker)
    assert (window.report.active, picker.asked, window.report.picker) == (False, 0, None)
    window = conversation.window(budget=BUDGET, recent=2, picker=picker, min_saving=0.6)
    assert (window.report.active, picker.asked) == (False, 1)
    assert window.report.picker is not None
    again = conversation.window(budget=BUDGET, recent=2, picker=picker, min_saving=0.6)
    assert (again.messages, again.report.picker, picker.asked) == (window.messages, None, 1)


def test_what_a_window_adds_is_not_hidden(memory):
    conversation = memory.conversation("c")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    conversation.append(
        [
            said("user", "Look."),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "Wind."},
        ]
    )
    found = [
        conversation.window(budget=BUDGET, mode="full", dialect=dialect).report
        for dialect in ("openai", "anthropic", "gemini", "responses")
    ]
    for report in found:
        assert report.saved == 1 - report.tokens_sent / report.tokens_in
    assert min(report.saved for report in found) < 0


def test_a_list_that_exceeds_the_budget_in_another_dialect_is_changed(memory):
    conversation = memory.conversation("c")
    for at in range(12):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        conversation.append(
            [
                said("user", f"Look at boat {at}."),
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{at}", "content": "Wind."},
                said("assistant", "Wind."),
            ]
        )
    more = []
    for dialect in ("anthropic", "gemini", "responses"):
        report = conversation.window(budget=BUDGET, mode="full", dialect=dialect).report
        more.append(report.tokens_sent - report.tokens_in)
        budget = report.tokens_in
        window = conversation.window(budget=budget, dialect=dialect, min_saving=0.99)
        assert window.tokens <= budget
        assert window.report.active == (more[-1] > 0)
    assert max(more) > 0


@pytest.mark.parametrize("wrong", [-0.1, 1, 1.5, "0.2", None, True, float("nan")])
def test_min_saving_is_a_share(memory, wrong):
    with pytest.raises(InvalidInputError, match="min_saving"):
        memory.conversation("c").window(budget=BUDGET, min_saving=wrong)
