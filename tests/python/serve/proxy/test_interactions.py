"""Gemini's Interactions through the proxy, with Google's own client."""

from __future__ import annotations

import httpx2
import pytest
from keeping_server import InteractionsServer

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.provided import list_of
from warmset.serve.proxy.surfaces import CHAT, INTERACTIONS, RESPONSES
from warmset.serve.proxy.tenants import Tenants

genai = pytest.importorskip("google.genai", reason="the package google-genai is not installed")


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


@pytest.fixture
def server(httpserver):
    return InteractionsServer(httpserver)


@pytest.fixture
def client(proxied, server, who):
    with proxied(server.url, who=who, budget=1_500) as proxy:
        options = {"base_url": proxy.url, "api_version": "v1beta"}
        made = genai.Client(api_key="k" * 20, http_options=options)
        made.proxy = proxy
        yield made


def stored(client):
    """Return the steps of each conversation."""
    [tenant] = client.proxy.memories._open
    with client.proxy.memories.of(tenant) as memory:
        return [
            [dict(one) for one in memory.conversation(name).messages()]
            for name in memory.conversations()
        ]


def texts(steps):
    return [one["content"][0]["text"] for one in steps if one["type"] != "thought"]


def asked(text):
    return {"type": "user_input", "content": [{"type": "text", "text": text}]}


def test_a_chain_of_googles_client_is_one_conversation(client, server):
    last, expected = None, []
    for turn in range(9):
        text = f"Count shelf {turn}."
        given = [text, {"type": "text", "text": text}, [asked(text)]][turn % 3]
        more = {} if last is None else {"previous_interaction_id": last}
        made = client.interactions.create(model="gemini-3-flash", input=given, **more)
        last = made.id
        expected += [text, f"Reply {turn + 1}."]
    [steps] = stored(client)
    assert texts(steps) == expected
    assert [one["type"] for one in steps[:3]] == ["user_input", "thought", "model_output"]
    assert steps == server.lists[last]


def test_streams_and_what_the_client_fetches_are_recorded(client, server):
    events = list(client.interactions.create(model="m", input="one", stream=True))
    id_ = events[0].interaction.id
    server.later = True
    made = client.interactions.create(
        model="m", input="two", previous_interaction_id=id_, background=True
    )
    assert made.status == "in_progress"
    assert texts(stored(client)[0]) == ["one", "Reply 1.", "two"]
    client.interactions.get(made.id)
    assert texts(stored(client)[0]) == ["one", "Reply 1.", "two"]
    server.later = False
    for _ in range(2):
        assert client.interactions.get(made.id).status == "completed"
    assert texts(stored(client)[0]) == ["one", "Reply 1.", "two", "Reply 2."]
    client.interactions.create(model="m", input="left", previous_interaction_id=made.id)
    client.interactions.create(model="m", input="right", previous_interaction_id=made.id)
    assert texts(stored(client)[0])[-4:] == ["two", "Reply 2.", "right", "Reply 4."]


def test_a_list_that_the_client_keeps_gets_windows(client, server):
    steps = []
    for turn in range(20):
        steps.append(asked(f"How many boxes are on shelf {turn}? {'They stand there. ' * 20}"))
        made = client.interactions.create(
            model="gemini-3-flash", input=steps, store=False, system_instruction="You count."
        )
        steps += [step.model_dump(exclude_none=True, mode="json") for step in made.steps]
    [kept] = stored(client)
    assert texts(kept) == texts(steps)
    assert len(kept) == len(steps)
    assert len(server.asked[-1]["input"]) < len(steps) / 2
    assert all(one["system_instruction"] == "You count." for one in server.asked)
    assert all(one["store"] is False for one in server.asked)
    assert server.asked[-1]["input"][-1] == steps[-3]


def test_an_unknown_interaction_is_passed(client, server):
    server.lists["int_old"] = []
    headers = {"x-goog-api-key": "k" * 20}
    body = {"model": "m", "input": "x", "previous_interaction_id": "int_old", "z": 1.50}
    got = httpx2.post(f"{client.proxy.url}/v1beta/interactions", json=body, headers=headers)
    assert got.headers["x-warmset"] == "passed; recorded=no"
    assert server.asked == [body]
    assert stored(client) == []


def test_an_interaction_that_goes_on_by_a_token_is_passed(client, server):
    headers = {"x-goog-api-key": "k" * 20}
    made = client.interactions.create(model="m", input="one")
    body = {"model": "m", "previous_interaction_id": made.id, "continuation_token": "t"}
    server.items = lambda _given: []
    body["input"] = []
    got = httpx2.post(f"{client.proxy.url}/v1beta/interactions", json=body, headers=headers)
    assert got.headers["x-warmset"] == "passed; recorded=no"
    assert texts(stored(client)[0]) == ["one", "Reply 1."]


BLOCK = {"type": "text", "text": "a"}
IMAGE = {"type": "image", "uri": "gs://x"}


@pytest.mark.parametrize(
    ("surface", "given", "found"),
    [
        (INTERACTIONS, "a", [asked("a")]),
        (INTERACTIONS, BLOCK, [asked("a")]),
        (INTERACTIONS, [BLOCK, IMAGE], [{"type": "user_input", "content": [BLOCK, IMAGE]}]),
        (INTERACTIONS, [asked("a")], [asked("a")]),
        (INTERACTIONS, [asked("a"), BLOCK], [asked("a"), BLOCK]),
        (INTERACTIONS, asked("a"), None),
        (INTERACTIONS, [], None),
        (INTERACTIONS, " ", None),
        (INTERACTIONS, None, None),
        (RESPONSES, "a", [{"role": "user", "content": "a"}]),
        (RESPONSES, " ", None),
        (RESPONSES, BLOCK, None),
        (RESPONSES, [BLOCK], [BLOCK]),
        (CHAT, "a", None),
        (CHAT, [BLOCK], [BLOCK]),
    ],
)
def test_an_input_as_messages(surface, given, found):
    assert list_of(surface, given) == found
