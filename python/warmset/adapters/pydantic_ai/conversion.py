"""Pydantic-AI's messages as those of a provider's dialect, and back.

A request of Pydantic-AI holds several messages of a provider: what a user says, and the results of
tools. Each of them is a piece that a window shows or leaves out. Parts that no provider's message
stands for go along with those beside them.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from warmset._extras import extra
from warmset.adapters._windows import places

with extra("pydantic-ai"):
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_ai.messages import ModelMessage

    from warmset.messages import Message

Spoken: TypeAlias = Literal["openai", "anthropic"]
"""The dialects that messages are read as."""

_ENCODED: Final = "base64"
_ROLES: Final = {"system-prompt": "system", "user-prompt": "user", "compaction": "user"}
_RETRIES: Final = ("retry-prompt", "retry-feedback")


@dataclass(frozen=True, slots=True)
class Piece:
    """A message of a provider within one of Pydantic-AI.

    Args:
        message: The provider's message.
        place: The message of Pydantic-AI that it is in.
        part: The part of a request that it stands for; None for a response.
    """

    message: Message
    place: int
    part: int | None


def pieces(messages: Iterable[ModelMessage], dialect: Spoken) -> list[Piece]:
    """Return the messages of a provider that these stand for, in order."""
    found = []
    for place, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            found.append(Piece(_response(message, dialect), place, None))
            continue
        for at, part in enumerate(message.parts):
            said = _request(part, dialect)
            if said is not None:
                found.append(Piece(said, place, at))
    return found


def _request(part: Any, dialect: Spoken) -> Message | None:
    """Return what a part of a request says; None for what no message stands for."""
    kind = part.part_kind
    if kind in _ROLES:
        return {"role": _ROLES[kind], "content": _content(part.content or "", dialect)}
    if kind == "tool-return":
        failed = getattr(part, "outcome", "success") != "success"
        return _result(part.tool_call_id, part.model_response_str(), dialect, failed=failed)
    if kind in _RETRIES:
        said = part.model_response()
        if getattr(part, "tool_name", None) is None:
            return {"role": "user", "content": said}
        return _result(part.tool_call_id, said, dialect, failed=True)
    return None


def _result(id_: str, text: str, dialect: Spoken, *, failed: bool) -> Message:
    if dialect == "openai":
        return {"role": "tool", "tool_call_id": id_, "content": text}
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id_, "content": text}
    if failed:
        block["is_error"] = True
    return {"role": "user", "content": [block]}


def _content(content: Any, dialect: Spoken) -> Any:
    if isinstance(content, str):
        return content
    blocks = [block for item in content if (block := _item(item, dialect)) is not None]
    return blocks or ""


def _item(item: Any, dialect: Spoken) -> dict[str, Any] | None:
    """Return a block for an item of a user's content; what is no text or image is named."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    kind = getattr(item, "kind", type(item).__name__)
    if kind == "cache-point":
        return None
    if kind == "image-url":
        return _image(item.url, None, dialect)
    if kind == "binary" and item.media_type.startswith("image/"):
        return _image(base64.b64encode(item.data).decode(), item.media_type, dialect)
    text = getattr(item, "content", None)
    return {"type": "text", "text": text if isinstance(text, str) else f"[{kind}]"}


def _image(held: str, media: str | None, dialect: Spoken) -> dict[str, Any]:
    """Return an image, given by its URL, or by its data and their type."""
    if dialect == "openai":
        url = held if media is None else f"data:{media};{_ENCODED},{held}"
        return {"type": "image_url", "image_url": {"url": url}}
    if media is None:
        return {"type": "image", "source": {"type": "url", "url": held}}
    return {"type": "image", "source": {"type": _ENCODED, "media_type": media, "data": held}}


def _response(message: ModelResponse, dialect: Spoken) -> Message:
    make = _openai if dialect == "openai" else _anthropic
    return make(message)


