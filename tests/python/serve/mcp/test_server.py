"""The server without a process: threads, cancellation, log levels, and what a tool raises."""

from __future__ import annotations

import json
import logging
import queue
import threading
from functools import partial
from types import SimpleNamespace

import anyio
import mcp_client
import pytest
from mcp_client import ERAS, client

from warmset import Memory
from warmset.errors import InvalidInputError, ReadOnly
from warmset.serve.mcp.calls import AT_ONCE, Calls, FromTable, hints_of
from warmset.serve.mcp.gateway import NAME, Gateway
from warmset.serve.mcp.levels import Levels
from warmset.serve.mcp.offered import offered
from warmset.serve.mcp.resources import Stored
from warmset.serve.mcp.served import Offer
from warmset.serve.mcp.server import build
from warmset.serve.mcp.stdio import serve_stdio
from warmset.serve.tools import CORE, Desk, Tool, tokens_of


def tool(name, run, **more):
    given = {
        "title": name,
        "description": name,
        "properties": {},
        "output": {},
        "always": (),
        "effect": "read",
        "run": run,
    }
    return Tool(name=name, **{**given, **more})


class Nothing:
    templates = ()


def server_of(*tools):
    levels = Levels()
    calls = Calls(levels)
    made = [FromTable(one, calls) for one in tools]
    offer = Offer(tools=made, resources=Nothing(), prompts=(), instructions="")
    return build(offer, version="1", levels=levels)


@pytest.mark.parametrize("mode", ERAS)
def test_calls_run_side_by_side_and_the_event_loop_waits_for_none(mode):
    together = threading.Barrier(AT_ONCE)
    names = set()

    def meet(_given, _call):
        names.add(threading.get_ident())
        together.wait(timeout=30)
        return {}

    async def work():
        async with (
            client(server_of(tool("meet", meet)), mode) as one,
            anyio.create_task_group() as tg,
        ):
            for _ in range(AT_ONCE):
                tg.start_soon(one.call_tool, "meet", {})

    mcp_client.run(work)
    assert len(names) == AT_ONCE
    assert threading.get_ident() not in names


@pytest.mark.parametrize("mode", ERAS)
def test_a_cancelled_call_stops_at_its_next_step_and_the_server_goes_on(mode):
    started, cancelled, ended = threading.Event(), threading.Event(), threading.Event()
    outcome = []

    def slow(_given, call):
        started.set()
        assert cancelled.wait(timeout=30)
        try:
            for step in range(1_000_000):
                call.progress(step, 1_000_000, "steps")
        except BaseException as error:
            outcome.append(type(error).__name__)
            raise
        finally:
            ended.set()
        return {}

    async def work():
        server = server_of(tool("slow", slow), tool("quick", lambda _given, _call: {}))
        async with client(server, mode) as one:
            async with anyio.create_task_group() as tg:
                tg.start_soon(one.call_tool, "slow", {})
                assert await anyio.to_thread.run_sync(started.wait, 30)
                tg.cancel_scope.cancel()
            await one.call_tool("quick", {})  # the server has read the cancellation before
            cancelled.set()
            assert await anyio.to_thread.run_sync(ended.wait, 30)
            assert not (await one.call_tool("quick", {})).is_error

    mcp_client.run(work)
    assert outcome == ["CancelledError"]


@pytest.mark.parametrize("mode", ERAS)
def test_what_nobody_foresaw_is_a_tools_error_without_its_text(mode, caplog):
    def broken(_given, _call):
        raise RuntimeError("the text of a stored turn")

    async def work():
        server = server_of(tool("broken", broken), tool("quick", lambda _given, _call: {}))
        async with client(server, mode) as one:
            made = await one.call_tool("broken", {})
            assert made.is_error
            assert "(RuntimeError)" in made.content[0].text
            assert "try once more" in made.content[0].text
            assert "stored turn" not in made.content[0].text
            assert not (await one.call_tool("quick", {})).is_error

    with caplog.at_level(logging.ERROR, "warmset"):
        mcp_client.run(work)
    assert "the tool broken failed" in caplog.text


