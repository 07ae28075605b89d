"""Answers of any sort, each made from a number, and a server that plays them byte for byte.

A request names the answer in the header `x-answer`. What the server sends depends on that number
alone, so whoever asks twice, through a proxy and without one, is told the same bytes.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import socket
import struct
import threading
from dataclasses import dataclass

from reply_streams import CHAT_TEXT, CHAT_TOOLS, RESPONSE, RESPONSES, sse

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3:generateContent",
    "gemini stream": "/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
    "through": "/v1/embeddings",
    "gone": "/v1/files/file-7",
}
METHODS = {"gone": "DELETE"}
STATUSES = (
    201,
    202,
    206,
    301,
    304,
    307,
    400,
    401,
    403,
    404,
    409,
    413,
    422,
    429,
    500,
    503,
    529,
    599,
)
EMPTY = (204, 304)
"""Statuses whose answers have no body."""


@dataclass(frozen=True)
class Answer:
    """An answer as it is sent.

    Args:
        surface: The request that it is for.
        head: Its status line and headers.
        pieces: What follows, as it is written to the socket.
        pauses: Seconds before each of them.
        end: What follows the last one: "open", "closed" or "reset".
        whole: Whether it is whole.
    """

    surface: str
    head: bytes
    pieces: tuple[bytes, ...]
    pauses: tuple[float, ...]
    end: str
    whole: bool


def answer(number, *, slow=0.002):
    """Return the answer of a number.

    Args:
        number: It.
        slow: The longest pause of a slow answer, in seconds.
    """
    draw = random.Random(number)
    surface = draw.choice(list(PATHS))
    status = 200 if draw.random() < 0.6 else draw.choice(STATUSES)
    kind, body = _body(draw, surface, status)
    headers = [(b"Content-Type", kind)] if draw.random() < 0.95 else []
    headers += _headers(draw)
    if draw.random() < 0.15 and status not in EMPTY:
        coding = draw.choice((b"gzip", b"br", b"identity"))
        headers.append((b"Content-Encoding", coding))
        if coding == b"gzip":
            body = gzip.compress(body, mtime=0)
    framing = draw.choice(("length", "chunked", "chunked", "closed"))
    if status in EMPTY:
        framing, body = "none", b""
    raw, more = _framed(draw, framing, body)
    headers += more
    whole, end = True, "closed" if framing == "closed" else draw.choice(("open", "open", "closed"))
    if framing in ("length", "chunked") and raw and draw.random() < 0.15:
        raw, whole = raw[: draw.randrange(len(raw))], False
        end = "reset" if draw.random() < 0.2 else "closed"
    if end == "closed" and draw.random() < 0.5:
        headers.append((b"Connection", b"close"))
    draw.shuffle(headers)
    reason = draw.choice((b"OK", b"", b"As You Like It"))
    head = b"HTTP/1.1 %d %b\r\n" % (status, reason)
    head += b"".join(
        b"%b:%b%b\r\n" % (name, draw.choice((b"", b" ", b" \t")), value) for name, value in headers
    )
    if draw.random() < 0.05:
        head = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + head
    pieces = tuple(cut(draw, raw))
    longest = slow if draw.random() < 0.2 else 0.0
    pauses = tuple(draw.random() * longest for _ in pieces)
    return Answer(surface, head + b"\r\n", pieces, pauses, end, whole)


def cut(draw, raw):
    """Yield bytes in pieces of any size."""
    size = draw.choice((1 << 20, 1 << 20, 4096, 300, 40)) if len(raw) < 20_000 else 1 << 14
    at = 0
    while at < len(raw):
        step = draw.randint(1, size)
        yield raw[at : at + step]
        at += step


def _headers(draw):
    """Return headers as servers have them, some of them twice, some of one connection alone."""
    known = [
        (b"x-request-id", b"req_%d" % draw.randrange(1000)),
        (b"Retry-After", b"7"),
        (b"Set-Cookie", b"a=1; Path=/"),
        (b"Set-Cookie", b"b=2, c"),
        (b"X-Empty", b""),
        (b"x-latin", b"\xe9\xe8 \xff"),
        (b"openai-processing-ms", b"12"),
        (b"anthropic-ratelimit-requests-remaining", b"0"),
        (b"Vary", b"Accept, Origin"),
        (b"Date", b"Tue, 24 Nov 2026 10:00:00 GMT"),
        (b"Server", b"uvicorn"),
        (b"Keep-Alive", b"timeout=5"),
        (b"Location", b"https://elsewhere.example/v1"),
        (b"WWW-Authenticate", b"Bearer"),
        (b"x-long", b"v" * draw.randrange(3000)),
    ]
    return draw.sample(known, draw.randrange(len(known)))


def _body(draw, surface, status):
    """Return a content type and a body."""
    sort = draw.random()
    if sort < 0.1:
        return b"application/octet-stream", draw.randbytes(draw.choice((0, 1, 700, 70_000)))
    if sort < 0.2:  # what looks like an answer, and is none
        said = draw.choice(
            (b"data: {", b"data: [DONE]\n\n", b"[[[[", b'{"choices":7}', b"\xff\xfe")
        )
        return draw.choice((b"text/event-stream", b"application/json")), said * draw.randint(1, 50)
    if status >= 300:
        said = {"error": {"message": "too many tokens " * draw.randint(0, 99), "type": "t"}}
        if draw.random() < 0.2:
            said["error"]["code"] = "context_length_exceeded"
        return b"application/json", json.dumps(said, indent=draw.choice((None, 2))).encode()
    text = "".join(draw.choice('aé世🌍 \n"') for _ in range(draw.choice((3, 50, 2000))))
    events, whole = _said(draw, surface, text)
    if surface != "gemini" and draw.random() < 0.6:
        last = "[DONE]" if surface == "chat" and draw.random() < 0.8 else ""
        named = draw.random() < 0.5
        body = sse(*events, named=named, last=last, end=draw.choice(("\n", "\r\n")))
        if draw.random() < 0.3:
            body = b": ping\n\n" + body
        return draw.choice((b"text/event-stream", b"text/event-stream; charset=utf-8")), body
    return b"application/json", json.dumps(whole, indent=draw.choice((None, 3))).encode()


def _said(draw, surface, text):
    """Return an answer of a surface, as events and as one object."""
    if surface == "responses":
        return RESPONSES, RESPONSE
    if surface == "messages":
        blocks = [{"type": "text", "text": text}]
        head = {"id": "m", "type": "message", "role": "assistant", "model": "claude"}
        usage = {"input_tokens": 3, "output_tokens": 2}
        end = {"stop_reason": "end_turn", "stop_sequence": None}
        whole = head | end | {"content": blocks, "usage": usage}
        started = head | {"content": [], "usage": usage, "stop_reason": None}
        delta = {"type": "text_delta", "text": text}
        events = [
            {"type": "message_start", "message": started},
            {"type": "content_block_start", "index": 0, "content_block": blocks[0] | {"text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
        return events, whole
    if surface.startswith("gemini"):
        said = {"role": "model", "parts": [{"text": text}]}
        whole = {"candidates": [{"content": said, "finishReason": "STOP", "index": 0}]}
        return [whole], whole
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return draw.choice((CHAT_TEXT, CHAT_TOOLS)), {"id": "c", "model": "m", "choices": [choice]}


def _framed(draw, framing, body):
    """Return a body as it is on the wire, and the headers that say how."""
    if framing == "length":
        return body, [(b"Content-Length", b"%d" % len(body))]
    if framing != "chunked":
        return body, []
    parts = []
    for piece in cut(draw, body):
        extension = draw.choice((b"", b"", b";a=b"))
        parts.append(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece))
    headers = [(b"Transfer-Encoding", b"chunked")]
    last = b"0\r\n\r\n"
    if draw.random() < 0.2:
        headers.append((b"Trailer", b"x-checksum"))
        last = b"0\r\nx-checksum: 9\r\n\r\n"
    return b"".join([*parts, last]), headers


class Answering:
    """A server that plays answers; a context manager.

    Attributes:
        url: Its address.
    """

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_error):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        self._loop.close()

    def _run(self, ready):
        async def serve():
            self._over = asyncio.Event()
            server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            ready.set()
            await self._over.wait()
            server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for one in others:
                one.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._loop.run_until_complete(serve())

    async def _answer(self, reader, writer):
        try:
            while await _play(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has what it wants
        finally:
            writer.close()


async def _play(reader, writer):
    """Read a request and play its answer; return whether the connection stays open."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"\ncontent-length: *(\d+)", head, re.IGNORECASE)
    await reader.readexactly(int(length[1]) if length else 0)
    found = answer(int(re.search(rb"\nx-answer: *(\d+)", head, re.IGNORECASE)[1]))
    writer.write(found.head)
    for piece, pause in zip(found.pieces, found.pauses, strict=True):
        if pause:
            await writer.drain()
            await asyncio.sleep(pause)
        writer.write(piece)
    await writer.drain()
    if found.end == "reset":
        await asyncio.sleep(0.005)  # what was written is on its way
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    return found.end == "open"
