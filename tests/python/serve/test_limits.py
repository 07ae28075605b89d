"""The limits of a line, a batch and a call: each is tried at its value, and one beyond it."""

from __future__ import annotations

import json

import pytest
from bag import Bag

from warmset.serve import Server, methods, serve, tools_of
from warmset.serve.rpc.reading import read
from warmset.serve.tools import compacting as serve_tools

REQUEST, PARAMS = -32600, -32602
LARGEST = 2**53 - 1


def answer(value, **options):
    """Give the one answer to a line; None if there is none."""
    source = iter([json.dumps(value).encode()])
    out = []
    server = Server(methods(tools_of(), version="1"), **options)
    serve(server, lambda _: next(source, b""), out.append)
    return json.loads(out[0]) if out else None


def request(method, **more):
    return {"jsonrpc": "2.0", "id": 1, "method": method, **more}


def called(**arguments):
    told = answer(request("tools/call", params={"name": "compact_context", "arguments": arguments}))
    return told.get("result", {}).get("structuredContent"), told.get("error", {}).get("code")


def talk(count):
    return [{"role": ("user", "assistant")[at % 2], "content": f"{at}"} for at in range(count)]


@pytest.mark.parametrize("most", [1, 3])
def test_a_batch_of_the_most_requests_is_answered_and_one_more_is_not(most):
    assert len(answer([request("ping")] * most, most=most)) == most
    told = answer([request("ping")] * (most + 1), most=most)
    assert told["error"]["code"] == REQUEST


@pytest.mark.parametrize("params", [[], {}])
def test_no_parameters_may_be_sent_as_an_empty_list_or_object(params):
    assert answer(request("ping", params=params))["result"] == {}


@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: {"a": inner}])
@pytest.mark.parametrize("deepest", [1, 2, 7])
def test_a_line_may_have_as_many_levels_as_are_allowed(deepest, make):
    value = make(0)
    for _ in range(deepest - 1):
        value = make(value)
    assert read(json.dumps(value).encode(), deepest=deepest).flaw is None
    assert read(json.dumps(make(value)).encode(), deepest=deepest).flaw is not None
    assert read(json.dumps([0, make(value)]).encode(), deepest=deepest).flaw is not None


def test_a_byte_order_mark_is_passed_over():
    assert read(b'\xef\xbb\xbf{"a": 1}').value == {"a": 1}


def test_of_several_flaws_the_first_is_named():
    assert "1e999" in read(b'[1e999, {"a": 1, "a": 2}, 1e998]').flaw
    assert "1e999" not in read(b'[{"a": 1, "a": 2}, 1e999]').flaw


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_exact_integer_is_an_argument_and_the_next_one_is_not(sign):
    made, code = called(messages=talk(3), budget=sign * LARGEST)
    assert (made is not None) == (sign == 1)
    assert code == (None if sign == 1 else PARAMS)
    told = answer(
        request(
            "tools/call",
            params={"name": "compact_context", "arguments": {"messages": [], "budget": sign << 53}},
        )
    )
    assert told["error"]["code"] == PARAMS
    assert str(LARGEST) in told["error"]["data"]["why"]


def test_as_many_messages_as_are_allowed_are_compacted(monkeypatch):
    monkeypatch.setattr(serve_tools, "MOST_MESSAGES", 4)
    assert called(messages=talk(4))[0] is not None
    assert called(messages=talk(5)) == (None, PARAMS)


def test_null_is_an_argument_that_is_not_given():
    plain, _ = called(messages=talk(9))
    nulls = dict.fromkeys(
        ("query", "target_ratio", "budget", "distill_novel", "dialect", "not an argument")
    )
    made, code = called(messages=talk(9), **nulls)
    assert (made["messages"], code) == (plain["messages"], None)
    assert called(messages=None)[1] == PARAMS


def test_a_client_with_an_unknown_version_is_offered_the_newest():
    known = ["2025-06-18", "2025-03-26", "2024-11-05"]
    for version in known:
        told = answer(request("initialize", params={"protocolVersion": version}))
        assert told["result"]["protocolVersion"] == version
    for version in ("2099-01-01", None, 7):
        told = answer(request("initialize", params={"protocolVersion": version}))
        assert told["result"]["protocolVersion"] == max(known)


def test_a_list_is_compacted_with_the_embedder_of_the_server():
    bag = Bag(fingerprint="the server's")  # of which the process knows no vectors yet
    [tool] = tools_of(embedder=bag)
    said = [{"role": "user", "content": f"message {n} of the harbour " * 9} for n in range(20)]
    made = tool.call({"messages": said, "query": "the harbour"})
    assert made["stats"]["embedder"] == bag.name
    assert bag.texts
