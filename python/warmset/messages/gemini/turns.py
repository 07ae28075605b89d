"""Gemini contents to turns, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmset.messages.alternate import alternate
from warmset.messages.codec import accept
from warmset.messages.gemini import parts as p
from warmset.messages.gemini.outputs import write_output
from warmset.messages.gemini.reader import METADATA, Reader
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
from warmset.messages.writable import (
    PLACE,
    parts_of,
    sifted,
    with_results_first,
    without_empty,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.messages.model import Message
    from warmset.messages.turns import Losses


def read(messages: list[Message], system: System | None, losses: Losses) -> list[Turn]:
    """Read a list; see `Speech`.

    Calls without an id get one made of their position, as "call_3_0"; a response without an id
    belongs to the first call of its name, in the model's contents right before, that has none yet.
    """
    turns: list[Turn] = []
    if isinstance(system, str):
        turns.append(Turn(None, "system", system))
    elif system:
        texts = [_read_system(part, losses) for part in accept(system)]
        turns.append(Turn(None, "system", tuple(text for text in texts if text is not None)))
    reader = Reader(messages, losses)
    for index, message in enumerate(messages):
        losses.fields(index, message, ("role", "parts"), "a content")
        read_parts = [reader.part(part, index) for part in p.parts(message)]
        found = tuple(part for part in read_parts if part is not None)
        alone = found[0] if len(found) == 1 else None
        said = alone.text if isinstance(alone, Text) else found
        turns.append(Turn(index, "assistant" if p.is_model(message) else "user", said))
    return turns


def _read_system(part: Message, losses: Losses) -> Text | None:
    if not isinstance(part.get("text"), str):
        losses.content(None, f"{part!r:.60}, which is no text part,")
        return None
    known = ("text", "type") if part.get("type") == "text" else ("text",)
    losses.fields(None, part, known, "a text part", METADATA)
    return Text(part["text"])


def write(turns: list[Turn], losses: Losses) -> ConversionResult:
    """Write turns; see `Speech`."""
    writer = _Writer(losses)
    kept = without_empty(sifted(turns, writer.keep), losses, user_ends=True)
    first = next((at for at, turn in enumerate(kept) if turn.role != "system"), len(kept))
    late = [turn for turn in kept[first:] if turn.role == "system"]
    for turn in late:
        losses.content(turn.index, PLACE)
    rest = [turn for turn in kept[first:] if turn.role != "system"]
    messages: list[Message] = []
    answers = False  # whether the last content is one of responses
    for turn in with_results_first(rest, losses):
        for message in writer.contents(turn):
            if answers and p.responses(message):
                messages[-1]["parts"] += message["parts"]  # ours: made in this call
            else:
                messages.append(message)
                answers = bool(p.responses(message))
    return ConversionResult(alternate(messages, "gemini"), _write_system([*kept[:first], *late]))


class _Writer:
    """Writes the parts of a list, in order.

    Args:
        losses: Where is reported what Gemini cannot say.
    """

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._names: dict[str, str] = {}  # by call id: the function's name

    def keep(self, part: Part, turn: Turn) -> Part | None:
        """Return a part as Gemini can say it, in the order of the list."""
        match part:
            case Text(text):
                if not text.strip():
                    self._losses.metadata(turn.index, "a blank text")
                    return None
            case Image():
                if turn.role == "system":
                    self._losses.content(turn.index, "an image in the system message")
                    return None
                return None if self._is_linked(part, turn) else part
            case Call():
                self._names[part.id] = part.name
            case Result():
                if part.id not in self._names:
                    what = f"the result of {part.id!r}, which answers no call and has no name,"
                    self._losses.content(turn.index, what)
                    return None
                return self._with_files(part, turn)
        return part

    def _is_linked(self, image: Image, turn: Turn) -> bool:
        if image.url:
            what = "an image by its URL, which has no media type as Gemini wants it,"
            self._losses.content(turn.index, what)
        return bool(image.url)

    def _with_files(self, result: Result, turn: Turn) -> Result:
        if isinstance(result.content, str):
            return result
        kept = [p for p in result.content if isinstance(p, Text) or not self._is_linked(p, turn)]
        ranked = tuple(sorted(kept, key=lambda part: isinstance(part, Image)))
        if ranked != tuple(kept):
            self._losses.content(turn.index, "the order of texts and images in a result")
        return result if ranked == result.content else replace(result, content=ranked)

    def contents(self, turn: Turn) -> Iterator[Message]:
        """Yield a turn's contents: results stand in one of their own, before what is said."""
        content = parts_of(turn)
        results = [part for part in content if isinstance(part, Result)]
        rest = [part for part in content if not isinstance(part, Result)]
        if results:
            yield {"role": "user", "parts": [self._response(result) for result in results]}
        if rest:
            role = "model" if turn.role == "assistant" else "user"
            yield {"role": role, "parts": [_write_part(part) for part in rest]}

    def _response(self, result: Result) -> Message:
        found: Message = {"id": result.id, "name": self._names[result.id]}
        content = result.content
        if isinstance(content, str):
            said = write_output(content, is_error=result.is_error)
            return {p.RESPONSE: found | {"response": said}}
        texts = tuple(part for part in content if isinstance(part, Text))
        images = [_write_part(part) for part in content if isinstance(part, Image)]
        found["response"] = write_output(texts or "", is_error=result.is_error)
        return {p.RESPONSE: found | ({"parts": images} if images else {})}


def _write_part(part: Text | Image | Call) -> Message:
    match part:
        case Text(text):
            return {"text": text}
        case Image():
            return {p.INLINE: {"mimeType": part.media_type, "data": part.data}}
        case Call(call, name, arguments):
            return {p.CALL: {"id": call, "name": name, "args": arguments}}


def _write_system(turns: list[Turn]) -> System | None:
    if len(turns) == 1 and isinstance(turns[0].content, str):
        return turns[0].content
    said: list[Any] = [part for turn in turns for part in parts_of(turn)]
    return [_write_part(part) for part in said] or None
