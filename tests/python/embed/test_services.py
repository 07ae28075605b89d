"""Cohere's and Voyage AI's embedders, with the real client against a real local server.

What the server takes and gives was compared with what the services' own packages (cohere 7.3,
voyageai 0.5) send and read.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from werkzeug import Response

from warmset import Memory
from warmset.embed import CohereEmbedder, Embedder, VoyageEmbedder, named
from warmset.embed.http import explained, parts
from warmset.errors import EmbedderError, InvalidInputError, MissingExtraError, WarmsetError

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = {"search_query": "query", "search_document": "document"}
MADE = {"cohere": CohereEmbedder, "voyage": VoyageEmbedder}
BATCHES = {"cohere": 96, "voyage": 128}


def vector_of(text: str, kind: str) -> list[float]:
    return [float(len(text)), 1.0 if kind == "query" else 2.0, float(ord(text[0]))]


class Server:
    """Answers as either service does, and refuses what that service would."""

    def __init__(self, httpserver, service: str):
        self.service = service
        self.failures: list[Response | Callable[[], Response]] = []
        self.requests: list[dict] = []
        self.headers: list = []
        self.change = lambda rows: rows
        root = "" if service == "cohere" else "/v1"
        self.url = httpserver.url_for(root)
        path = "/v2/embed" if service == "cohere" else "/v1/embeddings"
        httpserver.expect_request(path, method="POST").respond_with_handler(self.answer)

    def answer(self, request) -> Response:
        body = json.loads(request.data)
        texts = body["texts" if self.service == "cohere" else "input"]
        kind = KINDS.get(body["input_type"], body["input_type"])
        self.requests.append({**body, "kind": kind, "sent": texts})
        self.headers.append(request.headers)
        if self.failures:
            failure = self.failures.pop(0)
            return failure if isinstance(failure, Response) else failure()
        if len(texts) > BATCHES[self.service] or not all(text.strip() for text in texts):
            return Response('{"message": "invalid request"}', 400, content_type="application/json")
        rows = self.change([vector_of(text, kind) for text in texts])
        if self.service == "cohere":
            assert body["embedding_types"] == ["float"]
            answer: dict = {"id": "1", "embeddings": {"float": rows}, "texts": texts}
        else:
            data = [{"embedding": row, "index": n} for n, row in enumerate(rows or [])][::-1]
            answer = {"object": "list", "data": rows and data, "model": body["model"]}
        return Response(json.dumps(answer), content_type="application/json")


@pytest.fixture(params=["cohere", "voyage"])
def server(httpserver, monkeypatch, no_proxy, request) -> Server:  # noqa: ARG001
    for name in ("CO_API_KEY", "COHERE_API_KEY", "VOYAGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Server(httpserver, request.param)


@pytest.fixture
def make(server):
    """Makes embedders of the server's service, and closes them."""
    made: list = []

    def one(model: str = "m", **options) -> CohereEmbedder | VoyageEmbedder:
        given = {"base_url": server.url, "api_key": "k", **options}
        made.append(MADE[server.service](model, **given))
        return made[-1]

    yield one
    for embedder in made:
        embedder._client.close()


