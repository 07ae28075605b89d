"""Gemini contents to turns, and back."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.messages.alternate import alternate
from warmset.messages.codec import accept, encode
from warmset.messages.gemini import parts as p
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
    from collections.abc import Iterator

    from warmset.messages.model import Message

_URL_SAFE = str.maketrans("-_", "+/")


def read(messages: list[Message], system: System | None) -> list[Turn]:
    """Read a list; see `Speech`.

    Calls without an id get one made of their position, as "call_3_0"; a response without an id
    belongs to the first call of its name, in the content before, that has none yet.
    """
    turns: list[Turn] = []
    if isinstance(system, str):
        turns.append(Turn(None, "system", system))
    elif system:
        turns.append(Turn(None, "system", tuple(_read_system(part) for part in accept(system))))
    ids = _Ids(messages)
    for index, message in enumerate(messages):
        refuse_rest(index, message, ("role", "parts"), "a content")
        found = tuple(_read_part(part, index, ids) for part in p.parts(message))
        (content,) = found if len(found) == 1 else (found,)
        said = content.text if isinstance(content, Text) else found
        turns.append(Turn(index, "assistant" if p.is_model(message) else "user", said))
    return turns


class _Ids:
    """An id for every call, and for every response the id of its call."""

    def __init__(self, messages: list[Message]) -> None:
        self._taken = {c.get("id") for m in messages for c in (*p.calls(m), *p.responses(m))}
        self._index = -1
        self._count = 0
        self._waiting: dict[str, deque[str]] = {}

    def of_call(self, call: Message, index: int) -> str:
        if index != self._index:
            self._index, self._count, self._waiting = index, 0, {}
        found = str(call.get("id") or f"call_{index}_{self._count}")
        while not call.get("id") and found in self._taken:
            found += "_"
        self._count += 1
        self._waiting.setdefault(call["name"], deque()).append(found)
        return found

    def of_response(self, response: Message, index: int) -> str:
        if response.get("id"):
            return str(response["id"])
        waiting = self._waiting.get(response["name"]) if index == self._index + 1 else None
        if not waiting:
            raise loss(index, f"a response of {response['name']!r} answers no call before it")
        return waiting.popleft()


def _read_system(part: Message) -> Text:
    if not isinstance(part.get("text"), str):
        raise loss(None, f"{part!r:.60} is no text part")
    known = ("text", "type") if part.get("type") == "text" else ("text",)
    refuse_rest(None, part, known, "a text part")
    return Text(part["text"])


def _read_part(part: Message, index: int, ids: _Ids) -> Text | Image | Call | Result:
    if p.is_thought(part):
        raise loss(index, "a thought would be lost")
    names = p.said(part)
    name = names[0] if names else "nothing"
    known = {p.key(part, name)} | ({"thought"} if part.get("thought") is False else set())
    refuse_rest(index, part, [one for one in known if one], f"a part with {name}")
    match name:
        case "text":
            return Text(part["text"])
        case p.INLINE:
            return _read_blob(p.get(part, name), index)
        case p.CALL:
            call = p.get(part, name)
            refuse_rest(index, call, ("id", "name", "args"), "a function call")
            return Call(ids.of_call(call, index), call["name"], call.get("args") or {})
        case p.RESPONSE:
            return _read_response(p.get(part, name), index, ids)
        case _:
            raise loss(index, f"a part with {name} would be lost")


def _read_blob(blob: Message, index: int) -> Image:
    media, data = p.get(blob, "mimeType"), blob.get("data")
    if not p.is_image(blob) or not isinstance(data, str):
        raise loss(index, f"inline data of type {media!r} would be lost")
    refuse_rest(index, blob, ("mimeType", "mime_type", "data"), "inline data")
    return Image(media_type=media, data=data.translate(_URL_SAFE))


def _read_response(response: Message, index: int, ids: _Ids) -> Result:
    refuse_rest(index, response, ("id", "name", "response", "parts"), "a function response")
    call = ids.of_response(response, index)
    images: list[Image] = []
    for part in response.get("parts") or ():
        blob = p.get(part, p.INLINE)
        if blob is None:
            raise loss(index, "a file in a function response would be lost")
        refuse_rest(index, part, [p.key(part, p.INLINE) or ""], "a response's part")
        images.append(_read_blob(blob, index))
    match response.get("response"):
        case {"output": [*texts], **rest} if not rest and _are_texts(texts):
            return Result(call, (*map(Text, texts), *images))
        case _ if images:
            said = p.output(response)
            return Result(call, (*([Text(said)] if said else ()), *images))
        case _:
            return Result(call, p.output(response))


def _are_texts(found: Any) -> bool:
    return bool(found) and isinstance(found, list) and all(isinstance(one, str) for one in found)


def write(turns: list[Turn]) -> ConversionResult:
    """Write turns; see `Speech`."""
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    messages: list[Message] = []
    names: dict[str, str] = {}  # by call id: the function's name
    for turn in turns[first:]:
        if turn.role == "system":
            raise loss(turn.index, "a system message after the first turn would lose its place")
        for message in _write_turn(turn, names):
            if p.responses(message) and messages and p.responses(messages[-1]):
                messages[-1]["parts"] += message["parts"]  # ours: made in this call
            else:
                messages.append(message)
    return ConversionResult(alternate(messages, "gemini"), _write_system(turns[:first]))


def _write_turn(turn: Turn, names: dict[str, str]) -> Iterator[Message]:
    """Yield a turn's contents: results stand in one of their own, before what is said."""
    content = (Text(turn.content),) if isinstance(turn.content, str) else turn.content
    if not content:
        raise loss(turn.index, "there is nothing in it to say, which Gemini refuses")
    results = [part for part in content if isinstance(part, Result)]
    rest = [part for part in content if not isinstance(part, Result)]
    if content != (*results, *rest):
        raise loss(turn.index, "the order of text and tool parts would be lost")
    if results:
        yield {
            "role": "user",
            "parts": [_write_result(result, turn.index, names) for result in results],
        }
    if rest:
        role = "model" if turn.role == "assistant" else "user"
        yield {"role": role, "parts": [_write_part(part, turn, names) for part in rest]}


