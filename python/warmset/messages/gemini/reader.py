"""The parts of Gemini contents, read as the parts of turns."""

from __future__ import annotations

from collections import deque
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from warmset.messages.gemini import parts as p
from warmset.messages.gemini.outputs import read_output
from warmset.messages.turns import Call, Image, Part, Result, Text

if TYPE_CHECKING:
    from warmset.messages.model import Message
    from warmset.messages.turns import Losses

_URL_SAFE = str.maketrans("-_", "+/")
_MARKS = frozenset(
    {"thought", p.SIGNATURE, "displayName", "mediaResolution", "mediaProcessing", "partMetadata"}
    | {"videoMetadata", "documentMetadata", "spreadsheetMetadata", "audioMetadata"}
    | {"speechMetadata", "audioTranscription", "willContinue", "scheduling"}
)

METADATA = frozenset(spelling for name in _MARKS for spelling in (name, p.snake(name)))
"""Fields that are metadata, of parts and of what is in them, in both spellings."""


class _Ids:
    """An id for every call, and for every response the id of its call."""

    def __init__(self, messages: list[Message]) -> None:
        self._taken = {c.get("id") for m in messages for c in (*p.calls(m), *p.responses(m))}
        roles = map(p.is_model, messages)
        changes = (one != other for one, other in pairwise([False, *roles]))
        self._runs = list(accumulate(changes))  # by content: its run of neighbours of one role
        self._run = -1
        self._index = -1
        self._count = 0
        self._waiting: dict[str, deque[str]] = {}

    def of_call(self, call: Message, index: int) -> str:
        if index != self._index:
            self._index, self._count = index, 0
        if self._runs[index] != self._run:
            self._run, self._waiting = self._runs[index], {}
        found = str(call.get("id") or f"call_{index}_{self._count}")
        while not call.get("id") and found in self._taken:
            found += "_"
        self._count += 1
        self._waiting.setdefault(call["name"], deque()).append(found)
        return found

    def of_response(self, response: Message, index: int) -> str | None:
        waiting = self._waiting.get(response["name"])
        if response.get("id"):
            found = str(response["id"])
            if waiting and found in waiting:
                waiting.remove(found)
            return found
        return waiting.popleft() if waiting and self._runs[index] == self._run + 1 else None


class Reader:
    """Reads the parts of a list, in order.

    Args:
        messages: The list.
        losses: Where is reported what is left out.
    """

    def __init__(self, messages: list[Message], losses: Losses) -> None:
        self._ids = _Ids(messages)
        self._losses = losses

    def part(self, part: Message, index: int) -> Part | None:
        """Read a part; None if it is left out."""
        names = p.said(part)
        name = names[0] if names else "nothing"
        silent = name == "nothing" or (name == "text" and _only_signs(part))
        if silent or p.is_thought(part):
            what = "a thought" if p.is_thought(part) else "a part that says nothing"
            self._losses.metadata(index, what)
            return None
        if name not in ("text", p.INLINE, p.CALL, p.RESPONSE):
            self._losses.content(index, f"a part with {name}")
            return None
        found = p.get(part, name)
        known = [p.key(part, name) or "", *(["thought"] if part.get("thought") is False else [])]
        self._losses.fields(index, part, known, f"a part with {name}", METADATA)
        match name:
            case "text":
                return Text(found)
            case p.INLINE:
                return self._blob(found, index)
            case p.CALL:
                return self._call(found, index)
            case _:
                return self._response(found, index)

    def _call(self, call: Message, index: int) -> Call:
        known = ("id", "name", "args")
        self._losses.fields(index, call, known, "a function call", METADATA)
        return Call(self._ids.of_call(call, index), call["name"], call.get("args") or {})

    def _blob(self, blob: Message, index: int) -> Image | None:
        media, data = p.get(blob, "mimeType"), blob.get("data")
        if not p.is_image(blob) or not isinstance(data, str):
            self._losses.content(index, f"inline data of type {media!r}")
            return None
        known = ("mimeType", "mime_type", "data")
        self._losses.fields(index, blob, known, "inline data", METADATA)
        return Image(media_type=media, data=data.translate(_URL_SAFE))

    def _response(self, response: Message, index: int) -> Result | None:
        call = self._ids.of_response(response, index)
        if call is None:
            why = "which answers no call before it,"
            self._losses.content(index, f"a response of {response['name']!r}, {why}")
            return None
        known = ("id", "name", "response", "parts")
        self._losses.fields(index, response, known, "a function response", METADATA)
        images = [self._inner(part, index) for part in response.get("parts") or ()]
        shown = tuple(image for image in images if image is not None)
        said, is_error = read_output(response)
        if shown:
            texts = ((Text(said),) if said else ()) if isinstance(said, str) else said
            said = (*texts, *shown)
        return Result(call, said, is_error)

    def _inner(self, part: Message, index: int) -> Image | None:
        blob = p.get(part, p.INLINE)
        if blob is None:
            self._losses.content(index, "a file in a function response")
            return None
        known = [p.key(part, p.INLINE) or ""]
        self._losses.fields(index, part, known, "a response's part", METADATA)
        return self._blob(blob, index)


def _only_signs(part: Message) -> bool:
    """Tell whether a text part is there for its thought signature alone."""
    return not part["text"].strip() and p.key(part, p.SIGNATURE) is not None
