"""What is counted and shown of requests; whatever fails in it, they are answered."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
import time

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from proxy_requests import LIST, REPLY, chat
from werkzeug import Response

from warmset import Memory
from warmset.errors import StoreError
from warmset.serve.proxy import watch
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers, Talk
from warmset.serve.proxy.guard import GuardOptions
from warmset.serve.proxy.metrics import Metrics
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.outcome import model_of
from warmset.serve.proxy.recent import Recent
from warmset.serve.proxy.relay import Address
from warmset.serve.proxy.tenants import Tenants
from warmset.serve.proxy.watch import Watcher

MODEL = "claude-opus-5-5"
KEY = "sk-canary-5e0bd1c7"
NAME = "of-Ada-Lovelace"
TOLD = "the canary sings of Vienna"
LONG = [
    {"role": ("user", "assistant")[at % 2], "content": f"Shelf {at}: {at * 7} boxes. " * 30}
    for at in range(31)
]


def messages(url, given=LIST, *, model=MODEL, **headers):
    body = {"model": model, "max_tokens": 100, "messages": given}
    return httpx2.post(f"{url}/v1/messages", json=body, headers=headers, timeout=30)


def reply(fresh=300, cached=600, written=100, **more):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": "Forty."}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": fresh,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "output_tokens": 5,
        },
        **more,
    }


def state(proxy):
    got = httpx2.get(f"{proxy.url}/_warmset/state")
    assert got.status_code == 200
    return got.json()


def counted(proxy):
    """Return the counts that are not 0, by the name and the values of labels."""
    families = text_string_to_metric_families(httpx2.get(f"{proxy.url}/_warmset/metrics").text)
    return {
        "/".join(
            [one.name.removeprefix("warmset_"), *(one.labels[name] for name in sorted(one.labels))]
        ): one.value
        for family in families
        for one in family.samples
        if one.value and not one.name.endswith(("_created", "_bucket", "_sum"))
    }


def until(look, wanted):
    """Wait until what is looked at is what is wanted."""
    end = time.monotonic() + 20
    while (found := look()) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.01)


@pytest.fixture
def upstream(httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(REPLY)
    httpserver.expect_request("/v1/messages").respond_with_json(reply())
    return httpserver


def test_a_window_is_counted_and_shown(proxied, upstream):
    with proxied(upstream.url_for(""), mode="recency") as proxy:
        got = messages(proxy.url, LONG, **{"x-warmset-budget": "1500"})
        report = got.headers["x-warmset"]
        shown = state(proxy)
        found = counted(proxy)
    [row] = shown["windows"]
    assert report.startswith(f"mode=recency; tokens={row['tokens_sent']}; ")
    assert 0 < row["tokens_sent"] <= 1_500 < row["tokens_in"]
    assert row["cached"] == round(row["tokens_sent"] * 0.6)  # six of ten, the provider says
    assert row["measured"] is True
    assert (row["model"], row["mode"], row["turns"]) == (MODEL, "recency", 31)
    paid = (300 * 4 + 600 * 0.2 + 100 * 5) / 1e6
    whole = row["tokens_in"] * 4 / 1e6 * 1_000 / row["tokens_sent"]
    assert row["saved_usd"] == pytest.approx(whole - paid, rel=1e-9)
    [talk] = shown["conversations"]
    assert talk["conversation"] == row["conversation"]
    assert (talk["turns"], talk["tokens"], talk["windows"]) == (31, row["tokens_in"], 1)
    assert talk["at"] == row["at"] == pytest.approx(time.time(), abs=100)
    assert (shown["requests"], shown["failed"], shown["tokens_cached"]) == (1, 0, 600)
    assert found == {
        "requests_total/200/messages": 1,
        "tokens_total/in": row["tokens_in"],
        "tokens_total/sent": row["tokens_sent"],
        "tokens_total/saved": row["tokens_in"] - row["tokens_sent"],
        "tokens_total/cached": 600,
        "saved_usd_total": pytest.approx(row["saved_usd"]),
        "added_latency_seconds_count": 1,
    }


def test_a_loss_counts_apart(proxied, upstream):
    told = [*LONG, {"role": "assistant", "content": "Forty."}, *LIST]
    upstream.clear()
    upstream.expect_request("/v1/messages").respond_with_json(reply(900_000, 0, 0))
    with proxied(upstream.url_for(""), mode="recency") as proxy:
        for given in (LONG, told):
            messages(proxy.url, given, **{"x-warmset-budget": "6000"})
        rows = state(proxy)["windows"]
        found = counted(proxy)
    assert rows[0]["saved_usd"] < 0 < rows[1]["saved_usd"]
    assert found["extra_usd_total"] == pytest.approx(-rows[0]["saved_usd"])
    assert found["saved_usd_total"] == pytest.approx(rows[1]["saved_usd"])


def test_without_figures_of_the_provider_the_cache_is_what_is_expected(proxied, upstream):
    upstream.clear()
    upstream.expect_request("/v1/messages").respond_with_json(reply(usage=None))
    with proxied(upstream.url_for(""), mode="full") as proxy:
        messages(proxy.url, LONG)
        told = [*LONG, {"role": "assistant", "content": "Forty."}, *LIST]
        messages(proxy.url, told)
        second, first = state(proxy)["windows"]
    assert (first["cached"], first["measured"]) == (0, False)
    assert 0 < second["cached"] <= second["tokens_sent"]
    assert second["measured"] is False
    assert (first["saved_usd"], second["saved_usd"]) == (0.0, 0.0)  # the whole lists were sent


def test_each_sort_of_request_and_status(proxied, httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json({}, status=429)
    httpserver.expect_request("/v1/responses").respond_with_json({}, status=400)
    httpserver.expect_request("/v1/models").respond_with_json({})
    httpserver.expect_request("/v1/files").respond_with_json({}, status=404)
    path = "/v1beta/models/gemini-2.5-pro:generateContent"
    httpserver.expect_request(path).respond_with_json({})
    with proxied(httpserver.url_for("")) as proxy:
        chat(proxy.url)
        chat(proxy.url, **{"x-warmset-mode": "best"})
        httpx2.post(f"{proxy.url}/v1/responses", json={"input": LIST})
        httpx2.get(f"{proxy.url}/v1/models")
        httpx2.post(f"{proxy.url}/v1/files", content=b"x")
        contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
        httpx2.post(f"{proxy.url}{path}", json=contents)
        found = counted(proxy)
        shown = state(proxy)
    assert {name: n for name, n in found.items() if name.startswith("requests")} == {
        "requests_total/429/chat": 1,
        "requests_total/400/chat": 1,
        "requests_total/400/responses": 1,
        "requests_total/200/through": 1,
        "requests_total/404/through": 1,
        "requests_total/200/gemini": 1,
    }
    assert found["added_latency_seconds_count"] == 3  # of those with a list that were sent
    assert (shown["requests"], shown["failed"]) == (6, 4)
    # What the provider refused was not paid; it is neither shown nor counted as saved.
    assert [row["model"] for row in shown["windows"]] == ["gemini-2.5-pro"]
    assert found["tokens_total/in"] == shown["windows"][0]["tokens_in"]


def test_own_pages_are_no_requests(proxied, upstream):
    with proxied(upstream.url_for("")) as proxy:
        for path in ("", "state", "metrics", "health", "other"):
            httpx2.get(f"{proxy.url}/_warmset/{path}")
        assert state(proxy)["requests"] == 0
        assert counted(proxy) == {}


def test_what_is_asked_of_own_pages_never_goes_upstream(proxied, upstream):
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
    paths = ("metrics", "state", "health", "", "other/one")
    with proxied(upstream.url_for("")) as proxy:
        got = {
            (method, path): httpx2.request(method, f"{proxy.url}/_warmset/{path}").status_code
            for method in methods
            for path in paths
        }
    known = {each for each in got if each[0] in ("GET", "HEAD") and each[1] != "other/one"}
    assert got == {each: 200 if each in known else 404 for each in got}
    assert upstream.log == []


def test_a_path_without_its_slash_leads_to_the_page(proxied, upstream):
    with proxied(upstream.url_for("")) as proxy:
        got = httpx2.get(f"{proxy.url}/_warmset", follow_redirects=True)
        assert got.url.path == "/_warmset/"
    assert got.text.startswith("<!doctype html>")
    assert upstream.log == []


def test_the_page_allows_nothing_but_itself(proxied, upstream):
    with proxied(upstream.url_for("")) as proxy:
        got = httpx2.get(f"{proxy.url}/_warmset/")
        told = httpx2.get(f"{proxy.url}/_warmset/state")
    policy = dict(one.split(" ", 1) for one in got.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["form-action"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)
    assert "http" not in got.text.replace('<meta http-equiv="', "")
    assert all(word not in got.text for word in ("innerHTML", "outerHTML", "insertAdjacentHTML"))
    for one in (got, told):
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "no-referrer"


def test_a_bypass_is_counted_with_its_reason(proxied, upstream, monkeypatch):
    def fails(*_args, **_options):
        raise StoreError(TOLD)

    with proxied(upstream.url_for("")) as proxy:
        monkeypatch.setattr(Memory, "process", fails)
        chat(proxy.url)
        chat(proxy.url)
        found, shown = counted(proxy), state(proxy)
    assert found["bypasses_total/StoreError"] == 2
    assert found["requests_total/200/chat"] == 2
    assert shown["bypasses"] == {"StoreError": 2}
    assert (shown["windows"], shown["failed"]) == ([], 0)


def test_a_request_that_is_sent_again_counts_once(proxied, httpserver):
    said = {"error": {"message": "maximum context length", "code": "context_length_exceeded"}}
    asked = []

    def answer(request):
        asked.append(request.data)
        return Response(
            json.dumps(said if len(asked) == 1 else REPLY), 400 if not asked[1:] else 200
        )

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    with proxied(httpserver.url_for(""), mode="recency") as proxy:
        chat(proxy.url, messages=LONG, **{"x-warmset-budget": "3000"})
        found, [row] = counted(proxy), state(proxy)["windows"]
    assert len(asked) == 2
    assert found["requests_total/200/chat"] == found["added_latency_seconds_count"] == 1
    assert found["tokens_total/sent"] == row["tokens_sent"] <= 0.75 * 3_000


def test_open_streams_are_counted_until_they_end(proxied, httpserver):
    more = threading.Event()

    def pieces():
        yield b'data: {"id":"c","model":"m","choices":[]}\n\n'
        assert more.wait(20)
        yield b"data: [DONE]\n\n"

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda _request: Response(pieces(), content_type="text/event-stream")
    )
    with proxied(httpserver.url_for("")) as proxy:
        body = {"model": "m", "messages": LIST, "stream": True}
        with httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as got:
            arriving = got.iter_raw()
            next(arriving)
            assert counted(proxy)["open_streams"] == state(proxy)["streams"] == 1
            assert state(proxy)["requests"] == 0
            more.set()
            for _piece in arriving:
                pass
        until(lambda: state(proxy)["requests"], 1)
        assert "open_streams" not in counted(proxy)
        assert state(proxy)["streams"] == 0


def test_a_client_that_goes_is_counted_and_its_stream_closed(proxied, httpserver):
    more = threading.Event()

    def pieces():
        for _ in range(2_000):
            yield b": and so on\n\n"
            more.wait(0.01)

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda _request: Response(pieces(), content_type="text/event-stream")
    )
    with proxied(httpserver.url_for("")) as proxy:
        body = {"model": "m", "messages": LIST, "stream": True}
        with httpx2.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as got:
            next(got.iter_raw())
        until(lambda: (state(proxy)["streams"], state(proxy)["failed"]), (0, 1))
        assert counted(proxy)["requests_total/200/chat"] == 1
        more.set()


def test_a_client_that_goes_before_its_answer_is_counted(proxied, httpserver):
    came, more = threading.Event(), threading.Event()

    def waits(_request):
        came.set()
        more.wait(20)
        return Response("{}")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(waits)
    with proxied(httpserver.url_for("")) as proxy:
        body = json.dumps({"model": "m", "messages": LIST}).encode()
        asked = httpx2.Request("POST", f"{proxy.url}/v1/chat/completions", content=body)
        head = "".join(f"{name}: {value}\r\n" for name, value in asked.headers.items())
        with socket.create_connection((asked.url.host, asked.url.port), timeout=30) as client:
            client.sendall(f"POST {asked.url.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
            assert came.wait(30)
        until(lambda: counted(proxy).get("requests_total/499/chat"), 1)
        more.set()


def test_the_backlog_of_vectors_is_that_of_the_store(proxied, upstream, monkeypatch):
    with proxied(upstream.url_for("")) as proxy:
        monkeypatch.setattr(Memory, "stats", lambda _self: {"pending": 7})
        assert counted(proxy)["vectors_backlog"] == 7
        monkeypatch.setattr(Memory, "stats", lambda _self: 1 / 0)
        assert counted(proxy)["vectors_backlog"] == 7  # what was known


def thinking(text):
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


def test_thinking_is_counted_as_the_report_has_it(proxied, upstream):
    upstream.clear()
    refused = [{"type": "thinking_removed", "path": "messages.1.content.0", "reason": "r"}]
    upstream.expect_request("/v1/messages").respond_with_json(reply(input_transformations=refused))
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "forty"}
    told = [
        *LIST,
        {"role": "assistant", "content": [thinking("hm"), call]},
        {"role": "user", "content": [result]},
    ]
    with proxied(upstream.url_for(""), mode="full") as proxy:
        messages(proxy.url, told)
        found = counted(proxy)
    assert found["thinking_blocks_total/kept"] + found.get("thinking_blocks_total/dropped", 0) == 1
    assert found["thinking_blocks_total/refused"] == 1


# --- what fails ----------------------------------------------------------------------------------


BROKEN = [
    *[(Metrics, name) for name in ("answered", "sent", "used", "added", "stream_opened")],
    *[(Metrics, name) for name in ("bypassed", "stream_closed")],
    *[(Recent, name) for name in ("window", "request", "before", "streams")],
    (Watcher, "digest"),
    (watch._Watched, "_looked"),
    (watch, "Outcome"),
    (watch, "saved_usd"),
]


def test_what_fails_in_counting_costs_no_request(proxied, upstream, monkeypatch, caplog):
    def fails(*_args, **_options):
        raise RuntimeError(TOLD)

    stream = b'data: {"id":"c","model":"m","choices":[]}\n\ndata: [DONE]\n\n'
    upstream.expect_request("/v1/responses").respond_with_data(
        stream, content_type="text/event-stream"
    )
    with caplog.at_level(logging.DEBUG), proxied(upstream.url_for("")) as proxy:
        for at, (owner, name) in enumerate(BROKEN):
            caplog.clear()
            with monkeypatch.context() as broken:
                broken.setattr(owner, name, fails)
                got = chat(proxy.url, **{"x-warmset-conversation": f"c{at}"})
                streamed = httpx2.post(f"{proxy.url}/v1/responses", json={"input": LIST})
                strange = chat(proxy.url, messages=[{"role": "oracle", "content": 7}])
                until(lambda: bool(failures(caplog)), wanted=True)
            assert (got.status_code, got.json()) == (200, REPLY)
            assert got.headers["x-warmset"].startswith("mode=")
            assert streamed.content == stream
            assert strange.headers["x-warmset"].startswith("bypass; ")
            assert proxy.said(f"c{at}") == [*LIST, {"role": "assistant", "content": "Forty."}]
            assert TOLD not in caplog.text
            assert failures(caplog) == {("watch", "RuntimeError")}, name


def failures(caplog):
    records = list(caplog.records)
    failed = [one for one in records if getattr(one, "event", "") == "failed"]
    return {(one.what, one.error) for one in failed}


def test_nothing_of_a_request_is_held_but_its_trace():
    address = Address(method="POST", url=httpx2.URL("http://localhost/v1"), headers=())
    given = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "traceparent": "00-a-b-01"}
    seen = Watcher().request(None, "openai", address, given)
    assert KEY not in repr(vars(seen))
    assert "00-a-b-01" in repr(vars(seen))


def test_what_cannot_be_counted_is_counted_as_far_as_it_goes(proxied, upstream, monkeypatch):
    with proxied(upstream.url_for("")) as proxy:
        with monkeypatch.context() as broken:
            broken.setattr(Metrics, "answered", lambda *_args: 1 / 0)
            messages(proxy.url)
        assert state(proxy)["requests"] == 1
        assert len(state(proxy)["windows"]) == 1


# --- who may see it, and what is not in it -------------------------------------------------------


def test_the_guard_stands_before_the_pages_and_counts(proxied, upstream):
    token = {"x-warmset-token": "t" * 16}
    with proxied(upstream.url_for(""), guard=GuardOptions(token="t" * 16)) as proxy:
        for path in ("", "state", "metrics"):
            page = f"{proxy.url}/_warmset/{path}"
            assert httpx2.get(page).status_code == 401
            other = {"sec-fetch-site": "cross-site", **token}
            assert httpx2.get(page, headers=other).status_code == 403
        assert httpx2.get(f"{proxy.url}/_warmset/", headers=token).status_code == 200
        got = httpx2.get(f"{proxy.url}/_warmset/metrics", headers=token).text
    assert 'warmset_refusals_total{reason="warmset_token"} 3.0' in got
    assert 'warmset_refusals_total{reason="warmset_origin"} 3.0' in got


def everything(proxy):
    pages = ("", "state", "metrics", "health")
    return "".join(httpx2.get(f"{proxy.url}/_warmset/{path}").text for path in pages)


def test_neither_keys_nor_names_nor_texts_are_shown(proxied, upstream, tmp_path, caplog):
    who = Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())
    strange = f"{TOLD} <script>alert(1)</script>"
    said = [{"role": "user", "content": TOLD}]
    keys = [{"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}, {"x-goog-api-key": KEY}]
    with caplog.at_level(logging.DEBUG), proxied(upstream.url_for(""), who=who) as proxy:
        for headers in keys:
            messages(proxy.url, said, **headers, **{"x-warmset-conversation": NAME})
            messages(proxy.url, said, model=strange, **headers)
            chat(proxy.url, messages=[{"role": TOLD, "content": KEY}], **headers)
            httpx2.get(f"{proxy.url}/v1/{TOLD}?key={KEY}", headers=headers)
        seen, shown = everything(proxy), state(proxy)
    logged = [one for one in caplog.records if one.name.startswith("warmset")]
    written = "".join(f"{one.getMessage()} {vars(one)}" for one in logged)
    assert shown["requests"] == 12
    assert len(shown["windows"]) == 6
    assert len(shown["conversations"]) == 6  # of three callers, by name and recognised
    assert sum(shown["bypasses"].values()) == 3
    for canary in (KEY, NAME, TOLD, "Vienna", "alert(1)", "Forty"):
        assert canary not in seen
    assert not re.search("(key|auto)-[0-9a-f]{8}", seen)
    for canary in (KEY, TOLD, "Vienna", "alert(1)", "Forty"):
        assert canary not in written


def test_names_are_shown_to_who_asks_for_it(proxied, upstream):
    with proxied(upstream.url_for(""), names=True) as proxy:
        messages(proxy.url, **{"x-warmset-conversation": NAME})
        [talk] = state(proxy)["conversations"]
        assert talk["name"] == NAME
        assert NAME not in json.dumps(state(proxy)["windows"])


def test_a_digest_is_keyed_and_tells_tenants_apart():
    one, again, other = Watcher(secret=b"a" * 32), Watcher(secret=b"a" * 32), Watcher()
    talk = Talk("t", "c")
    assert one.digest(talk) == again.digest(talk) != other.digest(talk)
    distinct = {
        one.digest(Talk(*pair)) for pair in [("t", "c"), ("u", "c"), ("t", "d"), ("tc", "")]
    }
    assert len(distinct) == 4
    assert one.digest(Talk("t", "\ud800"))
    assert len(one.digest(talk)) == 12


@pytest.mark.parametrize("model", ["gpt-6-sol", "a/b:c@d", "claude-opus-4-5[1m]", "x" * 128])
def test_names_of_models(model):
    assert model_of(model) == model


@pytest.mark.parametrize("model", [None, 7, "", "a b", "<b>", "é", "x" * 129, "a\n", ["a"]])
def test_what_is_no_name_of_a_model_is_not_shown(model):
    assert model_of(model) is None
