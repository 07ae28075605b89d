"""Gemini's generateContent: the parts of the first candidate, whole or from the parts of chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from warmset.serve.replies.draft import About
from warmset.serve.replies.growing import Growing, settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.messages import Dialect
    from warmset.serve.replies.reply import Reply

_GOES_ON: Final = "CONTINUATION"
"""The reason of an end behind which the client asks for the rest."""


class ContentsDraft:
    """The reply of generateContent in the making; see `Draft`."""

    dialect: Dialect = "gemini"

    def __init__(self) -> None:
        self._about = About(names=("responseId", "modelVersion", "usageMetadata"))
        self._content: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._apart: list[dict[str, Any]] = []
        self._stop: str | None = None
        self._choices = 1
        self._has_failed = self._is_whole = False

    def whole(self, answer: Mapping[str, Any]) -> None:
        """Read a response; its parts stay as they came."""
        self.event(answer)
        self._parts = [part for content in self._apart for part in content["parts"]]
        self._apart, self._is_whole = [], True

    def event(self, event: Mapping[str, Any]) -> None:
        """Read a chunk, which is a response of its own with further parts."""
        self._about.note(event)
        self._has_failed = self._has_failed or bool(event.get("error"))
        blocked = (event.get("promptFeedback") or {}).get("blockReason")
        self._stop = blocked or self._stop
        for candidate in event.get("candidates") or ():
            index = candidate.get("index") or 0
            self._choices = max(self._choices, index + 1)
            if index == 0:
                content = candidate.get("content") or {}
                self._content |= content
                for part in content.get("parts") or ():
                    self._add(part)
                self._apart += [content] if content.get("parts") else []
                self._stop = candidate.get("finishReason") or self._stop

    def end(self) -> None:
        """Nothing more is known by it."""

    def reply(self) -> Reply:
        """Return what is there so far."""
        parts = settled(self._parts)
        if not self._is_whole:
            parts = [part for part in parts if part != {"text": ""}]
        content = {**self._content, "role": self._content.get("role") or "model", "parts": parts}
        found = self._about.reply(
            [content] if parts else [],
            is_complete=self._stop not in (None, _GOES_ON) and not self._has_failed,
            stop=self._stop,
            choices=self._choices,
        )
        return replace(found, apart=tuple(settled(self._apart)) if parts else ())

    def _add(self, part: dict[str, Any]) -> None:
        """Add a part, or its text to the last part's; a part with a signature stays alone."""
        if (part.get("functionCall") or {}).get("partialArgs"):
            raise ValueError("a call whose arguments arrive in pieces")
        last = self._parts[-1] if self._parts else {}
        if _is_plain(part) and _is_plain(last) and _thinks(part) == _thinks(last):
            last["text"].add(part["text"])
        else:
            text = {"text": Growing(part["text"])} if _is_plain(part) else {}
            self._parts.append(part | text)


def _is_plain(part: Mapping[str, Any]) -> bool:
    return "text" in part and part.keys() <= {"text", "thought"}


def _thinks(part: Mapping[str, Any]) -> bool:
    return bool(part.get("thought"))