def _write_part(part: Text | Image | Call, turn: Turn, names: dict[str, str]) -> Message:
    match part:
        case Text(text):
            if not text.strip():
                raise loss(turn.index, "a blank text, which Gemini refuses, would be lost")
            return {"text": text}
        case Image():
            if turn.role == "system":
                raise loss(turn.index, "an image in the system message would be lost")
            return _write_image(part, turn.index)
        case Call(call, name, arguments):
            names[call] = name
            return {p.CALL: {"id": call, "name": name, "args": arguments}}


def _write_image(image: Image, index: int | None) -> Message:
    if image.url:
        raise loss(index, "an image by its URL has no media type, which Gemini wants")
    return {p.INLINE: {"mimeType": image.media_type, "data": image.data}}


def _write_result(result: Result, index: int | None, names: dict[str, str]) -> Message:
    if result.id not in names:
        raise loss(index, f"the result of {result.id!r} answers no call, so it has no name")
    found: Message = {"id": result.id, "name": names[result.id]}
    if isinstance(result.content, str):
        return {p.RESPONSE: found | {"response": _write_output(result.content)}}
    texts = [part for part in result.content if isinstance(part, Text)]
    images = [part for part in result.content if isinstance(part, Image)]
    if result.content != (*texts, *images):
        raise loss(index, "the order of texts and images in a result would be lost")
    found["response"] = {"output": [part.text for part in texts]} if texts else {"output": ""}
    if images:
        found["parts"] = [_write_image(part, index) for part in images]
    return {p.RESPONSE: found}


def _write_output(text: str) -> Message:
    """Write a result: a JSON object as it is, anything else as the output, so that it reads back.

    Source: the FunctionResponse of the Gemini API; what has neither an output nor an error is the
    function's output as a whole.
    """
    wrapped: Message = {"output": text}
    if not text.startswith("{"):
        return wrapped
    try:
        found = json.loads(text)
        accept([{"parts": [{p.RESPONSE: {"response": found}}]}])
        same = isinstance(found, dict) and encode(found) == text
    except (ValueError, RecursionError, InvalidInputError):
        return wrapped
    match found:
        case {"output": said, **rest} if not rest and (isinstance(said, str) or _are_texts(said)):
            return wrapped
        case _:
            return found if same else wrapped


def _write_system(turns: list[Turn]) -> System | None:
    if len(turns) == 1 and isinstance(turns[0].content, str):
        if not turns[0].content.strip():
            raise loss(turns[0].index, "a blank text, which Gemini refuses, would be lost")
        return turns[0].content
    parts: list[Message] = []
    for turn in turns:
        content = (Text(turn.content),) if isinstance(turn.content, str) else turn.content
        parts += [_write_part(part, turn, {}) for part in content if not isinstance(part, Result)]
    return parts or None
