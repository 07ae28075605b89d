"""Providers' compactions through the real SDKs, against a local server that speaks the protocol."""

from __future__ import annotations

import json
import socket

import pytest
from compacted_agent import COMPACTED, Agent
from compacting_provider import RefusedError
from werkzeug import Response

from warmset.errors import InvalidInputError, SummarizerError
from warmset.llm import ListRequest
from warmset.summarize import AnthropicCompaction, OpenAICompaction

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")

ASKED = [{"role": "user", "content": "Count the crates on pier 7."}]
SPENT = {"input_tokens": 90, "output_tokens": 9}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("NO_PROXY", "*")


def client_of(dialect, httpserver):
    url = httpserver.url_for("")
    if dialect == "anthropic":
        return anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
    return openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)


def compaction_of(dialect, httpserver, **options):
    kind = AnthropicCompaction if dialect == "anthropic" else OpenAICompaction
    return kind(client=client_of(dialect, httpserver), **options)


class Server:
    """Answers from the mock of a provider, and keeps the bodies and headers of requests."""

    def __init__(self, httpserver, provider):
        self.provider, self.requests, self.answer = provider, [], {}
        for path in ("/v1/messages", "/v1/responses/compact"):
            httpserver.expect_request(path, method="POST").respond_with_handler(self.respond)

    def respond(self, request):
        body = json.loads(request.data)
        betas = request.headers.get("anthropic-beta", "").split(",")
        self.requests.append((body, betas))
        try:
            made = self._made(body, betas)
        except RefusedError as error:
            return Response(json.dumps({"error": {"message": str(error)}}), 400)
        return Response(json.dumps(made | self.answer), content_type="application/json")

    def _made(self, body, betas):
        beside = {"tools": body.get("tools"), "model": body["model"]}
        if self.provider.dialect == "responses":
            output = self.provider.compact(body["input"], model=body["model"])
            made = {"id": "resp_1", "object": "response.compaction", "created_at": 1}
            return made | {"output": output, "usage": {**SPENT, "total_tokens": 99}}
        beside |= {"system": body.get("system"), "betas": betas}
        made = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
        if "compaction" not in body:
            [said] = self.provider.reply(body["messages"], **beside)
            return made | {"content": said["content"], "stop_reason": "end_turn", "usage": SPENT}
        assert body["compaction"] == {"type": "summarize"}
        [said] = self.provider.compact(body["messages"], **beside)
        nothing = {"input_tokens": 0, "output_tokens": 0}
        spent = {**nothing, "iterations": [{"type": "compaction", **SPENT}]}
        return made | {"content": said["content"], "stop_reason": "compaction", "usage": spent}


@pytest.fixture(params=["anthropic", "responses"])
def agent(request):
    made = Agent(request.param)
    with made.memory:
        yield made


def test_an_agent_whose_lists_are_compacted_keeps_its_thinking(agent, httpserver):
    server = Server(httpserver, agent.provider)
    agent.writer.compact = compaction_of(agent.dialect, httpserver).compact
    agent.until_asked()
    agent.hand.run()
    [(body, betas)] = server.requests
    assert body["model"] == "m"
    if agent.dialect == "anthropic":
        assert (body["tools"], body["system"]) == (agent.given["tools"], "Be brief.")
        assert betas == ["compact-2026-09-04"]
        assert "context_management" not in body
    else:
        assert body.keys() == {"model", "input"}
        assert body["input"][0] == {"role": "system", "content": "Be brief."}
    made = agent.turn(words=1)
    assert (made.report.epoch.why, made.report.thinking.removed) == (COMPACTED, ())
    assert agent.provider.behind > 0
    assert agent.provider.dropped == 0
    assert agent.policy.counters.spent == 99


