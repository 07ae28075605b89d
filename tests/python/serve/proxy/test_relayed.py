"""What is sent back of an answer, and what is read of it, without a connection."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2
import pytest
from proxy_requests import REPLY

from warmset.serve.proxy.exchange import Prepared
from warmset.serve.proxy.relay import Address, Reading, Relay
from warmset.serve.proxy.surfaces import CHAT

BODY = json.dumps(REPLY).encode()


class Upstream:
    """Answers in pieces, and breaks off with an error if there is one."""

    def __init__(self, *pieces, status=200, error=None):
        self.pieces, self.status, self.error = pieces, status, error

    @asynccontextmanager
    async def answer(self, *_request):
        async def stream():
            for piece in self.pieces:
                yield piece
            if self.error is not None:
                raise self.error

        kind = {"content-type": "application/json"}
        yield httpx2.Response(self.status, headers=kind, content=stream())


def relayed(upstream):
    """Return what is sent to the client, and each reply with how much was sent before it."""
    sent, replies = [], []

    async def send(message):
        sent.append(message)

    async def receive():
        await asyncio.Event().wait()

    async def answered(_prepared, reply):
        replies.append((len(sent), reply))

    async def again(_prepared, _status, _said):
        return None

    address = Address(method="POST", url=httpx2.URL("http://h/v1"), headers=())
    reading = Reading(surface=CHAT, again=again, answered=answered)
    relay = Relay(upstream, address, Prepared(body=b"{}"), reading)
    asyncio.run(relay({"type": "http"}, receive, send))
    return sent, replies


@pytest.mark.parametrize("error", [httpx2.ReadError("gone"), httpx2.ReadTimeout("slow")])
def test_an_answer_that_breaks_off_is_not_answered_again(error):
    sent, replies = relayed(Upstream(BODY[:9], error=error))
    assert [one["type"] for one in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == 200
    assert sent[1] == {"type": "http.response.body", "body": BODY[:9], "more_body": True}
    assert replies == []


@pytest.mark.parametrize(
    ("error", "status"), [(httpx2.ConnectError("no"), 502), (httpx2.ConnectTimeout("slow"), 504)]
)
def test_an_answer_that_never_begins_is_an_error(error, status):
    class Gone:
        @asynccontextmanager
        async def answer(self, *_request):
            raise error
            yield

    sent, _replies = relayed(Gone())
    assert [one["status"] for one in sent if "status" in one] == [status]


@pytest.mark.parametrize("status", [400, 404, 500, 529])
def test_what_is_said_with_an_error_is_no_reply(status):
    sent, replies = relayed(Upstream(BODY, status=status))
    assert sent[0]["status"] == status
    assert [one["body"] for one in sent[1:]] == [BODY, b""]
    assert replies == []


def test_a_reply_is_there_before_its_last_piece_is_sent():
    sent, [(before, reply)] = relayed(Upstream(BODY[:9], BODY[9:]))
    assert [one["body"] for one in sent[1:]] == [BODY[:9], BODY[9:], b""]
    assert [one["more_body"] for one in sent[1:]] == [True, True, False]
    assert before == 2
    assert reply.is_complete
