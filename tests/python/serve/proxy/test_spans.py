"""OpenTelemetry: a span for each request with a list, by the conventions, and no content."""

from __future__ import annotations

import subprocess
import sys
import time

import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from proxy_requests import LIST, REPLY, chat
from werkzeug import Response

from warmset import Memory
from warmset.errors import StoreError
from warmset.serve.proxy import spans as module
from warmset.serve.proxy.callers import Talk

KEY = "sk-canary-5e0bd1c7"
NAME = "of-Ada-Lovelace"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
LONG = [
    {"role": ("user", "assistant")[at % 2], "content": f"Shelf {at}: {at * 7} boxes. " * 30}
    for at in range(31)
]
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5-20260922",
    "content": [{"type": "text", "text": "Forty."}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 300,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 100,
        "output_tokens": 5,
    },
}


@pytest.fixture
def made(monkeypatch):
    """Return the spans that were made, in a provider of this test's own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(module, "get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


@pytest.fixture
def upstream(httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(REPLY)
    return httpserver


def test_a_window_with_all_that_the_provider_says(proxied, httpserver, made):
    httpserver.expect_request("/v1/messages").respond_with_json(MESSAGE)
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": LONG}
    with proxied(httpserver.url_for(""), mode="recency") as proxy:
        httpx2.post(f"{proxy.url}/v1/messages", json=body, headers={"x-warmset-budget": "1500"})
        digest = proxy.watcher.digest(Talk("t", "c"))
        [row] = proxy.watcher.recent.state()["windows"]
    [span] = made()
    assert span.name == "chat claude-opus-5-5"
    assert span.kind is SpanKind.CLIENT
    assert span.parent is None
    assert span.status.status_code is StatusCode.UNSET
    assert 0 < span.start_time < span.end_time
    assert span.instrumentation_scope.name == "warmset.serve"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-opus-5-5",
        "gen_ai.response.model": "claude-opus-5-5-20260922",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_write.input_tokens": 100,
        "gen_ai.conversation.id": digest,
        "gen_ai.conversation.compacted": True,
        "server.address": "localhost",
        "server.port": httpserver.port,
        "warmset.mode": "recency",
        "warmset.tokens.in": row["tokens_in"],
        "warmset.tokens.sent": row["tokens_sent"],
        "warmset.saved": pytest.approx(1 - row["tokens_sent"] / row["tokens_in"]),
    }


def test_it_belongs_to_the_trace_of_the_caller_which_goes_on_as_it_came(proxied, upstream, made):
    with proxied(upstream.url_for("")) as proxy:
        chat(proxy.url, traceparent=PARENT, tracestate="a=b", baggage="who=Ada")
    [span] = made()
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    [(request, _response)] = upstream.log
    sent = {name: request.headers[name] for name in ("traceparent", "tracestate", "baggage")}
    assert sent == {"traceparent": PARENT, "tracestate": "a=b", "baggage": "who=Ada"}


def test_a_trace_that_is_none_begins_one(proxied, upstream, made):
    with proxied(upstream.url_for("")) as proxy:
        assert chat(proxy.url, traceparent="00-x-y-z").status_code == 200
    assert [one.parent for one in made()] == [None]


def test_geminis_model_stands_in_the_path(proxied, httpserver, made):
    path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
    httpserver.expect_request(path).respond_with_data("", content_type="text/event-stream")
    contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    with proxied(httpserver.url_for("")) as proxy:
        httpx2.post(f"{proxy.url}{path}", json=contents)
    [span] = made()
    assert span.name == "generate_content gemini-2.5-pro"
    assert span.attributes["gen_ai.provider.name"] == "gcp.gen_ai"  # not Google's own address
    assert span.attributes["gen_ai.request.stream"] is True
    assert "gen_ai.conversation.compacted" not in span.attributes


def test_a_bypass_says_why(proxied, upstream, made, monkeypatch):
    def fails(*_args, **_options):
        raise StoreError("")

    with proxied(upstream.url_for("")) as proxy:
        monkeypatch.setattr(Memory, "process", fails)
        chat(proxy.url)
    [span] = made()
    assert span.attributes["warmset.bypass.reason"] == "StoreError"
    assert span.attributes["gen_ai.usage.input_tokens"] == 9
    assert span.attributes["gen_ai.request.model"] == "gpt-5.2"
    assert not {"warmset.mode", "gen_ai.conversation.id"} & set(span.attributes)


@pytest.mark.parametrize("status", [429, 529])
def test_an_error_is_told_by_its_status(proxied, httpserver, made, status):
    httpserver.expect_request("/v1/chat/completions").respond_with_json({}, status=status)
    with proxied(httpserver.url_for("")) as proxy:
        chat(proxy.url)
    [span] = made()
    assert span.attributes["error.type"] == str(status)
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None


def test_a_stream_that_breaks_off_says_so(proxied, httpserver, made):
    longer = {"Content-Length": "1000"}
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda _request: Response(
            iter([b'data: {"id":"c"}\n\n']), content_type="text/event-stream", headers=longer
        )
    )
    with proxied(httpserver.url_for("")) as proxy:
        with pytest.raises(httpx2.RemoteProtocolError):
            chat(proxy.url, stream=True)
        until(made, 1)
    [span] = made()
    assert span.attributes["error.type"] == "broken_off"
    assert span.attributes["gen_ai.request.stream"] is True
    assert span.status.status_code is StatusCode.ERROR


def test_a_client_that_goes_is_no_broken_stream(proxied, httpserver, made):
    def pieces():
        for _ in range(2_000):
            yield b": and so on\n\n"
            time.sleep(0.01)

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda _request: Response(pieces(), content_type="text/event-stream")
    )
    with proxied(httpserver.url_for("")) as proxy:
        body = {"messages": LIST, "stream": True}
        with httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as got:
            next(got.iter_raw())
        until(made, 1)
    assert [one.attributes["error.type"] for one in made()] == ["client_gone"]


def until(made, count):
    end = time.monotonic() + 20
    while len(made()) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_is_not_sent_or_has_no_list_has_no_span(proxied, upstream, made):
    upstream.expect_request("/v1/models").respond_with_json({})
    with proxied(upstream.url_for("")) as proxy:
        httpx2.get(f"{proxy.url}/v1/models")
        chat(proxy.url, **{"x-warmset-mode": "best"})
        httpx2.get(f"{proxy.url}/_warmset/")
    assert made() == ()


def test_nothing_that_was_said_is_in_a_span(proxied, upstream, made):
    said = [{"role": "user", "content": "the canary sings of Vienna"}]
    with proxied(upstream.url_for(""), names=True) as proxy:
        headers = {"x-warmset-conversation": NAME, "authorization": f"Bearer {KEY}"}
        chat(proxy.url, messages=said, **headers)
        body = {"model": f"{KEY} in the wrong place", "messages": said}
        httpx2.post(f"{proxy.url}/v1/chat/completions", json=body, headers=headers)
    first, second = made()
    assert second.name == "chat"
    told = first.to_json() + second.to_json()
    for canary in (KEY, NAME, "Vienna", "Forty", "boxes"):
        assert canary not in told


@pytest.mark.parametrize("name", ["_of_request", "_of_answer", "_of_window"])
def test_a_span_that_fails_costs_no_request(proxied, upstream, made, monkeypatch, name):
    monkeypatch.setattr(module, name, lambda _outcome: 1 / 0)
    with proxied(upstream.url_for("")) as proxy:
        got = chat(proxy.url)
        assert proxy.watcher.recent.state()["requests"] == 1
    assert (got.status_code, got.json()) == (200, REPLY)
    assert len(made()) == (name != "_of_request")  # one that began has ended


def test_without_a_provider_of_tracers_nothing_is_computed(proxied, upstream, monkeypatch):
    def fails(_outcome):
        pytest.fail("it is asked for what nobody gets")

    monkeypatch.setattr(module, "_of_answer", fails)
    with proxied(upstream.url_for("")) as proxy:
        assert chat(proxy.url, messages=LIST).status_code == 200
        assert proxy.watcher.recent.state()["requests"] == 1


def test_a_provider_of_tracers_that_fails_costs_nothing(proxied, upstream, monkeypatch, caplog):
    monkeypatch.setattr(module, "get_tracer", lambda *_args: 1 / 0)
    with proxied(upstream.url_for("")) as proxy:
        assert chat(proxy.url).status_code == 200
        assert proxy.watcher.recent.state()["requests"] == 1
    [failed] = [one for one in caplog.records if getattr(one, "event", "") == "failed"]
    assert (failed.what, failed.error) == ("watch", "ZeroDivisionError")


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from warmset.serve.proxy.watch import Watcher
assert Watcher()._spans is None
"""


def test_it_works_where_opentelemetry_is_not_installed():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=60)  # noqa: S603
