"""Whatever fails on this side, the request goes upstream as it came, and says so."""

from __future__ import annotations

import json
import logging
import os
import threading
import time

import httpx2
import pytest
from proxy_requests import LIST, REPLY, chat

from warmset import Conversation, Memory
from warmset.errors import NotAStore, StoreError
from warmset.serve.proxy.memories import Memories

CANARY = "the canary sings of Vienna"


@pytest.fixture
def upstream(httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(REPLY)
    return httpserver


def sent(upstream):
    """Return the lists that the upstream got."""
    return [json.loads(request.data)["messages"] for request, _response in upstream.log]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError(CANARY), "error"),
        (MemoryError(CANARY), "error"),
        (OSError(28, "No space left on device"), "error"),
        (NotAStore(CANARY), "NotAStore"),
        (StoreError(CANARY), "StoreError"),
    ],
)
def test_a_store_that_fails_costs_no_request(proxied, upstream, monkeypatch, caplog, error, reason):
    def fails(*_args, **_options):
        raise error

    monkeypatch.setattr(Memory, "process", fails)
    with caplog.at_level(logging.DEBUG), proxied(upstream.url_for("")) as proxy:
        got = chat(proxy.url)
    assert (got.status_code, got.json()) == (200, REPLY)
    assert got.headers["x-warmset"] == f"bypass; reason={reason}"
    assert sent(upstream) == [LIST]
    assert CANARY not in caplog.text
    [bypassed] = [one for one in caplog.records if getattr(one, "event", "") == "bypassed"]
    assert bypassed.reason == reason


def test_a_store_that_cannot_be_opened_costs_no_request(proxied, upstream, monkeypatch):
    with proxied(upstream.url_for("")) as proxy:
        monkeypatch.setattr(Memory, "open", lambda *_a, **_o: (_ for _ in ()).throw(StoreError("")))
        got = chat(proxy.url, **{"x-tenant": "another"})
    assert got.headers["x-warmset"] == "bypass; reason=StoreError"
    assert got.json() == REPLY


def test_a_list_that_nobody_understands_goes_as_it_came(proxied, upstream):
    strange = [{"role": "oracle", "content": 7}]
    with proxied(upstream.url_for("")) as proxy:
        got = chat(proxy.url, messages=strange)
    assert got.headers["x-warmset"].startswith("bypass; reason=")
    assert sent(upstream) == [strange]


def test_a_request_larger_than_its_budget_goes_as_it_came(proxied, upstream):
    large = [{"role": "user", "content": "forty boxes " * 500}]
    with proxied(upstream.url_for(""), budget=100) as proxy:
        got = chat(proxy.url, messages=large)
        assert got.headers["x-warmset"] == "bypass; reason=budget_too_small"
        assert sent(upstream) == [large]
        # What was really sent is what the reply was made behind, so it is kept.
        assert proxy.said() == [*large, {"role": "assistant", "content": "Forty."}]


def test_a_window_that_takes_too_long_costs_no_request(proxied, upstream, monkeypatch):
    process, ends = Memory.process, threading.Event()

    def slow(self, *args, **options):
        ends.wait(20)
        return process(self, *args, **options)

    with proxied(upstream.url_for(""), patience=0.2) as proxy:
        monkeypatch.setattr(Memory, "process", slow)
        started = time.monotonic()
        got = chat(proxy.url)
        assert got.headers["x-warmset"] == "bypass; reason=too_slow"
        assert got.json() == REPLY
        assert time.monotonic() - started < 15
        ends.set()


def test_a_reply_that_cannot_be_stored_comes_with_the_next_request(proxied, upstream, monkeypatch):
    append = Conversation.append

    def fails(*_args, **_options):
        raise StoreError(CANARY)

    with proxied(upstream.url_for("")) as proxy:
        monkeypatch.setattr(Conversation, "append", fails)
        assert chat(proxy.url).json() == REPLY
        monkeypatch.setattr(Conversation, "append", append)
        assert proxy.said() == LIST
        told = [*LIST, {"role": "assistant", "content": "Forty."}, {"role": "user", "content": "?"}]
        chat(proxy.url, messages=told)
        assert proxy.said() == [*told, {"role": "assistant", "content": "Forty."}]


@pytest.mark.parametrize(
    ("name", "value"), [("x-warmset-budget", "many"), ("x-warmset-mode", "best")]
)
def test_a_header_that_is_for_the_proxy_and_wrong_is_told(proxied, upstream, name, value):
    with proxied(upstream.url_for("")) as proxy:
        got = chat(proxy.url, **{name: value})
        assert got.status_code == 400
        assert got.json()["error"]["type"] == "warmset_header"
        assert proxy.said() == []
    assert upstream.log == []


def test_headers_choose_the_mode_and_the_budget(proxied, upstream):
    long = [
        {"role": ("user", "assistant")[at % 2], "content": f"Shelf {at}: {at * 7} boxes. " * 30}
        for at in range(31)
    ]
    with proxied(upstream.url_for("")) as proxy:
        whole = chat(proxy.url, messages=long, **{"x-warmset-mode": "full"})
        short = chat(
            proxy.url, messages=long, **{"x-warmset-mode": "recency", "x-warmset-budget": "1500"}
        )
    assert whole.headers["x-warmset"].startswith("mode=full; ")
    assert short.headers["x-warmset"].startswith("mode=recency; ")
    first, second = sent(upstream)
    assert first == long
    assert second[-1] == long[-1]
    assert len(second) < len(long)


def test_health_says_whether_the_store_can_be_read(proxied, upstream, monkeypatch):
    with proxied(upstream.url_for("")) as proxy:
        well = httpx2.get(f"{proxy.url}/_warmset/health").json()
        assert well == {"status": "ok", "messages": 0, "process": os.getpid()}
        assert httpx2.get(f"{proxy.url}/_warmset/other").status_code == 404
        monkeypatch.setattr(Memory, "stats", lambda _self: 1 / 0)
        told = httpx2.get(f"{proxy.url}/_warmset/health")
        assert told.status_code == 503
        assert told.json() == {"status": "bypass", "why": "ZeroDivisionError"}
    assert upstream.log == []


def test_handles_of_tenants_are_given_up_when_nobody_uses_them(tmp_path):
    memories = Memories(tmp_path / "s", {"embedder": "lexical"}, most=2)
    try:
        with memories.of("a") as first, memories.of("b") as second, memories.of("c"):
            first.conversation("x").append([{"role": "user", "content": "hi"}])
            second.conversation("x").append([{"role": "user", "content": "hi"}])
        with memories.of("d"), memories.of("e"):
            pass
        with memories.of("a") as again:
            assert again is not first
            assert len(again.conversation("x")) == 1
        with memories.of("a") as kept, memories.of("a") as same:
            assert kept is same is again
    finally:
        memories.close()
    with pytest.raises(StoreError):
        again.conversation("x").append([{"role": "user", "content": "hi"}])
