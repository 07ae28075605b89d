"""Chat Completions: the first choice, from a whole answer or from deltas.

Fields that servers add to a message (`reasoning`, `reasoning_content`, …) grow as its text does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.serve.replies.chat_calls import Calls
from warmset.serve.replies.chat_reasoning import add_details
from warmset.serve.replies.draft import About
from warmset.serve.replies.growing import grow, settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.messages import Dialect
    from warmset.serve.replies.reply import Reply

_SAYS: Final = ("content", "refusal", "tool_calls", "function_call", "audio")


class ChatDraft:
    """The reply of Chat Completions in the making; see `Draft`."""

    dialect: Dialect = "openai"

    def __init__(self) -> None:
        self._about = About()
        self._message: dict[str, Any] = {}
        self._calls = Calls()
        self._stop: str | None = None
        self._choices = 1
        self._is_ended = False
        self._has_failed = False

    def whole(self, answer: Mapping[str, Any]) -> None:
        """Read a whole answer; its message stays as it came."""
        self._about.note(answer)
        choices = answer.get("choices") or []
        self._choices = max(1, len(choices))
        for choice in choices[:1]:
            self._message = choice["message"]
            self._stop = choice.get("finish_reason")
            self._is_ended = True

    def event(self, event: Mapping[str, Any]) -> None:
        """Read a chunk."""
        self._about.note(event)
        self._has_failed = self._has_failed or bool(event.get("error"))
        for choice in event.get("choices") or ():
            index = choice.get("index") or 0
            self._choices = max(self._choices, index + 1)
            if index == 0:
                self._add(choice.get("delta") or {})
                self._stop = choice.get("finish_reason") or self._stop

    def end(self) -> None:
        """Take note of the end."""
        self._is_ended = True

    def reply(self) -> Reply:
        """Return what is there so far."""
        ended = self._is_ended or self._stop is not None
        is_complete = ended and not self._has_failed
        message = settled(self._message)
        if calls := settled(self._calls.all()):
            message["tool_calls"] = calls
        if not is_complete:
            message = _finished(message)
        return self._about.reply(
            [message] if message else [],
            is_complete=is_complete and bool(self._message),
            stop=self._stop,
            choices=self._choices,
        )

    def _add(self, delta: Mapping[str, Any]) -> None:
        message = self._message
        if delta:
            message.setdefault("role", "assistant")
        for name, piece in delta.items():
            if name == "tool_calls":
                for call in piece or ():
                    self._calls.add(call)
            elif name == "reasoning_details":
                add_details(message.setdefault(name, []), piece or ())
            elif piece is not None:
                grow(message, {name: piece})
            elif name == "content":  # calls often come with a null beside them
                message.setdefault(name, None)


def _finished(message: dict[str, Any]) -> dict[str, Any]:
    """Return what of a message can be used though the stream broke; empty if nothing can.

    Text can, and calls whose arguments are whole, up to the first one whose are not.
    """
    calls: list[Any] = message.pop("tool_calls", [])
    broken = (at for at, call in enumerate(calls) if not _is_whole(call))
    if calls := calls[: next(broken, len(calls))]:
        message["tool_calls"] = calls
    if not _is_whole({"function": message.get("function_call")}):
        message.pop("function_call", None)
    message.pop("audio", None)
    return message if any(message.get(name) for name in _SAYS) else {}


def _is_whole(call: Mapping[str, Any]) -> bool:
    function = call.get("function")
    if not isinstance(function, dict):
        return False
    try:
        return isinstance(json.loads(function.get("arguments") or ""), dict)
    except ValueError:
        return False
