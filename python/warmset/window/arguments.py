"""The keyword arguments of a provider's call: a window's messages, system prompt and tools.

The types are those of the providers' SDKs, for type checkers only: nothing here imports an SDK.
Each dialect has a class of its own and a function that fills it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from warmset.errors import InvalidInputError
from warmset.messages import alternate
from warmset.messages.anthropic.models import COMPACTING
from warmset.messages.anthropic.walk import is_compacted

if TYPE_CHECKING:
    from anthropic.types import MessageParam, TextBlockParam, ToolUnionParam
    from google.genai.interactions import StepParam, ToolParam as InteractionToolParam
    from google.genai.types import ContentUnionDict, GenerateContentConfigDict
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
    from openai.types.responses import ResponseInputItemParam, ToolParam

    from warmset.messages import Dialect
    from warmset.window.result import Window


class OpenAIArguments(TypedDict):
    """Arguments of `client.chat.completions.create`."""

    messages: list[ChatCompletionMessageParam]
    tools: NotRequired[list[ChatCompletionToolUnionParam]]


class ResponsesArguments(TypedDict):
    """Arguments of `client.responses.create`."""

    input: list[ResponseInputItemParam]
    tools: NotRequired[list[ToolParam]]


class AnthropicArguments(TypedDict):
    """Arguments of `client.messages.create`."""

    messages: list[MessageParam]
    system: NotRequired[str | list[TextBlockParam]]
    tools: NotRequired[list[ToolUnionParam]]
    extra_headers: NotRequired[dict[str, str]]


class GeminiArguments(TypedDict):
    """Arguments of `client.models.generate_content`."""

    contents: list[ContentUnionDict]
    config: GenerateContentConfigDict


class InteractionsArguments(TypedDict):
    """Arguments of `client.interactions.create`."""

    input: list[StepParam]
    system_instruction: NotRequired[str]
    tools: NotRequired[list[InteractionToolParam]]


def openai_arguments(window: Window) -> OpenAIArguments:
    """Return the arguments of OpenAI Chat; see `Window.openai`."""
    made: OpenAIArguments = {"messages": _messages(window, "openai")}
    if window.tools:
        made["tools"] = _tools(window)
    return made


def responses_arguments(window: Window) -> ResponsesArguments:
    """Return the arguments of OpenAI Responses; see `Window.responses`."""
    made: ResponsesArguments = {"input": _messages(window, "responses")}
    if window.tools:
        made["tools"] = _tools(window)
    return made


def anthropic_arguments(window: Window) -> AnthropicArguments:
    """Return the arguments of Anthropic; see `Window.anthropic`."""
    merged: list[Any] = alternate(_messages(window, "anthropic"))
    made: AnthropicArguments = {"messages": merged}
    if window.system:
        system: Any = window.system
        made["system"] = system
    if window.tools:
        made["tools"] = _tools(window)
    if is_compacted(merged):
        made["extra_headers"] = {"anthropic-beta": COMPACTING}
    return made


def gemini_arguments(window: Window) -> GeminiArguments:
    """Return the arguments of Gemini; see `Window.gemini`."""
    config: GenerateContentConfigDict = {}
    if window.system:
        system: Any = window.system
        config["system_instruction"] = system
    if window.tools:
        config["tools"] = _tools(window)
    return {"contents": _messages(window, "gemini"), "config": config}


def interactions_arguments(window: Window) -> InteractionsArguments:
    """Return the arguments of Gemini Interactions; see `Window.interactions`."""
    made: InteractionsArguments = {"input": _messages(window, "interactions")}
    if window.system:
        system: Any = window.system
        made["system_instruction"] = system
    if window.tools:
        made["tools"] = _tools(window)
    return made


def _messages(window: Window, dialect: Dialect) -> list[Any]:
    """Return a copy of the window's list, which the caller may extend.

    Raises:
        InvalidInputError: The window is in another dialect.
    """
    if window.dialect != dialect:
        raise InvalidInputError(
            f"this window is in the dialect {window.dialect}; pass dialect={dialect!r} to window()"
        )
    return list(window.messages)


def _tools(window: Window) -> list[Any]:
    return list(window.tools or ())
