"""Anything that may arrive at the socket: each request is answered or refused, and nothing else.

The upstream reads what reaches it with h11, which is strict. What the proxy sends on is one
well-formed request for each request that it let in, to the path that the client named, and has none
of the proxy's own headers. `HYPOTHESIS_PROFILE=deep` tries more.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlsplit

import h11
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from warmset.serve.proxy.guard import GuardOptions

EXAMPLES = 4_000 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 150
PATIENCE = 10.0
CANARY = "sk-canary-77c1"

LIST = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Count."}]}).encode()
BODIES = [
    b"",
    LIST,
    LIST[:-1],
    b"[]",
    b"null",
    b'{"messages": 1}',
    b'{"messages": []}',
    b'{"messages": [{"role": "user"}], "model": 7, "tools": "x"}',
    b'{"input": [{"type": "message"}], "previous_response_id": {"a": 1}}',
    b'{"contents": [{"parts": [1]}], "systemInstruction": []}',
    b"\xff\xfe{}",
    b"{" * 5_000,
    b'{"a": ' + b"9" * 5_000 + b"}",
    b'{"messages": [{"role": "user", "content": "\\ud800"}], "model": "\\ud800"}',
]
PATHS = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/resp_1",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/models",
    "/v1beta/models/m:generateContent",
    "/v1beta/models/m:streamGenerateContent?alt=sse",
    "/v1beta/interactions",
    "/",
    "//elsewhere.example/v1/models",
    "/v1/../../etc/passwd",
    "/v1/%2e%2e/models",
    "/v1/%2F/models",
    "/v1\\models",
    "/v1/models#a",
    "/v1/models;a=b",
    "/_warmset/health",
    "/_warmset/state",
    "/_warmset/../v1/models",
    "/%5fwarmset/state",
    "http://elsewhere.example/v1/models",
    "*",
    "elsewhere.example:443",
    "/v1/models?q=%00",
    "/v1/models HTTP/1.1\r\nx: y",
]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE", "get"]
HEADERS = [
    ("Authorization", f"Bearer {CANARY}"),
    ("x-api-key", CANARY),
    ("Content-Type", "application/json"),
    ("Content-Type", "text/plain"),
    ("x-warmset-conversation", "a"),
    ("x-warmset-conversation", "\u00e9" * 300),
    ("x-warmset-mode", "steady"),
    ("x-warmset-mode", "none"),
    ("x-warmset-budget", "5"),
    ("x-warmset-budget", "-1"),
    ("X-Warmset-Unknown", "a"),
    ("Origin", "http://elsewhere.example"),
    ("Sec-Fetch-Site", "cross-site"),
    ("Expect", "100-continue"),
    ("Connection", "close, x-api-key"),
    ("Connection", "upgrade"),
    ("Upgrade", "websocket"),
    ("Upgrade", "h2c"),
    ("TE", "trailers"),
    ("Proxy-Authorization", "Basic YTpi"),
    ("X-Forwarded-Host", "elsewhere.example"),
    ("Content-Length", "0"),
    ("Content-Length", "+5"),
    ("Content-Length", "5, 5"),
    ("Transfer-Encoding", "chunked"),
    ("Transfer-Encoding", "gzip, chunked"),
    ("Transfer-Encoding", "\x0bchunked"),
    ("Transfer-Encoding ", "chunked"),
    ("Content-Encoding", "gzip"),
    ("Host", "elsewhere.example"),
    ("a" * 300, "b"),
    ("a\tb", "c"),
    ("folded", "a\r\n b"),
    ("bare", "a\nb"),
]


TAG, UNTOLD = "x-tag", "0" * 8
"""A header by which a request is known again, and what it has until the request is sent."""


class Upstream:
    """A strict server, which keeps what reaches it.

    Attributes:
        url: Its address.
        seen: The requests, each as its method, path, headers and body.
        faults: What was not well-formed.
    """

    def __init__(self, listening):
        self._listening = listening
        self.host = f"127.0.0.1:{listening.getsockname()[1]}"
        self.url = f"http://{self.host}"
        self.seen, self.faults = [], []

    def serve(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        with connection:
            while self._one(connection):
                pass

    def _one(self, connection):
        """Read one request, and answer it; return whether another may follow."""
        reading, head, body = h11.Connection(h11.SERVER), None, b""
        try:
            while True:
                event = reading.next_event()
                if event is h11.NEED_DATA:
                    reading.receive_data(connection.recv(1 << 16))
                elif isinstance(event, h11.Request):
                    head = event
                elif isinstance(event, h11.Data):
                    body += event.data
                else:
                    break
        except h11.RemoteProtocolError as error:
            if not str(error).startswith("peer closed connection"):  # as its client did
                self.faults.append(str(error))
            return False
        except ConnectionError:
            return False
        if head is None or not isinstance(event, h11.EndOfMessage):
            return False
        self.seen.append((head.method, head.target, list(head.headers), body))
        said = b"" if head.method == b"HEAD" else b"{}"
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n" + said
        )
        return True


@contextmanager
def listening():
    with socket.create_server(("127.0.0.1", 0)) as bound:
        upstream = Upstream(bound)
        threading.Thread(target=upstream.serve, daemon=True).start()
        yield upstream


@st.composite
def requests(draw, host):
    """Draw the bytes of a request, well-formed or nearly so."""
    method, path = draw(st.sampled_from(METHODS)), draw(st.sampled_from(PATHS))
    body = draw(st.sampled_from(BODIES))
    more = draw(st.lists(st.sampled_from(HEADERS), max_size=4))
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"{TAG}: {UNTOLD}"]
    if draw(st.integers(0, 9)):
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in more]
    raw = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
    if draw(st.booleans()):
        return raw
    places = st.integers(0, len(raw))
    for _each in range(draw(st.integers(1, 3))):  # small damages
        start = draw(places)
        end = start + draw(st.integers(0, 3))
        raw = raw[:start] + draw(st.binary(max_size=3)) + raw[end:]
    return raw


def answers(sock, method):
    """Read what the proxy answers until it ends or waits for more; return the statuses."""
    reading = h11.Connection(h11.CLIENT)
    target = "x:1" if method == b"CONNECT" else "/"
    reading.send(h11.Request(method=method, target=target, headers=[("host", "x")]))
    reading.send(h11.EndOfMessage())
    statuses = []
    while True:
        event = reading.next_event()
        if event is h11.NEED_DATA:
            try:
                received = sock.recv(1 << 16)
            except TimeoutError:
                return statuses
            except ConnectionError:
                received = b""
            if not received and reading.their_state is h11.SEND_RESPONSE:
                return statuses
            reading.receive_data(received)
        elif isinstance(event, h11.Response):
            statuses.append(event.status_code)
        elif event is h11.PAUSED or isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
            return statuses


def sent(url, raw):
    """Send bytes on a connection of its own, and nothing behind them; return the statuses."""
    place = urlsplit(url)
    # A head that does not end is waited for.
    patience = PATIENCE if b"\r\n\r\n" in raw else 0.1
    with socket.create_connection((place.hostname, place.port), patience) as sock:
        try:
            sock.sendall(raw)
        except ConnectionError:
            return []
        method = raw.split(b" ")[0]
        known = method.decode("latin-1") in METHODS and method != b"get"
        return answers(sock, method if known else b"POST")


@pytest.fixture
def upstream():
    with listening() as made:
        yield made


def test_whatever_arrives_is_answered_or_refused_and_nothing_else(proxied, upstream, caplog):
    numbers = count(1)
    with proxied(upstream.url, guard=GuardOptions(timeout_body=0.2)) as proxy:
        host = urlsplit(proxy.url).netloc

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(requests(host))
        def tried(raw):
            tag = b"%08d" % next(numbers)
            statuses = sent(proxy.url, raw.replace(UNTOLD.encode(), tag))
            assert upstream.faults == []
            reached = [one for one in upstream.seen if (TAG.encode(), tag) in one[2]]
            assert len(reached) <= 1
            assert all(status < 500 or status == 503 for status in statuses), statuses
            for method, target, headers, _body in reached:
                names = [name for name, _ in headers]
                assert statuses in ([200], [400])  # 400 where what follows is no request
                assert method.decode() in METHODS
                named = re.split(rb"[ \r\n]", raw)[1]  # HTTP 0.9 ends there
                assert target == re.sub(rb"\Ahttps?://[^/]*|#.*", b"", named)
                assert not re.search(rb"\.\.|_warmset|%2e%2e|%2f|//|\\", target, re.IGNORECASE)
                assert [value for name, value in headers if name == b"host"] == [
                    upstream.host.encode()
                ]
                assert not any(name.startswith(b"x-warmset") for name in names)
                assert not {b"te", b"upgrade", b"proxy-authorization", b"expect"} & set(names)

        tried()
        assert len(upstream.seen) > EXAMPLES / 20  # what is well-formed goes through
        health = sent(proxy.url, f"GET /_warmset/health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert health == [200]
    assert CANARY not in caplog.text
