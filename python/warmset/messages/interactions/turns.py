"""Gemini Interactions steps to turns, and back.

A result's name is that of its call, and the media type of an image at an address is what the
address gives: leaving them loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.errors import ConversionError
from warmset.messages.interactions.kinds import (
    CALL,
    OUTPUT,
    RESULT,
    THOUGHT,
    USER,
)
from warmset.messages.interactions.said import text as said_by
from warmset.messages.item_turns import ItemTurns
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
from warmset.messages.writable import PLACE, parts_of, sifted, with_results_first, without_empty

if TYPE_CHECKING:
    from warmset.messages.model import Message
    from warmset.messages.turns import Losses

_URL_SAFE = str.maketrans("-_", "+/")
_MARKS = frozenset({"signature", "annotations", "resolution", "id", "status"})
"""Fields that are metadata: signatures, citations, how an image is read, ids of stored steps."""


def read(messages: list[Message], system: System | None, losses: Losses) -> list[Turn]:
    """Read a list; see `Speech`. The system prompt beside it is the request's system_instruction.

    Steps of the model in a row become one turn if one of them is a call.
    """
    reader = _Reader(losses)
    if system is not None:
        if not isinstance(system, str):
            why = "the system prompt: the system_instruction of interactions is one text"
            raise ConversionError(why)
        reader.turns.add(Turn(None, "system", system))
    for index, step in enumerate(messages):
        reader.add(step, index)
    return list(reader.turns)


class _Reader:
    """Reads a list step by step.

    Args:
        losses: Where is reported what is left out.
    """

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self.turns = ItemTurns(losses, "result")

    def add(self, step: Message, index: int) -> None:
        """Read one step; a user's step that is left out is an empty turn."""
        kind = kind_of(step)
        if kind in (USER, OUTPUT):
            self._losses.fields(index, step, ("type", "content"), f"the {kind} step", _MARKS)
            said = self._content(step, index)
            self.turns.add(Turn(index, "user" if kind == USER else "assistant", said))
        elif kind == CALL:
            known = ("type", "id", "name", "arguments")
            self._losses.fields(index, step, known, "a function call", _MARKS)
            call = Call(step["id"], step["name"], step["arguments"])
            self.turns.add(Turn(index, "assistant", (call,)))
        elif kind == RESULT:
            self.turns.add_result(step["call_id"], index, lambda: self._result(step, index))
        elif kind == THOUGHT:
            self._losses.metadata(index, "a thought")
        else:
            self._losses.content(index, f"a step of type {kind!r}")

    def _result(self, step: Message, index: int) -> tuple[str | tuple[Text | Image, ...], bool]:
        known = ("type", "call_id", "name", "result", "is_error")
        self._losses.fields(index, step, known, "a function's result", _MARKS)
        is_error = step.get("is_error") is True
        found = step["result"]
        if isinstance(found, list):
            return self._blocks(found, index), is_error
        return (said_by(step) if isinstance(found, dict) else found), is_error

    def _content(self, step: Message, index: int) -> str | tuple[Text | Image, ...]:
        parts = self._blocks(step.get("content") or [], index)
        return parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts

    def _blocks(self, blocks: list[Any], index: int) -> tuple[Text | Image, ...]:
        found = (self._block(block, index) for block in blocks)
        return tuple(part for part in found if part is not None)

    def _block(self, block: dict[str, Any], index: int) -> Text | Image | None:
        kind = block["type"]
        if kind == "text":
            self._losses.fields(index, block, ("type", "text"), "a text block", _MARKS)
            return Text(block["text"])
        if kind != "image":
            self._losses.content(index, f"a block of type {kind!r}")
            return None
        known = ("type", "mime_type", "data", "uri")
        self._losses.fields(index, block, known, "an image", _MARKS)
        media, data, uri = (block.get(key) for key in ("mime_type", "data", "uri"))
        if isinstance(uri, str) and data is None:
            return Image(url=uri)
        if isinstance(data, str) and isinstance(media, str) and uri is None:
            return Image(media_type=media, data=data.translate(_URL_SAFE))
        self._losses.content(index, "an image without an address, or data and its media type,")
        return None


def write(turns: list[Turn], losses: Losses) -> ConversionResult:
    """Write turns; see `Speech`. System messages are joined, a blank line between."""

    def keep(part: Part, turn: Turn) -> Part | None:
        if isinstance(part, Image) and turn.role == "system":
            losses.content(turn.index, "an image in the system message")
            return None
        return part

    kept = without_empty(sifted(turns, keep), losses)
    first = next((at for at, turn in enumerate(kept) if turn.role != "system"), len(kept))
    steps: list[Message] = []
    names: dict[str, str] = {}  # by call id: the function's name
    system = kept[:first]
    for turn in kept[first:]:
        if turn.role == "system":
            losses.content(turn.index, PLACE)
            system.append(turn)
    for turn in with_results_first([t for t in kept[first:] if t.role != "system"], losses):
        steps += _write_turn(turn, names)
    return ConversionResult(steps, _write_system(system))


def _write_turn(turn: Turn, names: dict[str, str]) -> list[Message]:
    steps: list[Message] = []
    said: list[Message] = []  # the content of the step that is written, if one is
    content = (Text(turn.content),) if isinstance(turn.content, str) else turn.content
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
    marked = {"is_error": True} if result.is_error else {}
    return {"type": RESULT, "call_id": result.id, **named, "result": said, **marked}


def _write_block(part: Text | Image) -> Message:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.url:
        return {"type": "image", "uri": part.url}
    return {"type": "image", "mime_type": part.media_type, "data": part.data}


def _write_system(turns: list[Turn]) -> System | None:
    texts = [part.text for turn in turns for part in parts_of(turn) if isinstance(part, Text)]
    return "\n\n".join(texts) if turns else None
