"""OpenAI Chat Completions to turns, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmset.errors import ConversionError
from warmset.messages.codec import encode
from warmset.messages.names import plain
from warmset.messages.openai.arguments import read_arguments
from warmset.messages.turns import (
    Call,
    ConversionResult,
    Image,
    Part,
    Result,
    System,
    Text,
    Turn,
)
from warmset.messages.writable import ORDER, sifted, with_results_first, without_empty

if TYPE_CHECKING:
    from warmset.messages.model import Message
    from warmset.messages.turns import Losses

_DATA = "data:"
_BASE64 = ";base64,"
LONGEST_NAME = 64
"""The most characters of a function's name."""

_MARKS = frozenset(
    {"id", "index", "annotations", "cache_control", "prompt_cache_breakpoint", "logprobs", "detail"}
    | {"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "extra_content"}
    | {"parsed", "parsed_arguments", "provider_specific_fields"}
)
"""Fields that are metadata: OpenAI's own, and those of proxies and SDKs that speak its dialect."""

_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})


def read(messages: list[Message], system: System | None, losses: Losses) -> list[Turn]:
    """Read a list; see `Speech`."""
    if system is not None:
        why = "openai has it among its messages; put it there, or leave it out here"
        raise ConversionError(f"the system prompt: {why}")
    turns: list[Turn] = []
    gone: set[str] = set()  # ids of calls that are left out
    for index, message in enumerate(messages):
        turns.append(_read_message(message, index, losses, gone))
    return turns


def _read_message(message: Message, index: int, losses: Losses, gone: set[str]) -> Turn:
    role: str = message["role"]
    if role == "function":
        losses.content(index, "the result of a function call without an id")
        return Turn(index, "user", ())
    own = {"assistant": ("tool_calls", "function_call", "refusal"), "tool": ("tool_call_id",)}
    marks = _MARKS | {"name"} if role == "tool" else _MARKS
    known = ("role", "content", *own.get(role, ()))
    losses.fields(index, message, known, f"the {role} message", marks)
    said = _read_content(message.get("content"), index, losses)
    if role == "tool":
        call = message["tool_call_id"]
        if call in gone:
            losses.content(index, f"the result of call {call!r}, which is lost itself")
            return Turn(index, "user", ())
        return Turn(index, "user", (Result(call, said or ""),))
    if role == "user":
        return Turn(index, "user", said)
    if role != "assistant":  # developer is OpenAI's newer word for system
        return Turn(index, "system", said)
    return Turn(index, "assistant", _read_assistant(message, said, index, losses, gone))


def _read_assistant(
    message: Message,
    said: str | tuple[Text | Image, ...],
    index: int,
    losses: Losses,
    gone: set[str],
) -> str | tuple[Part, ...]:
    if message.get("function_call") is not None:
        losses.content(index, "a function call without an id")
    refusal = message.get("refusal")
    calls: list[Call] = []
    for one in message.get("tool_calls") or ():
        call = _read_call(one, index, losses)
        if call is None:
            gone.add(one["id"])
        else:
            gone.discard(call.id)
            calls.append(call)
    if refusal:
        losses.metadata(index, "the mark that a text is a refusal")
    elif not calls:
        return said
    parts = ((Text(said),) if said else ()) if isinstance(said, str) else said
    return (*parts, *((Text(refusal),) if refusal else ()), *calls)


def _read_content(content: Any, index: int, losses: Losses) -> str | tuple[Text | Image, ...]:
    if isinstance(content, str):
        return content
    found = (_read_part(part, index, losses) for part in content or ())
    return tuple(part for part in found if part is not None)


def _read_part(part: dict[str, Any], index: int, losses: Losses) -> Text | Image | None:
    kind = part["type"]
    if kind in ("text", "refusal") and isinstance(part.get(kind), str):
        losses.fields(index, part, ("type", kind), f"a {kind} part", _MARKS)
        if kind == "refusal":
            losses.metadata(index, "the mark that a text is a refusal")
        return Text(part[kind])
    if kind in _REASONING:
        losses.metadata(index, f"a part of type {kind!r}")
        return None
    if kind != "image_url":
        losses.content(index, f"a part of type {kind!r}")
        return None
    losses.fields(index, part, ("type", "image_url"), "an image part", _MARKS)
    image = part["image_url"]
    if not isinstance(image, dict) or not isinstance(image.get("url"), str):
        losses.content(index, "an image_url without a url")
        return None
    known = ("url", "detail") if image.get("detail") == "auto" else ("url",)
    losses.fields(index, image, known, "an image", _MARKS)
    return read_image(image["url"], index, losses)


