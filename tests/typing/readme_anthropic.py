"""The calls of Anthropic's SDK that the documentation shows: type-checked, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from anthropic.types import Message, MessageParam

from warmset import fit, repair, validate

if TYPE_CHECKING:
    from anthropic import Anthropic

    from warmset import Conversation, Memory


def call(client: Anthropic, chat: Conversation) -> None:
    kit = chat.tools(dialect="anthropic")
    window = chat.window("Which pool?", budget=9, dialect="anthropic", tools=kit.definitions)
    said = client.messages.create(model="claude-haiku-4-5", max_tokens=900, **window.anthropic())
    assert_type(said, Message)
    assert_type(window.anthropic()["messages"], list[MessageParam])
    chat.append(said)
    chat.append({"role": "assistant", "content": said.content})
    chat.append(kit.run_all(block for block in said.content if kit.handles(block)))


def own_list(client: Anthropic, memory: Memory, history: list[MessageParam], said: Message) -> None:
    memory.process([*history, said], conversation="agent", budget=9)
    client.messages.create(model="m", max_tokens=9, messages=fit(history, budget=9).messages)
    client.messages.create(model="m", max_tokens=9, messages=repair(history).messages)
    validate([*history, said])


def wrong(client: Anthropic, chat: Conversation) -> None:
    """The line below is an error of the type checker."""
    window = chat.window(budget=9)
    client.messages.create(model="m", max_tokens=9, **window.openai())  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
