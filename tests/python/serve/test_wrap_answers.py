"""Answers to wrapped clients, piece by piece, from a provider that is not there."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import pytest

openai = pytest.importorskip("openai", reason="the extra openai is not installed")

import httpx2  # noqa: E402
from proxy_requests import LIST, REPLY  # noqa: E402

from warmset import Conversation, Memory  # noqa: E402
from warmset.serve import wrap  # noqa: E402
from warmset.serve.proxy.overlong import MOST_SAID  # noqa: E402

BODY = json.dumps(REPLY).encode()
JSON, EVENTS = "application/json", "text/event-stream"
PATH = "/v1/chat/completions"
WAIT = 20
"""Seconds after which a test that waits gives up."""


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The pieces of an answer, which may break off."""

    def __init__(self, *pieces, error=None):
        self.pieces, self.error = pieces, error
        self.read, self.closed = 0, False

    def __iter__(self):
        for piece in self.pieces:
            self.read += 1
            yield piece
        if self.error is not None:
            raise self.error

    async def __aiter__(self):
        for piece in self:
            yield piece

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


class Provider:
    """Answers every request with the same pieces.

    Args:
        pieces: They.
        status: The status of the answer.
        kind: Its content type.
    """

    def __init__(self, pieces, *, status=200, kind=JSON):
        self.pieces, self.status, self.kind = pieces, status, kind
        self.transport = httpx2.MockTransport(self.answer)
        self.asked = []

    def answer(self, request):
        self.asked.append(request)
        return httpx2.Response(self.status, headers={"content-type": self.kind}, stream=self.pieces)

    def wrapped(self, memory, awaited, base="http://h/v1", **options):
        """Return a wrapped client of `openai`, and the HTTP client that it had."""
        kind, make = httpx2.Client, openai.OpenAI
        if awaited:
            kind, make = httpx2.AsyncClient, openai.AsyncOpenAI
        inner = kind(transport=self.transport)
        client = make(api_key="k", base_url=base, max_retries=0, http_client=inner)
        return wrap(client, memory, **options), inner

    def read(self, memory, awaited, look=lambda _seen: None, **options):
        """Ask, and read the answer in the pieces in which it comes.

        Args:
            memory: Where turns are kept.
            awaited: Whether the client is awaited.
            look: Gets what has come so far, after each piece.
            options: Options of `wrap`.

        Returns:
            The pieces, and the error that they end with.
        """
        client, _inner = self.wrapped(memory, awaited, **options)
        how = {"json": {"model": "gpt-5.2", "messages": LIST}}
        seen = []

        async def wait():
            async with client._client.stream("POST", f"http://h{PATH}", **how) as got:
                async for piece in got.aiter_raw():
                    seen.append(piece)
                    look(seen)

        try:
            if awaited:
                asyncio.run(wait())
            else:
                with client._client.stream("POST", f"http://h{PATH}", **how) as got:
                    for piece in got.iter_raw():
                        seen.append(piece)
                        look(seen)
        except httpx2.HTTPError as error:
            return seen, error
        return seen, None


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "m", embedder="lexical", durability="os") as opened:
        yield opened


def said(memory):
    [name] = memory.conversations()
    return [one["content"] for one in memory.conversation(name).messages()]


QUESTION = LIST[0]["content"]
both = pytest.mark.parametrize("awaited", [False, True])


