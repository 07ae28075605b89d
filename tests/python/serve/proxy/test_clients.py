"""Loops of the providers' own clients through the proxy, which nothing tells who is talking."""

from __future__ import annotations

import pytest
from client_loops import Chat, Messages, Responses, asked

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants

TURNS = 8


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


def through(loop, url):
    """Send a loop's requests to a proxy, as its users do: by its base URL."""
    version = "" if isinstance(loop, Messages) else "/v1"
    loop.client = loop.client.with_options(base_url=f"{url}{version}")


def run(loop, turns=TURNS, first=0):
    messages = list(loop.first)
    for turn in range(first, first + turns):
        messages.append(asked(turn))
        calls = True
        while calls:
            said, calls = loop.call(messages)
            messages += loop.done(said, calls)
    return messages


@pytest.mark.parametrize("kind", [Chat, Responses, Messages])
def test_a_loop_is_recognised_and_never_refused(proxied, httpserver, who, kind):
    loop = kind(httpserver)
    with proxied(loop.server.url, who=who, budget=1_200) as proxy:
        through(loop, proxy.url)
        messages = run(loop)
        assert loop.server.errors == []
        assert max(loop.server.lengths) < len(messages)
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            [name] = memory.conversations()
            stored = list(memory.conversation(name).messages())
        assert tenant.startswith("key-")
        assert name.startswith("auto-")
        assert len(stored) in (len(messages), len(messages) - 1)  # the loop ends with no results


def test_two_loops_with_one_key_are_two_conversations(proxied, httpserver, who):
    loop = Chat(httpserver)
    with proxied(loop.server.url, who=who) as proxy:
        through(loop, proxy.url)
        one, two = run(loop, 2), run(loop, 2)
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            names = memory.conversations()
            lengths = [len(list(memory.conversation(name).messages())) for name in names]
    assert sorted(lengths) == sorted([len(one), len(two)])
