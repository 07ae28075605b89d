"""The table of fields in the how-to page: a test for each of its lines, and no line without one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx2
import pytest
from proxy_requests import REPLY
from werkzeug import Response

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants

PAGE = Path(__file__).parents[4] / "python/docs/how-to/serve.md"
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI, INTERACTIONS = "/v1beta/models/gemini-3-flash:generateContent", "/v1beta/interactions"
LINES = {}


def line(name):
    """Say which line of the table a test is of."""

    def named(test):
        LINES.setdefault(name, []).append(test)
        return test

    return named


class Provider:
    """Answers what it is told to, and keeps what it is sent."""

    def __init__(self, httpserver):
        self.url = httpserver.url_for("")
        self.sent, self.paths = [], []
        self.reply, self.refusals = None, []
        httpserver.expect_request(re.compile("/.*")).respond_with_handler(self._answer)

    def _answer(self, request):
        self.sent.append(request.data)
        self.paths.append(request.full_path)
        path = request.path
        if request.method == "GET":
            path = path.rpartition("/")[0]
        if self.refusals:
            return Response(json.dumps(self.refusals.pop()), 400)
        made = self.reply or answer(path)
        return Response(json.dumps(made), content_type="application/json", headers={"x-own": "1"})


def answer(path, *content, stop="end_turn"):
    """Return the reply of an API, with content of its own."""
    if path == RESPONSES:
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        said["content"] = [{"type": "output_text", "text": "Forty.", "annotations": []}]
        fields = {"id": "resp_1", "object": "response", "status": "completed"}
        return {**fields, "model": "m", "output": [*content, said]}
    if path == MESSAGES:
        fields = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        blocks = [*content, {"type": "text", "text": "Forty."}]
        return {**fields, "content": blocks, "stop_reason": stop, "usage": {"input_tokens": 1}}
    if path == GEMINI:
        content = {"role": "model", "parts": [{"text": "Forty."}]}
        return {"candidates": [{"content": content, "finishReason": "STOP"}]}
    if path == INTERACTIONS:
        steps = [{"type": "model_output", "content": [{"type": "text", "text": "Forty."}]}]
        return {"id": "int_1", "status": "completed", "steps": steps}
    return REPLY


class Agent:
    """Sends requests through a proxy.

    Attributes:
        told: What the proxy said of the last request.
    """

    def __init__(self, proxy, provider):
        self.proxy, self.provider = proxy, provider
        self.told = None

    def send(self, path, body, **headers):
        """Send a body of odd bytes; return it, and the one that the provider got."""
        made = body if isinstance(body, bytes) else odd(body)
        headers = {"authorization": "Bearer k"} | headers
        got = httpx2.post(f"{self.proxy.url}{path}", content=made, headers=headers, timeout=30)
        assert got.status_code == 200
        assert got.headers["x-own"] == "1"
        self.told = got.headers.get("x-warmset")
        return made, self.provider.sent[-1]

    def stored(self):
        """Return the messages of each conversation."""
        found = {}
        for tenant in self.proxy.memories._open:
            with self.proxy.memories.of(tenant) as memory:
                for name in memory.conversations():
                    found[name] = [dict(one) for one in memory.conversation(name).messages()]
        return list(found.values())


def odd(body):
    """Return JSON whose bytes no library writes so."""
    return json.dumps(body, indent=3).replace('"x"', '"\\u0078"').encode() + b"\n"


@pytest.fixture
def agent(proxied, httpserver, tmp_path):
    provider = Provider(httpserver)
    who = Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())
    with proxied(provider.url, who=who, budget=2_000) as proxy:
        yield Agent(proxy, provider)


def user(path, text):
    if path == GEMINI:
        return {"role": "user", "parts": [{"text": text}]}
    if path == INTERACTIONS:
        return {"type": "user_input", "content": [{"type": "text", "text": text}]}
    return {"role": "user", "content": text}


def model(path, text):
    if path == GEMINI:
        return {"role": "model", "parts": [{"text": text}]}
    if path == INTERACTIONS:
        return {"type": "model_output", "content": [{"type": "text", "text": text}]}
    return {"role": "assistant", "content": text}


def request(path, turns=1, **fields):
    """Return a request with a list of so many turns."""
    given = []
    for at in range(turns):
        given += [user(path, f"Shelf {at}? {'It is long. ' * 30}"), model(path, f"{at} boxes.")]
    name = {RESPONSES: "input", GEMINI: "contents", INTERACTIONS: "input"}.get(path, "messages")
    limit = {"max_tokens": 100} if path == MESSAGES else {}
    return {"model": "claude-opus-5-5", **limit, name: [*given, user(path, "x")], **fields}


LIST = {RESPONSES: "input", GEMINI: "contents", INTERACTIONS: "input"}
EDITS = {"edits": [{"type": "compact_20260112"}]}
COMPACTING = [{"type": "compaction", "compact_threshold": 1_000}]


@line("`context_management`")
@pytest.mark.parametrize(("path", "value"), [(MESSAGES, EDITS), (RESPONSES, COMPACTING)])
def test_a_list_that_the_provider_shortens_goes_whole(agent, path, value):
    body = request(path, 60, context_management=value)
    sent, got = agent.send(path, body)
    assert got == sent
    assert agent.told.startswith("mode=full; ")
    assert [len(one) for one in agent.stored()] == [122]
    too_long = {"error": {"message": "prompt is too long: 9 tokens > 1 maximum"}}
    agent.provider.refusals = [too_long]
    sent, got = agent.send(path, body)
    assert agent.provider.sent[-2] == sent
    assert len(got) < len(sent)
    del body["context_management"]
    sent, got = agent.send(path, body)
    assert len(got) < len(sent) / 2


@line("`compaction` of Messages")
def test_a_summary_that_is_asked_for_stands_for_what_was_sent(agent):
    block = {"type": "compaction", "content": "All of it.", "signature": "s"}
    agent.provider.reply = {**answer(MESSAGES), "content": [block], "stop_reason": "compaction"}
    sent, got = agent.send(MESSAGES, request(MESSAGES, 60, compaction={"type": "summarize"}))
    assert got == sent
    assert agent.told == "passed"
    assert agent.stored() == []


BLOCK = {"type": "compaction", "content": "Shelves were counted.", "encrypted_content": "e"}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}


@line("compactions in replies")
@pytest.mark.parametrize(("path", "made"), [(MESSAGES, BLOCK), (RESPONSES, ITEM)])
def test_a_compaction_is_stored_and_goes_back(agent, path, made):
    agent.provider.reply = answer(path, made)
    body = request(path, 20)
    given = body[LIST.get(path, "messages")]
    agent.send(path, body)
    [stored] = agent.stored()
    kept = stored[-1]["content"] if path == MESSAGES else stored[-2:]
    assert kept[0] == made
    reply = agent.provider.reply
    given += [{"role": "assistant", "content": reply["content"]}] if path == MESSAGES else []
    given += reply.get("output", [])
    agent.provider.reply = None
    for at in range(12):
        given += [user(path, f"And shelf {at}? {'It is long. ' * 30}"), model(path, "Some.")]
    given.append(user(path, "And the last?"))
    agent.send(path, body)
    got = json.loads(agent.provider.sent[-1])[LIST.get(path, "messages")]
    assert len(got) < len(given)
    parts = [part for one in got for part in [one, *blocks(one)]]
    assert parts.count(made) == 1
    assert len(agent.stored()) == 1


def blocks(one):
    return one["content"] if isinstance(one.get("content"), list) else []


@line("`previous_response_id`, `previous_interaction_id`")
@pytest.mark.parametrize(
    ("path", "field"),
    [(RESPONSES, "previous_response_id"), (INTERACTIONS, "previous_interaction_id")],
)
def test_what_goes_on_from_a_response_passes(agent, path, field):
    agent.send(path, request(path, 0))
    [stored] = agent.stored()
    last = "resp_1" if path == RESPONSES else "int_1"
    sent, got = agent.send(path, request(path, 0, **{field: last}))
    assert (got, agent.told) == (sent, "passed; recorded=yes")
    assert agent.stored() == [stored * 2]
    sent, got = agent.send(path, request(path, 0, **{field: "unknown"}))
    assert (got, agent.told) == (sent, "passed; recorded=no")


@line("`conversation`, `prompt` of Responses")
@pytest.mark.parametrize("field", [{"conversation": "conv_1"}, {"prompt": {"id": "p"}}])
def test_what_the_provider_has_the_beginning_of_passes(agent, field):
    sent, got = agent.send(RESPONSES, request(RESPONSES, 60, **field))
    assert (got, agent.told) == (sent, "passed; recorded=yes")
    assert [len(one) for one in agent.stored()] == [122]


@line("`background`")
@pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
def test_what_is_made_in_the_background_goes_through(agent, path):
    agent.provider.reply = {**answer(path), "status": "in_progress", "output": [], "steps": []}
    sent, got = agent.send(path, request(path, 0, background=True))
    assert got == sent
    assert [len(one) for one in agent.stored()] == [1]
    agent.provider.reply = None
    last = "resp_1" if path == RESPONSES else "int_1"
    httpx2.get(f"{agent.proxy.url}{path}/{last}", headers={"authorization": "Bearer k"})
    assert [len(one) for one in agent.stored()] == [2]


@line("`item_reference` of Responses")
def test_a_reference_to_an_item_goes_through_and_stands_for_nothing(agent):
    body = request(RESPONSES, 0)
    for at in range(3):
        sent, got = agent.send(RESPONSES, body)
        assert got == sent
        body["input"].append({"type": "item_reference", "id": "msg_1"})
        body["input"].append(user(RESPONSES, f"more {at}"))
    stored = max(agent.stored(), key=len)
    assert [one["type"] for one in stored if "role" not in one] == ["item_reference"] * 2
    assert "Forty" not in json.dumps(stored[:-1]), "and the newest reply is behind the list"


@line("`store`")
@pytest.mark.parametrize(("path", "value"), [(CHAT, True), (RESPONSES, False), (RESPONSES, True)])
def test_whether_the_provider_stores_goes_through(agent, path, value):
    sent, got = agent.send(path, request(path, 0, store=value))
    assert got == sent
    [tenant] = agent.proxy.memories._open
    with agent.proxy.memories.of(tenant) as memory:
        ids = memory.__warmset_engine__().log.count((tenant,))
    assert ids == (path == RESPONSES and value)


@line("`truncation`")
def test_truncation_goes_through(agent):
    _, got = agent.send(RESPONSES, request(RESPONSES, 60, truncation="auto"))
    made = json.loads(got)
    assert made["truncation"] == "auto"
    assert len(made["input"]) < 60


@line("`cache_control`, `prompt_cache_key`, `prompt_cache_options`")
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (MESSAGES, {"cache_control": {"type": "ephemeral"}}),
        (RESPONSES, {"prompt_cache_key": "k", "prompt_cache_options": {"mode": "explicit"}}),
        (CHAT, {"prompt_cache_key": "k"}),
    ],
)
def test_what_is_said_of_the_cache_goes_through(agent, path, fields):
    sent, got = agent.send(path, request(path, 1, **fields))
    assert got == sent


@line("`cache_control`, `prompt_cache_key`, `prompt_cache_options`")
def test_a_message_whose_mark_moved_is_the_same(agent):
    body = request(MESSAGES, 2)
    for turn in range(3):
        given = [{**one} for one in body["messages"]]
        mark = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
        given[-1]["content"] = [mark]
        sent, got = agent.send(MESSAGES, {**body, "messages": given})
        assert got == sent
        said = {"role": "assistant", "content": [{"type": "text", "text": "Forty."}]}
        body["messages"][-1]["content"] = [{"type": "text", "text": "x"}]
        body["messages"] += [said, user(MESSAGES, "x")]
        assert [len(one) for one in agent.stored()] == [6 + 2 * turn]


@line("`cachedContent` of Gemini")
def test_content_that_gemini_has_in_its_cache_goes_through(agent):
    _, got = agent.send(GEMINI, request(GEMINI, 60, cachedContent="cachedContents/1"))
    made = json.loads(got)
    assert made["cachedContent"] == "cachedContents/1"
    assert len(made["contents"]) < 60


SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}
        ],
    },
]
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "x"}}
OWN_TOOLS = [
    (MESSAGES, [{"type": "web_search_20250305", "name": "web_search"}], SEARCHED),
    (RESPONSES, [{"type": "web_search"}], [SEARCH]),
]


@line("the provider's own tools, `mcp_servers`, `container`")
@pytest.mark.parametrize(("path", "tools", "made"), OWN_TOOLS)
def test_what_the_providers_own_tools_do_is_kept(agent, path, tools, made):
    fields = {"tools": tools, "mcp_servers": [{"url": "x"}], "container": "c"}
    agent.provider.reply = answer(path, *made)
    body = request(path, 0, **fields)
    sent, got = agent.send(path, body)
    assert got == sent
    [stored] = agent.stored()
    assert (stored[1]["content"] if path == MESSAGES else stored[1:])[: len(made)] == made
    body[LIST.get(path, "messages")] += [*stored[1:], user(path, "more")]
    sent, got = agent.send(path, body)
    assert got == sent
    assert len(agent.stored()) == 1


@line("`pause_turn`")
def test_a_turn_that_pauses_goes_on(agent):
    agent.provider.reply = answer(MESSAGES, *SEARCHED, stop="pause_turn")
    body = request(MESSAGES, 0)
    agent.send(MESSAGES, body)
    said = {"role": "assistant", "content": agent.provider.reply["content"]}
    body["messages"].append(said)
    agent.provider.reply = None
    sent, got = agent.send(MESSAGES, body)
    assert got == sent
    [stored] = agent.stored()
    assert [one["role"] for one in stored] == ["user", "assistant", "assistant"]


@line("`n`, `candidateCount`")
@pytest.mark.parametrize("path", [CHAT, GEMINI])
def test_of_several_alternatives_the_first_is_stored(agent, path):
    made = json.loads(json.dumps(answer(path)))
    field = "choices" if path == CHAT else "candidates"
    other = json.loads(json.dumps(made[field][0]).replace("Forty", "Fifty")) | {"index": 1}
    agent.provider.reply = {**made, field: [made[field][0], other]}
    count = {"n": 2} if path == CHAT else {"generationConfig": {"candidateCount": 2}}
    sent, got = agent.send(path, request(path, 0, **count))
    assert got == sent
    [stored] = agent.stored()
    assert [json.dumps(one).count("Forty") for one in stored] == [0, 1]


PASSING = {
    "`/v1/responses/compact`": [RESPONSES + "/compact"],
    "`/v1/messages/count_tokens`, `:countTokens`": [
        MESSAGES + "/count_tokens",
        GEMINI.replace("generateContent", "countTokens"),
    ],
    "`/v1/batches`, `/v1/messages/batches`, `:batchGenerateContent`": [
        "/v1/batches",
        MESSAGES + "/batches",
        GEMINI.replace("generateContent", "batchGenerateContent"),
    ],
}
LINES |= dict.fromkeys(PASSING)


@pytest.mark.parametrize("path", [path for paths in PASSING.values() for path in paths])
def test_what_is_no_call_of_the_model_passes_through(agent, path):
    body = request(MESSAGES, 60)
    sent, got = agent.send(f"{path}?beta=true&x=%20", {**body, "input": body["messages"]})
    assert got == sent
    assert agent.provider.paths[-1] == f"{path}?beta=true&x=%20"
    assert agent.told is None
    assert agent.stored() == []


def test_the_list_that_another_was_compacted_to_begins_a_new_conversation(agent):
    agent.send(RESPONSES, request(RESPONSES, 3))
    compacted = [user(RESPONSES, f"Shelf {at}? {'It is long. ' * 30}") for at in range(3)]
    body = {"model": "m", "input": [*compacted, ITEM, user(RESPONSES, "x")]}
    sent, got = agent.send(RESPONSES, body)
    assert got == sent
    assert [len(one) for one in agent.stored()] == [8, 6]


def test_every_line_of_the_table_has_a_test_and_no_test_is_of_another():
    table = PAGE.read_text().partition("## Field by field")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", table, re.MULTILINE)
    assert sorted(rows) == sorted(LINES)
