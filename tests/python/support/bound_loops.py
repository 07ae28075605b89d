"""Loops of the providers' own clients with models that bind thinking to what stands before it."""

from __future__ import annotations

import json

from bound_servers import BoundMessages, BoundResponses
from client_loops import SYSTEM, Messages, Responses


class Thinking(Messages):
    """A loop of `anthropic` with a model that checks what its thinking stands behind."""

    serves = BoundMessages
    model = "claude-fable-5-2"

    def call(self, messages):
        made = self.client.messages.create(
            model=self.model,
            max_tokens=4_000,
            system=SYSTEM,
            messages=messages,
            tools=self.tools,
            thinking={"type": "adaptive"},
        )
        calls = [block.id for block in made.content if block.type == "tool_use"]
        return [{"role": "assistant", "content": made.content}], calls


class Reasoning(Responses):
    """A loop of `openai` with a model that drops reasoning behind a changed prefix.

    The list is written here: the client looks at each item once for each sort of item that there
    is, and takes seconds for the list of some hundred calls.
    """

    serves = BoundResponses
    model = "gpt-6.2-sol"

    def call(self, messages):
        written = {"input": [plain(one) for one in messages]}
        included = ["reasoning.encrypted_content"]
        return super().call([], store=False, include=included, extra_body=written)


def plain(message):
    """Return a message as it is sent."""
    return json.loads(json.dumps(message, default=lambda one: one.to_dict()))
