"""How an answer is read along: what is held back, what is looked at, and what is not read."""

from __future__ import annotations

import gzip
import json

import pytest
from proxy_requests import REPLY
from reply_streams import ANSWERS

from warmset.serve.proxy.along import LOOKS, Along
from warmset.serve.proxy.surfaces import CHAT, INTERACTIONS, MESSAGES, RESPONSES, surface_of

BODY = json.dumps(REPLY).encode()
GEMINI = surface_of("POST", "/v1beta/models/gemini-3-flash:streamGenerateContent")


def delta(text, reason=None):
    """Return an event with a part of the reply."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def texts(reply):
    return [one["content"] for one in reply.messages]


def test_the_last_piece_of_a_body_is_held_until_its_reply_is_there():
    along = Along(CHAT, {"content-type": "application/json"})
    steps = [along.take(one) for one in (BODY[:9], BODY[9:20], BODY[20:])]
    assert [one.reply for one in steps] == [None] * 3
    assert [one.chunks for one in steps] == [(), (BODY[:9],), (BODY[9:20],)]
    end = along.end()
    assert texts(end.reply) == ["Forty."]
    assert end.chunks == (BODY[20:],)
    assert along.broken() == ()


def test_a_body_that_breaks_off_gives_back_what_was_held():
    along = Along(CHAT, {"content-type": "application/json"})
    along.take(BODY[:9])
    assert along.broken() == (BODY[:9],)
    assert along.broken() == ()


@pytest.mark.parametrize(
    ("coding", "read"),
    [({}, True), ({"content-encoding": "identity"}, True), ({"content-encoding": "gzip"}, False)],
)
def test_what_is_compressed_is_passed_on_and_not_read(caplog, coding, read):
    along = Along(CHAT, {"content-type": "application/json", **coding})
    chunk = BODY if read else gzip.compress(BODY)
    assert along.take(chunk).chunks == ()
    end = along.end()
    assert (end.reply is not None) == read
    assert end.chunks == (chunk,)
    assert caplog.records == []


@pytest.mark.parametrize(("looks", "early"), [(LOOKS - 1, True), (LOOKS, False)])
def test_a_stream_that_speaks_of_its_end_is_looked_at_so_often(looks, early):
    along = Along(CHAT, {"content-type": "text/event-stream"})
    for _ in range(looks):
        step = along.take(delta("[DONE]"))
        assert step.reply is None
        assert len(step.chunks) == 1
    last = along.take(delta("", "stop"))
    assert (last.reply is not None) == early
    assert texts(along.end().reply) == ["[DONE]" * looks]


def test_a_stream_tells_its_end_once():
    along = Along(CHAT, {"content-type": "text/event-stream"})
    assert along.take(delta("a")).reply is None
    assert texts(along.take(delta("", "stop")).reply) == ["a"]
    assert along.take(b"data: [DONE]\n\n").reply is None


def said(kind, **response):
    """Return an event of Responses."""
    response = {"id": "resp_1", "object": "response", "output": [], **response}
    return b"data: " + json.dumps({"type": kind, "response": response}).encode() + b"\n\n"


@pytest.mark.parametrize("early", [True, False])
def test_the_id_of_a_response_is_told_once_where_it_is_waited_for(early):
    along = Along(RESPONSES, {"content-type": "text/event-stream"}, early=early)
    assert along.take(b": a comment\n\n").reply is None
    first = along.take(said("response.created", status="in_progress"))
    assert (first.reply is not None) == early
    if early:
        assert (first.reply.id, first.reply.is_complete) == ("resp_1", False)
    assert along.take(said("response.in_progress", status="in_progress")).reply is None
    assert along.take(said("response.completed", status="completed")).reply.is_complete


SURFACES = {one.name: one for one in (CHAT, RESPONSES, MESSAGES, INTERACTIONS, GEMINI)}
STREAMS = {name: one for name, one in ANSWERS.items() if one.kind.startswith("text/event")}


@pytest.mark.parametrize("name", STREAMS)
def test_a_reply_is_told_before_its_end_is_passed_on_wherever_the_end_is_cut(name):
    answer = STREAMS[name]
    surface = SURFACES[answer.surface]
    whole = Along(surface, {"content-type": answer.kind})
    whole.take(answer.body)
    if not whole.end().reply.is_complete:
        pytest.skip("it breaks off")
    for cut in range(len(answer.body) - 1, 0, -1):
        along = Along(surface, {"content-type": answer.kind.title()})
        told = [along.take(one).reply for one in (answer.body[:cut], answer.body[cut:])]
        assert any(one is not None and one.is_complete for one in told), cut


def test_an_end_in_many_pieces_is_told_with_the_last_of_them():
    along = Along(RESPONSES, {"content-type": "text/event-stream"})
    event = said("response.completed", status="completed", instructions="Be kind. " * 40)
    steps = [along.take(event[at : at + 7]) for at in range(0, len(event), 7)]
    told = [at for at, one in enumerate(steps) if one.reply is not None]
    assert told == [len(steps) - 1]


def test_of_two_marks_in_a_piece_either_may_be_the_end():
    head = {"content-type": "text/event-stream"}
    assert Along(CHAT, head).take(delta("", "stop") + b"data: [DONE]").reply is not None
    along, end = Along(CHAT, head), delta("", "stop")
    assert along.take(delta("[DONE]") + end[:-1]).reply is None
    assert along.take(end[-1:]).reply is not None


def test_a_text_that_speaks_of_its_end_in_small_pieces_costs_a_look_each_time():
    along = Along(CHAT, {"content-type": "text/event-stream"})
    stream = b"".join(delta(text) for text in ["[DONE]"] * (LOOKS - 1) + ["more"] * 9)
    for at in range(0, len(stream), 5):
        assert along.take(stream[at : at + 5]).reply is None
    assert along.take(delta("", "stop")).reply is not None


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=UTF-8"])
def test_elements_of_an_array_are_passed_on_as_they_arrive_and_its_end_is_held(kind):
    along = Along(GEMINI, {"content-type": kind})
    event = json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": "A"}]}}]})
    last = event.replace('"A"}]}', '"B"}]}, "finishReason": "STOP"')
    pieces = [f"[{event}\n".encode(), f",\r\n{last}\n".encode(), b"]\n"]
    assert [along.take(one).chunks for one in pieces] == [(pieces[0],), (pieces[1],), ()]
    end = along.end()
    assert end.chunks == (pieces[2],)
    assert end.reply.is_complete


def test_what_may_be_the_end_of_an_array_is_passed_on_with_the_next_piece():
    along = Along(GEMINI, {"content-type": "application/json"})
    pieces = (b'[{"text": "a]', b"b]", b'c"}\n')
    assert [along.take(one).chunks for one in pieces] == [(), (pieces[0],), (pieces[1], pieces[2])]
    assert along.end().chunks == ()
