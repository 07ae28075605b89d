"""Summaries written behind the list that was sent, through the real SDKs and a local server."""

from __future__ import annotations

import json

import pytest
from preparing import Clock, Hand
from werkzeug import Response

from warmset import Memory, PreparedCompaction
from warmset.llm import ListRequest
from warmset.summarize import (
    HEADING,
    AnthropicSummarizer,
    OpenAIResponsesSummarizer,
    OpenAISummarizer,
)

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")

LINE = "crane seven lifted the steel that the harbour master had counted before noon"
GOOD = f"The user counts crates: {LINE}; question 1, question 2, question 3 were answered."
SCHEMA = {"type": "object", "properties": {}}
KINDS = {
    "anthropic": AnthropicSummarizer,
    "openai": OpenAISummarizer,
    "responses": OpenAIResponsesSummarizer,
}
TOOLS = {
    "anthropic": [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}],
    "openai": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}],
    "responses": [{"type": "function", "name": "look", "parameters": SCHEMA}],
}
SPENT = {"input_tokens": 90, "output_tokens": 9}
REPLIES = {
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": GOOD}],
        "stop_reason": "end_turn",
        "usage": SPENT,
    },
    "openai": {
        "id": "c_1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": GOOD},
            }
        ],
    },
    "responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": GOOD, "annotations": []}],
            }
        ],
    },
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(params=KINDS)
def dialect(request):
    return request.param


class Talk:
    """A conversation whose summariser asks a local server."""

    def __init__(self, dialect, httpserver, model="m"):
        self.dialect, self.bodies = dialect, []
        httpserver.expect_request("/v1/messages").respond_with_handler(self.respond)
        httpserver.expect_request("/v1/chat/completions").respond_with_handler(self.respond)
        httpserver.expect_request("/v1/responses").respond_with_handler(self.respond)
        url = httpserver.url_for("")
        client = (
            anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
            if dialect == "anthropic"
            else openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        )
        writer = KINDS[dialect](model, client=client, on_prefix=True, instructions="In Dutch.")
        self.clock = Clock()
        self.hand = Hand(self.clock)
        self.policy = PreparedCompaction(
            summarizer=writer, worker=self.hand, clock=self.clock, carry_tokens=0
        )
        self.memory = Memory.open(None, embedder="lexical", compaction=self.policy)
        self.chat = self.memory.conversation("log")
        self.asked = 0

    def respond(self, request):
        self.bodies.append(json.loads(request.data))
        return Response(json.dumps(REPLIES[self.dialect]), content_type="application/json")

    def turn(self, **options):
        self.asked += 1
        self.chat.append({"role": "user", "content": f"question {self.asked}: {LINE * 3}"})
        given = {"budget": 3_000, "mode": "steady", "model": "m", "dialect": self.dialect}
        given |= {"system": "Be brief.", "tools": TOOLS[self.dialect]}
        made = self.chat.window(**given | options)
        self.chat.append({"role": "assistant", "content": f"answer {self.asked}: {LINE}"})
        return made

    def until_begun(self, **options):
        while not self.hand.tasks:
            made = self.turn(**options)
        return made


def test_the_list_is_sent_byte_for_byte_with_one_instruction_behind_it(dialect, httpserver):
    talk = Talk(dialect, httpserver)
    with talk.memory:
        sent = talk.until_begun()
        talk.hand.run()
        [body] = talk.bodies
        field = "input" if dialect == "responses" else "messages"
        *before, last = body[field]
        assert len(before) > 10
        assert json.dumps(before) == json.dumps(sent.messages[: len(before)])
        assert body["tools"] == TOOLS[dialect]
        assert body.get("system") == sent.system
        assert "instructions" not in body
        assert last["role"] == "user"
        assert last["content"].startswith("Now write the summary")
        assert "In Dutch." in last["content"]
        assert LINE not in last["content"]
        while not (made := talk.turn()).report.epoch.began:
            pass
        assert f"{HEADING}\n{GOOD}" in str(made.messages).replace("\\n", "\n")
        assert talk.policy.counters.fallbacks == 0


def test_another_model_and_another_mode_get_the_messages_quoted(dialect, httpserver):
    talk = Talk(dialect, httpserver, model="small")
    with talk.memory:
        talk.until_begun()
        talk.hand.run()
        assert "<transcript>" in str(talk.bodies[0])
    httpserver.clear()
    talk = Talk(dialect, httpserver)
    with talk.memory:
        talk.until_begun(mode="full")
        talk.hand.run()
        assert "<transcript>" in str(talk.bodies[0])
        assert "tools" not in talk.bodies[0]


def test_the_summary_before_goes_into_the_instruction(dialect, httpserver):
    talk = Talk(dialect, httpserver)
    with talk.memory:
        talk.until_begun()
        talk.hand.run()
        while not talk.turn().report.epoch.began:
            pass
        talk.hand.tasks.clear()
        asked = ""
        while not asked.startswith("Now write the summary"):
            talk.until_begun()
            talk.hand.run()
            field = "input" if dialect == "responses" else "messages"
            asked = talk.bodies[-1][field][-1]["content"]
        assert asked.endswith(f"<earlier_summary>\n{GOOD}\n</earlier_summary>\n")


@pytest.mark.parametrize(
    ("model", "same"), [("m-4", True), ("M-4-20260101", True), ("m-4-1", False), ("", False)]
)
def test_only_a_list_for_the_same_model_in_its_own_dialect_is_written_behind(dialect, model, same):
    sdk = anthropic.Anthropic if dialect == "anthropic" else openai.OpenAI
    asked = [{"role": "user", "content": LINE}]
    with sdk(api_key="k") as client:
        writer = KINDS[dialect]("m-4", client=client, on_prefix=True)
        for listed in KINDS:
            request = ListRequest(messages=asked, model=model, dialect=listed)
            assert (writer.behind(request) is not None) == (same and listed == dialect)
