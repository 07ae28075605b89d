"""OpenAI Responses items to turns, and back.

The ids and the status "completed" of items are the names and marks of the provider's store; they
say nothing elsewhere, so leaving them loses nothing. Everything else without a word is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.codec import encode
from warmset.messages.openai.turns import read_arguments, read_image, url_of
from warmset.messages.responses.kinds import MESSAGE, item_kind
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

_STORED = ("type", "id", "status")


def read(messages: list[Message], system: System | None) -> list[Turn]:
    """Read a list; see `Speech`. A system prompt beside it are the request's `instructions`."""
    turns: list[Turn] = []
    if system is not None:
        if not isinstance(system, str):
            raise loss(None, "the instructions of responses are one text")
        turns.append(Turn(None, "system", system))
    called: set[str] = set()
    for index, item in enumerate(messages):
        turn = _read_item(item, index)
        parts = turn.content
        if isinstance(parts, tuple) and parts and isinstance(parts[0], Result):
            if parts[0].id not in called:
                raise loss(index, f"the output of {parts[0].id!r} stands apart from its call")
            turns.append(turn)
            continue
        last = turns[-1] if turns else None
        if last is not None and turn.role == last.role == "assistant" and _calls(last, turn):
            turns[-1] = Turn(last.index, "assistant", (*_parts(last), *_parts(turn)))
        else:
            called = set()
            turns.append(turn)
        called.update(part.id for part in _parts(turn) if isinstance(part, Call))
    return turns


def _calls(*turns: Turn) -> bool:
    """Tell whether a tool is called; without, assistant messages in a row stay apart."""
    return any(isinstance(part, Call) for turn in turns for part in _parts(turn))


def _parts(turn: Turn) -> tuple[Text | Image | Call | Result, ...]:
    if isinstance(turn.content, str):
        return (Text(turn.content),) if turn.content else ()
    return turn.content


def _read_item(item: Message, index: int) -> Turn:
    kind = item_kind(item)
    if item.get("status") not in (None, "completed"):
        raise loss(index, f"the status {item['status']!r} of the item would be lost")
    if kind == MESSAGE:
        role = item["role"]
        refuse_rest(index, item, (*_STORED, "role", "content"), f"a {role} message")
        said = _read_content(item["content"], index)
        if role == "user":
            return Turn(index, "user", said)
        return Turn(index, "assistant" if role == "assistant" else "system", said)
    if kind == "function_call":
        refuse_rest(index, item, (*_STORED, "call_id", "name", "arguments"), "a function call")
        return Turn(index, "assistant", (_read_call(item, index),))
    if kind == "function_call_output" and isinstance(item.get("call_id"), str):
        refuse_rest(index, item, (*_STORED, "call_id", "output"), "a function call's output")
        return Turn(index, "user", (Result(item["call_id"], _read_content(item["output"], index)),))
    raise loss(index, f"an item of type {kind!r} would be lost")


def _read_call(item: Message, index: int) -> Call:
    try:
        arguments = read_arguments(item["arguments"])
    except (ValueError, RecursionError) as error:
        why = f"the arguments of call {item['call_id']!r} cannot be read: {error}"
        raise loss(index, why) from error
    return Call(item["call_id"], item["name"], arguments)


def _read_content(content: str | list[Any], index: int) -> str | tuple[Text | Image, ...]:
    return content if isinstance(content, str) else tuple(_read_part(p, index) for p in content)


def _read_part(part: dict[str, Any], index: int) -> Text | Image:
    kind = part["type"]
    if kind in ("input_text", "output_text"):
        refuse_rest(index, part, ("type", "text"), "a text part")
        return Text(part["text"])
    if kind != "input_image":
        raise loss(index, f"a part of type {kind!r} would be lost")
    known = ("type", "image_url", *(("detail",) if part.get("detail") == "auto" else ()))
    refuse_rest(index, part, known, "an image")
    if not isinstance(part.get("image_url"), str):
        raise loss(index, "an image without an address or data cannot be read")
    return read_image(part["image_url"], index)


def write(turns: list[Turn]) -> ConversionResult:
    """Write turns; see `Speech`."""
    return ConversionResult([item for turn in turns for item in _write_turn(turn)])


def _write_turn(turn: Turn) -> list[Message]:
    content = turn.content
    if isinstance(content, str):
        return [{"role": turn.role, "content": content}]
    if not content:
        raise loss(turn.index, "there is nothing in it to say")
    among_tools = any(isinstance(part, (Call, Result)) for part in content)
    items: list[Message] = []
    said: list[Text | Image] = []
    for part in content:
        if isinstance(part, (Text, Image)):
            said.append(part)
            continue
        items += _write_said(said, turn, plain=True)
        said = []
        items.append(_write_tool(part, turn))
    return [*items, *_write_said(said, turn, plain=among_tools)]


def _write_said(said: list[Text | Image], turn: Turn, *, plain: bool) -> list[Message]:
    """Write what is said between tools as a message; one text as plain content, where asked."""
    if not said:
        return []
    if plain and len(said) == 1 and isinstance(said[0], Text):
        return [{"role": turn.role, "content": said[0].text}]
    return [{"role": turn.role, "content": [_write_part(part, turn) for part in said]}]


def _write_tool(part: Call | Result, turn: Turn) -> Message:
    if isinstance(part, Call):
        written = {"call_id": part.id, "name": part.name, "arguments": encode(part.arguments)}
        return {"type": "function_call", **written}
    content = part.content
    output = content if isinstance(content, str) else [_write_part(p, turn) for p in content]
    return {"type": "function_call_output", "call_id": part.id, "output": output}


def _write_part(part: Text | Image, turn: Turn) -> Message:
    if isinstance(part, Image):
        if turn.role != "user":
            raise loss(turn.index, f"an image in the {turn.role} message would be lost")
        return {"type": "input_image", "detail": "auto", "image_url": url_of(part)}
    if turn.role == "assistant":
        return {"type": "output_text", "text": part.text, "annotations": []}
    return {"type": "input_text", "text": part.text}
