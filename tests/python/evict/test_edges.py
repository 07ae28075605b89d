"""Eviction where it is easily wrong: ends of lists, open loops, stand-ins, odd numbers, junk."""

from __future__ import annotations

import pytest
from agent_lists import TooLongError, count, said, session, step, tight

from warmset import (
    BlobStore,
    Memory,
    OffloadLarge,
    Salience,
    Summarize,
    detect,
    fit,
    retry_on_overflow,
    validate,
)
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.evict import Chain, Fold, Leave, Swap, is_overflow
from warmset.evict.slots import GAP
from warmset.messages import Thinking


def use(*ids, thinks=False):
    blocks = [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in ids]
    thought = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}] if thinks else []
    return {"role": "assistant", "content": [*thought, *blocks]}


def answered(id_, text):
    return said("user", [{"type": "tool_result", "tool_use_id": id_, "content": text}])


def characters(messages):
    return sum(len(str(message["content"])) for message in messages)


def test_the_last_message_may_stand_last():
    """A8: what stood before a message that left must not end in white space now."""
    messages = [said("user", "task"), said("assistant", "one "), said("assistant", "two")]
    policy = Salience([0, 5, 1])
    made = fit(messages, budget=9, counter=characters, dialect="anthropic", policy=policy)
    assert made.messages == [messages[0], said("assistant", "one")]
    assert made.inserted[0].stands_for == (1,)
    assert validate(made.messages, dialect="anthropic") == []


def test_more_leaves_where_the_last_message_costs_more_without_its_space():
    """The count of the whole list may be below the sum of its messages."""

    def odd(messages):
        alone = characters(messages) + 5 * sum(one["content"] == "one" for one in messages)
        return max(alone - 20, 0) if len(messages) > 1 else alone

    messages = [
        said("user", "task"),
        said("assistant", "ten more ."),
        said("assistant", "one "),
        said("assistant", "two"),
    ]
    policy = Salience([0, 2, 5, 1])
    made = fit(messages, budget=18, counter=odd, dialect="anthropic", policy=policy)
    assert made.messages == [messages[0], said("assistant", "one")]


class Edits:
    """A policy that plans what it was given."""

    def __init__(self, *edits):
        self.edits = edits

    def plan(self, view):  # noqa: ARG002 - a policy's
        return self.edits


def test_a_replacement_stands_in_the_place_of_the_first_unit():
    messages = [said(role, f"{role} {at}") for at in range(4) for role in ("user", "assistant")]
    short = said("assistant", "short")
    made = fit(messages, budget=10**6, policy=Edits(Fold((1, 2, 4), short, "it is old")))
    assert made.messages == [messages[0], short, messages[3], *messages[5:]]
    assert made.inserted[0].stands_for == (1, 2, 4)


def test_an_edit_of_several_units_is_left_out_if_one_of_them_must_stay():
    messages = [said(role, f"{role} {at}") for at in range(4) for role in ("user", "assistant")]
    edits = Edits(Fold((2, 3, 4), said("assistant", "short"), "it is old"), Leave(5, "it is old"))
    made = fit(messages, budget=10**6, policy=edits, protect=[3])
    assert made.messages == [*messages[:5], *messages[6:]]
    assert [one.indices for one in made.evicted] == [(5,)]


def test_what_left_for_a_stand_in_leaves_once_however_often_that_is_replaced():
    messages = [said(role, f"{role} {at}") for at in range(4) for role in ("user", "assistant")]
    steps = [Edits(Swap(3, said("assistant", word), "placeholder", word)) for word in ("a", "b")]
    made = fit(messages, budget=10**6, policy=Chain(*steps))
    assert made.messages == [*messages[:3], said("assistant", "b"), *messages[4:]]
    assert [(one.indices, one.reason) for one in made.evicted] == [((3,), "a")]


class Shelf:
    """A store that keeps what it is given."""

    def __init__(self, name):
        self.name, self.texts = name, []

    def put(self, text):
        self.texts.append(text)
        return f"{self.name}:{len(self.texts)}"


@pytest.mark.parametrize("handles", [(), ("own:1", None)])
def test_what_a_policy_stored_itself_is_not_stored_again(handles):
    messages = [said(role, f"{role} {at}") for at in range(4) for role in ("user", "assistant")]
    shelf = Shelf("shelf")
    edit = Fold((1, 2), said("assistant", "short"), "it is old", handles=handles)
    made = fit(messages, budget=10**6, policy=Edits(edit), store=shelf)
    assert [one.handle for one in made.evicted] == (list(handles) or ["shelf:1", "shelf:2"])
    assert len(shelf.texts) == (0 if handles else 2)


def test_two_user_messages_of_gemini_need_no_filler_between_them():
    messages = [
        {"role": role, "parts": [{"text": f"{role} {at}"}]}
        for at in range(4)
        for role in ("user", "model")
    ]
    edits = Edits(*(Leave(at, "it is old") for at in (1, 4)))
    made = fit(messages, budget=10**6, dialect="gemini", policy=edits)
    assert [one.index for one in made.inserted] == [3], "there are two of the model's"
    roles = [one["role"] for one in made.messages]
    assert roles == ["user", "user", "model", "user", "model", "user", "model"]


