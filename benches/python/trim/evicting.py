"""One trimmer in its own interpreter: it cuts and counts lists, and runs what an issue would show.

The first line names the peer; each later line asks for one thing, and is answered with one line of
JSON. Nothing of the library is imported. Each peer has the options with which an agent would use
it; lists are OpenAI's, and Bedrock's for Strands, whose messages they are.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from importlib import metadata


def text_of(message):
    """Return the text of an OpenAI message; pictures are left out."""
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(one["text"] for one in content if one.get("type") == "text")
    return content


class LangChain:
    """trim_messages, counting one for each message."""

    package = "langchain-core"
    code = """\
from langchain_core.messages import trim_messages

messages = {messages}
kept = trim_messages(
    messages, max_tokens={budget}, token_counter=len, strategy="last", include_system=True
)
print([one.pretty_repr() if not one.content else one.content for one in kept])
"""

    def __init__(self):
        from langchain_core.messages.utils import convert_to_messages, trim_messages  # noqa: PLC0415

        self.convert, self.trim = convert_to_messages, trim_messages

    def cut(self, messages, budget):
        given = self.convert(messages)
        named = [one.model_copy(update={"id": str(at)}) for at, one in enumerate(given)]
        kept = self.trim(
            named, max_tokens=budget, token_counter=len, strategy="last", include_system=True
        )
        return [int(one.id) for one in kept]

    def count(self, messages):
        return len(messages)


class AgentFramework:
    """TruncationStrategy, counting one for each message."""

    package = "agent-framework-core"
    code = """\
import asyncio

from agent_framework import Content, Message, TruncationStrategy, apply_compaction

messages = [
{messages}
]
strategy = TruncationStrategy(max_n={budget}, compact_to={budget}, preserve_first_user_group=True)
kept = asyncio.run(apply_compaction(messages, strategy=strategy))
print([(one.role, one.text) for one in kept])
"""

    def parts(self, message):
        """Return the contents of a message: the name of the constructor, and its arguments."""
        if message["role"] == "tool":
            return [
                ("from_function_result", (message["tool_call_id"],), {"result": text_of(message)})
            ]
        text = text_of(message)
        made = [("from_text", (text,), {})] if text else []
        for call in message.get("tool_calls") or ():
            called = call["function"]
            made.append(
                (
                    "from_function_call",
                    (call["id"], called["name"]),
                    {"arguments": called["arguments"]},
                )
            )
        return made

    def role(self, message):
        return "system" if message["role"] == "developer" else message["role"]

    def literal(self, messages):
        lines = []
        for message in messages:
            made = []
            for name, args, more in self.parts(message):
                words = [*map(repr, args), *(f"{key}={one!r}" for key, one in more.items())]
                made.append(f"Content.{name}({', '.join(words)})")
            lines.append(f"    Message({self.role(message)!r}, [{', '.join(made)}]),")
        return "\n".join(lines)

    def cut(self, messages, budget):
        import asyncio  # noqa: PLC0415

        from agent_framework import (  # noqa: PLC0415 - a peer
            Content,
            Message,
            TruncationStrategy,
            apply_compaction,
        )

        given = [
            Message(
                self.role(one),
                [getattr(Content, name)(*args, **more) for name, args, more in self.parts(one)],
                additional_properties={"at": at},
            )
            for at, one in enumerate(messages)
        ]
        strategy = TruncationStrategy(
            max_n=budget, compact_to=budget, preserve_first_user_group=True
        )
        kept = asyncio.run(apply_compaction(given, strategy=strategy))
        return [one.additional_properties["at"] for one in kept]

    def count(self, messages):
        return len(messages)


class LlamaIndex:
    """ChatMemoryBuffer, counting the characters of contents, by its own sum."""

    package = "llama-index-core"
    code = """\
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer

messages = [
{messages}
]
memory = ChatMemoryBuffer.from_defaults(messages, token_limit={budget}, tokenizer_fn=list)
print([(str(one.role.value), one.content) for one in memory.get()])
"""

    def fields(self, message):
        more = {key: message[key] for key in ("tool_calls", "tool_call_id") if message.get(key)}
        return {"role": message["role"], "content": text_of(message), "additional_kwargs": more}

    def literal(self, messages):
        lines = []
        for one in messages:
            made = self.fields(one)
            words = ", ".join(f"{key}={value!r}" for key, value in made.items() if value)
            lines.append(f"    ChatMessage({words}),")
        return "\n".join(lines)

    def memory(self, messages, budget):
        from llama_index.core.llms import ChatMessage  # noqa: PLC0415 - a peer
        from llama_index.core.memory import ChatMemoryBuffer  # noqa: PLC0415

        given = [ChatMessage(**self.fields(one)) for one in messages]
        for at, one in enumerate(given):
            one.additional_kwargs["at"] = at
        return given, ChatMemoryBuffer.from_defaults(given, token_limit=budget, tokenizer_fn=list)

    def cut(self, messages, budget):
        _, memory = self.memory(messages, budget)
        return [one.additional_kwargs["at"] for one in memory.get()]

    def count(self, messages):
        given, memory = self.memory(messages, 1)
        return memory._token_count_for_messages(given)  # noqa: SLF001 - the sum that it cuts by


class Strands:
    """SlidingWindowConversationManager, a window of so many messages, the first pinned."""

    package = "strands-agents"
    code = """\