def unit(texts: list[str], kind: str = "document") -> np.ndarray:
    rows = np.array([vector_of(text, kind) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def soon(status: int, body: str = "{}") -> Response:
    return Response(body, status, {"retry-after-ms": "1"}, content_type="application/json")


def test_turns_are_documents_and_queries_are_queries(server, make):
    embedder, texts = make(), ["one", "three", "a"]
    assert isinstance(embedder, Embedder)
    assert (embedder.dim, embedder.remote) == (None, True)
    np.testing.assert_allclose(embedder.embed(texts), unit(texts), rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_query(texts), unit(texts, "query"), rtol=1e-6)
    assert embedder.dim == 3
    assert [request["kind"] for request in server.requests] == ["document", "query"]
    assert {request["model"] for request in server.requests} == {"m"}
    assert "output_dimension" not in server.requests[0]
    assert server.headers[0]["Authorization"] == "Bearer k"


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("times", [1, 2])
def test_many_texts_are_sent_in_batches(server, make, over, times):
    most = BATCHES[server.service]
    texts = [f"t{n}" for n in range(times * most + over)]
    np.testing.assert_allclose(make().embed(texts), unit(texts), rtol=1e-6)
    sizes = [len(request["sent"]) for request in server.requests]
    assert [text for request in server.requests for text in request["sent"]] == texts
    assert sizes == [most] * (len(texts) // most) + (
        [len(texts) % most] if len(texts) % most else []
    )


def test_long_texts_are_sent_in_smaller_batches(server, make):
    texts = ["é" * 10_000] * 100
    make().embed(texts)
    for request in server.requests:
        assert sum(len(text.encode()) for text in request["sent"]) <= MADE[server.service].BYTES
    assert sum(len(request["sent"]) for request in server.requests) == 100
    assert list(parts(["x" * 9, "y"], len, most=5, size=4)) == [["x" * 9], ["y"]]


def test_odd_texts_are_sent_so_that_they_are_taken(server, make):
    made = make()
    assert made.embed([]).shape == (0, 0)
    assert server.requests == []
    made.embed(["", " \n", "a\ud800", "\0", "x" * 1_000_000])
    (sent,) = [request["sent"] for request in server.requests]
    assert sent == [".", ".", "a\ufffd", "\0", "x" * 8_000]
    with pytest.raises(InvalidInputError):
        made.embed("one text")
    assert made.split("short") == ["short"]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_it_tries_again(server, make, status):
    server.failures = [soon(status), soon(status)]
    assert make().embed(["a"]).shape == (1, 3)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "check the key in (CO|VOYAGE)_API_KEY"),
        (404, "check the model's name"),
        (422, "refused the request"),
        (429, "wait, or ask it for more"),
        (500, "try again later"),
    ],
)
def test_what_fails_for_good_says_what_to_do(server, make, status, advice):
    server.failures = [soon(status, '{"message": "because"}') for _ in range(9)]
    with pytest.raises(EmbedderError, match=rf"/m: .*{advice}.*because"):
        make(retries=1).embed(["a"])
    assert len(server.requests) == (2 if status in {429, 500} else 1)


def test_a_batch_that_fails_fails_all(server, make):
    server.change = lambda rows: (server.failures.append(soon(400)), rows)[1]
    with pytest.raises(EmbedderError, match="refused"):
        make().embed(["t"] * (BATCHES[server.service] + 1))
    assert len(server.requests) == 2


def test_a_service_that_does_not_answer_in_time(server, make):
    gate = threading.Event()
    server.failures = [lambda: (gate.wait(20), soon(500))[1]]
    try:
        with pytest.raises(EmbedderError, match="longer timeout="):
            make(timeout=0.2, retries=0).embed(["a"])
    finally:
        gate.set()


