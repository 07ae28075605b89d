"""What leaves a window that is too large, and in which order; what a summary takes of its room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.window.assemble import Draft, assemble, write
from warmset.window.choices import Settled
from warmset.window.layout import Frame, fit_tail
from warmset.window.render import Call
from warmset.window.summary_slot import settle, summary_tokens

CALL = Call("openai", "openai", None, None, None, 10**6)


def said(role, text):
    return {"role": role, "content": text}


def step(name):
    use = {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [use]},
        {"role": "tool", "tool_call_id": name, "content": f"boats at quay {name} " * 3},
    ]


@pytest.fixture
def stage():
    """A conversation, and its messages as units."""
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append(said("user", "Count the crates of the harbour, one by one, all of them. " * 4))
        for at in range(10):
            chat.append(said("assistant" if at % 2 else "user", f"boat {at} lies at quay {at}"))
        chat.append([said("user", "Where is it?"), *step("a"), *step("b"), *step("c")])
        engine = memory._engine
        live = engine.ledger("default", "log").live()
        exchange = [[live[11]], live[12:14], live[14:16], live[16:18]]
        yield engine, [[one] for one in live[:11]], [list(unit) for unit in exchange]


def full(engine, units, exchange):
    frame = Frame([], units[:1], units[9:11], exchange)
    text = "What was said of boats. " * 3
    summary = Settled(7, 4, text, engine.cards.plain(text).tokens, (units[1][0].id,))
    return Draft(
        frame,
        quoted=tuple(tuple(unit) for unit in units[3:6]),
        lines=tuple(unit[0] for unit in units[6:9]),
        summary=summary,
    )


def weakest_first(draft):
    """All drafts in the order in which they should be tried, by the rules."""
    made = [draft]
    while draft.lines:
        made.append(draft := replace(draft, lines=draft.lines[:-1]))
    while draft.quoted:
        made.append(draft := replace(draft, quoted=draft.quoted[:-1], unused="over_budget"))
    why = "the budget has no room for it beside what is shown verbatim"
    made.append(draft := replace(draft, summary=None, without=why))
    while draft.frame.recent:
        fewer = replace(draft.frame, recent=draft.frame.recent[1:])
        made.append(draft := replace(draft, frame=fewer))
    while len(draft.frame.current) > 2:  # the request and the last step stay
        rest = [draft.frame.current[0], *draft.frame.current[2:]]
        made.append(draft := replace(draft, frame=replace(draft.frame, current=rest)))
    made.append(replace(draft, frame=replace(draft.frame, brief=True)))
    return made


def test_the_weakest_leave_first_and_no_more_than_must(stage):
    engine, units, exchange = stage
    drafts = weakest_first(full(engine, units, exchange))
    costs = [write(engine, CALL, one).tokens for one in drafts]
    for draft, cost in zip(drafts, costs, strict=True):
        made = assemble(engine, replace(CALL, budget=cost), drafts[0])
        assert made.tokens == cost == count_tokens(made.messages)
        assert made.draft == draft
    for budget in range(min(costs) - 3, max(costs) + 3):
        expected = next((at for at, cost in enumerate(costs) if cost <= budget), None)
        if expected is None:
            with pytest.raises(BudgetTooSmall) as caught:
                assemble(engine, replace(CALL, budget=budget), drafts[0])
            assert (caught.value.need, caught.value.have) == (min(costs), budget)
        else:
            made = assemble(engine, replace(CALL, budget=budget), drafts[0])
            assert made.draft == drafts[expected]


def test_a_task_that_one_line_would_not_shorten_stays_whole(stage):
    engine, units, exchange = stage
    frame = Frame([], [units[1]], [], exchange[-1:])
    need = write(engine, CALL, Draft(frame)).tokens
    with pytest.raises(BudgetTooSmall) as caught:
        assemble(engine, replace(CALL, budget=need - 1), Draft(frame))
    assert caught.value.need == need


@pytest.mark.parametrize("tokens", [3, 10, 31])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_summary_takes_half_of_what_is_left_at_every_room(stage, tokens, share):
    engine, units, exchange = stage
    parts = Frame([], units[:1], units[5:9], exchange[:1])
    offered = Settled(None, 4, "said", tokens, tuple(unit[0].id for unit in units[1:4]))
    size = summary_tokens(engine, CALL, offered)
    assert size > tokens
    seen = set()
    request = exchange[0][0].tokens
    for room in range(request, request + 160):
        made = settle(engine, CALL, parts, room, share, kept=None, offered=offered)
        tail = fit_tail(parts, room, share)
        assert made.frame == tail
        left = room - sum(one.tokens for unit in (*tail.recent, *tail.current) for one in unit)
        assert (made.summary == offered) == (2 * size <= left)
        seen.add(made.summary is None)
    assert seen == {True, False}
    shown = replace(offered, ids=(units[5][0].id, units[8][0].id))
    made = settle(engine, CALL, parts, 10_000, share, kept=None, offered=shown)
    assert made.summary is None, "all that it stands for is shown"
    shown = replace(offered, ids=(units[1][0].id, units[8][0].id))
    assert settle(engine, CALL, parts, 10_000, share, kept=None, offered=shown).summary == shown


def test_a_summary_beside_steps_that_do_not_fit_at_every_room(stage):
    engine, units, exchange = stage
    parts = Frame([], units[:1], units[9:11], exchange)
    offered = Settled(None, 4, "said", 6, tuple(unit[0].id for unit in units[1:4]))
    size = summary_tokens(engine, CALL, offered)
    whole = sum(one.tokens for unit in exchange for one in unit)
    must = sum(one.tokens for unit in (exchange[0], exchange[-1]) for one in unit)
    for room in range(must, whole):
        made = settle(engine, CALL, parts, room, 0.5, kept=None, offered=offered)
        if 2 * size <= room - must:
            assert made.summary == offered
            assert made.frame == fit_tail(parts, room - size, 0.5)
        else:
            tail = fit_tail(parts, room, 0.5)
            left = room - sum(one.tokens for unit in (*tail.recent, *tail.current) for one in unit)
            assert (made.summary == offered, made.frame) == (2 * size <= left, tail)
