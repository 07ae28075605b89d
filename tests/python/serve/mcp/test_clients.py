"""The SDK's client with warmset's server: both transports, both eras, all that is offered."""

from __future__ import annotations

import io
import shutil
from contextlib import nullcontext

import jsonschema
import mcp_client
import pytest
from mcp.shared.exceptions import MCPError
from mcp_client import ERAS, client, over_http, over_stdio
from transcript_files import claude_code, codex

from warmset import Memory
from warmset.maintenance import Access, export, open_store
from warmset.serve.mcp.gateway import NAME
from warmset.serve.mcp.resources import PAGE
from warmset.serve.tools import CORE

TURNS = 700
"""Turns of the file that is imported: more than two batches."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A directory with an export of one tenant, and one of two."""
    made = tmp_path_factory.mktemp("exports")
    store = made / "other.ws"
    with Memory.open(store, embedder="lexical") as memory:
        turns = [{"role": "user", "content": f"Log line {at}."} for at in range(TURNS)]
        memory.conversation("imported").append(turns)
    _write(store, made / "one.jsonl")
    with Memory.open(store, embedder="lexical", tenant="b") as memory:
        memory.conversation("theirs").append({"role": "user", "content": "Secret."})
    _write(store, made / "two.jsonl")
    claude_code(made / "sessions")
    (made / "sessions" / "unknown.json").write_text("7")
    (made / "sessions" / "link.jsonl").symlink_to(codex(tmp_path_factory.mktemp("elsewhere")))
    return made