def test_the_arguments_of_a_window_pass_through_the_client(httpserver):
    agent = Agent("anthropic")
    server = Server(httpserver, agent.provider)
    client = client_of("anthropic", httpserver)
    with agent.memory:
        agent.until_asked()
        agent.hand.run()
        agent.turn(words=1)
        agent.ask(words=1)
        for create in (client.messages.create, client.beta.messages.create):
            said = create(model="m", max_tokens=900, **agent.window().anthropic())
            assert said.content[1].text.startswith("answer")
        [(first, betas), second] = server.requests
        assert betas == ["compact-2026-09-04"]
        assert first["messages"][0]["content"][0]["type"] == "compaction"
        assert (first, betas) == second


def test_what_is_no_compaction_is_an_error(agent, httpserver):
    server = Server(httpserver, agent.provider)
    compaction = compaction_of(agent.dialect, httpserver)
    answers = [{"output": []}, {"output": ASKED}]
    if agent.dialect == "anthropic":
        empty = {"content": [{"type": "compaction", "content": None}]}
        text = {"content": [{"type": "text", "text": "I counted."}]}
        answers = [{"content": [], "stop_reason": "max_tokens"}, empty, text]
        made = {"type": "compaction", "content": "so far", "signature": "s"}
        answers += [{"stop_reason": "end_turn"}, {"content": [made, *text["content"]]}]
    for server.answer in answers:
        with pytest.raises(SummarizerError, match="compacted nothing"):
            compaction.compact(ListRequest(messages=ASKED, model="m"))


def test_a_provider_that_refuses_is_an_error(agent, httpserver):
    compaction = compaction_of(agent.dialect, httpserver)
    with pytest.raises(SummarizerError, match="failed"):
        compaction.compact(ListRequest(messages=ASKED, model="m"))


def test_a_provider_that_stalls_is_an_error(agent):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if agent.dialect == "anthropic":
            client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
            compaction = AnthropicCompaction(client=client, timeout=0.05)
        else:
            client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
            compaction = OpenAICompaction(client=client, timeout=0.05)
        with pytest.raises(SummarizerError, match="compaction"):
            compaction.compact(ListRequest(messages=ASKED, model="m"))


def test_the_model_and_other_fields_are_the_callers(agent, httpserver):
    server = Server(httpserver, agent.provider)
    more = {"service_tier": "auto"}
    asked = [{"role": "user", "content": [{"type": "input_text", "text": "Count."}]}]
    with compaction_of(agent.dialect, httpserver, model="other", options=more) as compaction:
        made = compaction.compact(ListRequest(messages=asked, model="m"))
        assert agent.dialect == "anthropic" or made.messages[0] == asked[0]
        assert compaction.fingerprint.endswith("Compaction:other")
    [(body, _)] = server.requests
    assert body["model"] == "other"
    assert body.items() >= more.items()


def test_a_compaction_writes_no_summary_of_some_messages(agent, httpserver):
    compaction = compaction_of(agent.dialect, httpserver)
    with pytest.raises(SummarizerError, match="mode 'steady'"):
        compaction(ASKED, max_tokens=9)


@pytest.mark.parametrize("timeout", [0, -1, True, "9", float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout):
    with pytest.raises(InvalidInputError, match="timeout"):
        AnthropicCompaction(timeout=timeout)


@pytest.mark.parametrize(
    ("own", "window", "obstacle"),
    [
        ("claude-opus-5", "claude-opus-5-5", "check"),
        ("claude-opus-5", "claude-opus-5", None),
        ("claude-sonnet-5-5", "claude-opus-5", None),
        ("claude-sonnet-5-5", "claude-opus-5-5", None),
        ("", "claude-opus-5-5", None),
        ("", "", "model="),
    ],
)
def test_a_model_that_checks_no_thinking_does_not_compact_for_one_that_does(own, window, obstacle):
    with anthropic.Anthropic(api_key="k") as client:
        found = AnthropicCompaction(own or None, client=client).obstacle(window)
    assert found is None if obstacle is None else obstacle in found
