"""An epoch: a list that only grows, as positions on the conversation's path and messages of ours.

```text
held │ pinned, summary, index │ held │ message │ memories, recall, request │ message │ message …
   before `start`                    │ all messages from `start` on
```
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.messages import dumps
from warmset.state.branches import ROOT

if TYPE_CHECKING:
    from warmset.state.branches import History
    from warmset.state.epochs import Recorded
    from warmset.store.epochs import Insertion, Step
    from warmset.window.render import Call

_HASH: Final = 12
"""Bytes of a hash of what stands beside a list."""

FRONT: Final = ("anchor_day", "pinned", "summary", "index", "compaction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A list that only grows.

    Args:
        number: Its number among the epochs of the conversation, the dialect and the model.
        why: Why it began.
        start: The position of the first message from which on all are shown.
        held: Positions of the earlier messages that are shown as well, ascending.
        lead: How many of them come before pinned memories, the summary and the index.
        insertions: The messages of ours, by their position.
        count: The number of the conversation's messages that it covers.
        head: The id of the last of them; `ROOT` if there is none.
        beside: The hash of the system prompt and the tools.
        asked: The hash of a request at its end that is not a message of the conversation.
        token: The name of its last record; empty while nothing was recorded.
        made_of: Ids of the records that its front was made from.
    """

    number: int = 1
    why: str = "the conversation began"
    start: int = 0
    held: tuple[int, ...] = ()
    lead: int = 0
    insertions: tuple[Insertion, ...] = ()
    count: int = 0
    head: int = ROOT
    beside: str = ""
    asked: str | None = None
    token: str = ""
    made_of: tuple[int, ...] = ()

    def cut(self, count: int, head: int) -> Epoch | None:
        """Return what is left of it for a path that leaves it; None if its front is not whole.

        Args:
            count: The number of messages that the path and the epoch share.
            head: The last of them.
        """
        if count < self.start:
            return None
        kept = tuple(one for one in self.insertions if one.at < count or one.name in FRONT)
        return replace(self, insertions=kept, count=count, head=head, asked=None)

    def without_unanswered(self) -> Epoch:
        """Return it without what was recalled for a request that was never appended."""
        kept = tuple(one for one in self.insertions if one.name in FRONT or one.at < self.count)
        return replace(self, insertions=kept, asked=None)

    def with_recall(self, ours: tuple[Insertion, ...]) -> Epoch:
        """Return it with messages of ours for a request, before the line with its day."""
        at = min((one.at for one in ours), default=self.count + 1)
        days = [day for day in self.insertions if day.name == "day" and day.at >= at]
        rest = [other for other in self.insertions if other not in days]
        return replace(self, insertions=(*rest, *ours, *days))

    def has(self, at: int) -> bool:
        """Return whether the message at a position is shown verbatim."""
        return at >= self.start or at in self.held

    @property
    def moved(self) -> dict[bytes, tuple[bytes, bytes]]:
        """What replies behind a compaction were made behind, and what stands there instead."""
        return {
            bytes.fromhex(move.was): (bytes.fromhex(move.messages), bytes.fromhex(move.spoken))
            for one in self.insertions
            for move in one.moved
        }

    @property
    def quoted(self) -> set[int]:
        """The positions of the messages that it quotes."""
        return {at for one in self.insertions for at in one.quoted}

    @property
    def hides(self) -> bool:
        """Whether it does not show all messages verbatim."""
        return self.start > len(self.held)

    @property
    def pinned(self) -> Insertion | None:
        """The pinned memories that it shows; None if it shows none."""
        return next((one for one in self.insertions if one.name == "pinned"), None)

    @property
    def memories(self) -> set[int]:
        """The ids of the memories, and of the turns of other conversations, that it quotes."""
        return {id_ for one in self.insertions for id_ in one.memories}

    @property
    def listed(self) -> set[int]:
        """The positions of the messages of which it has a line."""
        return {at for one in self.insertions for at in one.listed}


def on_path(epoch: Epoch, history: History) -> Epoch | None:
    """Return what is left of an epoch on the conversation's current path.

    That is all of it, unless the path left it: by an edit, or a shortened list. Where one of its
    messages was erased, nothing is left, because later positions are no longer the same.
    """
    path = history.path
    if epoch.count == 0 or (len(path) >= epoch.count and path[epoch.count - 1] == epoch.head):
        return epoch
    if epoch.head not in history:
        return None
    old = [epoch.head, *history.ancestors(epoch.head)][::-1]
    if len(old) != epoch.count:
        return None
    same = 0
    for one, other in zip(old, path, strict=False):
        if one != other:
            break
        same += 1
    return epoch.cut(same, path[same - 1] if same else ROOT)


def built(chain: list[Recorded], steps: list[Step]) -> Epoch | None:
    """Return the epoch that a chain of records describes; None if it has no beginning.

    Args:
        chain: The records of an epoch, in order.
        steps: The same, with the texts of their insertions.
    """
    made: Epoch | None = None
    for one, step in zip(chain, steps, strict=True):
        if step.begins is not None:
            begins = step.begins
            made = Epoch(
                number=begins.number,
                why=begins.why,
                start=begins.start,
                held=begins.held,
                lead=begins.lead,
                made_of=one.made_of,
            )
        if made is None:
            return None
        kept = [ours for ours in made.insertions if ours.name in FRONT or ours.at < step.keep]
        made = replace(
            made,
            insertions=(*kept, *step.insertions),
            count=step.count,
            head=one.head,
            beside=step.beside,
            asked=step.asked,
            token=step.token,
        )
    return made


def beside_hash(call: Call) -> str:
    """Return the hash of what stands beside a call's messages: the system prompt and the tools."""
    beside = {"system": call.system or None, "tools": list(call.tools) if call.tools else None}
    return hashlib.blake2b(dumps(beside), digest_size=_HASH).hexdigest()
