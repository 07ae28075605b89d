"""The messages of one conversation as a tree, of which one path is current.

An edit, a retry with another ending or a shortened list leaves the current path at some message:
what is left behind stays in the tree and can be fetched, and a list that comes back to it finds it
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset._core import Turns
from warmset._support.locks import guarded
from warmset.messages import Facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from warmset.messages.canonical import Variant

ROOT: Final = 0
"""The parent of a first message; ids of the store begin at 1."""


class Row(NamedTuple):
    """What is known of a message besides its content.

    Args:
        facts: Role and links; the text is not kept.
        speaker: Who said it, where somebody is named.
        at: When it was said, in seconds since 1970 UTC.
        tokens: What it costs verbatim.
        session: Number of the session within the conversation.
        decision: Whether it settles something.
        blank: Whether it says nothing that could be indexed.
        key: The caller's own name of it.
        beside: Further bytes that are kept beside it.
    """

    facts: Facts
    speaker: str | None = None
    at: float = 0.0
    tokens: int = 0
    session: int = 0
    decision: bool = False
    blank: bool = True
    key: str | None = None
    beside: bytes | None = None


_BLANK: Final = Row(Facts("", ""))


class Step(NamedTuple):
    """The way from a stored message to the next one of a list that has it in another form.

    Args:
        ids: The stored message, behind those of thinking alone that the list leaves out.
        variant: How the list has it.
    """

    ids: tuple[int, ...]
    variant: Variant


@dataclass(frozen=True, slots=True)
class PathMark:
    """The current path of a conversation at some time.

    Args:
        history: The conversation's messages.
        turned: How often the path had got another end.
        head: Its last message; `ROOT` if there was none.
    """

    history: History
    turned: int
    head: int


@guarded(
    "engine",
    writes=(
        "path",
        "steps",
        "awaited",
        "awaited_after",
        "heirs",
        "branched",
        "moved",
        "turned",
    ),
    calls=(
        "mark",
        "stands",
        "add",
        "restore",
        "expect",
        "head_at",
        "keep",
        "relink",
        "move",
        "digests",
        "among",
        "following",
        "with_content",
        "ancestors",
        "heir",
        "children",
        "along_path",
    ),
)
class History:
    """A tree of messages by content hash, and its current path.

    Attributes:
        turns: The tree and what is known of each message, in the core.
        path: Ids of the messages on the current path.
        awaited: Hashes of messages that lie in the spool.
        awaited_after: The message that the first of them will follow, or that a move in the spool
            makes the last one; None if nothing is awaited.
        heirs: For erased messages, their ancestors, nearest first, up to one that stayed.
        branched: Whether a message ever followed another one than the one before it.
        opaque: Ids of entries that are no messages, with the entry that each follows.
        moves: Where records moved the path's end, by their ids.
        moved: The id of what determined the path's end last.
        steps: Where messages in another form led, by the message before and the content hash.
        turned: How often another message became the path's end.
    """

    def __init__(self) -> None:
        self.turns = Turns()
        self.turned = 0
        self.path: list[int] = []
        self.steps: dict[tuple[int, bytes], Step] = {}
        self.awaited: list[bytes] = []
        self.awaited_after: int | None = None
        self.heirs: dict[int, tuple[int, ...]] = {}
        self.branched = False
        self.opaque: dict[int, int] = {}
        self.moves: dict[int, int] = {}
        self.moved = 0

    @property
    def head(self) -> int:
        """The last message of the current path; `ROOT` if there is none."""
        return self.path[-1] if self.path else ROOT

    def __contains__(self, id_: object) -> bool:
        return id_ in self.turns

    def mark(self) -> PathMark:
        """Return what tells later whether the path is still as it is now."""
        return PathMark(self, self.turned, self.head)

    def stands(self, mark: PathMark) -> bool:
        """Tell whether the path has been the same one since a mark."""
        return mark.history is self and mark.turned == self.turned

    def add(self, id_: int, digest: bytes, row: Row = _BLANK) -> None:
        """Put a message at the end of the current path.

        Args:
            id_: The message's id.
            digest: Hash of its content, 16 bytes.
            row: What else is known of it.

        Raises:
            InvalidInputError: The id is not above those of all other messages.
        """
        self.turns.add(
            id_,
            digest,
            row.facts,
            speaker=row.speaker,
            at=row.at,
            tokens=row.tokens,
            session=row.session,
            decision=row.decision,
            blank=row.blank,
            key=row.key,
            beside=row.beside,
        )
        if self.awaited and (self.awaited_after, self.awaited[0]) == (self.head, digest):
            del self.awaited[0]
            self.awaited_after = id_ if self.awaited else None
        self.moved = id_
        self.path.append(id_)
        self.turned += 1

    def restore(self, turns: Turns) -> None:
        """Take up a tree and its path in the place of an empty one."""
        self.turns, self.path = turns, turns.path()
        self.turned += 1

    def keep(self, id_: int, parent: int) -> None:
        """Take up an entry that is no message.

        Args:
            id_: Its id.
            parent: The entry that it follows, a message or another one of its sort.
        """
        self.moved = id_
        self.opaque[id_] = parent

    def head_at(self, at: int, head: int) -> bool:
        """Note that a record moves the path's end; the path stays as it is until `move`.

        Args:
            at: The record's id; of a second copy, that of the first one.
            head: The entry that becomes the last one.

        Returns:
            Whether nothing that came after the record determined the end already.
        """
        self.moves[at] = head
        newer = at > self.moved
        self.moved = max(self.moved, at)
        return newer

    def expect(self, parent: int | None, digests: Sequence[bytes]) -> None:
        """Note messages, or a move, that were left in the spool.

        Args:
            parent: The message that they follow, or the path moves to; None if they follow the
                path's end, or what was left before them.
            digests: Hashes of the messages' contents.
        """
        if parent is not None:
            self.awaited, self.awaited_after = [], parent
        elif self.awaited_after is None:
            self.awaited_after = self.head
        self.awaited += digests

    def digests(self) -> list[tuple[int, bytes]]:
        """Return every message with the hash of its content, on every branch."""
        return self.turns.digests()

    def digest_of(self, id_: int) -> bytes:
        """Return the content hash of a message."""
        return self.turns.digest(id_)

    def among(self, digests: Collection[bytes]) -> dict[bytes, int]:
        """Return the newest message of each wanted content hash that is there."""
        return self.turns.among(list(digests))

    def following(self, id_: int) -> Sequence[int]:
        """Return the messages that follow a message or `ROOT`, ascending."""
        return self.turns.following(id_)

    def with_content(self, after: int, digest: bytes) -> int | None:
        """Return the last message of a content that follows a message or `ROOT`."""
        return self.turns.with_content(after, digest)

    def ancestors(self, id_: int) -> Iterator[int]:
        """Go from a message's parent back to the first message."""
        at = self.turns.parent(id_)
        while at != ROOT:
            yield at
            at = self.turns.parent(at)

    def heir(self, id_: int) -> int:
        """Return the message in whose place an entry stands: itself, or the nearest one before it.

        What a gone entry followed is what a link names, else the entry before it by id, unless the
        path's end was moved in between.

        Args:
            id_: The id of a message, of one that is gone, or of an entry that is no message.

        Returns:
            The message's id, or `ROOT`.
        """
        while id_ != ROOT and id_ not in self:
            id_ = self.opaque[id_] if id_ in self.opaque else self._followed(id_)
        return id_

    def _followed(self, gone: int) -> int:
        """Return what a gone entry followed; that may be gone, too."""
        if ancestors := self.heirs.get(gone):
            heir = next((one for one in ancestors if one in self), ancestors[-1])
            if heir < gone:
                return heir
        opaque = max((id_ for id_ in self.opaque if id_ < gone), default=ROOT)
        before = max(self.turns.before(gone) or ROOT, opaque)
        moved = max((at for at in self.moves if before < at < gone), default=ROOT)
        return self.moves[moved] if moved and self.moves[moved] < gone else before

    def children(self, ids: Collection[int]) -> list[int]:
        """Return the messages that follow some messages, ascending."""
        return self.turns.children(list(ids))

    def relink(self, parents: Mapping[int, int]) -> None:
        """Make messages follow other ones, or `ROOT`; the path stays as it is until `move`.

        Args:
            parents: An earlier message for each; the order alone no longer tells it, even if there
                are none.

        Raises:
            InvalidInputError: One is no message, or the other no earlier one.
        """
        self.branched, self.steps = True, {}
        self.turns.relink(list(parents.items()))

    def along_path(self, digests: list[bytes]) -> int:
        """Return how many messages of the path, from the first on, a list has by their hashes.

        Args:
            digests: The hashes of the list's messages.
        """
        return self.turns.along_path(digests)

    def move(self, head: int) -> tuple[list[int], list[int]]:
        """Make another message the end of the current path.

        Args:
            head: Its id, or `ROOT` for an empty path.

        Returns:
            Ids that left the path, and ids that joined it.

        Raises:
            InvalidInputError: There is no such message.
        """
        left, joined = self.turns.move_to(head)
        # Another list: whoever looks at the old one keeps what they saw.
        path = self.path[: len(self.path) - len(left)]
        self.path = path if not joined and path[-1:] == [head] else self.turns.path()
        if not self.awaited and self.awaited_after == head:
            self.awaited_after = None
        self.branched = self.branched or bool(left or joined)
        self.turned += bool(left or joined)
        return left, joined
