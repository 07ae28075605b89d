"""The protocol: what a line is answered with, whatever is in it, and that the next one is too."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, strategies as st

from warmset import Memory
from warmset.serve import Fault, Lines, Server, TooLong, methods, serve, tools_of

PARSE, REQUEST, METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
LINE = "the harbour master counted every crate that came ashore before the tide"


def talk(count):
    made = [{"role": "user", "content": "The task: count crates for harbour 7."}]
    for at in range(count):
        made.append({"role": "assistant", "content": f"Answer {at}: {LINE}."})
        made.append({"role": "user", "content": f"Question {at}: {LINE}?"})
    return made


def answers(data, server=None, *, longest=1 << 24, piece=1 << 16):
    """What is written for a stream of bytes that comes in pieces."""
    data = data.encode() if isinstance(data, str) else data
    server = server or Server(methods(tools_of(), version="1"))
    source = iter([data[at : at + piece] for at in range(0, len(data), piece)])
    out = []
    serve(server, lambda _: next(source, b""), out.append, longest=longest)
    for line in out:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert line.isascii()
    return [json.loads(line, parse_constant=pytest.fail) for line in out]


def request(method, params=None, id_=1):
    return {"jsonrpc": "2.0", "id": id_, "method": method} | ({} if params is None else params)


def call(arguments, server=None, name="compact_context"):
    asked = request("tools/call", {"params": {"name": name, "arguments": arguments}})
    (told,) = answers(json.dumps(asked), server)
    assert told["id"] == 1
    return told


def failed(told):
    error = told["error"]
    assert set(error) == {"code", "message", "data"}
    assert len(error["data"]["why"]) > 10
    return error["code"]


def test_a_client_begins_lists_and_calls():
    lines = [
        request("initialize", {"params": {"protocolVersion": "2024-11-05"}}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("ping", id_="a"),
        request("tools/list", id_=None),
    ]
    begun, ping, listed = answers("\n".join(map(json.dumps, lines)))
    assert begun["result"]["protocolVersion"] == "2024-11-05"
    assert begun["result"]["serverInfo"] == {"name": "warmset", "version": "1"}
    assert ping == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert listed["id"] is None
    (tool,) = listed["result"]["tools"]
    assert tool["name"] == "context_compact"
    assert list(tool["inputSchema"]["properties"]) == [
        *("messages", "query", "target_ratio", "budget", "distill_novel", "dialect"),
    ]
    assert answers(json.dumps(request("initialize")))[0]["result"]["protocolVersion"]


def test_a_call_compacts():
    messages = talk(40)
    told = call({"messages": messages, "target_ratio": 0.3, "query": None})["result"]
    made = told["structuredContent"]
    assert json.loads(told["content"][0]["text"]) == made
    assert told["isError"] is False
    gone = [one["id"] for one in made["dropped"]]
    assert made["messages"] == [one for at, one in enumerate(messages) if at not in gone]
    assert made["stats"]["dropped"] == len(gone) > 20
    assert made["stats"]["after_tokens"] <= made["stats"]["budget"]
    assert set(made["dropped"][0]) == {"id", "score", "terms", "reason", "handle", "store_id"}


def test_with_a_memory_what_left_comes_back():
    with Memory.open(None, embedder="lexical") as memory:
        messages = talk(40)
        memory.conversation("log").append(messages)
        server = Server(methods(tools_of(memory, "log"), version="1"))
        made = call({"messages": messages, "distill_novel": True}, server)["result"]
        made = made["structuredContent"]
        drop = made["dropped"][3]
        assert drop["store_id"] == memory.conversation("log").ids[drop["id"]]
        told = call({"handle": drop["handle"]}, server, "restore")["result"]
        assert told["structuredContent"] == {"message": messages[drop["id"]]}
        assert memory.episodes()[0].id == made["episode"]
        assert made["stats"]["distilled"] > 0
        for handle in ("kept:1:other", "", 7, None):
            assert failed(call({"handle": handle}, server, "restore")) == PARAMS
    assert failed(call({"handle": drop["handle"]}, server, "restore")) == INTERNAL


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (None, "messages"),
        ([], "arguments"),
        ({}, "messages"),
        ({"messages": "all"}, "list"),
        ({"messages": [7]}, "message 0"),
        ({"messages": [{"content": "x"}]}, "role"),
        ({"messages": [], "query": 7}, "query"),
        ({"messages": [], "target_ratio": 0.01}, "target_ratio"),
        ({"messages": [], "target_ratio": 10**400}, "target_ratio"),
        ({"messages": [], "budget": 0}, "budget"),
        ({"messages": [], "budget": 1.5}, "budget"),
        ({"messages": [], "budget": True}, "budget"),
        ({"messages": [], "distill_novel": True}, "--memory"),
        ({"messages": [], "distill_novel": 1}, "distill_novel"),
        ({"messages": [], "dialect": "latin"}, "latin"),
        ({"messages": [], "memory": "x"}, "memory"),
        ({"messages": [{"role": "user", "content": ""}] * 100_001}, "100000"),
    ],
)
def test_arguments_that_are_no_use_are_told(arguments, word):
    told = call(arguments)
    assert failed(told) == PARAMS
    assert word in told["error"]["data"]["why"]


@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        ("nonsense", PARSE, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"', PARSE, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"} {}', PARSE, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', PARSE, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', PARSE, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","x":NaN}', PARSE, None),
        ('{"jsonrpc":"2.0","id":-Infinity,"method":"ping"}', PARSE, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","x":' + "9" * 5000 + "}", PARSE, None),
        ("[" * 100_000, PARSE, None),
        ("[" * 100_000 + "]" * 100_000, PARSE, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","x":' + "[" * 170 + "]" * 170 + "}", REQUEST, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","x":1e999}', REQUEST, 1),
        ('{"jsonrpc":"2.0","id":1e999,"method":"ping"}', REQUEST, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","x":{"id":1,"id":2}}', REQUEST, 1),
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', REQUEST, None),
        ("[]", REQUEST, None),
        (json.dumps([request("ping")] * 1001), REQUEST, None),
        ("7", REQUEST, None),
        ("null", REQUEST, None),
        ('{"id":1,"method":"ping"}', REQUEST, 1),
        ('{"jsonrpc":"1.0","id":1,"method":"ping"}', REQUEST, 1),
        ('{"jsonrpc":"2.0","id":1}', REQUEST, 1),
        ('{"jsonrpc":"2.0","id":1,"method":7}', REQUEST, 1),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', REQUEST, None),
        ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', REQUEST, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":7}', REQUEST, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["x"]}', PARAMS, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', PARAMS, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":[]}}', PARAMS, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"rpc.none"}', METHOD, 1),
    ],
)
def test_what_is_no_request_is_told_and_the_next_line_is_answered(line, code, id_):
    line = line.encode() if isinstance(line, str) else line
    told, after = answers(line + b"\n" + json.dumps(request("ping", id_="next")).encode())
    assert failed(told) == code
    assert (told["id"], after["id"]) == (id_, "next")


@pytest.mark.parametrize("id_", ["1", "\ud800", "é\u2028\n", "", 0, -7, 10**300, 2.5, 1e300, None])
def test_ids_come_back_as_they_were(id_):
    for method in ("ping", "none"):
        (told,) = answers(json.dumps(request(method, id_=id_)))
        assert told["id"] == id_
        assert type(told["id"]) is type(id_)


def test_a_batch_is_a_list_and_notifications_have_no_answer():
    said = {"jsonrpc": "2.0", "method": "ping"}
    wrong = {"jsonrpc": "2.0", "method": "none"}
    batch = [request("ping", id_=1), said, wrong, 7, request("none", id_=2)]
    lines = [json.dumps(one) for one in (batch, said, wrong, [said, wrong], request("ping"))]
    (listed, last) = answers("\n".join(lines))
    assert [one["id"] for one in listed] == [1, None, 2]
    assert [one.get("error", {}).get("code") for one in listed] == [None, REQUEST, METHOD]
    assert last["id"] == 1


def test_a_method_that_fails_costs_one_answer():
    def broken(_params):
        raise ZeroDivisionError("by zero")

    def refusing(_params):
        raise Fault(PARAMS, "this will not do", left=3)

    ways = {"broken": broken, "no json": lambda _: float("nan"), "refusing": refusing}
    lines = "\n".join(json.dumps(request(way)) for way in ways)
    one, two, three = answers(lines, Server(ways))
    assert (failed(one), failed(two), failed(three)) == (INTERNAL, INTERNAL, PARAMS)
    assert "by zero" in one["error"]["data"]["why"]
    assert three["error"]["data"]["left"] == 3


@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_lines_end_as_they_may(piece):
    ping = json.dumps(request("ping"))
    data = f"\ufeff{ping}\r\n\n  \r\n\t\n{ping}\n{ping}"
    assert len(answers(data, piece=piece)) == 3


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_line_that_is_too_long_is_passed_over(end, piece):
    def lines(data):
        source = iter([data[at : at + piece] for at in range(0, len(data), piece)])
        return list(Lines(lambda _: next(source, b""), longest=20))

    assert lines(b"x" * 20 + end) == [b"x" * 20]
    (found,) = lines(b"x" * 21 + end)
    assert isinstance(found, TooLong)
    assert lines(b"x" * 2100 + b"\nnext" + end)[1:] == [b"next"]
    told, after = answers(b"x" * 99 + b"\n" + json.dumps(request("ping")).encode(), longest=60)
    assert (failed(told), told["id"], after["id"]) == (REQUEST, None, 1)
    assert "99 bytes" in told["error"]["data"]["why"]


def test_what_is_too_long_is_not_kept():
    source = iter([b"x" * 65_536] * 256)
    tracemalloc.start()
    try:
        (found,) = Lines(lambda _: next(source, b""), longest=100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == TooLong(256 * 65_536)
    assert peak < 2_000_000


WORDS = st.sampled_from(["ping", "tools/list", "tools/call", "none", "compact_context", "2.0", ""])
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "messages", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": WORDS | st.text()},
    optional={"id": st.text() | st.integers() | st.none(), "params": VALUES},
)
LINES = (
    st.binary(max_size=80)
    | VALUES.map(lambda one: json.dumps(one).encode())
    | REQUESTS.map(lambda one: json.dumps(one).encode())
    | st.lists(REQUESTS, max_size=4).map(lambda one: json.dumps(one).encode())
)


def plain(requests):
    ids = (str, int, type(None))
    return all(
        isinstance(one, dict)
        and one.get("jsonrpc") == "2.0"
        and isinstance(one.get("method"), str)
        and isinstance(one.get("params", {}), (dict, list))
        and isinstance(one.get("id"), ids)
        and not isinstance(one.get("id"), bool)
        for one in requests
    )


NOTHING = object()


def wanted(line):
    """The id that a line is to be answered with; a list for a batch, "?" for any."""
    try:
        value = json.loads(line.decode(), parse_constant=int)
    except ValueError:
        return "?" if line.strip() else NOTHING
    if isinstance(value, dict) and plain([value]):
        return value.get("id", NOTHING)
    if isinstance(value, list) and value and plain(value):
        return [one["id"] for one in value if "id" in one] or NOTHING
    return "?"


@given(st.lists(LINES, max_size=6), st.integers(1, 50))
def test_whatever_comes_in_the_loop_goes_on(lines, piece):
    lines = [line for one in lines for line in one.split(b"\n")]
    data = b"\n".join([*lines, json.dumps(request("ping", id_="end")).encode()])
    told = answers(data, piece=piece)
    assert told.pop()["id"] == "end"
    ids_of = [one for one in map(wanted, lines) if one is not NOTHING]
    assert len(told) == len(ids_of)
    for one, ids in zip(told, ids_of, strict=True):
        if isinstance(ids, list):
            assert [each["id"] for each in one] == ids
        elif ids != "?":
            assert one["id"] == ids
        for each in one if isinstance(one, list) else [one]:
            assert each["jsonrpc"] == "2.0"
            assert ("result" in each) != ("error" in each)
