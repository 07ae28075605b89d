"""Where requests go, and which headers go with them."""

from __future__ import annotations

import pytest

from warmset.errors import InvalidInputError
from warmset.serve.proxy.upstream import BASES, Upstreams, forwarded, returned, with_beta


def test_without_a_word_requests_go_to_the_providers():
    assert Upstreams.of([]).bases == BASES
    assert str(Upstreams.of([]).url("openai", "/v1/models", "a=1&b=%20")) == (
        "https://api.openai.com/v1/models?a=1&b=%20"
    )


def test_upstreams_are_named_or_for_all():
    found = Upstreams.of(["anthropic=http://127.0.0.1:1/", "http://127.0.0.1:2"]).bases
    assert found == {
        "anthropic": "http://127.0.0.1:1",
        "openai": "http://127.0.0.1:2",
        "gemini": "http://127.0.0.1:2",
    }
    only = Upstreams.of(["OpenAI = http://h/"]).bases
    assert only == {**BASES, "openai": "http://h"}


@pytest.mark.parametrize(
    "given", [["mistral=http://h"], ["openai=http://a", "openai=http://b"], ["a=b"]]
)
def test_other_upstreams_are_refused(given):
    with pytest.raises(InvalidInputError, match="upstream"):
        Upstreams.of(given)


def test_a_version_stands_once():
    upstreams = Upstreams({**BASES, "openai": "http://h/x/v1"})
    assert str(upstreams.url("openai", "/v1/models", "")) == "http://h/x/v1/models"
    assert str(upstreams.url("openai", "/other", "")) == "http://h/x/v1/other"


def test_headers_of_one_connection_end_here():
    given = [
        (b"Host", b"127.0.0.1:8787"),
        (b"Authorization", b"Bearer k"),
        (b"Connection", b"keep-alive, X-Mine"),
        (b"X-Mine", b"1"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Content-Length", b"9"),
        (b"Accept-Encoding", b"gzip"),
        (b"x-warmset-budget", b"9"),
        (b"X-Stainless-Lang", b"python"),
        (b"cookie", b"a"),
        (b"cookie", b"b"),
    ]
    assert forwarded(given) == [
        (b"authorization", b"Bearer k"),
        (b"x-stainless-lang", b"python"),
        (b"cookie", b"a"),
        (b"cookie", b"b"),
        (b"accept-encoding", b"identity"),
    ]
    assert returned(
        [(b"Content-Length", b"9"), (b"Keep-Alive", b"1"), (b"X-Warmset", b"no"), (b"Date", b"d")]
    ) == [(b"content-length", b"9"), (b"date", b"d")]


def test_a_beta_joins_those_of_the_request():
    assert with_beta(((b"a", b"b"),), None) == [(b"a", b"b")]
    assert with_beta(((b"a", b"b"),), "x") == [(b"a", b"b"), (b"anthropic-beta", b"x")]
    two = ((b"anthropic-beta", b"y,x"), (b"a", b"b"))
    assert with_beta(two, "x,z") == [(b"a", b"b"), (b"anthropic-beta", b"y,x, z")]
    assert with_beta(two, "x") == [(b"a", b"b"), (b"anthropic-beta", b"y,x")]
