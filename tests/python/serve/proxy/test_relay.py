"""What the upstream says comes back as it is, as it arrives, and breaks off where it does."""

from __future__ import annotations

import json
import re
import socket
import threading
import time

import httpx2
import pytest
from proxy_requests import LIST, REPLY, chat
from werkzeug import Response

from warmset.serve.replies import assembler


def event(**said):
    """Return an event of a stream."""
    return b"data: " + json.dumps({"id": "c", "model": "m", **said}).encode() + b"\n\n"


def delta(reason=None, **said):
    """Return an event with a part of the reply."""
    return event(choices=[{"index": 0, "delta": said, "finish_reason": reason}])


_TWO = delta(content="For") + delta(content="ty")
STREAM = [
    delta(role="assistant", content=""),
    _TWO[:90],
    _TWO[90:],
    delta("stop"),
    event(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 2}),
    b"data: [DONE]\n\n",
]


def until_broken(got):
    """Return the bytes of an answer, and the error that it ends with."""
    seen = b""
    try:
        for piece in got.iter_raw():
            seen += piece
    except httpx2.HTTPError as error:
        return seen, error
    return seen, None


def test_a_reply_comes_back_byte_for_byte_and_is_appended(proxied, httpserver):
    body = json.dumps(REPLY, indent=3).encode()
    httpserver.expect_request("/v1/chat/completions").respond_with_data(
        body, content_type="application/json", headers={"x-request-id": "r"}
    )
    with proxied(httpserver.url_for("")) as proxy:
        got = chat(proxy.url, authorization="Bearer k")
        assert (got.status_code, got.content) == (200, body)
        assert got.headers["x-request-id"] == "r"
        assert got.headers["x-warmset"].startswith("mode=")
        assert proxy.said() == [*LIST, {"role": "assistant", "content": "Forty."}]
    [(request, _response)] = httpserver.log
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["accept-encoding"] == "identity"
    assert not [name for name, _value in request.headers if name.lower().startswith("x-warmset")]


def test_bytes_that_are_not_changed_are_those_of_the_request(proxied, httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(REPLY)
    sent = b'{ "messages":[ {"role":"user" ,"content":"\\u0048i"} ], "temperature":1e0,"x":[1.10] }'
    with proxied(httpserver.url_for("")) as proxy:
        httpx2.post(f"{proxy.url}/v1/chat/completions?a=b%20c", content=sent)
    [(request, _response)] = httpserver.log
    assert request.data == sent
    assert request.query_string == b"a=b%20c"


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_errors_come_back_as_they_are(proxied, httpserver, status):
    said = b'{"error":{"message":"no","type":"t"}}'
    httpserver.expect_request("/v1/chat/completions").respond_with_data(
        said, status=status, content_type="application/json", headers={"Retry-After": "7"}
    )
    with proxied(httpserver.url_for("")) as proxy:
        got = chat(proxy.url)
        assert (got.status_code, got.content) == (status, said)
        assert got.headers["retry-after"] == "7"
        assert proxy.said() == LIST
    assert len(httpserver.log) == 1


def test_what_has_no_list_passes_through(proxied, httpserver):
    httpserver.expect_request("/v1/files/7", method="DELETE").respond_with_data(b"gone", 202)
    httpserver.expect_request("/v1/embeddings", method="POST").respond_with_data(b"{}")
    with proxied(httpserver.url_for("")) as proxy:
        got = httpx2.delete(f"{proxy.url}/v1/files/7", headers={"authorization": "Bearer k"})
        assert (got.status_code, got.content) == (202, b"gone")
        assert "x-warmset" not in got.headers
        assert httpx2.post(f"{proxy.url}/v1/embeddings", content=b"{ }").content == b"{}"
    assert httpserver.log[1][0].data == b"{ }"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"messages":[]}', b'{"messages":"hi"}', b'{"model":"m"}']
)
def test_a_body_without_a_list_is_left_to_the_provider(proxied, httpserver, body):
    httpserver.expect_request("/v1/chat/completions").respond_with_data(b"no", status=400)
    with proxied(httpserver.url_for("")) as proxy:
        got = httpx2.post(f"{proxy.url}/v1/chat/completions", content=body)
        assert (got.status_code, got.content) == (400, b"no")
    assert httpserver.log[0][0].data == body