def test_an_unfinished_loop_keeps_the_thinking_that_begins_it():
    """A6: a loop that began with thinking is refused without it."""
    loop = [use("a", thinks=True), answered("a", "r" * 400), use("b"), answered("b", "r" * 40)]
    messages = [said("user", "task"), said("assistant", "ok"), said("user", "do it"), *loop]
    with pytest.raises(BudgetTooSmall):
        fit(messages, budget=500, counter=characters, dialect="anthropic")
    older = {"dialect": "anthropic", "model": "claude-sonnet-4-5"}  # looks at no prefix
    made = fit(messages, budget=700, counter=characters, **older)
    assert loop[0] in made.messages
    assert made.thinking == Thinking(kept=1)
    made = fit(messages, budget=700, counter=characters, dialect="anthropic")
    bare = said("assistant", [loop[0]["content"][-1]])
    assert bare in made.messages
    assert made.thinking.disabled
    assert [one.index for one in made.thinking.removed] == [3]
    assert not fit(
        messages, budget=700, counter=characters, **{**older, "model": "claude-opus-5-5"}
    ).thinking.disabled
    finished = [*messages, said("assistant", "done"), said("user", "thanks")]
    made = fit(finished, budget=300, counter=characters, dialect="anthropic")
    assert loop[0] not in made.messages


def test_a_summary_is_no_request():
    """What stands for steps of the current exchange must not take the request's place."""
    messages = [said("user", "old"), said("assistant", "x"), said("user", "find it")]
    for number in range(6):
        messages += step(number)
    policy = Summarize(watermark=0.5, summarizer=shortly, keep=1)
    made = fit(messages, budget=count(messages) * 2 // 3, policy=policy)
    assert made.inserted[0].kind == "summary"
    again = fit([*made.messages, *step(9)], budget=made.tokens, policy=policy)
    assert messages[2] in again.messages


def test_a_filler_message_is_no_request():
    """What an earlier fit left in the current exchange must not take the request's place."""
    found, again = said("assistant", "found " * 30), said("assistant", "again")
    messages = [said("user", "old"), said("assistant", "x"), said("user", "find it")]
    messages += [found, said("user", GAP), again]
    made = fit(messages, budget=count([messages[0], messages[2], again]))
    assert made.messages == [messages[0], messages[2], again]


def shortly(messages, *, max_tokens):
    del max_tokens
    return f"{len(messages)} messages"


def test_offloading_that_saves_nothing_is_left_alone():
    messages = [said("user", "go"), *step(1, result="a" * 201), said("user", "on")]
    made = fit(messages, budget=tight(messages), policy=OffloadLarge(over=200, store=BlobStore()))
    assert not made.inserted


def test_scores_are_linear_where_roles_alternate():
    roles = ("user", "assistant")
    messages = [said(roles[at % 2], f"m{at}") for at in range(6_001)]
    policy = Salience([at * 7919 % 10_007 for at in range(6_001)])
    made = fit(messages, budget=count(messages) // 2, policy=policy, dialect="anthropic")
    assert validate(made.messages, dialect="anthropic") == []
    assert len(made.evicted) > 1_000


def test_costs_saturate_one_by_one():
    messages = [said("user", "task"), said("assistant", "x"), said("user", "now")]

    def huge(given):
        return sum(2**70 if message["role"] == "assistant" else 1 for message in given)

    assert fit(messages, budget=50, counter=huge).kept == (0, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fit(None, budget=9),
        lambda: fit(5, budget=9),
        lambda: validate("text"),
        lambda: fit(session(), budget=10**6, tools=5),
        lambda: fit(session(), budget=10**6, system=5),
        lambda: fit(session(), budget=10**6, store=5),
        lambda: fit(session(), budget=10**6, policy=Salience(None)),
        lambda: fit(session(), budget=99, policy=Salience([10**400] * 40)),
        lambda: BlobStore().put(5),
        lambda: BlobStore().read("blob:0", "x"),
        lambda: retry_on_overflow(None, budget=5),
        lambda: retry_on_overflow(str, budget=10**400),
    ],
)
def test_what_is_no_argument(wrong):
    try:
        found = wrong()
    except InvalidInputError:
        return
    assert found[0].rule == "shape"  # what validate finds, it lists


def test_a_providers_error_is_not_replaced():
    error = TooLongError("maximum context length", code=["a", "list"], body={"error": {"code": []}})
    assert is_overflow(error)


def reminded(at):
    """Twelve steps after a request; one result has a reminder beside it."""
    messages = [said("user", "Set up."), said("assistant", "Done."), said("user", "REQUEST")]
    for number in range(12):
        result = answered(f"t{number}", "word " * 100)
        if number == at:
            reminder = {"type": "text", "text": "<system-reminder>todo</system-reminder>"}
            result["content"].append(reminder)
        messages += [use(f"t{number}"), result]
    return messages


@pytest.mark.parametrize("at", [0, 5, 11])
def test_a_reminder_beside_a_result_does_not_take_the_requests_place(at):
    """F1: agents add texts to tool results; what the user asked stays all the same."""
    messages = reminded(at)
    made = fit(messages, budget=700, dialect="anthropic")
    assert messages[2] in made.messages
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("a")
        for message in messages:
            conversation.append(message)
        assert conversation.fit(budget=700).messages[-1] == messages[-1]
        assert messages[2] in conversation.fit(budget=700).messages
        for mode in ("jit", "recency"):
            assert messages[2] in conversation.window(budget=900, mode=mode).messages


def test_gemini_results_may_have_a_role_of_their_own():
    messages = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]},
        {"role": "tool", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
    ]
    assert detect(messages[2:]) == "gemini"
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("a")
        for message in messages:
            conversation.append(message)
        assert conversation.fit(budget=999).messages == messages
