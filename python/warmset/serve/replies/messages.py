"""Anthropic Messages: the content's blocks, from a whole answer or from their deltas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.messages.text import kind_of
from warmset.serve.replies.draft import About
from warmset.serve.replies.growing import Growing, grow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.messages import Dialect
    from warmset.serve.replies.reply import Reply

_OWN_CALLS: Final = ("server_tool_use", "mcp_tool_use")


class MessagesDraft:
    """The reply of Anthropic Messages in the making; see `Draft`."""

    dialect: Dialect = "anthropic"

    def __init__(self) -> None:
        self._about = About()
        self._whole: list[Any] = []
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, Growing] = {}
        self._open: set[int] = set()
        self._stop: str | None = None
        self._is_ended = False
        self._has_failed = False

    def whole(self, answer: Mapping[str, Any]) -> None:
        """Read a message; its blocks stay as they came."""
        self._about.note(answer)
        self._whole = answer.get("content") or []
        self._stop = answer.get("stop_reason")
        self._is_ended = kind_of(answer) == "message"

    def event(self, event: Mapping[str, Any]) -> None:
        """Read an event; those that are not known say nothing of the message."""
        kind = kind_of(event)
        if kind == "message_start":
            self._about.note(event["message"])
            self._whole = event["message"].get("content") or []
        elif kind == "content_block_start":
            self._begin(event["index"], event["content_block"])
        elif kind == "content_block_delta":
            self._add(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._close(event["index"])
        elif kind == "message_delta":
            self._end_of(event)
        elif kind == "message_stop":
            self._is_ended = True
        elif kind == "error":
            self._has_failed = True

    def end(self) -> None:
        """Nothing more is known by it."""

    def reply(self) -> Reply:
        """Return what is there so far: the blocks up to the first one that did not stop.

        Of a stream that broke, a call of a tool that the provider runs is left out with all behind
        it, if its result did not arrive: the provider refuses one without the other.
        """
        content = list(self._whole)
        for index, block in sorted(self._blocks.items()):
            if index in self._open:
                break
            content.append(block)
        ended = self._is_ended or self._stop is not None
        is_complete = ended and not self._has_failed
        if not is_complete:
            content = content[: _first_unanswered(content)]
        return self._about.reply(
            [{"role": "assistant", "content": content}] if content else [],
            is_complete=is_complete,
            stop=self._stop,
        )

    def _begin(self, index: int, block: dict[str, Any]) -> None:
        self._blocks[index] = block
        self._open.add(index)
        if kind_of(block) == "fallback":  # another model goes on
            self._about.model = block["to"]["model"]

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        """Add to a block: JSON of its input, a citation, or fields of the same names."""
        block = self._blocks[index]
        if kind_of(delta) == "input_json_delta":
            self._inputs.setdefault(index, Growing()).add(delta["partial_json"])
        elif kind_of(delta) == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        else:
            grow(block, {name: value for name, value in delta.items() if name != "type"})

    def _close(self, index: int) -> None:
        self._open.discard(index)
        if text := str(self._inputs.pop(index, "")):
            self._blocks[index]["input"] = json.loads(text)

    def _end_of(self, event: Mapping[str, Any]) -> None:
        """Read the event with the reason of the end; its usage has only what changed."""
        self._stop = event["delta"].get("stop_reason") or self._stop
        later = {name: n for name, n in (event.get("usage") or {}).items() if n is not None}
        self._about.note({**event, "usage": {**(self._about.usage or {}), **later}})


def _first_unanswered(content: list[Any]) -> int:
    """Return where the first call of the provider's own tools is that has no result."""
    answered = {block.get("tool_use_id") for block in content}
    return next(
        (
            at
            for at, block in enumerate(content)
            if kind_of(block) in _OWN_CALLS and block.get("id") not in answered
        ),
        len(content),
    )