def test_a_stream_arrives_piece_by_piece(proxied):
    more = threading.Event()
    with streaming(STREAM, wait=more) as upstream, proxied(upstream.url) as proxy:
        body = {"messages": LIST, "stream": True}
        with httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as got:
            pieces = got.iter_raw()
            assert next(pieces) == STREAM[0]  # the upstream waits until this one is here
            more.set()
            assert b"".join(pieces) == b"".join(STREAM[1:])
        assert proxy.said() == [*LIST, {"role": "assistant", "content": "Forty"}]


def test_a_reply_is_stored_before_its_end_is_sent(proxied):
    more = threading.Event()
    with (
        streaming(STREAM, wait=more, behind=4) as upstream,
        proxied(upstream.url) as proxy,
        httpx2.stream(
            "POST", f"{proxy.url}/v1/chat/completions", json={"messages": LIST, "stream": True}
        ) as got,
    ):
        pieces = got.iter_raw()
        seen = b""
        while b'"stop"' not in seen:
            seen += next(pieces)
        assert [one["role"] for one in proxy.said()] == ["user", "assistant"]
        more.set()
        for _piece in pieces:
            pass


def test_a_stream_that_breaks_off_breaks_off(proxied):
    with streaming(STREAM[:3], breaks=True) as upstream, proxied(upstream.url) as proxy:
        body = {"messages": LIST, "stream": True}
        with httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as got:
            seen, error = until_broken(got)
        assert isinstance(error, httpx2.RemoteProtocolError)
        assert seen == b"".join(STREAM[:3])
        assert proxy.said() == LIST


@pytest.mark.parametrize("part", ["feed", "reply"])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_a_reader_that_fails_costs_the_client_nothing(proxied, monkeypatch, caplog, part, kind):
    def fail(*_given):
        raise LookupError(part)

    monkeypatch.setattr(assembler._Bounded, part, fail)
    with streaming(STREAM, kind=kind) as upstream, proxied(upstream.url) as proxy:
        with httpx2.stream(
            "POST", f"{proxy.url}/v1/chat/completions", json={"messages": LIST}
        ) as got:
            assert until_broken(got) == (b"".join(STREAM), None)
        assert proxy.said() == LIST
    [told] = [one for one in caplog.records if one.name == "warmset.serve"]
    assert told.getMessage() == "reply_left surface='chat' error='LookupError'"


def test_an_error_that_breaks_off_breaks_off_with_what_had_come(proxied):
    said = json.dumps(TOO_LONG).encode()
    with (
        streaming([said[:30]], breaks=True, status=b"400 No") as upstream,
        proxied(upstream.url) as proxy,
        httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json={"messages": LIST}) as got,
    ):
        seen, error = until_broken(got)
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert (got.status_code, seen) == (400, said[:30])


def test_a_body_that_breaks_off_breaks_off_with_what_had_come(proxied):
    body = json.dumps(REPLY).encode()
    with (
        streaming([body[:50]], breaks=True, kind="application/json") as upstream,
        proxied(upstream.url) as proxy,
        httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json={"messages": LIST}) as got,
    ):
        seen, error = until_broken(got)
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert seen == body[:50]


def test_what_the_client_gives_up_is_given_up_upstream(proxied):
    more = threading.Event()
    with streaming(STREAM, wait=more, until_gone=True) as upstream, proxied(upstream.url) as proxy:
        body = {"messages": LIST, "stream": True}
        with httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as got:
            next(got.iter_raw())
        assert upstream.gone.wait(10)
        assert proxy.said() == LIST


def test_an_upstream_that_is_not_there_is_told(proxied):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with proxied(url) as proxy:
            got = chat(proxy.url)
            assert got.status_code == 502
            assert got.json()["error"]["type"] == "warmset_upstream"
            assert got.headers["x-warmset"] == "upstream; reason=unreachable"
            assert proxy.said() == LIST


@pytest.mark.parametrize(("status", "passed"), [(599, True), (600, False), (999, False)])
def test_a_status_that_is_none_is_an_upstream_that_fails(proxied, httpserver, status, passed):
    httpserver.expect_request("/v1/chat/completions").respond_with_data("no", status=status)
    with proxied(httpserver.url_for("")) as proxy:
        got = chat(proxy.url)
        assert got.status_code == (status if passed else 502)
        assert (got.headers["x-warmset"] == "upstream; reason=unreachable") != passed
        assert proxy.said() == LIST


