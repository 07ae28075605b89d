"""Loops of the providers' own clients with the local servers of `provider_servers.py`.

A loop sends lists, answers the calls of the replies, and asks again when nothing is called. Its
connections are closed when nobody has it any more.
"""

from __future__ import annotations

import weakref

import pytest
from fitting import cases
from provider_servers import AnthropicServer, ChatServer, ResponsesServer

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")

TURNS = cases(50, 300)
SYSTEM = "You count what is on the shelves. Use the tool."
SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}}}
FUNCTION = {
    "name": "look",
    "description": "Looks at a shelf.",
    "parameters": SCHEMA,
    "strict": True,
}


def found(id_):
    return f"{id_}: forty boxes of nails, twelve of screws, all of them in their places"


def asked(turn):
    return {"role": "user", "content": f"Count shelf {turn} and tell me what is missing there."}


class Chat:
    """A loop of `openai` on Chat Completions."""

    dialect = "openai"
    model = "gpt-4.1"
    verb = "create"
    beside = None
    serves = ChatServer

    def __init__(self, httpserver):
        self.tools = [{"type": "function", "function": FUNCTION}]
        self.first = [{"role": "system", "content": SYSTEM}]
        self.server = self.serves(httpserver)
        self.client = openai.OpenAI(base_url=f"{self.server.url}/v1", api_key="k", max_retries=0)
        weakref.finalize(self, self.client.close)

    def call(self, messages):
        """Send a list; return the messages to append and the ids of the calls."""
        send = getattr(self.client.chat.completions, self.verb)
        made = send(model=self.model, messages=messages, tools=self.tools)
        said = made.choices[0].message
        return [said], [call.id for call in said.tool_calls or ()]

    def done(self, said, calls):
        """Return what to append: the reply, and the results as they came, the last one first."""
        results = [{"role": "tool", "tool_call_id": one, "content": found(one)} for one in calls]
        return [*said, *reversed(results)]


class Responses:
    """A loop of `openai` on Responses, without storage at the provider."""

    dialect = "responses"
    model = "gpt-5.2"
    verb = "create"
    beside = None
    serves = ResponsesServer

    def __init__(self, httpserver):
        self.tools = [{"type": "function", **FUNCTION}]
        self.first = [{"role": "developer", "content": SYSTEM}]
        self.server = self.serves(httpserver)
        self.client = openai.OpenAI(base_url=f"{self.server.url}/v1", api_key="k", max_retries=0)
        weakref.finalize(self, self.client.close)

    def call(self, messages, **options):
        send = getattr(self.client.responses, self.verb)
        options = options or {"store": False}
        made = send(model=self.model, input=messages, tools=self.tools, **options)
        self.last = made.id
        return made.output, [one.call_id for one in made.output if one.type == "function_call"]

    def results(self, ids):
        return [
            {"type": "function_call_output", "call_id": one, "output": found(one)} for one in ids
        ]

    def done(self, said, calls):
        """Return what to append: each output right behind its call."""
        items = []
        for item in said:
            items.append(item)
            items += self.results([item.call_id]) if item.type == "function_call" else []
        assert len(items) == len(said) + len(calls)
        return items


class Messages:
    """A loop of `anthropic` with thinking."""

    dialect = "anthropic"
    model = "claude-opus-4-5"
    beside = SYSTEM
    serves = AnthropicServer

    def __init__(self, httpserver):
        self.tools = [{"name": "look", "description": "Looks at a shelf.", "input_schema": SCHEMA}]
        self.first = []
        self.server = self.serves(httpserver)
        self.client = anthropic.Anthropic(base_url=self.server.url, api_key="k", max_retries=0)
        weakref.finalize(self, self.client.close)

    def call(self, messages):
        made = self.client.messages.create(
            model=self.model,
            max_tokens=4_000,
            system=SYSTEM,
            messages=messages,
            tools=self.tools,
            thinking={"type": "enabled", "budget_tokens": 2_000},
        )
        calls = [block.id for block in made.content if block.type == "tool_use"]
        return [{"role": "assistant", "content": made.content}], calls

    def done(self, said, calls):
        """Return what to append: the reply, and the results as they came, the last one first."""
        results = [
            {"type": "tool_result", "tool_use_id": one, "content": found(one)} for one in calls
        ]
        return [*said, {"role": "user", "content": results[::-1]}]


def run(loop, take, keep, turns=TURNS):
    """Run a loop: `take` returns the list to send, `keep` keeps what was said and done."""
    keep([*loop.first, asked(0)])
    for turn in range(1, turns + 1):
        said, calls = loop.call(take())
        keep(loop.done(said, calls) if calls else [*said, asked(turn)])
    assert loop.server.errors == []
    assert loop.server.served == turns
    assert max(loop.server.lengths) < 60, "nothing was left out"
