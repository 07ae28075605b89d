"""Agents of OpenAI's Agents SDK through the proxy: tools in parallel, many turns, sessions."""

from __future__ import annotations

import asyncio

import pytest
from bound_servers import BoundResponses
from client_loops import SYSTEM, asked, found
from provider_servers import ChatServer

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants

agents = pytest.importorskip("agents", reason="the package openai-agents is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")

TURNS = 8
KINDS = {
    "chat": (ChatServer, "gpt-4.1"),
    "responses": (BoundResponses, "gpt-5.2"),
}


@agents.function_tool
def look(at: int, side: int) -> str:
    """Look at a shelf."""
    return found(f"shelf {at}, side {side}")


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


def agent_of(kind, client):
    """Return an agent that keeps its list itself."""
    agents.set_tracing_disabled(True)
    model = KINDS[kind][1]
    if kind == "chat":
        made = agents.OpenAIChatCompletionsModel(model, client)
        settings = agents.ModelSettings()
    else:
        made = agents.OpenAIResponsesModel(model, client)
        include = ["reasoning.encrypted_content"]
        settings = agents.ModelSettings(store=False, response_include=include)
    return agents.Agent(
        name="Counter", instructions=SYSTEM, tools=[look], model=made, model_settings=settings
    )


async def by_lists(agent):
    """Ask by the whole list each time; return how many items the last one had."""
    items = []
    for turn in range(TURNS):
        items.append(asked(turn))
        result = await agents.Runner.run(agent, items)
        assert result.final_output
        items = result.to_input_list()
    return len(items)


async def by_session(agent):
    """Ask with a session, which has the list; return how many items it has."""
    session = agents.SQLiteSession("counting")
    for turn in range(TURNS):
        result = await agents.Runner.run(agent, asked(turn)["content"], session=session)
        assert result.final_output
    items = await session.get_items()
    session.close()
    return len(items)


@pytest.mark.parametrize("run", [by_lists, by_session])
@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_is_recognised_and_never_refused(proxied, httpserver, who, kind, run):
    server = KINDS[kind][0](httpserver)

    async def loop(url):
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
            return await run(agent_of(kind, client))

    with proxied(server.url, who=who, budget=1_200) as proxy:
        whole = asyncio.run(loop(proxy.url))
        assert server.errors == []
        assert server.served == 4 * TURNS
        assert max(server.lengths) < whole
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            [name] = memory.conversations()
            stored = len(list(memory.conversation(name).messages()))
    assert stored == {"chat": 1 + 11 * TURNS, "responses": whole}[kind]
