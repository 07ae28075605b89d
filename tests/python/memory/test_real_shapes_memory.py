"""Lists in the shape of real recorded requests, through a memory and its windows.

The corpus is described in `real_shapes.py`; `test_real_shapes.py` has what needs no memory.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from real_shapes import check_in_place, load, said

from warmset import Memory, detect
from warmset.errors import BudgetTooSmall, WarmsetError

ACCEPTED = [shape for shape in load() if shape.verdict == "accepted"]
REFUSED = [shape for shape in load() if shape.verdict == "refused"]

accepted = pytest.mark.parametrize("shape", ACCEPTED, ids=lambda shape: shape.name)
refused = pytest.mark.parametrize("shape", REFUSED, ids=lambda shape: shape.name)


@pytest.fixture(scope="module")
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


def windows(conversation, shape, mode):
    """Return windows of every size: the least that is possible, half of the list, all of it."""
    options = {"mode": mode, "dialect": shape.dialect, "system": shape.system, "recent": 1}
    whole = conversation.window(budget=10**6, **options)
    yield whole
    for budget in (whole.tokens, max(1, whole.tokens // 2), 1):
        try:
            yield conversation.window(budget=budget, **options)
        except BudgetTooSmall as error:
            yield conversation.window(budget=max(budget + 1, error.need), **options)


def check(shape, window):
    assert window.dialect == shape.dialect
    assert window.tokens <= window.budget
    shape.check(window.messages)
    if detect(shape.messages) in (shape.dialect, None):
        check_in_place(shape, window.messages)


@accepted
def test_append_stores_the_list_as_it_is(memory, shape):
    conversation = memory.conversation(f"append {shape.name}")
    ids = conversation.append(shape.messages)
    assert len(ids) == len(shape.messages)
    stored = conversation.fetch(ids)
    assert [json.dumps(said(turn)) for turn in stored] == [
        json.dumps(said(message)) for message in shape.messages
    ]


@accepted
@pytest.mark.parametrize("mode", ["full", "recency", "jit"])
def test_windows_are_accepted(memory, shape, mode):
    conversation = memory.conversation(f"window {mode} {shape.name}")
    conversation.append(shape.messages)
    for window in windows(conversation, shape, mode):
        check(shape, window)


@accepted
def test_sync_takes_the_list_step_by_step(memory, shape):
    conversation = memory.conversation(f"sync {shape.name}")
    for end in (len(shape.messages) // 2, len(shape.messages)):
        conversation.sync(shape.messages[:end])
    again = conversation.sync(shape.messages)
    assert again.kept == len(shape.messages)
    assert len(conversation) == len(shape.messages)
    check(shape, conversation.window(budget=10**6, mode="full", dialect=shape.dialect))


@accepted
def test_process_makes_a_list_that_is_accepted(memory, shape):
    window = memory.process(
        shape.messages,
        conversation=f"process {shape.name}",
        budget=10**6,
        dialect=shape.dialect,
        system=shape.system,
    )
    check(shape, window)


@refused
def test_a_refused_list_raises_nothing_but_our_errors(memory, shape):
    conversation = memory.conversation(f"refused {shape.name}")
    with suppress(WarmsetError):
        conversation.append(shape.messages)
    for mode in ("full", "recency", "jit"):
        with suppress(WarmsetError):
            conversation.window(budget=200, mode=mode, dialect=shape.dialect)