@pytest.mark.parametrize("mode", ERAS)
def test_what_utf_8_cannot_encode_reaches_a_client_as_question_marks(mode):
    def odd(_given, _call):
        return {"text": "a\ud800b"}

    async def work():
        shown = tool(
            "odd", odd, output={"text": {"type": "string"}}, text=lambda made: made["text"]
        )
        async with client(server_of(shown), mode) as one:
            made = await one.call_tool("odd", {})
            assert made.content[0].text == "a?b"
            assert made.structured_content == {"text": "a?b"}

    mcp_client.run(work)


class Pipe:
    """A client's side of two streams: it sends lines, and leaves after so many answers."""

    def __init__(self, *lines, answers):
        self.waiting = queue.SimpleQueue()
        self.answers = []
        self.expected = answers
        for line in lines:
            self.waiting.put(line)

    def read(self, _size):
        return self.waiting.get()

    def write(self, data):
        self.answers += [json.loads(line)["id"] for line in data.splitlines()]
        if len(self.answers) == self.expected:
            self.waiting.put(b"")


def ping(id_, filler=""):
    found = {"jsonrpc": "2.0", "id": id_, "method": "ping", "params": {"_meta": {"f": filler}}}
    return json.dumps(found).encode() + b"\n"


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_is_answered(caplog):
    room = len(ping(2)) - 1
    pipe = Pipe(ping(1, "x"), ping(2), b"\xff\n", ping(3), answers=2)
    with caplog.at_level(logging.WARNING, "warmset"):
        assert (
            mcp_client.run(partial(serve_stdio, longest=room), server_of(), pipe.read, pipe.write)
            is False
        )
    assert sorted(pipe.answers) == [2, 3]
    assert f"a line of {room + 1} bytes was skipped; at most {room} are read" in caplog.text


def test_a_stream_that_breaks_ends_the_server_as_its_end_does(caplog):
    def broken(_size):
        raise OSError("the pipe is broken")

    with caplog.at_level(logging.WARNING, "warmset"):
        assert mcp_client.run(serve_stdio, server_of(), broken, print) is False
    assert "standard input ended: the pipe is broken" in caplog.text


def test_many_lines_wait_for_their_turn_and_each_is_answered_once():
    pipe = Pipe(*(ping(at) for at in range(500)), answers=500)
    assert mcp_client.run(serve_stdio, server_of(), pipe.read, pipe.write) is False
    assert sorted(pipe.answers) == list(range(500))


def noticing(_given, call):
    call.notice("vectors are missing")
    return {}


@pytest.mark.parametrize(("level", "comes"), [("debug", True), ("warning", True), ("error", False)])
@pytest.mark.parametrize("mode", ERAS)
def test_a_notice_is_logged_at_the_level_that_a_client_asks_for(mode, level, comes):
    seen = []

    async def logged(params):
        seen.append((params.level, params.logger, params.data))

    async def work():
        asked = {"log_level": level} if mode == "auto" else {}
        server = server_of(tool("noticing", noticing))
        async with client(server, mode, logging_callback=logged, **asked) as one:
            if mode == "legacy":
                await one.set_logging_level(level)
            made = await one.call_tool("noticing", {})
            assert made.content[0].text.endswith("Note: vectors are missing.")
            await one.list_tools()

    mcp_client.run(work)
    assert seen == [("warning", "warmset", "vectors are missing")] * comes


def test_a_notice_is_as_long_as_a_sentence():
    async def work():
        server = server_of(tool("long", lambda _given, call: call.notice("x" * 301) or {}))
        async with client(server, "auto") as one:
            made = await one.call_tool("long", {})
            assert made.content[0].text.endswith(f"\nNote: {'x' * 300}.")

    mcp_client.run(work)


def test_a_client_of_the_stateless_protocol_gets_no_log_that_it_did_not_ask_for():
    seen = []

    async def logged(params):
        seen.append(params)

    async def work():
        server = server_of(tool("noticing", noticing))
        async with client(server, "auto", logging_callback=logged) as one:
            await one.call_tool("noticing", {})
            await one.list_tools()

    mcp_client.run(work)
    assert seen == []


