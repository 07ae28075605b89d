"""Where a conversation's path ends and what its messages follow, where their order does not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset.state.branches import ROOT
from warmset.store.records import CHECKPOINT, dump

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Mapping

    from warmset.state.branches import History
    from warmset.store.records import Draft


def head_draft(key: list[bytes], head: int) -> Draft:
    """Make the checkpoint that moves a conversation's head to a message, or to 0 for none."""
    return CHECKPOINT, key, dump({"what": "head", "id": head}), b"", ()


@dataclass(frozen=True, slots=True)
class Links:
    """What survivors of an erasure follow, where their conversation has branches.

    A message says what it follows only where that is not the one appended before; so when the first
    message of a branch is erased, the rest of the branch must be linked to another parent.

    Args:
        of: Messages, erased ones among them, with their ancestors, nearest first, up to one that
            stays or 0 for none: each follows the first of these that is there.
        head: The last message and its ancestors, likewise.
    """

    of: dict[int, tuple[int, ...]]
    head: tuple[int, ...]

    @classmethod
    def without(cls, history: History, erased: Collection[int]) -> Links | None:
        """Say what is left when messages are erased; None if the order of what is left says it.

        Args:
            history: The conversation, with the messages still in it.
            erased: The messages that are about to be erased.
        """
        if not history.branched:
            return None

        def chain(id_: int) -> tuple[int, ...]:
            found: list[int] = []
            for one in history.ancestors(id_):
                found.append(one)
                if one not in erased:
                    return tuple(found)
            return (*found, ROOT)

        gone = {id_ for id_ in erased if id_ in history}
        # The erased ones themselves, too: a batch in the spool may follow them.
        of = {id_: chain(id_) for id_ in sorted({*history.children(gone), *gone})}
        head = history.head
        ends = chain(head) if head in gone else ()
        return cls(of, (head, *ends)) if of or ends else None

    def draft(self, key: list[bytes]) -> Draft:
        """Return the draft of the checkpoint."""
        rows = [[id_, *ancestors] for id_, ancestors in self.of.items()]
        return CHECKPOINT, key, dump({"what": "links", "of": rows, "head": [*self.head]}), b"", ()

    @classmethod
    def decode(cls, fields: Mapping[str, Any]) -> Links:
        """Read a checkpoint of `what` "links"."""
        of = {int(row[0]): tuple(map(int, row[1:])) for row in fields["of"]}
        return cls(of, tuple(map(int, fields["head"])))

    def parent(self, id_: int, known: Container[int]) -> int:
        """Return what a message follows, by which messages are there; that may be gone since."""
        return _first(self.of[id_], known)

    def end(self, known: Container[int]) -> int:
        """Return the last message, by which messages are there; it may be gone since."""
        return _first(self.head, known)


def _first(ancestors: tuple[int, ...], known: Container[int]) -> int:
    last = ancestors[-1] if ancestors else ROOT
    return next((one for one in ancestors if one in known), last)