def event(text="", reason=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    made = {"id": "c", "object": "chat.completion.chunk", "created": 1, "choices": [choice]}
    return b"data: " + json.dumps({**made, "model": "m"}).encode() + b"\n\n"


STREAM = [event("Forty."), event("", "stop"), b"data: [DONE]\n\n"]


@both
@pytest.mark.parametrize(("kind", "pieces"), [(JSON, [BODY[:9], BODY[9:]]), (EVENTS, STREAM)])
def test_a_reply_is_stored_before_its_end_is_there(memory, awaited, kind, pieces):
    stored = []
    provider = Provider(Pieces(*pieces), kind=kind)
    seen, error = provider.read(memory, awaited, lambda _seen: stored.append(said(memory)))
    assert (seen, error) == (pieces, None)
    assert stored[:2] == [[QUESTION], [QUESTION, "Forty."]]


@both
@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize("error", [httpx2.ReadError("gone"), httpx2.ReadTimeout("slow")])
def test_an_answer_that_breaks_off_breaks_off_behind_what_had_come(memory, awaited, kind, error):
    pieces = [BODY[:9], BODY[9:30]] if kind == JSON else STREAM[:1]
    seen, raised = Provider(Pieces(*pieces, error=error), kind=kind).read(memory, awaited)
    assert (seen, type(raised)) == (pieces, type(error))
    assert said(memory) == [QUESTION]


@both
@pytest.mark.parametrize("count", [0, 1])
def test_an_answer_that_is_left_is_closed_upstream(memory, awaited, count):
    answer = Pieces(*STREAM)
    client, _inner = Provider(answer, kind=EVENTS).wrapped(memory, awaited)
    asked = client._client.stream("POST", f"http://h{PATH}", json={"messages": LIST})

    async def wait():
        async with asked as got:
            pieces = got.aiter_raw()  # one that nobody holds would be closed by itself
            seen = [await anext(pieces) for _ in range(count)]
        return seen, answer.closed

    if awaited:
        seen, closed = asyncio.run(wait())
    else:
        with asked as got:
            pieces = got.iter_raw()
            seen = [next(pieces) for _ in range(count)]
        closed = answer.closed
    assert (seen, closed) == (STREAM[:count], True)


@both
@pytest.mark.parametrize("status", [400, 500])
def test_what_is_said_with_an_error_is_no_reply(memory, awaited, status):
    seen, _error = Provider(Pieces(BODY[:9], BODY[9:]), status=status).read(memory, awaited)
    assert b"".join(seen) == BODY
    assert said(memory) == [QUESTION]


@both
@pytest.mark.parametrize(
    ("sizes", "read"), [([MOST_SAID, 1, 1], 2), ([MOST_SAID - 1, 1, 1], 3), ([9, 9], 2)]
)
def test_an_error_is_looked_at_as_far_as_it_may_say_something(memory, awaited, sizes, read):
    at_first = []
    pieces = Pieces(*(b"x" * size for size in sizes))
    look = lambda _seen: at_first.append(pieces.read)  # noqa: E731
    seen, error = Provider(pieces, status=400).read(memory, awaited, look)
    assert ([len(one) for one in seen], error) == (sizes, None)
    assert at_first[0] == read


@both
def test_a_reply_that_takes_too_long_to_store_is_not_waited_for(
    memory, awaited, monkeypatch, caplog
):
    end, ended = threading.Event(), threading.Event()

    def slow(*_given, **_options):
        end.wait(WAIT)
        ended.set()
        raise LookupError

    monkeypatch.setattr(Conversation, "append", slow)
    with caplog.at_level(logging.WARNING, "warmset"):
        seen, error = Provider(Pieces(BODY)).read(memory, awaited, patience=0.3)
        assert not ended.is_set()
    assert (seen, error) == ([BODY], None)
    assert "reply_left surface='chat'" in caplog.text
    end.set()
    assert ended.wait(WAIT)


@both
def test_a_client_that_is_closed_closes_the_one_that_it_had(memory, awaited):
    client, inner = Provider(Pieces()).wrapped(memory, awaited)
    assert not inner.is_closed
    if awaited:
        asyncio.run(client.close())
    else:
        client.close()
    assert inner.is_closed


def test_a_base_url_may_have_a_path_of_its_own(memory):
    provider = Provider(Pieces(BODY))
    client, _inner = provider.wrapped(memory, awaited=False, base="http://h/own/path/v1")
    client.chat.completions.create(model="gpt-5.2", messages=LIST)
    assert [str(one.url) for one in provider.asked] == [f"http://h/own/path{PATH}"]
    assert said(memory) == [QUESTION, "Forty."]


def test_completions_that_the_provider_keeps_are_listed_as_they_are(memory):
    provider = Provider(Pieces(b'{"object":"list","data":[],"has_more":false}'))
    client, _inner = provider.wrapped(memory, awaited=False)
    raw = client.chat.completions.with_raw_response.list()
    assert raw.parse().data == []
    assert "x-warmset" not in raw.headers
    assert memory.conversations() == []