def request(session):
    headers = None if session is None else {"mcp-session-id": session}
    return SimpleNamespace(request=None if session is None else SimpleNamespace(headers=headers))


def test_each_session_has_its_level_and_the_oldest_are_forgotten():
    levels = Levels(most=2)
    one, two, three, alone = map(request, ("1", "2", "3", None))
    assert levels.lets_through(one, "debug"), "who set none wants all"
    levels.set(one, "error")
    levels.set(two, "notice")
    assert not levels.lets_through(one, "warning")
    assert levels.lets_through(one, "error")
    assert levels.lets_through(two, "notice")
    assert not levels.lets_through(two, "info")
    levels.set(one, "error")
    levels.set(three, "error")
    assert not levels.lets_through(one, "warning"), "it was set again since"
    assert levels.lets_through(two, "debug"), "it was forgotten"
    levels.set(alone, "error")
    assert not levels.lets_through(alone, "info")


def test_the_gateway_says_what_the_worst_of_its_tools_does():
    calls = Calls(Levels())

    def of(*effects):
        tools = [tool(one, dict, effect=one) for one in effects]
        return Gateway(tools, calls).definition.annotations

    assert of("read", "write", "erase") == hints_of("erase")
    assert of("read", "write") == hints_of("write")
    assert of("read") == hints_of("read")
    assert hints_of("write").destructive_hint is False
    assert hints_of("read").read_only_hint is True


def test_the_gateway_shows_the_arguments_of_a_tool_that_got_wrong_ones_alone():
    def broken(given, _call):
        raise ReadOnly("no store") if given else InvalidInputError("n: expected a number")

    async def work():
        gateway = Gateway([tool("broken", broken, properties={"n": {}})], Calls(Levels()))
        for given, shown in (({"n": 1}, False), ({}, True)):
            made = await gateway.call({"tool": "broken", "arguments": given}, None)
            assert made.is_error
            assert ("Its arguments are" in made.content[0].text) is shown

    mcp_client.run(work)


def test_a_last_page_of_conversations_that_is_full_has_none_behind_it(monkeypatch):
    monkeypatch.setattr("warmset.serve.mcp.resources.PAGE", 2)

    async def work():
        with Memory.open(None, embedder="lexical") as memory:
            stored = Stored(Desk(memory=lambda: memory), {}, Calls(Levels()))
            for count, after in ((1, None), (2, None), (3, "2")):
                memory.conversation(f"{count}").append({"role": "user", "content": "x"})
                assert (await stored.page(None))[1] == after

    mcp_client.run(work)


def test_the_tools_in_front_cost_a_model_few_tokens():
    with Memory.open(None, embedder="lexical") as memory:
        offer = offered(Desk(memory=lambda: memory, limit=8_000), Levels())
        made = [one.definition.model_dump_json(exclude_none=True) for one in offer.tools]
        front = [
            one.definition.model_copy(update={"output_schema": None}).model_dump_json(
                exclude_none=True, by_alias=True
            )
            for one in offer.tools
        ]
    assert len(made) == 8
    assert sum(map(tokens_of, front)) < 3_000


@pytest.mark.parametrize("mode", ERAS)
def test_a_read_only_server_offers_no_tool_that_writes(mode):
    async def work(memory):
        desk = Desk(memory=lambda: memory, read_only=True)
        async with client(build(offered(desk, Levels()), version="1"), mode) as one:
            names = [tool.name for tool in (await one.list_tools()).tools]
            assert set(CORE) - set(names) == {"memory_remember", "memory_forget"}
            made = await one.call_tool("memory_search", {"query": "Keep"})
            assert made.structured_content["hits"][0]["id"] == "turn:1"
            wrong = await one.call_tool(NAME, {"tool": "append", "arguments": {}})
            assert "expected one of conversations, turns" in wrong.content[0].text

    with Memory.open(None, embedder="lexical") as memory:
        memory.conversation("pool").append({"role": "user", "content": "Keep it at 12."})
        mcp_client.run(work, memory)
