"""Reads the text of messages that reaches the model, and counts the rest, in all five dialects.

Ids, signatures, encrypted and base64 data are never text. An unknown field or block is counted as
the JSON that is sent, so that nothing is missed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from warmset.tokens.fields import CALLS, DRAWN, FILES, IMAGES, PARTS, SEALED, SILENT
from warmset.tokens.images import Provider, image_tokens
from warmset.tokens.media import data_url, decode_head, image_size
from warmset.tokens.number import PER_CALL, PER_FILE, PER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class Reading:
    """The texts of messages, in order, and the tokens of everything else.

    Args:
        model: The model's name, which decides what an image costs.

    Attributes:
        texts: Everything that is text to the model.
        guessed: Tokens of images and files of unknown size.
    """

    __slots__ = ("_model", "guessed", "texts")

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self.texts: list[str] = []
        self.guessed = 0

    def message(self, message: Mapping[str, Any]) -> int:
        """Read one message, content or item.

        Args:
            message: A message of any dialect.

        Returns:
            The tokens of everything but text, without the overhead of a message.
        """
        if "role" not in message and "parts" not in message and "type" in message:
            return self._block(message)
        fixed = 0
        for key, value in message.items():
            if key == "content":
                fixed += self._content(value)
            elif key in SILENT or value is None:
                continue
            elif key == "name":
                fixed += PER_NAME
                self._plain(value)
            elif key == "tool_calls" and isinstance(value, list):
                for call in cast("list[object]", value):
                    fixed += self._wrapped(call)
            elif key == "function_call":
                fixed += self._call(value)
            elif key == "parts":
                fixed += self._content(value)
            else:
                fixed += self._any(value)
        return fixed

    def _content(self, value: object) -> int:
        """Read a text, or a list of parts."""
        if isinstance(value, str):
            self.texts.append(value)
            return 0
        if isinstance(value, list):
            return sum(map(self._any, cast("list[object]", value)))
        return self._any(value)

    def _any(self, value: object) -> int:
        """Read whatever a field may hold: text, a part or block, a list of them, or plain data."""
        if isinstance(value, dict):
            block = cast("dict[str, object]", value)
            if "type" in block or not PARTS.isdisjoint(block):
                return self._block(block)
            return self._fields(block.items()) if _is_said(block) else self._plain(block)
        if isinstance(value, str):
            return self._said(value)
        if isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value):
            return sum(map(self._any, cast("list[object]", value)))
        return self._plain(value)

    def _block(self, block: Mapping[str, Any]) -> int:
        """Read a part, a block or an item."""
        kind = block.get("type")
        if isinstance(kind, str):
            return self._typed(kind, block)
        return sum(self._gemini(key, value) for key, value in block.items() if key not in SILENT)

    def _typed(self, kind: str, block: Mapping[str, Any]) -> int:
        """Read a block or an item that names its type."""
        if kind in SEALED:
            return 0
        if kind in IMAGES:
            return self._image(block)
        if kind in FILES:
            return self._file(block)
        if kind.endswith(("_call", "tool_use")):
            return self._call(block)
        if kind == "function_result":
            return self._result(block)
        answers = kind.endswith(("_output", "tool_result")) and kind != "model_output"
        return (PER_CALL if answers else 0) + self._fields(block.items())

    def _result(self, step: Mapping[str, Any]) -> int:
        """Read a result of Gemini Interactions: a text, blocks, or a mapping as JSON."""
        found = step.get("result")
        if not isinstance(found, dict):
            return PER_CALL + self._fields(step.items())
        self._plain(found)
        return PER_CALL + self._fields((key, step[key]) for key in step if key != "result")

    def _gemini(self, key: str, value: object) -> int:
        """Read one field of a part of Gemini's."""
        if key in CALLS:
            return self._call(value)
        if key in {"inlineData", "inline_data", "fileData", "file_data"} and isinstance(
            value, dict
        ):
            data = cast("dict[str, object]", value)
            kind = data.get("mimeType", data.get("mime_type"))
            return self._blob(str(kind).lower(), data.get("data"), provider="gemini")
        return self._any(value)

    def _wrapped(self, call: object) -> int:
        """Read a call of OpenAI Chat, which lies in a wrapper."""
        if not isinstance(call, dict):
            return self._call(call)
        wrapper = cast("dict[str, object]", call)
        return self._call(wrapper.get("function") or wrapper.get("custom") or wrapper)

    def _call(self, call: object) -> int:
        """Read a call or a response: its name as text, its data as the JSON that is sent."""
        if not isinstance(call, dict):
            self._plain(call)
            return PER_CALL
        fixed = PER_CALL
        for key, value in cast("dict[str, object]", call).items():
            if key == "result" and isinstance(value, str) and call.get("type") in DRAWN:
                fixed += self._blob("image/", value, provider="openai")
            elif key == "parts":
                fixed += self._content(value)
            elif key not in SILENT:
                self._plain(value)
        return fixed

    def _fields(self, fields: Iterable[tuple[str, object]]) -> int:
        return sum(self._any(value) for key, value in fields if key not in SILENT)

    def _said(self, text: str) -> int:
        """Read a text of a block, which may be an embedded file."""
        found = data_url(text) if text.startswith("data:") else None
        if found is None:
            self.texts.append(text)
            return 0
        return self._blob(*found, provider="openai")

    def _plain(self, value: object) -> int:
        """Read a value as it would be sent: a text as it is, anything else as compact JSON."""
        if isinstance(value, str):
            self.texts.append(value)
        elif value is not None and value not in ([], {}):
            self.texts.append(_compact(value))
        return 0

    def _image(self, block: Mapping[str, Any]) -> int:
        """Read an image of OpenAI's, of Anthropic's, or of Gemini Interactions."""
        source = block.get("source")
        if isinstance(source, dict):
            return self._blob("image/", source.get("data"), provider="anthropic")
        if "data" in block or "uri" in block:
            level = block.get("resolution")
            named = level if isinstance(level, str) else None
            return self._blob("image/", block.get("data"), provider="gemini", detail=named)
        url, detail = block.get("image_url"), block.get("detail")
        if isinstance(url, dict):
            held = cast("dict[str, object]", url)
            url, detail = held.get("url"), held.get("detail", detail)
        found = data_url(url) if isinstance(url, str) else None
        data = found[1] if found else None
        named = detail if isinstance(detail, str) else None
        return self._blob("image/", data, provider="openai", detail=named)

    def _file(self, block: Mapping[str, Any]) -> int:
        """Read a document, a file or a sound, and its title."""
        inner = block.get("source") or block.get("file") or block.get("input_audio")
        source = cast("dict[str, object]", inner) if isinstance(inner, dict) else block
        for key in ("title", "context", "filename"):
            self._plain(block.get(key, source.get(key)))
        if source.get("type") == "text":
            return self._plain(source.get("data"))
        if source.get("type") == "content":
            return self._content(source.get("content"))
        kind = str(source.get("media_type", source.get("mime_type", "")))
        data = source.get("file_data", source.get("data"))
        found = data_url(data) if isinstance(data, str) else None
        provider: Provider = "anthropic" if "source" in block else "openai"
        return self._blob(*(found or (kind, data)), provider=provider)

    def _blob(
        self, kind: str, data: object, *, provider: Provider, detail: str | None = None
    ) -> int:
        """Count embedded or referenced data: a text, an image, or a file of unknown size."""
        text = data if isinstance(data, str) else ""
        if kind.startswith("text/") and text:
            said = decode_head(text, len(text)).decode("utf-8", "replace")
            self.texts.append(said)
            return 0
        if kind.startswith("image/"):
            size = image_size(text) if text else None
            tokens, known = image_tokens(size, provider=provider, model=self._model, detail=detail)
        else:
            tokens, known = PER_FILE, False
        self.guessed += 0 if known else tokens
        return tokens


def _is_said(value: dict[str, object]) -> bool:
    """Tell whether a value is a name and its text, as a text part of Gemini's is."""
    return len(value) <= 2 and all(isinstance(item, str) for item in value.values())  # noqa: PLR2004
