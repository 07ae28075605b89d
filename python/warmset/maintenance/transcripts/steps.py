"""Joins the lines of one step of an agent: a reply in pieces, and the results of its calls.

Claude Code writes a line for each block of a reply as it arrives, and runs tools meanwhile, so that
results may stand between the pieces. A reply is one message, and what answers it follows it:

```text
call A │ result A │ call B │ result B   (A and B of one reply)   ─▶   reply with A, B │ A │ B
```

A call that nothing answers before somebody speaks again gets a result that says so, because no
provider takes a list without one. A result that answers no open call is no message of the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from warmset.store.known import unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.maintenance.transcripts.item import Item

_UNANSWERED: Final = "[no result in the transcript]"


@dataclass(slots=True)
class _Reply:
    """A reply of which pieces may still come, and the results that came meanwhile."""

    name: str
    first: Item
    uids: list[str] = field(default_factory=list)
    spans: list[int] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    answers: list[Item] = field(default_factory=list)


class Steps:
    """The steps of one conversation, in the order of its lines."""

    def __init__(self) -> None:
        self._reply: _Reply | None = None
        self._open: dict[str, None] = {}  # calls without a result, in order
        self._waiting: list[Item] = []  # what was said while tools ran

    @property
    def unanswered(self) -> str | None:
        """The name of the message that answers what is open, if nothing else does."""
        return next(map(unanswered, self._open), None)

    def awaits(self, calls: list[str]) -> bool:
        """Return whether a message with these results belongs to the list."""
        return len(set(calls)) == len(calls) and self._open.keys() >= set(calls)

    def reply(self, item: Item, name: str, blocks: list[Any]) -> Iterator[Item]:
        """Take a piece of a reply.

        Args:
            item: The piece as a message.
            name: The reply's id.
            blocks: The blocks of the piece.
        """
        reply = self._reply
        if reply is None or reply.name != name:
            yield from self._close(item)
            reply = self._reply = _Reply(name, item)
        reply.uids += item.uids
        reply.spans.append(len(blocks))
        reply.blocks += blocks
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use" and "id" in block:
                self._open[str(block["id"])] = None

    def answer(self, item: Item, calls: list[str]) -> Iterator[Item]:
        """Take a message with results.

        Args:
            item: The message.
            calls: The calls that it answers.
        """
        if not self.awaits(calls):
            yield replace(item, kind="orphan tool_result", message=None)
            return
        for call in calls:
            del self._open[call]
        if self._reply is not None:
            self._reply.answers.append(item)
            return
        yield item
        if not self._open:
            yield from self._said()

    def speak(self, item: Item, *, between: bool) -> Iterator[Item]:
        """Take what the user says.

        Args:
            item: The message.
            between: Whether it may have come while tools ran; then it stands behind their results.
        """
        if between and self._open:
            self._waiting.append(item)
            return
        yield from self._close(item)
        yield item

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield the step that waits for more; see `Parser.rest`."""
        yield from self._replied()
        if ended and self._waiting:
            yield from self._close(self._waiting[0])

    def _close(self, item: Item) -> Iterator[Item]:
        """Yield everything that waits, and results for calls that have none."""
        yield from self._replied()
        if self._open:
            yield self._unanswered(item)
        yield from self._said()

    def _replied(self) -> Iterator[Item]:
        reply, self._reply = self._reply, None
        if reply is None:
            return
        message = {"role": "assistant", "content": reply.blocks}
        uids, spans = tuple(reply.uids), tuple(reply.spans)
        yield replace(reply.first, kind="message", message=message, uids=uids, spans=spans)
        yield from reply.answers
        if not self._open:
            yield from self._said()

    def _said(self) -> Iterator[Item]:
        waiting, self._waiting = self._waiting, []
        yield from waiting

    def _unanswered(self, item: Item) -> Item:
        calls = list(self._open)
        self._open.clear()
        content = [
            {"type": "tool_result", "tool_use_id": call, "content": _UNANSWERED, "is_error": True}
            for call in calls
        ]
        return replace(
            item,
            kind="message",
            uids=tuple(map(unanswered, calls)),
            spans=(1,) * len(calls),
            message={"role": "user", "content": content},
            meta={"added": "unanswered"},
            after=None,
        )
