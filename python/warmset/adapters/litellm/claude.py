"""Lists of Chat Completions that go to Claude, as those of Anthropic, and back.

LiteLLM writes Claude's thinking into the field `thinking_blocks` of replies. It is bound to what
stands before it, so such a list is kept, and its window made, in the dialect of Anthropic. What the
window shows as it was goes out as the parts and messages that the request has.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.messages import Message, System
    from warmset.window.result import Window

THINKING: Final = ("thinking_blocks", "reasoning_content")
"""Fields of a reply that have its thinking."""

_INSTRUCTING: Final = ("system", "developer")
_BLOCKS: Final = ("thinking", "redacted_thinking")
_MARK: Final = "cache_control"
_DATA: Final = "data:"
_BASE64: Final = ";base64,"


class ClaudeList:
    """A list of Chat Completions as Anthropic's.

    Args:
        messages: The list.

    Attributes:
        system: The system prompt; None without one.
        messages: The other messages.

    Raises:
        InvalidInputError: A message is none of Chat Completions.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._given: dict[str, Any] = {}  # by what a block says: the part or message it was made of
        self._instructions = [one for one in messages if one.get("role") in _INSTRUCTING]
        self.system = _prompt(self._instructions)
        rest = (one for one in messages if one.get("role") not in _INSTRUCTING)
        self.messages: list[Message] = [self.read(one) for one in rest]

    def read(self, message: Message) -> Message:
        """Return a message as Anthropic's."""
        role = message.get("role")
        if role == "user":
            said: Message = {"role": "user", "content": self._content(message.get("content"))}
            self._given[_key(["user", *_blocks(said)])] = message
            return said
        if role == "assistant":
            return self._reply(message)
        if role == "tool" and isinstance(message.get("tool_call_id"), str):
            said = self._content(message.get("content"))
            block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": said}
            self._given[_key(block)] = message
            return {"role": "user", "content": [block]}
        raise InvalidInputError(f"role: expected one of Chat Completions, found {role!r:.80}")

    def written(self, window: Window) -> list[Message]:
        """Return the list of a window as Chat Completions has it."""
        made: list[Message] = []
        if window.system == self.system:
            made += self._instructions
        elif window.system:
            made.append({"role": "system", "content": window.system})
        for message in window.messages:
            if message["role"] == "assistant":
                made.append(self._reply_of(_blocks(message)))
            else:
                made += self._said(message["role"], _blocks(message))
        return made

    def _content(self, content: Any) -> Any:
        if content is None or isinstance(content, str):
            return content or ""
        return [self._block(part) for part in content]

    def _block(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Return a block for a part; what is no text or image is named, and found by its hash."""
        kind = part.get("type")
        block: dict[str, Any] | None = None
        if kind == "text" and isinstance(part.get("text"), str):
            block = {"type": "text", "text": part["text"]}
        elif kind == "image_url":
            block = _image(part["image_url"])
        if block is None:
            digest = hashlib.sha256(_key(part).encode()).hexdigest()[:12]
            block = {"type": "text", "text": f"[{kind} {digest}]"}
        if _MARK in part:
            block[_MARK] = part[_MARK]
        self._given[_key(block)] = part
        return block

    def _reply(self, message: Message) -> Message:
        said = self._content(message.get("content"))
        spoken = [{"type": "text", "text": said}] if isinstance(said, str) and said else said or []
        calls = [_use(call) for call in message.get("tool_calls") or ()]
        thinking = [one for one in message.get("thinking_blocks") or () if _is_thinking(one)]
        blocks = [*thinking, *spoken, *calls]
        self._given[_key(["assistant", *spoken, *calls])] = message
        return {"role": "assistant", "content": blocks or ""}

    def _reply_of(self, blocks: Sequence[dict[str, Any]]) -> Message:
        """Return a reply with these blocks: the one that was given, if it says the same."""
        thinking = [one for one in blocks if _is_thinking(one)]
        rest = [one for one in blocks if not _is_thinking(one)]
        given = self._given.get(_key(["assistant", *rest]))
        if given is None:
            made = _made_reply(rest)
            return {**made, "thinking_blocks": thinking} if thinking else made
        if thinking == (given.get("thinking_blocks") or []):
            return dict(given)
        bare = {key: value for key, value in given.items() if key not in THINKING}
        return {**bare, "thinking_blocks": thinking} if thinking else bare

    def _said(self, role: str, blocks: Sequence[dict[str, Any]]) -> list[Message]:
        """Return what tools and a user said, in the order in which Anthropic has it."""
        results = [one for one in blocks if one.get("type") == "tool_result"]
        rest = [one for one in blocks if one.get("type") != "tool_result"]
        made = [self._given.get(_key(one)) or _result(one) for one in results]
        if rest:
            parts = [self._given.get(_key(one)) or _part(one) for one in rest]
            plain = len(parts) == 1 and parts[0].keys() == {"type", "text"}
            new = {"role": role, "content": parts[0]["text"] if plain else parts}
            made.append(self._given.get(_key([role, *rest])) or new)
        return made


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _is_thinking(block: Any) -> bool:
    """Tell whether a block is thinking that a provider can verify."""
    return (
        isinstance(block, dict)
        and block.get("type") in _BLOCKS
        and bool(block.get("signature") or block.get("data"))
    )


def _blocks(message: Message) -> list[dict[str, Any]]:
    content = message.get("content") or []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [*content]


def _prompt(messages: Iterable[Message]) -> System | None:
    texts: list[str] = []
    for message in messages:
        content = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [one.get("text", "") for one in content]
        texts += [text for text in parts if text]
    return "\n\n".join(texts) or None


def _image(image: Any) -> dict[str, Any] | None:
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return None
    if not url.startswith(_DATA):
        return {"type": "image", "source": {"type": "url", "url": url}}
    media, found, data = url.removeprefix(_DATA).partition(_BASE64)
    if not found:
        return None
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def _use(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        given = json.loads(function.get("arguments") or "{}")
    except ValueError:
        given = {}
    arguments = given if isinstance(given, dict) else {}
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}


def _made_reply(blocks: Iterable[Mapping[str, Any]]) -> Message:
    texts = [one["text"] for one in blocks if one.get("type") == "text"]
    calls = [
        {
            "id": one["id"],
            "type": "function",
            "function": {"name": one["name"], "arguments": json.dumps(one["input"])},
        }
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    made: Message = {"role": "assistant", "content": "\n\n".join(texts) or None}
    return {**made, "tool_calls": calls} if calls else made


def _result(block: Mapping[str, Any]) -> Message:
    content = block.get("content") or ""
    said = content if isinstance(content, str) else [_part(one) for one in content]
    return {"role": "tool", "tool_call_id": block["tool_use_id"], "content": said}


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part for a block that the window adds."""
    source = block.get("source") if block.get("type") == "image" else None
    if source is not None:
        url = source.get("url") or f"{_DATA}{source['media_type']}{_BASE64}{source['data']}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": block.get("text") or f"[{block.get('type')}]"}