def _openai(message: ModelResponse) -> Message:
    said = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    made: Message = {"role": "assistant", "content": said}
    return {**made, "tool_calls": calls} if calls else made


def _anthropic(message: ModelResponse) -> Message:
    blocks = [block for part in message.parts if (block := _block(part)) is not None]
    return {"role": "assistant", "content": blocks or ""}


def _block(part: Any) -> dict[str, Any] | None:
    """Return a block of Anthropic's for a part of a response; None if it has none."""
    kind = part.part_kind
    if kind == "text":
        return {"type": "text", "text": part.content} if part.content else None
    if kind == "tool-call":
        name = {"name": part.tool_name, "input": _arguments(part)}
        return {"type": "tool_use", "id": part.tool_call_id, **name}
    if kind == "thinking" and part.signature:
        if part.id == "redacted_thinking":
            return {"type": "redacted_thinking", "data": part.signature}
        return {"type": "thinking", "thinking": part.content, "signature": part.signature}
    if kind == "compaction" and part.content:
        return {"type": "compaction", "content": part.content}
    return None


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    try:
        found = json.loads(part.args_as_json_str())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def restored(
    window: Sequence[Message], given: Sequence[ModelMessage], sent: Sequence[Piece]
) -> list[ModelMessage]:
    """Return the messages of a window as Pydantic-AI's.

    Args:
        window: The window's messages.
        given: The messages that the window was made of.
        sent: Their pieces.

    Returns:
        The objects in `given` where the window shows all of them; copies with fewer parts where it
        shows some; new messages for what it adds.
    """
    found = places(window, [piece.message for piece in sent])
    made: list[ModelMessage] = []
    groups: list[tuple[int, int, list[int]]] = []  # where it goes, of which request, which parts
    for message, place in zip(window, found, strict=True):
        if place is None:
            made.append(_made_of(message))
            continue
        piece = sent[place]
        whole = given[piece.place]
        if piece.part is None:
            made.append(whole if message == piece.message else _bare(whole))
        elif groups and groups[-1][:2] == (len(made) - 1, piece.place):
            groups[-1][2].append(piece.part)
        else:
            groups.append((len(made), piece.place, [piece.part]))
            made.append(whole)
    spoken = {(piece.place, piece.part) for piece in sent}
    begun: set[int] = set()
    for at, place, parts in groups:
        made[at] = _some_parts(given[place], place, parts, spoken, first=place not in begun)
        begun.add(place)
    return made + list(given[sent[-1].place + 1 if sent else 0 :])


def _some_parts(
    message: ModelMessage,
    place: int,
    shown: Sequence[int],
    spoken: set[tuple[int, int | None]],
    *,
    first: bool,
) -> ModelMessage:
    """Return a request with the parts that are shown; those without a message go with the first."""
    if not isinstance(message, ModelRequest):
        return message
    kept = [
        part
        for at, part in enumerate(message.parts)
        if at in shown or (first and (place, at) not in spoken)
    ]
    return message if len(kept) == len(message.parts) else replace(message, parts=kept)


def _bare(message: ModelMessage) -> ModelMessage:
    """Return a copy of a response without its thinking."""
    if not isinstance(message, ModelResponse):
        return message
    return replace(message, parts=[one for one in message.parts if one.part_kind != "thinking"])


def _made_of(message: Message) -> ModelMessage:
    """Return what a window adds as a message of Pydantic-AI's."""
    role, content = message["role"], message.get("content") or ""
    if role == "tool":
        return ModelRequest([ToolReturnPart("tool", content, message["tool_call_id"])])
    text = content if isinstance(content, str) else "\n\n".join(map(_text, content))
    if role == "assistant":
        return ModelResponse([TextPart(text)])
    if role in ("system", "developer"):
        return ModelRequest([SystemPromptPart(text)])
    return ModelRequest([UserPromptPart(text)])


def _text(block: dict[str, Any]) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else f"[{block.get('type')}]"
