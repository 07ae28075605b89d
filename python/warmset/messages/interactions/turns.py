"""Gemini Interactions steps to turns, and back.

A result's name is that of its call, and the media type of an image at an address is what the
address gives: leaving them loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.interactions.kinds import CALL, OUTPUT, RESULT, USER
from warmset.messages.interactions.said import text as said_by
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

_URL_SAFE = str.maketrans("-_", "+/")


def read(messages: list[Message], system: System | None) -> list[Turn]:
    """Read a list; see `Speech`. The system prompt beside it is the request's system_instruction.

    Steps of the model in a row become one turn if one of them is a call.
    """
    turns: list[Turn] = []
    if system is not None:
        if not isinstance(system, str):
            raise loss(None, "the system_instruction of interactions is one text")
        turns.append(Turn(None, "system", system))
    called: set[str] = set()
    for index, step in enumerate(messages):
        turn = _read_step(step, index)
        parts = _parts(turn)
        if parts and isinstance(parts[0], Result):
            if parts[0].id not in called:
                raise loss(index, f"the result of {parts[0].id!r} stands apart from its call")
            turns.append(turn)
            continue
        last = turns[-1] if turns else None
        if last is not None and turn.role == last.role == "assistant" and _calls(last, turn):
            turns[-1] = Turn(last.index, "assistant", (*_parts(last), *parts))
        else:
            called = set()
            turns.append(turn)
        called.update(part.id for part in parts if isinstance(part, Call))
    return turns


def _calls(*turns: Turn) -> bool:
    return any(isinstance(part, Call) for turn in turns for part in _parts(turn))


def _parts(turn: Turn) -> tuple[Text | Image | Call | Result, ...]:
    if isinstance(turn.content, str):
        return (Text(turn.content),) if turn.content else ()
    return turn.content


def _read_step(step: Message, index: int) -> Turn:
    match kind_of(step):
        case "user_input":
            refuse_rest(index, step, ("type", "content"), "an input")
            return Turn(index, "user", _read_content(step, index))
        case "model_output":
            refuse_rest(index, step, ("type", "content"), "an output")
            return Turn(index, "assistant", _read_content(step, index))
        case "function_call":
            refuse_rest(index, step, ("type", "id", "name", "arguments"), "a function call")
            call = Call(step["id"], step["name"], step["arguments"])
            return Turn(index, "assistant", (call,))
        case "function_result":
            return Turn(index, "user", (_read_result(step, index),))
        case "thought":
            raise loss(index, "a thought would be lost")
        case kind:
            raise loss(index, f"a step of type {kind!r} would be lost")


def _read_result(step: Message, index: int) -> Result:
    known = ("type", "call_id", "name", "result")
    fine = (*known, "is_error") if step.get("is_error") is False else known
    refuse_rest(index, step, fine, "a function's result")
    found = step["result"]
    if isinstance(found, list):
        return Result(step["call_id"], tuple(_read_block(block, index) for block in found))
    return Result(step["call_id"], said_by(step) if isinstance(found, dict) else found)


def _read_content(step: Message, index: int) -> str | tuple[Text | Image, ...]:
    parts = tuple(_read_block(block, index) for block in step.get("content") or ())
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts


def _read_block(block: dict[str, Any], index: int) -> Text | Image:
    kind = block["type"]
    if kind == "text":
        refuse_rest(index, block, ("type", "text"), "a text block")
        return Text(block["text"])
    if kind != "image":
        raise loss(index, f"a block of type {kind!r} would be lost")
    refuse_rest(index, block, ("type", "mime_type", "data", "uri"), "an image")
    media, data, uri = (block.get(key) for key in ("mime_type", "data", "uri"))
    if isinstance(uri, str) and data is None:
        return Image(url=uri)
    if isinstance(data, str) and isinstance(media, str) and uri is None:
        return Image(media_type=media, data=data.translate(_URL_SAFE))
    raise loss(index, "an image needs an address, or data and its media type, to be read")


def write(turns: list[Turn]) -> ConversionResult:
    """Write turns; see `Speech`. System messages at the front are joined, a blank line between."""
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    steps: list[Message] = []
    names: dict[str, str] = {}  # by call id: the function's name
    for turn in turns[first:]:
        if turn.role == "system":
            raise loss(turn.index, "a system message after the first turn would lose its place")
        steps += _write_turn(turn, names)
    return ConversionResult(steps, _write_system(turns[:first]))


def _write_turn(turn: Turn, names: dict[str, str]) -> list[Message]:
    content = (Text(turn.content),) if isinstance(turn.content, str) else turn.content
    if not content:
        raise loss(turn.index, "there is nothing in it to say")
    steps: list[Message] = []
    said: list[Message] = []  # the content of the step that is written, if one is
    for part in content:
        if isinstance(part, (Text, Image)):
            if not said:
                steps.append({"type": OUTPUT if turn.role == "assistant" else USER})
                steps[-1]["content"] = said
            said.append(_write_block(part))
            continue
        said = []
        if isinstance(part, Call):
            names[part.id] = part.name
            called = {"id": part.id, "name": part.name, "arguments": part.arguments}
            steps.append({"type": CALL, **called})
        else:
            steps.append(_write_result(part, names))
    return steps


def _write_result(result: Result, names: dict[str, str]) -> Message:
    found = result.content
    said = found if isinstance(found, str) else [_write_block(part) for part in found]
    named = {"name": names[result.id]} if result.id in names else {}
    return {"type": RESULT, "call_id": result.id, **named, "result": said}


def _write_block(part: Text | Image) -> Message:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.url:
        return {"type": "image", "uri": part.url}
    return {"type": "image", "mime_type": part.media_type, "data": part.data}


def _write_system(turns: list[Turn]) -> System | None:
    texts: list[str] = []
    for turn in turns:
        for part in _parts(turn):
            if not isinstance(part, Text):
                raise loss(turn.index, "an image in the system message would be lost")
            texts.append(part.text)
    return "\n\n".join(texts) if turns else None