def read_image(url: str, index: int, losses: Losses) -> Image | None:
    """Read the address of an image, or the data that it holds; None if it cannot be read."""
    if not url.startswith(_DATA):
        return Image(url=url)
    media_type, base64, data = url.removeprefix(_DATA).partition(_BASE64)
    if not base64 or not media_type or ";" in media_type or "," in media_type:
        losses.content(index, f"an image at {url[:40]!r}, which is not plain base64,")
        return None
    return Image(media_type=media_type, data=data)


def _read_call(call: dict[str, Any], index: int, losses: Losses) -> Call | None:
    if call.get("type", "function") != "function":
        losses.content(index, f"a tool call of type {call['type']!r}")
        return None
    losses.fields(index, call, ("id", "type", "function"), "a tool call", _MARKS)
    function = call["function"]
    losses.fields(index, function, ("name", "arguments"), "a function call", _MARKS)
    arguments = read_arguments(function.get("arguments"), call["id"], index, losses)
    return None if arguments is None else Call(call["id"], function["name"], arguments)


def write(turns: list[Turn], losses: Losses) -> ConversionResult:
    """Write turns; see `Speech`."""

    def keep(part: Part, turn: Turn) -> Part | None:
        match part:
            case Image() if turn.role != "user":
                losses.content(turn.index, f"an image in the {turn.role} message")
                return None
            case Call():
                return with_name(part, turn, losses, LONGEST_NAME)
            case Result():
                return unmarked(_with_texts(part, turn, losses), turn, losses)
            case _:
                return part

    kept = with_results_first(without_empty(sifted(turns, keep), losses), losses)
    return ConversionResult([message for turn in kept for message in _write_turn(turn, losses)])


def with_name(call: Call, turn: Turn, losses: Losses, longest: int) -> Call:
    """Give a call a name of letters, digits, _ and -, as a dialect demands."""
    name = plain(call.name, longest)
    if name == call.name:
        return call
    losses.metadata(turn.index, f"the name {call.name!r:.80} of a function, now {name!r}")
    return replace(call, name=name)


def unmarked(result: Result, turn: Turn, losses: Losses) -> Result:
    """Report the mark of a failed call, which OpenAI does not have; its text tells of the error."""
    if result.is_error:
        losses.metadata(turn.index, "the mark that a tool result is an error")
    return result


def _with_texts(result: Result, turn: Turn, losses: Losses) -> Result:
    if isinstance(result.content, str):
        return result
    texts = tuple(part for part in result.content if isinstance(part, Text))
    for _ in range(len(result.content) - len(texts)):
        losses.content(turn.index, "an image in a tool result")
    return replace(result, content=texts or "")


def _write_turn(turn: Turn, losses: Losses) -> list[Message]:
    if isinstance(turn.content, str):
        return [{"role": turn.role, "content": turn.content}]
    content = sorted(turn.content, key=lambda part: isinstance(part, Call))
    if tuple(content) != turn.content:
        losses.content(turn.index, ORDER)
    results = [part for part in content if isinstance(part, Result)]
    calls = [part for part in content if isinstance(part, Call)]
    rest = [part for part in content if isinstance(part, (Text, Image))]
    messages = [_write_result(result) for result in results]
    if rest or calls:
        written = [_write_part(part) for part in rest]
        plain_text = (results or calls) and len(rest) == 1 and isinstance(rest[0], Text)
        said = written[0]["text"] if plain_text else written or None
        messages.append({"role": turn.role, "content": said})
    if calls:
        messages[-1]["tool_calls"] = [_write_call(call) for call in calls]
    return messages


def _write_part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": url_of(part)}}


def url_of(image: Image) -> str:
    """Write an image as one address."""
    return image.url or f"{_DATA}{image.media_type}{_BASE64}{image.data}"


def _write_result(result: Result) -> Message:
    content: Any = result.content
    if not isinstance(content, str):
        content = [
            {"type": "text", "text": part.text} for part in content if isinstance(part, Text)
        ]
    return {"role": "tool", "tool_call_id": result.id, "content": content}


def _write_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": encode(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}
