"""The embedder over HTTP, with the real SDK against a real local server."""

from __future__ import annotations

import base64
import json
import sys

import numpy as np
import openai
import pytest
from werkzeug import Response

from warmset.embed import Embedder, OpenAIEmbedder
from warmset.embed.openai import MAX_BATCH, MAX_CHARACTERS, MAX_TEXT
from warmset.errors import EmbedderError, InvalidInputError, MissingExtraError


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(ord(text[0]))]


class Server:
    """Answers as the service does: base64 if asked for, and in whatever order."""

    def __init__(self, httpserver):
        self.requests: list[dict] = []
        self.failures: list[Response] = []
        self.base64 = True
        self.change = lambda data: data
        self.url = httpserver.url_for("/v1")
        httpserver.expect_request("/v1/embeddings", method="POST").respond_with_handler(self.answer)

    def answer(self, request) -> Response:
        body = json.loads(request.data)
        self.requests.append(body)
        if self.failures:
            return self.failures.pop(0)
        data = []
        for index, text in enumerate(body["input"]):
            vector: object = vector_of(text)
            if self.base64 and body.get("encoding_format") == "base64":
                vector = base64.b64encode(np.array(vector, "<f4").tobytes()).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        answer = {"object": "list", "model": body["model"], "data": self.change(data[::-1])}
        return Response(json.dumps(answer), content_type="application/json")


@pytest.fixture
def server(httpserver, no_proxy) -> Server:  # noqa: ARG001
    return Server(httpserver)


@pytest.fixture
def embedder(server):
    with openai.OpenAI(base_url=server.url, api_key="k") as client:
        yield OpenAIEmbedder("m", client=client)


def unit(texts: list[str]) -> np.ndarray:
    rows = np.array([vector_of(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("encoded", [True, False])
def test_vectors_come_in_the_order_of_the_texts(server, embedder, encoded):
    server.base64 = encoded
    texts = ["one", "three", "a"]
    assert embedder.dim is None
    np.testing.assert_allclose(embedder.embed(texts), unit(texts), rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_query(texts), unit(texts), rtol=1e-6)
    assert embedder.dim == 3
    assert server.requests[0]["encoding_format"] == "base64"
    assert server.requests[0]["model"] == "m"
    assert "dimensions" not in server.requests[0]


def test_many_texts_are_sent_in_parts(server, embedder):
    texts = [f"t{n}" for n in range(2 * MAX_BATCH + 1)] + ["y" * MAX_TEXT] * 20
    np.testing.assert_allclose(embedder.embed(texts), unit(texts), rtol=1e-6)
    inputs = [request["input"] for request in server.requests]
    assert [text for part in inputs for text in part] == texts
    assert max(map(len, inputs)) == MAX_BATCH
    assert max(sum(map(len, part)) for part in inputs) <= MAX_CHARACTERS


def test_odd_texts_are_sent_so_that_they_are_taken(server, embedder):
    embedder.embed(["", " \n", "a\ud800", "\0", "x" * 1_000_000])
    (sent,) = [request["input"] for request in server.requests]
    assert sent == [".", ".", "a\ufffd", "\0", "x" * 8_000]


def test_nothing_is_not_sent(server, embedder):
    assert embedder.embed([]).shape == (0, 0)
    assert server.requests == []


def test_the_sdk_retries(server, embedder):
    server.failures = [Response("{}", 429, {"retry-after-ms": "1"})]
    assert embedder.embed(["a"]).shape == (1, 3)
    assert len(server.requests) == 2


def test_a_failure_is_an_embedder_error_with_its_cause(server, embedder):
    server.failures = [Response('{"error": {"message": "bad key"}}', 401)]
    with pytest.raises(EmbedderError, match="bad key") as caught:
        embedder.embed(["a"])
    assert isinstance(caught.value.__cause__, openai.AuthenticationError)


def test_a_server_that_is_away_is_an_embedder_error():
    with openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0) as client:
        made = OpenAIEmbedder("m", client=client, timeout=2)
        with pytest.raises(EmbedderError, match="APIConnectionError"):
            made.embed(["a"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data[1:], "1 vectors for 2 texts"),
        (lambda data: data + data[:1], "3 vectors for 2 texts"),
        (lambda data: [{**row, "index": 0} for row in data], "2 vectors for 2 texts"),
        (lambda _: [], "no embeddings"),
        (lambda _: None, "no embeddings"),
        (lambda data: [{**row, "embedding": [0.0, 0.0]} for row in data], "all zeros"),
        (lambda data: [{**data[0], "embedding": [1.0]}, data[1]], "not an array"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(server, embedder, change, says):
    server.base64 = False
    server.change = change
    with pytest.raises(EmbedderError, match=says):
        embedder.embed(["a", "b"])


def test_other_dimensions_than_before_are_refused(server, embedder):
    embedder.embed(["a"])
    server.change = lambda data: [{**row, "embedding": [1.0, 2.0]} for row in data]
    with pytest.raises(EmbedderError, match=r"\(1, 2\), not \(1, 3\)"):
        embedder.embed(["a"])


def test_dimensions_are_asked_for(server):
    with openai.OpenAI(base_url=server.url, api_key="k") as client:
        made = OpenAIEmbedder("m", dimensions=3, client=client)
        assert made.dim == 3
        made.embed(["a"])
    assert server.requests[0]["dimensions"] == 3


def test_the_identity_is_known_of_the_official_service_only(server, embedder, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    official = OpenAIEmbedder(api_key="k")
    assert isinstance(official, Embedder)
    assert official.name == "api.openai.com/text-embedding-3-small"
    assert official.fingerprint == "openai/text-embedding-3-small/1536"
    assert OpenAIEmbedder(api_key="k", dimensions=256).fingerprint.endswith("-small/256")
    assert (official.dim, official.remote) == (1536, True)
    assert embedder.fingerprint is None
    assert "k" not in repr(OpenAIEmbedder("m", base_url=server.url, api_key="k")).split("m")[0]


def test_the_identity_does_not_change_with_the_first_batch(server, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made = OpenAIEmbedder("text-embedding-newer", api_key="k")
    before = made.fingerprint
    with openai.OpenAI(base_url=server.url, api_key="k") as client:
        made._client = client
        assert made.embed(["a"]).shape == (1, 3)
    assert (made.fingerprint, made.dim) == (before, 3)


def test_a_configuration_without_a_key_is_refused_early(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
        OpenAIEmbedder()


def test_contradicting_options_are_refused(embedder):
    with pytest.raises(InvalidInputError):
        OpenAIEmbedder(client=embedder._client, base_url="http://x")
    with pytest.raises(InvalidInputError):
        OpenAIEmbedder(api_key="k", dimensions=0)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r'openai .*"warmset\[openai\]"'):
        OpenAIEmbedder(api_key="k")


def test_it_splits_by_words(embedder):
    assert embedder.split("short") == ["short"]
    assert len(embedder.split("word " * 1000)) > 2