def _write(store, file):
    with open_store(Access(path=store), mode="read") as opened:
        text = io.StringIO()
        export(opened, text, prefix=[])
    file.write_text(text.getvalue())


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store with something in it, and more conversations than a page has."""
    made = tmp_path_factory.mktemp("template") / "s.ws"
    with Memory.open(made, embedder="lexical", durability="os") as memory:
        memory.conversation("pool").append(
            [
                {"role": "user", "content": "Keep the pool at 12: Postgres allows 80."},
                {"role": "assistant", "content": "The pool stays at 12."},
            ]
        )
        for at in range(PAGE):
            memory.conversation(f"c {at}").append({"role": "user", "content": "x"})
    return made


@pytest.fixture(params=["stdio", "http"])
def server(request, tmp_path, exported, template):
    """What a client connects to."""
    shutil.copytree(template, tmp_path / "s.ws")
    given = (tmp_path / "s.ws", "--import-from", str(exported))
    made = nullcontext(over_stdio(*given)) if request.param == "stdio" else over_http(*given)
    with made as found:
        yield found


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_finds_and_uses_everything(server, mode):
    async def work():
        async with client(server, mode) as one:
            await _tools(one)
            await _gateway(one)
            await _resources(one)
            await _prompts(one)

    mcp_client.run(work)


async def _tools(one):
    listed = (await one.list_tools()).tools
    assert [tool.name for tool in listed] == [*CORE, NAME]
    by_name = {tool.name: tool for tool in listed}
    assert by_name["memory_search"].annotations.read_only_hint is True
    assert by_name["memory_forget"].annotations.destructive_hint is True
    assert by_name["memory_remember"].annotations.destructive_hint is False

    async def call(name, **given):
        made = await one.call_tool(name, given)
        assert not made.is_error, made
        jsonschema.validate(made.structured_content, by_name[name].output_schema)
        return made.structured_content, made.content[0].text

    found, text = await call("memory_search", query="How large is the pool?")
    assert {hit["id"] for hit in found["hits"]} == {"turn:1", "turn:2"}
    assert "[turn:1 in pool, user, " in text
    kept, _ = await call("memory_remember", text="The pool was 8 before.")
    read, text = await call("memory_fetch", ids=["turn:1", kept["id"]])
    assert [item["text"] for item in read["items"]] == [
        "Keep the pool at 12: Postgres allows 80.",
        "The pool was 8 before.",
    ]
    messages = [{"role": "user", "content": f"Remark {at}, long ago."} for at in range(30)]
    made, _ = await call("context_compact", messages=messages, budget=100)
    back, _ = await call("context_restore", handle=made["dropped"][0]["handle"])
    assert back == {"message": messages[made["dropped"][0]["id"]]}
    assert (await call("memory_forget", ids=[kept["id"]]))[0]["records"] == 1
    state, _ = await call("context_status")
    assert (state["conversations"], state["turns"]) == (PAGE + 1, PAGE + 2)
    assert state["memories"] == 0

    wrong = await one.call_tool("memory_search", {"query": "x", "limit": 0})
    assert wrong.is_error
    assert wrong.content[0].text == "limit: expected a whole number from 1 to 50"
    with pytest.raises(MCPError, match="there is no tool 'nothing'; there are memory_search"):
        await one.call_tool("nothing", {})


async def _gateway(one):
    made = await one.call_tool(NAME, {"tool": "conversations"})
    assert made.structured_content["result"]["total"] == PAGE + 1
    assert made.structured_content["tool"] == "conversations"
    assert f"c {PAGE - 1}: 1 turns" in made.content[0].text
    for given, word in (
        ({"tool": "nothing"}, "expected one of conversations, turns"),
        ({}, "expected one of conversations, turns"),
        ({"tool": "turns", "arguments": {"limit": 3}}, '"required":["conversation"]'),
        ({"tool": "turns", "arguments": [1]}, "an object"),
        ({"tool": "turns", "arguments": {}, "more": 1}, "nothing else"),
    ):
        wrong = await one.call_tool(NAME, given)
        assert wrong.is_error
        assert word in wrong.content[0].text
    steps = []

    async def progress(done, total, _message):
        steps.append((done, total))

    wrong = await one.call_tool(NAME, {"tool": "import", "arguments": {"file": "two.jsonl"}})
    assert "other tenants" in wrong.content[0].text
    given = {"tool": "import", "arguments": {"file": "one.jsonl"}}
    made = await one.call_tool(NAME, given, progress_callback=progress)
    assert made.structured_content["result"]["records"] == TURNS
    assert len(steps) >= 3
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > TURNS
    again = await one.call_tool(NAME, given)
    result = again.structured_content["result"]
    assert (result["records"], result["known"]) == (0, TURNS)
    given = {"tool": "import", "arguments": {"file": "sessions", "dry_run": True}}
    made = await one.call_tool(NAME, given)
    assert made.content[0].text == "New: 14 messages, 0 records of exports, 1 skipped."
    given = {"tool": "import", "arguments": {"file": "sessions/unknown.json"}}
    wrong = await one.call_tool(NAME, given)
    assert wrong.content[0].text.startswith("sessions/unknown.json: it is of no known source")
    found = await one.call_tool("memory_search", {"query": "Log line 612", "limit": 1})
    assert "Log line 612." in found.content[0].text, "what was imported is there at once"


async def _resources(one):
    page = await one.list_resources()
    uris = [resource.uri for resource in page.resources]
    assert uris[:2] == ["warmset://status", "warmset://conversation/imported"]
    assert len(uris) == PAGE + 1
    rest = await one.list_resources(cursor=page.next_cursor)
    assert [resource.name for resource in rest.resources] == ["c 0", "pool"]
    assert rest.next_cursor is None
    with pytest.raises(MCPError, match="list again without one"):
        await one.list_resources(cursor="x")
    templates = (await one.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "warmset://id/{id}",
        "warmset://conversation/{name}",
    ]
    for uri, word in (
        ("warmset://id/turn:1", "] Keep the pool at 12"),
        ("warmset://conversation/pool", "] The pool stays at 12."),
        ("warmset://conversation/c%200", "] x"),
        ("warmset://status", " turns of "),
    ):
        [content] = (await one.read_resource(uri)).contents
        assert word in content.text
        assert content.uri == uri
    for uri in ("warmset://id/turn:999999", "warmset://id/", "warmset://other", "https://x.y/z"):
        with pytest.raises(MCPError, match="there is no such resource") as caught:
            await one.read_resource(uri)
        assert caught.value.error.code == -32602
        assert caught.value.error.data == {"uri": uri}
    with pytest.raises(MCPError, match="there is none with that name"):
        await one.read_resource("warmset://conversation/nobody")


async def _prompts(one):
    assert [prompt.name for prompt in (await one.list_prompts()).prompts] == ["recall", "catch_up"]
    made = await one.get_prompt("recall", {"topic": 'the "pool"'})
    assert 'memory_search for "the \\"pool\\"", read' in made.messages[0].content.text
    for name, given, word in (
        ("recall", {}, "recall needs the argument 'topic'"),
        ("recall", {"topic": " "}, "recall needs the argument 'topic'"),
        ("other", {}, "there is no prompt 'other'; there are recall, catch_up"),
    ):
        with pytest.raises(MCPError, match=word):
            await one.get_prompt(name, given)


def test_two_servers_work_on_one_store_and_see_each_other(tmp_path):
    async def work():
        first, second = over_stdio(tmp_path / "s.ws"), over_stdio(tmp_path / "s.ws")
        async with client(first, "auto") as one, client(second, "legacy") as other:
            for at in range(5):
                for side, here, there in ((0, one, other), (1, other, one)):
                    text = f"Number {at} of server {side} is known."
                    made = await here.call_tool("memory_remember", {"text": text})
                    ids = [made.structured_content["id"]]
                    found = await there.call_tool("memory_fetch", {"ids": ids})
                    assert found.structured_content["items"][0]["text"] == text
            await one.call_tool("memory_forget", {"ids": ids})
            gone = await other.call_tool("memory_fetch", {"ids": ids})
            assert gone.structured_content["missing"] == ids

    mcp_client.run(work)


def test_a_locked_store_costs_the_calls_until_it_is_free(tmp_path):
    async def work():
        holder = Memory.open(tmp_path / "s.ws", embedder="lexical", mode="exclusive")
        async with client(over_stdio(tmp_path / "s.ws"), "auto") as one:
            wrong = await one.call_tool("context_status", {})
            assert wrong.is_error
            assert "is in use by" in wrong.content[0].text
            with pytest.raises(MCPError, match="is in use by"):
                await one.list_resources()
            holder.close()
            made = await one.call_tool("context_status", {})
            assert not made.is_error

    mcp_client.run(work)
