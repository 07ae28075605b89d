"""Gemini Interactions: the steps that the model made, from a whole answer or from their deltas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.messages.interactions.kinds import OUTPUT, THOUGHT, is_model
from warmset.messages.text import kind_of
from warmset.serve.replies.draft import About
from warmset.serve.replies.growing import Growing, grow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.messages import Dialect
    from warmset.serve.replies.reply import Reply

_ENDED: Final = ("completed", "requires_action", "incomplete")


class InteractionsDraft:
    """The reply of Interactions in the making; see `Draft`."""

    dialect: Dialect = "interactions"

    def __init__(self) -> None:
        self._about = About()
        self._steps: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, Growing] = {}
        self._open: set[int] = set()
        self._whole: list[dict[str, Any]] = []
        self._status: str | None = None

    def whole(self, answer: Mapping[str, Any]) -> None:
        """Read an interaction, or what an event tells of one."""
        self._about.note(answer)
        self._whole = answer.get("steps") or self._whole
        self._status = answer.get("status") or self._status

    def event(self, event: Mapping[str, Any]) -> None:
        """Read an event."""
        kind = event.get("event_type")
        if kind == "step.start":
            self._steps[event["index"]] = event["step"]
            self._open.add(event["index"])
        elif kind == "step.delta":
            self._add(event["index"], event["delta"])
            self._about.note({"usage": (event.get("metadata") or {}).get("total_usage")})
        elif kind == "step.stop":
            self._close(event["index"])
            self._about.note({"usage": event.get("usage")})
        elif kind == "interaction.status_update":
            self.whole({"status": event.get("status"), "usage": event.get("usage")})
        elif kind == "error":
            self._status = "failed"
        elif isinstance(event.get("interaction"), dict):
            self.whole(event["interaction"])

    def end(self) -> None:
        """Nothing more is known by it."""

    def reply(self) -> Reply:
        """Return what is there so far: the interaction's steps, else those that stopped."""
        steps = self._whole or self._stopped()
        return self._about.reply(
            [step for step in steps if is_model(step)],
            is_complete=self._status in _ENDED,
            stop=self._status,
        )

    def _stopped(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for index, step in sorted(self._steps.items()):
            if index in self._open:
                break
            found.append(step)
        return found

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        step, kind = self._steps[index], kind_of(delta)
        if kind == "arguments_delta":
            self._arguments.setdefault(index, Growing()).add(delta.get("arguments") or "")
        elif kind == "thought_signature":
            step["signature"] = delta.get("signature")
        elif kind == "thought_summary":
            _add_block(step, "summary", delta["content"])
        elif kind == "text_annotation_delta":
            block = step["content"][-1]
            block["annotations"] = [*(block.get("annotations") or ()), *delta["annotations"]]
        elif kind_of(step) == OUTPUT:
            _add_block(step, "content", delta)
        elif kind_of(step) == THOUGHT:
            _add_block(step, "summary", delta)
        else:  # the fields of a call or a result
            step |= {name: value for name, value in delta.items() if name != "type"}

    def _close(self, index: int) -> None:
        self._open.discard(index)
        if text := str(self._arguments.pop(index, "")):
            self._steps[index]["arguments"] = json.loads(text)


def _add_block(step: dict[str, Any], name: str, block: dict[str, Any]) -> None:
    """Add a block, or its text to that of the last block."""
    blocks = step.get(name) or []
    step[name] = blocks
    last = blocks[-1] if blocks else {}
    if kind_of(block) == kind_of(last) == "text" and not last.get("annotations"):
        grow(last, block)
    else:
        blocks.append(dict(block))