def test_a_silent_upstream_is_told(proxied):
    with streaming([], silent=True) as upstream, proxied(upstream.url, timeout=0.3) as proxy:
        got = chat(proxy.url)
        assert got.status_code == 504
        assert got.headers["x-warmset"] == "upstream; reason=slow"


def test_cookies_of_one_caller_go_to_nobody_else(proxied, httpserver):
    seen = []

    def answer(request):
        seen.append(request.headers.get("cookie"))
        return Response("{}", headers={"set-cookie": "session=of-alice; Path=/"})

    httpserver.expect_request("/v1/models").respond_with_handler(answer)
    with proxied(httpserver.url_for("")) as proxy:
        first = httpx2.get(f"{proxy.url}/v1/models", headers={"authorization": "Bearer alice"})
        assert first.headers["set-cookie"] == "session=of-alice; Path=/"
        httpx2.get(f"{proxy.url}/v1/models", headers={"authorization": "Bearer bob"})
        httpx2.get(f"{proxy.url}/v1/models", headers={"cookie": "session=of-bob"})
    assert seen == [None, None, "session=of-bob"]


def test_redirects_are_not_followed(proxied, httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_data(
        b"", status=307, headers={"Location": httpserver.url_for("/elsewhere")}
    )
    with proxied(httpserver.url_for("")) as proxy:
        assert chat(proxy.url).status_code == 307
    assert len(httpserver.log) == 1


LONG = [
    {"role": ("user", "assistant")[at % 2], "content": f"Shelf {at} has {at * 7} boxes. " * 20}
    for at in range(40)
] + LIST
TOO_LONG = {
    "error": {
        "message": "This model's maximum context length is 1 token.",
        "code": "context_length_exceeded",
    }
}


def test_a_request_that_is_too_long_is_sent_once_more_and_shorter(proxied, httpserver):
    sizes = []

    def answer(request):
        sizes.append(len(request.data))
        return Response(
            json.dumps(TOO_LONG if len(sizes) == 1 else REPLY), 400 - 200 * (len(sizes) > 1)
        )

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    with proxied(httpserver.url_for("")) as proxy:
        got = chat(proxy.url, messages=LONG, **{"x-warmset-budget": "3000"})
        assert got.status_code == 200
        assert got.json() == REPLY
        assert proxy.said() == [*LONG, {"role": "assistant", "content": "Forty."}]
    assert sizes[1] < sizes[0]


def test_a_request_is_not_sent_a_third_time(proxied, httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(TOO_LONG, status=400)
    with proxied(httpserver.url_for("")) as proxy:
        got = chat(proxy.url, messages=LONG, **{"x-warmset-budget": "3000"})
        assert (got.status_code, got.json()) == (400, TOO_LONG)
    assert len(httpserver.log) == 2


class Streaming:
    """A server of one answer, in pieces."""

    def __init__(self, url):
        self.url = url
        self.gone = threading.Event()


def streaming(pieces, **how):
    """Serve pieces as chunks; see `_stream`."""
    return _Serving(pieces, how)


class _Serving:
    def __init__(self, pieces, how):
        self._pieces, self._how = pieces, how

    def __enter__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._made = Streaming(f"http://127.0.0.1:{self._socket.getsockname()[1]}")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self._made

    def __exit__(self, *_error):
        self._socket.close()

    def _serve(self):
        how = self._how
        client, _place = self._socket.accept()
        with client:
            seen = b""
            while b"\r\n\r\n" not in seen:
                seen += client.recv(65_536)
            head, _empty, body = seen.partition(b"\r\n\r\n")
            size = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
            while len(body) < size:  # what is left unread would reset the connection at the end
                body += client.recv(65_536)
            if how.get("silent"):
                client.recv(65_536)
                time.sleep(2)
                return
            kind = how.get("kind", "text/event-stream").encode()
            client.sendall(
                b"HTTP/1.1 "
                + how.get("status", b"200 OK")
                + b"\r\ncontent-type: "
                + kind
                + b"\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            for at, piece in enumerate(self._pieces):
                if how.get("wait") and at == how.get("behind", 1):
                    if how.get("until_gone"):
                        client.settimeout(10)
                        while client.recv(65_536):
                            pass
                        self._made.gone.set()
                        return
                    assert how["wait"].wait(10)
                client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            if not how.get("breaks"):
                client.sendall(b"0\r\n\r\n")
