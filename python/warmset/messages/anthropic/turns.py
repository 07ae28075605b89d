"""Anthropic Messages to turns, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmset.messages.alternate import alternate
from warmset.messages.anthropic import walk
from warmset.messages.anthropic.place_system import place_system
from warmset.messages.codec import accept
from warmset.messages.names import plain
from warmset.messages.openai.turns import with_name
from warmset.messages.text import kind_of
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
from warmset.messages.writable import sifted, with_own_ids, with_results_first, without_empty

if TYPE_CHECKING:
    from warmset.messages.model import Message
    from warmset.messages.turns import Losses

_MARKS = frozenset(
    {"cache_control", "citations", "caller", "toolset_name", "transformations"}
    | {"id", "model", "stop_reason", "stop_sequence", "stop_details", "usage", "container"}
    | {"context_management", "input_transformations", "diagnostics", "clear_at", "output_config"}
)
"""Fields that are metadata: of blocks, and of messages as the API returned them."""

_UNSAID = frozenset({"thinking", "redacted_thinking", "tool_reference", "tool_search_tool_result"})
"""Blocks that are metadata: reasoning, and references to tools."""

_LONGEST_NAME = 128
_LONGEST_ID = 64


def read(messages: list[Message], system: System | None, losses: Losses) -> list[Turn]:
    """Read a list; see `Speech`."""
    turns: list[Turn] = []
    if isinstance(system, str):
        turns.append(Turn(None, "system", system))
    elif system:
        blocks = [_read_system(block, losses) for block in accept(system)]
        found = tuple(block for block in blocks if block is not None)
        turns.append(Turn(None, "system", found))
    gone: set[str] = set()  # ids of calls that are left out
    for index, message in enumerate(messages):
        known = ("role", "content", "type")
        losses.fields(index, message, known, f"the {message['role']} message", _MARKS)
        content = message["content"]
        if not isinstance(content, str):
            parts = [_read_block(block, index, losses, gone) for block in content]
            content = tuple(part for part in parts if part is not None)
        turns.append(Turn(index, message["role"], content))
    return turns


def _read_system(block: Message, losses: Losses) -> Text | None:
    if kind_of(block) != "text" or not isinstance(block.get("text"), str):
        losses.content(None, f"{block!r:.60}, which is no text block,")
        return None
    return _read_text(block, None, losses)


def _read_text(block: Message, index: int | None, losses: Losses) -> Text:
    losses.fields(index, block, ("type", "text"), "a text block", _MARKS)
    return Text(block["text"])


def _read_block(block: dict[str, Any], index: int, losses: Losses, gone: set[str]) -> Part | None:
    kind = block["type"]
    match kind:
        case "text":
            return _read_text(block, index, losses)
        case "image":
            return _read_image(block, index, losses)
        case "tool_use":
            return _read_call(block, index, losses, gone)
        case "tool_result":
            return _read_result(block, index, losses, gone)
        case "compaction" if isinstance(block.get("content"), str):
            losses.metadata(index, "the mark that a text is a summary of earlier messages")
            return Text(block["content"])
        case _ if kind in _UNSAID or _is_tool_search(block) or _has_failed(block):
            losses.metadata(index, f"a block of type {kind!r}")
        case _:
            losses.content(index, f"a block of type {kind!r}")
    return None


def _is_tool_search(block: dict[str, Any]) -> bool:
    named = str(block.get("name"))
    return block["type"] == "server_tool_use" and named.startswith("tool_search_tool")


def _has_failed(block: dict[str, Any]) -> bool:
    """Tell whether the block is a compaction that came to nothing."""
    return block["type"] == "compaction" and block.get("content") is None


def _read_image(block: dict[str, Any], index: int, losses: Losses) -> Image | None:
    losses.fields(index, block, ("type", "source"), "an image block", _MARKS)
    match block.get("source"):
        case {"type": "url", "url": str(url), **rest} if not rest and not url.startswith("data:"):
            return Image(url=url)
        case {"type": "base64", "media_type": str(media), "data": str(data), **rest} if not rest:
            return Image(media_type=media, data=data)
        case _:
            losses.content(index, "an image that is neither a url nor base64")
            return None


def _read_call(block: dict[str, Any], index: int, losses: Losses, gone: set[str]) -> Call | None:
    call = block["id"]
    known = ("type", "id", "name", "input")
    losses.fields(index, block, known, "a tool_use block", _MARKS)
    if not isinstance(block.get("input"), dict):
        losses.content(index, f"call {call!r}, whose input is no mapping of arguments,")
        gone.add(call)
        return None
    gone.discard(call)
    return Call(call, block["name"], block["input"])


def _read_result(
    block: dict[str, Any], index: int, losses: Losses, gone: set[str]
) -> Result | None:
    call = block["tool_use_id"]
    if call in gone:
        losses.content(index, f"the result of call {call!r}, which is lost itself")
        return None
    known = ("type", "tool_use_id", "content", "is_error")
    losses.fields(index, block, known, "a tool_result block", _MARKS)
    content = block.get("content") or ""
    if not isinstance(content, str):
        parts: list[Text | Image] = []
        for inner in content:
            part = _read_inner(inner, index, losses)
            if part is not None:
                parts.append(part)
        content = tuple(parts) or ""
    return Result(call, content, is_error=block.get("is_error") is True)


def _read_inner(block: dict[str, Any], index: int, losses: Losses) -> Text | Image | None:
    if block["type"] in ("tool_use", "tool_result"):
        losses.content(index, f"a {block['type']} block inside of a tool result")
        return None
    part = _read_block(block, index, losses, set())
    return part if isinstance(part, (Text, Image)) else None


def write(turns: list[Turn], losses: Losses) -> ConversionResult:
    """Write turns; see `Speech`."""

    def said(text: Text, turn: Turn) -> bool:
        if not text.text.strip():
            losses.metadata(turn.index, "a blank text")
        return bool(text.text.strip())

    def keep(part: Part, turn: Turn) -> Part | None:
        match part:
            case Text():
                return part if said(part, turn) else None
            case Image() if turn.role != "user":
                losses.content(turn.index, f"an image in the {turn.role} message")
                return None
            case Call():
                return with_name(part, turn, losses, _LONGEST_NAME)
            case Result(_, tuple(inner)):
                kept = tuple(p for p in inner if isinstance(p, Image) or said(p, turn))
                return part if kept == inner else replace(part, content=kept or "")
            case _:
                return part

    turns = with_own_ids(turns, losses, lambda id_: plain(id_, _LONGEST_ID))
    turns = without_empty(sifted(turns, keep), losses, user_ends=True)
    head, rest = place_system(turns, losses)
    rest = with_results_first(rest, losses)
    written = [{"role": turn.role, "content": _write_content(turn.content)} for turn in rest]
    messages = alternate(written)
    if messages and (last := walk.stripped(messages[-1])) is not messages[-1]:
        losses.metadata(rest[-1].index, "white space at the end of the last message")
        messages[-1] = last
    return ConversionResult(messages, _write_system(head))


def _write_system(turns: list[Turn]) -> System | None:
    written = [_write_content(turn.content) for turn in turns]
    if len(written) == 1:
        return written[0]
    blocks: list[Message] = []
    for content in written:
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return blocks or None


def _write_content(content: str | tuple[Part, ...]) -> str | list[Message]:
    return content if isinstance(content, str) else [_write_part(part) for part in content]


def _write_part(part: Part) -> Message:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(url, media, data):
            link = {"type": "url", "url": url}
            inline = {"type": "base64", "media_type": media, "data": data}
            return {"type": "image", "source": link if url else inline}
        case Call(id_, name, arguments):
            return {"type": "tool_use", "id": id_, "name": name, "input": arguments}
        case Result(id_, content, is_error):
            said = _write_content(content)
            failed = {"is_error": True} if is_error else {}
            return {"type": "tool_result", "tool_use_id": id_, "content": said, **failed}
