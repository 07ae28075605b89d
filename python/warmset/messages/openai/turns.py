"""OpenAI Chat Completions to turns, and back."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from warmset.messages.codec import accept, encode
from warmset.messages.turns import (
    Call,
    ConversionResult,
    Image,
    Result,
    System,
    Text,
    Turn,
    loss,
    refuse_rest,
)

if TYPE_CHECKING:
    from warmset.messages.model import Message

_DATA = "data:"
_BASE64 = ";base64,"


def read(messages: list[Message], system: System | None) -> list[Turn]:
    """Read a list; see `Speech`."""
    if system is not None:
        raise loss(None, "openai has it among its messages, and this one would stand twice")
    return [_read_message(message, index) for index, message in enumerate(messages)]


def _read_message(message: Message, index: int) -> Turn:
    role: str = message["role"]
    if role == "function" or message.get("function_call") is not None:
        raise loss(index, "a function call without an id would be lost")
    own = {"assistant": ("tool_calls",), "tool": ("tool_call_id",)}.get(role, ())
    refuse_rest(index, message, ("role", "content", *own), f"a {role} message")
    content = message.get("content")
    said = (
        content if isinstance(content, str) else tuple(_read_part(p, index) for p in content or ())
    )
    if role == "tool":
        return Turn(index, "user", (Result(message["tool_call_id"], said or ""),))
    if role == "user":
        return Turn(index, "user", said)
    if role != "assistant":  # developer is OpenAI's newer word for system
        return Turn(index, "system", said)
    calls = tuple(_read_call(call, index) for call in message.get("tool_calls") or ())
    if not calls:
        return Turn(index, "assistant", said)
    if isinstance(said, str):
        said = (Text(said),) if said else ()
    return Turn(index, "assistant", (*said, *calls))


def _read_part(part: dict[str, Any], index: int) -> Text | Image:
    kind = part["type"]
    if kind == "text":
        refuse_rest(index, part, ("type", "text"), "a text part")
        return Text(part["text"])
    if kind != "image_url":
        raise loss(index, f"a part of type {kind!r} would be lost")
    refuse_rest(index, part, ("type", "image_url"), "an image part")
    image = part["image_url"]
    if not isinstance(image, dict) or not isinstance(image.get("url"), str):
        raise loss(index, "an image_url without a url cannot be read")
    known = ("url", "detail") if image.get("detail") == "auto" else ("url",)
    refuse_rest(index, image, known, "an image")
    return read_image(image["url"], index)


def read_image(url: str, index: int) -> Image:
    """Read the address of an image, or the data that it holds."""
    if not url.startswith(_DATA):
        return Image(url=url)
    media_type, base64, data = url.removeprefix(_DATA).partition(_BASE64)
    if not base64 or not media_type or ";" in media_type or "," in media_type:
        raise loss(index, f"a data URL that begins with {url[:40]!r} is not plain base64")
    return Image(media_type=media_type, data=data)


def _read_call(call: dict[str, Any], index: int) -> Call:
    refuse_rest(index, call, ("id", "type", "function"), "a tool call")
    if call.get("type", "function") != "function":
        raise loss(index, f"a tool call of type {call['type']!r} would be lost")
    function = call["function"]
    refuse_rest(index, function, ("name", "arguments"), "a function call")
    try:
        arguments = read_arguments(function.get("arguments"))
    except (ValueError, RecursionError) as error:
        raise loss(
            index, f"the arguments of call {call['id']!r} cannot be read: {error}"
        ) from error
    return Call(call["id"], function["name"], arguments)


def read_arguments(arguments: Any) -> dict[str, Any]:
    """Read arguments so that writing them again says the same, or raise `ValueError`."""
    if not isinstance(arguments, str):
        raise ValueError("they are no string")  # noqa: TRY004 - the caller reports it
    value = json.loads(
        arguments, object_pairs_hook=_unique, parse_float=_exact, parse_constant=_refuse
    )
    if not isinstance(value, dict):
        raise ValueError("they are no JSON object")  # noqa: TRY004
    accept([{"content": [{"input": value}]}])  # not nested deeper than a message may be
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _exact(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value) or Decimal(repr(value)) != Decimal(literal):
        raise ValueError(f"{literal} has more digits than a float holds")
    return value


def _refuse(literal: str) -> float:
    raise ValueError(f"{literal} is not JSON")


def write(turns: list[Turn]) -> ConversionResult:
    """Write turns; see `Speech`."""
    return ConversionResult([message for turn in turns for message in _write_turn(turn)])


def _write_turn(turn: Turn) -> list[Message]:
    content = turn.content
    if isinstance(content, str):
        return [{"role": turn.role, "content": content}]
    if not content:
        raise loss(turn.index, "there is nothing in it to say")
    results = [part for part in content if isinstance(part, Result)]
    calls = [part for part in content if isinstance(part, Call)]
    rest = [part for part in content if isinstance(part, (Text, Image))]
    if content != (*results, *rest, *calls):
        raise loss(turn.index, "the order of text and tool parts would be lost")
    messages = [_write_result(result, turn.index) for result in results]
    if rest or calls:
        written = [_write_part(part, turn) for part in rest]
        plain = (results or calls) and len(rest) == 1 and isinstance(rest[0], Text)
        said = written[0]["text"] if plain else written or None
        messages.append({"role": turn.role, "content": said})
    if calls:
        messages[-1]["tool_calls"] = [_write_call(call) for call in calls]
    return messages


def _write_part(part: Text | Image, turn: Turn) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if turn.role != "user":
        raise loss(turn.index, f"an image in the {turn.role} message would be lost")
    return {"type": "image_url", "image_url": {"url": url_of(part)}}


def url_of(image: Image) -> str:
    """Write an image as one address."""
    return image.url or f"{_DATA}{image.media_type}{_BASE64}{image.data}"


def _write_result(result: Result, index: int | None) -> Message:
    if isinstance(result.content, str):
        return {"role": "tool", "tool_call_id": result.id, "content": result.content}
    written: list[Message] = []
    for part in result.content:
        if isinstance(part, Image):
            raise loss(index, "an image in a tool result would be lost")
        written.append({"type": "text", "text": part.text})
    return {"role": "tool", "tool_call_id": result.id, "content": written}


def _write_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": encode(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}
