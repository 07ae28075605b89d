"""Lists with other thinking, other ids, or with thinking at the end of a path."""

from __future__ import annotations

import client_noise as noise
import pytest

from warmset import Memory


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("c")


def test_other_thinking_and_added_thinking_are_another_message(chat):
    whole = noise.anthropic()[:6]
    chat.sync(whole)
    other = [*whole[:5], {**whole[5], "content": [noise.thought(9), *whole[5]["content"][2:]]}]
    assert chat.sync(other).branched_at == 5
    more = [*whole[:5], {**whole[5], "content": [noise.thought(9), *whole[5]["content"]]}]
    assert chat.sync(more).branched_at == 5
    some = [*whole[:5], {**whole[5], "content": whole[5]["content"][1:]}]
    assert chat.sync(more).branched_at is None
    assert chat.sync(some).appended == []


def test_an_id_may_be_left_out_and_not_changed_or_added(chat):
    whole = noise.responses()[:3]
    chat.sync(whole)
    bare = {key: one for key, one in whole[2].items() if key != "id"}
    assert chat.sync([*whole[:2], bare]).branched_at is None
    assert chat.sync([*whole[:2], bare | {"id": "fc_9"}]).branched_at == 2
    assert chat.sync([*whole[:2], whole[2]]).appended == []


def test_an_id_that_the_stored_item_has_not_is_another_item(chat):
    whole = noise.responses()[:3]
    bare = {key: one for key, one in whole[2].items() if key != "id"}
    chat.sync([*whole[:2], bare])
    assert chat.sync(whole).branched_at == 2


def test_reasoning_at_the_end_of_the_path_may_be_missing(chat):
    user, reasoning, call = noise.responses()[:3]
    chat.sync([user, reasoning])
    ids = list(chat.ids)
    synced = chat.sync([user])
    assert (synced.kept, synced.branched_at, chat.ids) == (1, None, ids)
    synced = chat.sync([user, call])
    assert (synced.kept, synced.branched_at, chat.ids[:2]) == (1, None, ids)
    assert chat.sync([user, reasoning, call]).branched_at is None


def test_other_reasoning_in_its_place_is_a_branch(chat):
    user, reasoning, call = noise.responses()[:3]
    chat.sync([user, reasoning])
    other = reasoning | {"id": "rs_9", "encrypted_content": "e9"}
    assert chat.sync([user, other, call]).branched_at == 1
    assert [dict(one) for one in chat.fetch(chat.ids)] == [user, other, call]
