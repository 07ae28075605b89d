"""Policies with `always=True` act on lists that fit, and never make one exceed its budget."""

from __future__ import annotations

import pytest
from agent_lists import count, said, session, step, tight

from warmset import (
    BlobStore,
    ClearToolResults,
    CollapseCalls,
    HeadTail,
    LatestToolResult,
    OffloadLarge,
    SlidingWindow,
    fit,
    validate,
)
from warmset.errors import InvalidInputError

ENOUGH = 10**6
ALWAYS = {
    "sliding window": lambda always: SlidingWindow(3, always=always),
    "head and tail": lambda always: HeadTail(2, always=always),
    "latest": lambda always: LatestToolResult(always=always),
    "by tool": lambda always: LatestToolResult(key=lambda call: call.name, always=always),
    "clear": lambda always: ClearToolResults(keep=1, always=always),
    "offload": lambda always: OffloadLarge(over=200, lines=1, store=BlobStore(), always=always),
    "collapse": lambda always: CollapseCalls(keep=1, always=always),
}


@pytest.mark.parametrize("name", ALWAYS)
def test_a_list_that_fits_is_changed_if_asked_for_and_only_then(name):
    messages = session()
    assert fit(messages, budget=ENOUGH, policy=ALWAYS[name](False)).messages == messages
    exactly = count(messages)
    assert fit(messages, budget=exactly, policy=ALWAYS[name](False)).messages == messages
    made = fit(messages, budget=ENOUGH, policy=ALWAYS[name](True))
    assert made.tokens < exactly
    assert made.evicted
    over = fit(messages, budget=tight(messages), policy=ALWAYS[name](False))
    assert made.messages == over.messages, "the same plan as above the budget"


@pytest.mark.parametrize("name", ALWAYS)
def test_a_second_call_finds_nothing_to_do(name):
    policy = ALWAYS[name](True)
    made = fit(session(), budget=ENOUGH, policy=policy)
    again = fit(made.messages, budget=ENOUGH, policy=policy)
    assert all(one is other for one, other in zip(again.messages, made.messages, strict=True))
    assert again.evicted == again.inserted == ()


@pytest.mark.parametrize("name", ALWAYS)
def test_always_is_a_boolean(name):
    with pytest.raises(InvalidInputError, match="always"):
        ALWAYS[name](1)


@pytest.mark.parametrize("policy", [SlidingWindow(3, always=True), HeadTail(3, always=True)])
def test_filler_messages_are_no_units_of_a_window(policy):
    """A list that comes back with its filler messages is cut where it was cut before."""
    messages = [said("user", "task"), said("assistant", "a0")]
    for number in range(1, 6):
        messages += [said("user", f"u{number}"), said("assistant", f"a{number}")]
    messages.append(said("user", "now"))
    made = fit(messages, budget=ENOUGH, policy=policy, dialect="anthropic")
    assert [one.kind for one in made.inserted] == ["gap"]
    again = fit(made.messages, budget=ENOUGH, policy=policy, dialect="anthropic")
    assert again.messages == made.messages
    assert again.evicted == ()
    longer = [*made.messages, said("assistant", "and"), said("user", "on")]
    later = fit(longer, budget=ENOUGH, policy=policy, dialect="anthropic")
    assert validate(later.messages, dialect="anthropic") == []
    assert later.messages[-3:] == longer[-3:]
    fillers = [one for one in later.messages if "left out" in one["content"]]
    assert len(fillers) == 1


def test_a_list_that_fits_stays_where_its_gap_would_cost_more():
    messages = [said("user", "task"), said("assistant", "a"), said("user", "now")]

    def flat(listed):
        return sum(30 if "left out" in one["content"] else 10 for one in listed)

    policy = SlidingWindow(1, always=True)
    made = fit(messages, budget=30, policy=policy, dialect="anthropic", counter=flat)
    assert made.messages == messages
    assert made.evicted == made.inserted == ()
    made = fit(messages, budget=50, policy=policy, dialect="anthropic", counter=flat)
    assert made.tokens == 50


def test_what_must_stay_stays_below_the_budget_too():
    messages = [said("system", "s"), said("user", "task"), *step(1), said("user", "now"), *step(2)]
    open_call = step(3)[0]
    made = fit(
        [*messages, open_call], budget=ENOUGH, policy=SlidingWindow(1, always=True), protect=[3]
    )
    kept = [messages[at] for at in (0, 1, 2, 3, 4)]
    assert made.messages == [*kept, open_call]