from types import SimpleNamespace

from strands.agent.conversation_manager import SlidingWindowConversationManager

messages = {messages}
agent = SimpleNamespace(messages=messages)
SlidingWindowConversationManager(window_size={budget}, pin_first=1).apply_management(agent)
print([(one["role"], [*one["content"][0]]) for one in agent.messages])
"""

    def bedrock(self, message):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        made = []
        for one in blocks:
            if one["type"] == "text":
                made.append({"text": one["text"]})
            elif one["type"] == "tool_use":
                use = {"toolUseId": one["id"], "name": one["name"], "input": one["input"]}
                made.append({"toolUse": use})
            elif one["type"] == "tool_result":
                said = one.get("content") or ""
                texts = [said] if isinstance(said, str) else [p.get("text", "") for p in said]
                result = {"toolUseId": one["tool_use_id"], "status": "success"}
                made.append({"toolResult": result | {"content": [{"text": t} for t in texts]}})
        return {"role": message["role"], "content": made or [{"text": "-"}]}

    def literal(self, messages):
        lines = [f"    {self.bedrock(one)!r}," for one in messages if one["role"] != "system"]
        return "\n".join(["[", *lines, "]"])

    def cut(self, messages, budget):
        from types import SimpleNamespace  # noqa: PLC0415

        from strands.agent.conversation_manager import (  # noqa: PLC0415 - a peer
            SlidingWindowConversationManager,
        )

        given = [self.bedrock(one) for one in messages if one["role"] != "system"]
        places = [at for at, one in enumerate(messages) if one["role"] != "system"]
        numbers = {id(one): at for one, at in zip(given, places, strict=True)}
        agent = SimpleNamespace(messages=list(given))
        SlidingWindowConversationManager(window_size=budget, pin_first=1).apply_management(agent)
        system = [at for at, one in enumerate(messages) if one["role"] == "system"]
        return sorted([*system, *(numbers[id(one)] for one in agent.messages)])

    def count(self, messages):
        return sum(one["role"] != "system" for one in messages)  # it never sees a system prompt


class LiteLLM:
    """trim_messages for gpt-4o, counting as it does."""

    package = "litellm"
    code = """\
from litellm.utils import trim_messages

messages = {messages}
kept = trim_messages(messages, model="gpt-4o", max_tokens={budget})
print([(one["role"], one.get("content")) for one in kept])
"""

    def __init__(self):
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # what it ships, not a fetched one
        import litellm as peer  # noqa: PLC0415 - a peer
        from litellm.utils import trim_messages  # noqa: PLC0415

        self.peer, self.trim = peer, trim_messages

    def cut(self, messages, budget):
        return self.trim(messages, model="gpt-4o", max_tokens=budget)

    def count(self, messages):
        return self.peer.token_counter(model="gpt-4o", messages=messages) if messages else 0


PEERS = {one.package: one for one in (LangChain, AgentFramework, LlamaIndex, Strands, LiteLLM)}


def plain_literal(messages):
    return "\n".join(["[", *(f"    {one!r}," for one in messages), "]"])


def main():
    """Answer on what was standard output; whatever a peer prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()

    asked = json.loads(sys.stdin.readline())
    peer = PEERS[asked["peer"]]()
    say({"version": metadata.version(peer.package), "doc": type(peer).__doc__})
    for line in sys.stdin:
        what = json.loads(line)
        messages, budget = what["messages"], what.get("budget", 0)
        if what["ask"] == "count":
            say({"count": peer.count(messages)})
        elif what["ask"] == "cut":
            try:
                say({"kept": peer.cut(messages, budget)})
            except Exception as error:  # noqa: BLE001 - a finding
                say({"error": f"{type(error).__name__}: {error}"})
        else:
            literal = getattr(peer, "literal", plain_literal)(messages)
            code = peer.code.replace("{messages}", literal).replace("{budget}", str(budget))
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(code, {})  # noqa: S102 - what an issue shows is what was run
            except Exception as error:  # noqa: BLE001 - a finding
                printed.write(f"{type(error).__name__}: {error}\n")
            say({"code": code, "printed": printed.getvalue()})


if __name__ == "__main__":
    main()