def test_a_service_that_is_away(make):
    made = make(base_url="http://127.0.0.1:9", retries=0)
    with pytest.raises(EmbedderError, match="check base_url and the network"):
        made.embed(["a"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[1:], "1 vectors for 2 texts"),
        (lambda rows: rows * 2, "4 vectors for 2 texts"),
        (lambda _: [], "0 vectors for 2 texts"),
        (lambda _: None, "gave no embeddings"),
        (lambda rows: [[float("nan")] * 3, rows[1]], "text 0 holds a NaN"),
        (lambda rows: [rows[0], [0.0] * 3], "text 1 is all zeros"),
        (lambda rows: [[1.0], rows[1]], "not an array"),
        (lambda rows: [["a", "b", "c"], rows[1]], "real numbers"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(server, make, change, says):
    server.change = change
    with pytest.raises(EmbedderError, match=says):
        make().embed(["a", "b"])


@pytest.mark.parametrize("body", ["", "[]", "<html>", '{"data": 3}', '{"embeddings": []}', "{"])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_what_is_no_answer_is_refused(server, make, body, kind):
    server.failures = [Response(body, 200, content_type=kind)]
    with pytest.raises(EmbedderError, match="is base_url right"):
        make().embed(["a"])


def test_other_dimensions_than_asked_for_or_than_before_are_refused(server, make):
    made = make(dimensions=3)
    assert made.dim == 3
    made.embed(["a"])
    assert server.requests[0]["output_dimension"] == 3
    first = make()
    first.embed(["a"])
    server.change = lambda rows: [[1.0, 2.0] for _ in rows]
    for embedder in (made, first):
        with pytest.raises(EmbedderError, match=r"\(1, 2\), not \(1, 3\)"):
            embedder.embed(["a"])


def test_the_identity_is_known_of_the_services_themselves_only(server, make):
    known = {"cohere": ("embed-v4.0", 1536), "voyage": ("voyage-3.5", 1024)}
    model, dim = known[server.service]
    official = make(model, base_url=None)
    assert (official.fingerprint, official.dim) == (f"{server.service}/{model}/{dim}", dim)
    assert make(model, base_url=None, dimensions=256).fingerprint.endswith("/256")
    new = make("newer", base_url=None)
    assert (new.fingerprint, new.dim) == (f"{server.service}/newer/full", None)
    for other in (server.url, f"https://{server.service}.example.org/v1"):
        assert make(model, base_url=other).fingerprint is None
    assert make().fingerprint is None
    assert "'k'" not in repr(official)


def test_the_key_comes_from_the_environment_or_is_asked_for(server, make, monkeypatch):
    kind = MADE[server.service]
    with pytest.raises(EmbedderError, match=f"set {kind.KEYS[0]}, or give api_key="):
        kind()
    for name in kind.KEYS:
        monkeypatch.setenv(name, f"from {name}")
        assert make(api_key=None)._client.api_key == f"from {kind.KEYS[0]}"


def test_nothing_that_is_meant_for_openai_is_sent(server, make, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: theirs\nX-Other: theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    make().embed(["a"])
    assert "theirs" not in str(server.headers[0])


@pytest.mark.parametrize(
    "options", [{"dimensions": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"retries": -1}]
)
def test_options_out_of_range_are_refused(make, options):
    with pytest.raises(InvalidInputError):
        make(**options)


def test_a_missing_package_names_the_extra(server, make, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=rf'openai .*"warmset\[{server.service}\]"'):
        make()


def test_an_unknown_failure_is_explained_too():
    assert "network" in explained(OSError("x"), "K")


def test_a_store_keeps_kinds_apart_and_knows_its_embedder_again(server, make, tmp_path):
    for _ in range(2):
        with Memory.open(tmp_path, embedder=make()) as memory:
            log = memory.conversation("log")
            if not len(log):
                log.append([{"role": "user", "content": "x" * n} for n in (1, 50)])
            assert memory.search("y" * 50, wait=20).by == "fused"
            assert memory.flush(20)
    sent = {(request["kind"], text[:1]) for request in server.requests for text in request["sent"]}
    assert ("query", "x") not in sent
    assert ("document", "y") not in sent
    assert ("query", "w") not in sent, "the probe is a document"


@pytest.mark.parametrize("name", ["cohere", "voyage:voyage-code-3", "openai"])
def test_services_have_names(name, monkeypatch):
    for key in ("CO_API_KEY", "VOYAGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(key, "k")
    made = named(name)
    assert made.fingerprint.startswith(name.replace(":", "/"))
    made._client.close()


@pytest.mark.parametrize("name", ["", "cohere:", "minilm:x", "static:", "lexicon", ":", "Cohere"])
def test_other_names_are_refused(name):
    with pytest.raises(InvalidInputError, match="embedder: expected one of minilm, static, openai"):
        named(name)
    with pytest.raises(WarmsetError, match="embedder: expected"):
        Memory.open(None, embedder=name)
