"""A peer that compacts, in its own interpreter: asked over standard input, it times itself.

The first line names the peer; each later one gives a list to work on, or asks for a call. What a
model would write is asked back on standard output, once for each prompt, and neither the asking nor
the answer's making is in the times; a stated latency is slept through. Nothing of the library is
imported.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from importlib import metadata


class Model:
    """What stands for a model: a text that was written elsewhere, after a stated latency."""

    def __init__(self, ask):
        self._ask, self._known = ask, {}
        self.latency = self.wall = self.cpu = 0.0
        self.calls = 0

    def write(self, prompt):
        """Return the summary; what it took to get it is left out of the times."""
        wall, cpu = time.perf_counter(), time.process_time()
        if prompt not in self._known:
            self._known[prompt] = self._ask({"wanted": prompt})["summary"]
        self.calls += 1
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        time.sleep(self.latency)
        return self._known[prompt]


class Langchain:
    """SummarizationMiddleware: `before_model`, as an agent calls it ahead of each model call."""

    PACKAGES = ("langchain", "langchain-core", "langgraph")

    def __init__(self, model, options):
        from langchain_core.language_models import SimpleChatModel  # noqa: PLC0415 - a peer

        class Stub(SimpleChatModel):
            @property
            def _llm_type(self):
                return "stub"

            def _call(self, messages, stop=None, run_manager=None, **_):  # noqa: ARG002
                return model.write(messages[-1].text)

        self._stub, self._options = Stub(), options

    def take(self, messages, share, summary_tokens):
        """Keep the newest by its own count, less what the summary may have."""
        from langchain.agents.middleware import SummarizationMiddleware  # noqa: PLC0415 - a peer

        self._given = messages
        counted = SummarizationMiddleware(self._stub).token_counter(self._made())
        self.budget = int(counted * share) - summary_tokens
        given = {"trigger": ("tokens", 1), "keep": ("tokens", self.budget)}
        self._peer = SummarizationMiddleware(self._stub, **given, **self._options)

    def ready(self):
        """Make fresh messages with ids, as an agent's state has them; return the call."""
        self._fresh = self._made()
        return lambda: self._peer.before_model({"messages": self._fresh}, None)

    def said(self, result):
        """Tell which messages stayed, what is new, and whether its own promise holds."""
        stayed = result["messages"][1:]
        places = {id(one): at for at, one in enumerate(self._fresh)}
        own = [one for one in stayed if id(one) in places]
        first = 1 if own and own[0].type == "ai" and own[0].tool_calls else 0
        while 0 < first < len(own) and own[first].type == "tool":
            first += 1  # a step is kept whole: its first unit may lie across the budget
        kept = [places.get(id(one), {"role": "user", "content": one.content}) for one in stayed]
        return kept, self._peer.token_counter(own[first:]) <= self.budget

    def _made(self):
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: PLC0415

        out = []
        for at, one in enumerate(self._given):
            text, name = one["content"] or "", f"m{at}"
            if one["role"] == "tool":
                out.append(ToolMessage(text, tool_call_id=one["tool_call_id"], id=name))
            elif one["role"] == "user":
                out.append(HumanMessage(text, id=name))
            else:
                calls = [
                    {
                        "id": call["id"],
                        "name": call["function"]["name"],
                        "args": json.loads(call["function"]["arguments"]),
                    }
                    for call in one.get("tool_calls", ())
                ]
                out.append(AIMessage(text, tool_calls=calls, id=name))
        return out


class AgentFramework:
    """TruncationStrategy by its estimate of 4 characters a token; it marks what it is given."""

    PACKAGES = ("agent-framework-core",)

    def __init__(self, model, options):
        from agent_framework import CharacterEstimatorTokenizer  # noqa: PLC0415 - a peer

        del model
        self._tokenizer, self._options = CharacterEstimatorTokenizer(), options

    def take(self, messages, share, summary_tokens):
        """Set the budget by its own count; it writes no summary, so all of it is for messages."""
        from agent_framework import (  # noqa: PLC0415 - a peer
            TruncationStrategy,
            annotate_message_groups,
            included_token_count,
        )

        del summary_tokens
        self._given = messages
        counted = self._made()
        annotate_message_groups(counted, tokenizer=self._tokenizer)
        self.budget = int(included_token_count(counted) * share)
        limits = {"max_n": self.budget, "compact_to": self.budget}
        self._peer = TruncationStrategy(**limits, tokenizer=self._tokenizer, **self._options)

    def ready(self):
        """Make fresh messages, which it has not marked; return the call."""
        from agent_framework import apply_compaction  # noqa: PLC0415 - a peer

        self._fresh = self._made()
        given = {"strategy": self._peer, "tokenizer": self._tokenizer}
        return lambda: apply_compaction(self._fresh, **given)

    def said(self, result):
        """Tell which messages stayed, and whether its own promise holds."""
        from agent_framework import included_token_count  # noqa: PLC0415 - a peer

        places = {id(one): at for at, one in enumerate(self._fresh)}
        return [places[id(one)] for one in result], included_token_count(result) <= self.budget

    def _made(self):
        from agent_framework import Content, Message  # noqa: PLC0415 - a peer

        out = []
        for one in self._given:
            contents = [one["content"]] if one["content"] else []
            if one["role"] == "tool":
                contents = [
                    Content.from_function_result(one["tool_call_id"], result=one["content"])
                ]
            for call in one.get("tool_calls", ()):
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                contents.append(Content.from_function_call(call["id"], name, arguments=arguments))
            out.append(Message(one["role"], contents))
        return out


async def timed(call, model):
    """Time a call within a running loop, less what the model's stand-in took to get its text."""
    model.wall = model.cpu = 0.0
    model.calls = 0
    cpu, begin = time.process_time(), time.perf_counter()
    result = call()
    if asyncio.iscoroutine(result):
        result = await result
    wall = time.perf_counter() - begin - model.wall
    return result, wall, time.process_time() - cpu - model.cpu


PEERS = {"langchain": Langchain, "agent-framework-core": AgentFramework}


def main():
    """Answer on what was standard output; whatever a peer prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()

    def ask(what):
        say(what)
        return json.loads(sys.stdin.readline())

    asked = json.loads(sys.stdin.readline())
    model = Model(ask)
    kind = PEERS[asked["peer"]]
    peer = kind(model, asked["options"])
    say({"versions": {name: metadata.version(name) for name in kind.PACKAGES}})
    for line in sys.stdin:
        what = json.loads(line)
        if "messages" in what:
            peer.take(what["messages"], what["share"], what["summary_tokens"])
            say({"budget": peer.budget})
            continue
        model.latency = what["latency"]
        result, wall, cpu = asyncio.run(timed(peer.ready(), model))
        kept, held = peer.said(result)
        say({"wall": wall, "cpu": cpu, "kept": kept, "held": held, "model_calls": model.calls})


if __name__ == "__main__":
    main()
