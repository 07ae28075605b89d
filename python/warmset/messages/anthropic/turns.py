"""Anthropic Messages to turns, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.alternate import alternate
from warmset.messages.codec import accept
from warmset.messages.text import kind_of
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


def read(messages: list[Message], system: System | None) -> list[Turn]:
    """Read a list; see `Speech`."""
    turns: list[Turn] = []
    if isinstance(system, str):
        turns.append(Turn(None, "system", system))
    elif system:
        turns.append(Turn(None, "system", tuple(_read_system(block) for block in accept(system))))
    for index, message in enumerate(messages):
        refuse_rest(index, message, ("role", "content"), f"a {message['role']} message")
        content = message["content"]
        if not isinstance(content, str):
            content = tuple(_read_block(block, index) for block in content)
        turns.append(Turn(index, message["role"], content))
    return turns


def _read_system(block: Message) -> Text:
    if kind_of(block) != "text" or not isinstance(block.get("text"), str):
        raise loss(None, f"{block!r:.60} is no text block")
    refuse_rest(None, block, ("type", "text"), "a text block")
    return Text(block["text"])


def _read_block(block: dict[str, Any], index: int) -> Text | Image | Call | Result:
    kind = block["type"]
    if kind == "text":
        refuse_rest(index, block, ("type", "text"), "a text block")
        return Text(block["text"])
    if kind == "image":
        return _read_image(block, index)
    if kind == "tool_use":
        refuse_rest(index, block, ("type", "id", "name", "input"), "a tool_use block")
        if not isinstance(block.get("input"), dict):
            raise loss(index, f"the input of call {block['id']!r} is no mapping of arguments")
        return Call(block["id"], block["name"], block["input"])
    if kind == "tool_result":
        return _read_result(block, index)
    raise loss(index, f"a block of type {kind!r} would be lost")


def _read_image(block: dict[str, Any], index: int) -> Image:
    refuse_rest(index, block, ("type", "source"), "an image block")
    match block.get("source"):
        case {"type": "url", "url": str(url), **rest} if not rest and not url.startswith("data:"):
            return Image(url=url)
        case {"type": "base64", "media_type": str(media), "data": str(data), **rest} if not rest:
            return Image(media_type=media, data=data)
        case _:
            raise loss(index, "an image that is neither a url nor base64 would be lost")


def _read_result(block: dict[str, Any], index: int) -> Result:
    known = ["type", "tool_use_id", "content"]
    if block.get("is_error") is False:
        known.append("is_error")
    refuse_rest(index, block, known, "a tool_result block")
    content = block.get("content") or ""
    if isinstance(content, str):
        return Result(block["tool_use_id"], content)
    parts: list[Text | Image] = []
    for inner in content:
        part = _read_block(inner, index)
        if not isinstance(part, (Text, Image)):
            raise loss(index, f"a {inner['type']} block inside of a tool result would be lost")
        parts.append(part)
    return Result(block["tool_use_id"], tuple(parts))


def write(turns: list[Turn]) -> ConversionResult:
    """Write turns; see `Speech`."""
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    for turn in turns[first:]:
        if turn.role == "system":
            raise loss(turn.index, "a system message after the first turn would lose its place")
    messages = [{"role": turn.role, "content": _write_content(turn)} for turn in turns[first:]]
    return ConversionResult(alternate(messages), _write_system(turns[:first]))


def _write_system(turns: list[Turn]) -> System | None:
    written = [_write_content(turn) for turn in turns]
    if len(written) == 1:
        return written[0]
    blocks: list[Message] = []
    for content in written:
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return blocks or None


def _write_content(turn: Turn) -> str | list[Message]:
    content = turn.content
    if isinstance(content, str):
        return _write_text(content, turn.index)
    if not content:
        raise loss(turn.index, "there is nothing in it to say, which Anthropic refuses")
    return [_write_part(part, turn) for part in content]


def _write_text(text: str, index: int | None) -> str:
    if not text.strip():
        raise loss(index, "a blank text, which Anthropic refuses, would be lost")
    return text


def _write_part(part: Text | Image | Call | Result, turn: Turn) -> Message:
    match part:
        case Text(text):
            return {"type": "text", "text": _write_text(text, turn.index)}
        case Image():
            if turn.role != "user":
                raise loss(turn.index, f"an image in the {turn.role} message would be lost")
            source = (
                {"type": "url", "url": part.url}
                if part.url
                else {"type": "base64", "media_type": part.media_type, "data": part.data}
            )
            return {"type": "image", "source": source}
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case Result(call, content):
            return {
                "type": "tool_result",
                "tool_use_id": call,
                "content": content
                if isinstance(content, str)
                else [_write_part(inner, turn) for inner in content],
            }
