"""Claude Code's sessions: replies in pieces, side chains, compactions, queued prompts.

The format is internal to Claude Code and changes between versions: fields that are not needed are
not looked at, and a line of an unknown type is kept as it stands. A line belongs to the
conversation that its `sessionId` names; a side chain is a conversation `SESSION/AGENT` of its own.
A prompt that does not follow the last message (the user went back) begins a branch.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from warmset.maintenance.transcripts.fields import listed, mapping, moment, text, without_none
from warmset.maintenance.transcripts.item import Item
from warmset.maintenance.transcripts.lines import beside
from warmset.maintenance.transcripts.rereads import Rereads
from warmset.maintenance.transcripts.steps import Steps
from warmset.store.known import digest, without_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.maintenance.transcripts.lines import Line
    from warmset.maintenance.transcripts.report import ImportReport

_LEFT_OUT: Final = frozenset(
    (
        "progress",
        "file-history-snapshot",
        "file-history-delta",
        "last-prompt",
        "mode",
        "permission-mode",
    )
)
"""Types of lines that repeat what other lines say, or say nothing of the conversation."""

_SYNTHETIC: Final = "<synthetic>"
"""The model of lines that Claude Code writes in the model's place, and does not send."""

_REMEMBERED: Final = 50_000
"""Lines of a conversation whose place is known, to find where a branch begins."""


@dataclass(slots=True, eq=False)
class _Place:
    """A prompt, or a reply with the results of its calls.

    Args:
        last: The name of its last message; empty at the beginning of the conversation.
        reply: The id of the reply.
    """

    last: str = ""
    reply: str = ""


@dataclass(slots=True)
class _Chain:
    """A conversation while its lines are read."""

    rereads: Rereads
    steps: Steps = field(default_factory=Steps)
    here: _Place = field(default_factory=_Place)
    step: _Place | None = None  # the last reply, while results may come
    places: OrderedDict[str, _Place] = field(default_factory=OrderedDict)

    def note(self, uuid: str, place: _Place | None = None) -> None:
        """Remember where a line stands: here, if not said otherwise."""
        self.places[uuid] = place or self.here
        if len(self.places) > _REMEMBERED:
            self.places.popitem(last=False)

    def end_step(self) -> None:
        """Take note that calls which are still open get a result that says so."""
        name = self.steps.unanswered
        if self.step is not None and name is not None:
            self.step.last = name
        self.step = None


