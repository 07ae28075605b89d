"""Requests of which the provider has the beginning, and replies that are still to come."""

from __future__ import annotations

import pytest
from exchanging import Exchanging, said, user, whole

from warmset import Memory
from warmset.errors import NotFound
from warmset.serve.proxy import response_ids
from warmset.serve.proxy.provided import Onward, Provided, is_continued, is_kept
from warmset.serve.proxy.surfaces import CHAT, INTERACTIONS, RESPONSES
from warmset.serve.replies import Reply


@pytest.fixture
def proxy(tmp_path):
    made = Exchanging(tmp_path)
    yield made
    made.memories.close()


def due(stop="in_progress", *messages):
    """Return an answer that says that its reply is to come."""
    return Reply(messages=messages, id="resp_1", stop=stop)


def place(proxy, id_="resp_1"):
    with proxy.memory() as memory:
        return response_ids.find(memory, id_)


@pytest.mark.parametrize(
    ("surface", "body", "found"),
    [
        (RESPONSES, {"conversation": "conv_1"}, True),
        (RESPONSES, {"conversation": {"id": "conv_1"}}, True),
        (RESPONSES, {"previous_response_id": "resp_1"}, True),
        (RESPONSES, {"previous_response_id": "", "conversation": None}, False),
        (RESPONSES, {"previous_interaction_id": "int_1"}, False),
        (INTERACTIONS, {"previous_interaction_id": "int_1"}, True),
        (INTERACTIONS, {"conversation": "conv_1"}, False),
        (CHAT, {"conversation": "conv_1", "previous_response_id": "resp_1"}, False),
    ],
)
def test_what_the_provider_has_the_beginning_of(surface, body, found):
    assert is_continued(surface, body) is found


@pytest.mark.parametrize(
    ("surface", "body", "found"),
    [
        (RESPONSES, {}, True),
        (RESPONSES, {"store": None}, True),
        (INTERACTIONS, {"store": True}, True),
        (INTERACTIONS, {"store": False}, False),
        (CHAT, {"store": True}, False),
    ],
)
def test_what_the_provider_keeps(surface, body, found):
    assert is_kept(surface, body) is found


def test_what_was_erased_meanwhile_does_not_come_back(tmp_path):
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="t") as memory:
        for began in (True, False):
            onward = Onward(tenant="t", conversation="c", given=[user("one")], began=began)
            if began:
                with pytest.raises(NotFound, match="erased"):
                    Provided().append(memory, onward, whole(said("a")), kept=True)
            else:
                assert Provided().append(memory, onward, whole(said("a")), kept=True)
        assert len(memory.conversation("c")) == 2


@pytest.mark.parametrize(
    ("stop", "waits"),
    [("queued", True), ("in_progress", True), ("failed", False), ("cancelled", False)],
)
def test_a_reply_is_due_while_it_is_made(proxy, stop, waits):
    request = proxy.ask(RESPONSES, [user("one")], background=True)
    assert not proxy.answer(request, due(stop))
    found = place(proxy)
    assert (found is not None and found.waits) == waits
    assert proxy.stored() == ([[user("one")]], 1)


@pytest.mark.parametrize("more", [{}, {"previous_response_id": "resp_0"}])
def test_a_reply_that_is_due_is_noted_once_and_what_was_asked_stored_once(proxy, monkeypatch, more):
    before, noted = [], []
    if more:
        request = proxy.ask(RESPONSES, [user("zero")])
        assert proxy.answer(request, whole(said("z"), id="resp_0"))
        before = [user("zero"), said("z")]
    note = response_ids.note
    monkeypatch.setattr(response_ids, "note", lambda *said_: noted.append(said_) or note(*said_))
    request = proxy.ask(RESPONSES, [user("one")], background=True, **more)
    for stop in ("queued", "in_progress", "in_progress"):
        assert not proxy.answer(request, due(stop))
    assert len(noted) == 1
    assert proxy.stored() == ([[*before, user("one")]], len(before) + 1)
    assert proxy.answer(request, whole(said("a"), id="resp_1"))
    assert proxy.stored() == ([[*before, user("one"), said("a")]], len(before) + 2)
    assert not place(proxy).waits


def test_the_beginning_of_a_reply_is_no_reply(proxy):
    request = proxy.ask(RESPONSES, [user("one")], background=True)
    assert not proxy.answer(request, due("in_progress", said("a")))
    assert proxy.stored() == ([[user("one")]], 1)
    again = proxy.ask(RESPONSES, [user("one")])[1]  # what has no reply yet is sent again
    assert again.talk.name == request[1].talk.name


def test_a_list_with_a_prompt_of_the_provider_goes_as_it_came(proxy):
    prompt = {"id": "pmpt_1"}
    asked, prepared = request = proxy.ask(
        RESPONSES, [user("one " * 900)], headers={"x-warmset-budget": "300"}, prompt=prompt
    )
    assert (prepared.body, prepared.header()) == (asked.body, "passed; recorded=yes")
    assert proxy.answer(request, whole(said("a"), id="resp_1"))
    assert proxy.stored() == ([[user("one " * 900), said("a")]], 2)
    other = proxy.ask(INTERACTIONS, [{"type": "user_input", "content": []}], prompt=prompt)[1]
    assert other.onward is None
    assert other.window is not None
