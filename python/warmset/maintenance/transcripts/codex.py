"""Codex's rollouts: one file a session, each line `{timestamp, type, payload}`.

What the model saw are the lines of type "response_item", items of the Responses API. Older versions
write the items without an envelope. Lines have no ids, but times: a line is known by its bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.maintenance.transcripts.fields import listed, mapping, moment, text, without_none
from warmset.maintenance.transcripts.item import Item
from warmset.maintenance.transcripts.lines import beside, value_of
from warmset.maintenance.transcripts.rereads import Rereads
from warmset.store.known import digest, without_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.maintenance.transcripts.lines import Line
    from warmset.maintenance.transcripts.report import ImportReport

ENVELOPES: Final = frozenset(
    ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
)
"""Types of lines."""

_REPEATED: Final = frozenset(
    (
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "token_count",
    )
)
"""Types of events that repeat what an item says, or say nothing of the conversation."""

_ITEMS: Final = frozenset(
    (
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "local_shell_call_output",
        "web_search_call",
    )
)
"""Types of items that are sent to a model."""

_CALLS: Final = frozenset(("function_call", "custom_tool_call", "local_shell_call"))


class Codex:
    """The parser of one file; see `ClaudeCode`."""

    def __init__(self, name: str, report: ImportReport) -> None:
        self._session = name
        self._side_of: str | None = None
        self._root: str | None = None
        self._agent: str | None = None
        self._begun = False
        self._model: str | None = None
        self._report = report
        self._rereads = Rereads(report)
        self._open: set[str] = set()

    def feed(self, line: Line) -> Iterator[Item]:
        """Take one line; see `Parser`."""
        fields = line.fields
        if fields is None:
            yield from beside(line, self._session, self._report)
            return
        kind = text(fields, "type") or "line"
        payload = mapping(fields.get("payload"))
        if kind not in ENVELOPES and "payload" not in fields:  # an older version
            old = kind in _ITEMS
            kind, payload = ("response_item", fields) if old else ("session_meta", fields)
        if kind == "session_meta" and not self._begun:
            self._begin(payload)
        if kind == "turn_context":
            self._model = text(payload, "model") or self._model
        if kind == "compacted":
            self._rereads.compacted()
        what = text(payload, "type")
        is_message = kind == "response_item" and what in _ITEMS and self._is_sent(payload)
        yield Item(
            conversation=self._session,
            uids=(digest(line.raw),),
            kind="message" if is_message else f"{kind}/{what}" if what else kind,
            message=_plain(payload) if is_message else None,
            raw=line.raw,
            kept=not (kind == "event_msg" and what in _REPEATED),
            at=moment(fields, "timestamp"),
            meta=without_none({"source": "codex", "model": self._model}),
            dialect="responses",
            side_of=self._side_of,
            root=self._root,
            agent=self._agent,
            unless=_unless(payload) if is_message else (),
        )

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield nothing: each line is an item."""
        del ended
        yield from ()

    def _begin(self, meta: dict[str, Any]) -> None:
        name = text(meta, "id", "session_id")
        if name is None:
            return
        self._begun = True
        self._session = name
        spawn = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
        parent = text(spawn, "parent_thread_id") or text(meta, "parent_thread_id")
        if parent:
            self._side_of, self._session = parent, f"{parent}/{name}"
            self._agent = name
            root = text(meta, "session_id")  # older versions do not write it
            self._root = root if root not in (parent, name) else None

    def _is_sent(self, item: dict[str, Any]) -> bool:
        """Return whether an item belongs to the list; note its tool call."""
        kind, call = item["type"], text(item, "call_id")
        if kind in _CALLS:
            arguments = value_of((text(item, "arguments") or "").encode("utf-8", "replace"))
            action = mapping(item.get("action"))
            self._rereads.called(text(item, "name") or "local_shell", mapping(arguments) or action)
            if call:
                self._open.add(call)
            return call is not None
        if kind.endswith("_output"):
            if call not in self._open:
                return False
            self._open.discard(call)
        return kind != "message" or bool(listed(item.get("content")) or text(item, "content"))


def _unless(item: dict[str, Any]) -> tuple[str, ...]:
    """Return what makes an output pointless: that its call was not stored."""
    call = text(item, "call_id")
    return (without_call(call),) if call and str(item["type"]).endswith("_output") else ()


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item without fields that are null, and with an output that an API takes."""
    found = without_none(item)
    if isinstance(found.get("output"), dict):
        output = found["output"]
        said = output.get("content")
        found["output"] = said if isinstance(said, str) else json.dumps(output, ensure_ascii=False)
    return found