class ClaudeCode:
    """The parser of one file.

    Args:
        name: The conversation of lines that name none.
        report: What is counted.
    """

    def __init__(self, name: str, report: ImportReport) -> None:
        self._session = name
        self._report = report
        self._chains: dict[str, _Chain] = {}
        self._sides: OrderedDict[str, str] = OrderedDict()  # a line ─▶ its side chain

    def feed(self, line: Line) -> Iterator[Item]:
        """Take one line; see `Parser`."""
        fields = line.fields
        if fields is None:
            yield from beside(line, self._session, self._report)
            return
        self._session = text(fields, "sessionId", "session_id") or self._session
        name, side_of = self._conversation(fields)
        chain = self._chains.setdefault(name, _Chain(Rereads(self._report)))
        uuid = text(fields, "uuid") or digest(line.raw)
        if uuid in chain.places:  # a line that was written twice
            self._report.known += 1
            return
        item = Item(
            conversation=name,
            uids=(uuid,),
            kind=_kind(fields),
            raw=line.raw,
            kept=text(fields, "type") not in _LEFT_OUT,
            at=moment(fields, "timestamp"),
            meta=_meta(fields),
            side_of=side_of,
            dialect="anthropic",
        )
        if fields.get("type") == "system" and fields.get("subtype") == "compact_boundary":
            chain.rereads.compacted()
        if fields.get("type") == "assistant":
            yield from self._reply(chain, item, fields)
        elif (said := _said(fields)) is not None:
            yield from self._said(chain, item, fields, said)
        else:
            chain.note(uuid)
            yield item

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield the replies of which more might have come; see `Parser`."""
        for chain in self._chains.values():
            yield from chain.steps.rest(ended=ended)

    def _reply(self, chain: _Chain, item: Item, fields: dict[str, Any]) -> Iterator[Item]:
        message = mapping(fields.get("message"))
        blocks = _blocks(message.get("content"))
        if fields.get("isApiErrorMessage") or message.get("model") == _SYNTHETIC or not blocks:
            chain.note(item.uids[0])
            what = "error" if fields.get("isApiErrorMessage") else "synthetic"
            yield replace(item, kind=f"{item.kind}/{what}")
            return
        name = text(message, "id") or item.uids[0]
        if name != chain.here.reply:
            chain.end_step()
            chain.here = chain.step = _Place(item.uids[0], name)
        chain.note(item.uids[0])
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                chain.rereads.called(str(block.get("name")), mapping(block.get("input")))
        yield from chain.steps.reply(item, name, blocks)

    def _said(
        self, chain: _Chain, item: Item, fields: dict[str, Any], said: str | list[Any]
    ) -> Iterator[Item]:
        calls = [
            str(block.get("tool_use_id"))
            for block in listed(said)
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]
        item = replace(item, kind="message", message={"role": "user", "content": said})
        if calls:
            if chain.steps.awaits(calls) and chain.step is not None:
                chain.step.last = item.uids[0]
            chain.note(item.uids[0], chain.step)
            item = replace(item, unless=tuple(map(without_call, calls)))
            yield from chain.steps.answer(item, calls)
            return
        queued = fields.get("type") == "attachment"
        after = None if queued else _branch(chain, fields)
        between = after is None and (queued or bool(fields.get("isMeta")))
        if not between:
            chain.end_step()
        chain.here = _Place(item.uids[0])
        chain.note(item.uids[0])
        yield from chain.steps.speak(replace(item, after=after), between=between)

    def _conversation(self, fields: dict[str, Any]) -> tuple[str, str | None]:
        """Return the conversation of a line, and the one that it is a side chain of."""
        if not fields.get("isSidechain"):
            return self._session, None
        agent = text(fields, "agentId")
        uuid, parent = text(fields, "uuid") or "", text(fields, "parentUuid") or ""
        if agent is None:  # older versions write side chains among the lines of their session
            agent = self._sides.get(parent, uuid or "side")
            self._sides[uuid] = agent
            if len(self._sides) > _REMEMBERED:
                self._sides.popitem(last=False)
        return f"{self._session}/{agent}", self._session


def _branch(chain: _Chain, fields: dict[str, Any]) -> str | None:
    """Return the message that a prompt follows, if that is not the last one."""
    place = chain.places.get(text(fields, "parentUuid") or "")
    if place is None or place is chain.here or place is chain.step or not place.last:
        return None
    return place.last


def _kind(fields: dict[str, Any]) -> str:
    kind = text(fields, "type") or "line"
    detail = text(fields, "subtype") or text(mapping(fields.get("attachment")), "type")
    return f"{kind}/{detail}" if detail else kind


def _said(fields: dict[str, Any]) -> str | list[Any] | None:
    """Return what a line has the user say, if it is not blank; results of tools are said, too."""
    content: object = None
    if fields.get("type") == "user":
        content = mapping(fields.get("message")).get("content", fields.get("message"))
    elif fields.get("type") == "attachment":
        attachment = mapping(fields.get("attachment"))
        if attachment.get("type") == "queued_command":
            content = attachment.get("prompt")
    if isinstance(content, str):
        return content if content.strip() else None
    return _blocks(content) or None


def _blocks(content: object) -> list[Any]:
    """Return the blocks of a content without texts that are blank, which no provider takes."""
    found = [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
    return [
        block
        for block in found
        if not (
            isinstance(block, dict)
            and block.get("type") == "text"
            and not str(block.get("text", "")).strip()
        )
    ]


def _meta(fields: dict[str, Any]) -> dict[str, Any]:
    attachment = mapping(fields.get("attachment"))
    return without_none(
        {
            "source": "claude-code",
            "model": text(mapping(fields.get("message")), "model"),
            "queued": True if attachment.get("type") == "queued_command" else None,
            "compact_summary": True if fields.get("isCompactSummary") else None,
            "meta": True if fields.get("isMeta") else None,
        }
    )
