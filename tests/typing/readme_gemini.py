"""The calls of Google's SDK that the documentation shows: type-checked, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from google.genai.types import ContentUnionDict, GenerateContentResponse

from warmset import fit, validate

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.types import Content

    from warmset import Conversation, Memory


def loop(client: Client, memory: Memory, chat: Conversation, history: list[Content]) -> None:
    kit = chat.tools(dialect="gemini")
    window = chat.window("Which pool?", budget=9, dialect="gemini", tools=kit.definitions)
    call = window.gemini()
    call["config"]["temperature"] = 0.0
    made = client.models.generate_content(model="gemini-3-flash", **call)
    assert_type(made, GenerateContentResponse)
    assert_type(call["contents"], list[ContentUnionDict])
    for candidate in made.candidates or ():
        if candidate.content is not None:
            chat.append(candidate.content)
    chat.append(kit.run_all(made.function_calls or ()))
    memory.process(history, conversation="agent", budget=9)
    client.models.generate_content(model="m", contents=fit(history, budget=9).messages)
    validate(history)


def wrong(client: Client, chat: Conversation) -> None:
    """The line below is an error of the type checker."""
    window = chat.window(budget=9)
    client.models.generate_content(model="m", **window.openai())  # type: ignore[misc]  # pyright: ignore[reportCallIssue]
