"""The messages of one conversation as a tree, of which one path is current.

An edit, a retry with another ending or a shortened list leaves the current path at some message:
what is left behind stays in the tree and can be fetched, and a list that comes back to it finds it
again.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset._support.locks import guarded

if TYPE_CHECKING:
    from collections.abc import Collection, ItemsView, Iterator, Mapping, Sequence

    from warmset.messages.canonical import Variant

ROOT: Final = 0
"""The parent of a first message; ids of the store begin at 1."""


class Step(NamedTuple):
    """The way from a stored message to the next one of a list that has it in another form.

    Args:
        ids: The stored message, behind those of thinking alone that the list leaves out.
        variant: How the list has it.
    """

    ids: tuple[int, ...]
    variant: Variant


@guarded(
    "engine",
    writes=(
        "_stale",
        "_relinked",
        "path",
        "steps",
        "awaited",
        "awaited_after",
        "heirs",
        "branched",
        "moved",
    ),
    fields=("_following", "_child", "_said"),
    calls=(
        "add",
        "expect",
        "head_at",
        "keep",
        "relink",
        "contents",
        "move",
        "digests",
        "digest",
        "among",
        "following",
        "ancestors",
        "heir",
        "children",
        "along_path",
    ),
)
class History:
    """A tree of messages by content hash, and its current path.

    Attributes:
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
    """

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._digest: dict[int, bytes] = {}
        self._child: dict[tuple[int, bytes], int] = {}  # of twins, the last
        self._stale = False  # whether `_child` is from before a `relink`
        self._relinked = False  # whether the path may be another one up to the same message
        self._following: dict[int, list[int]] | None = None
        self._said: list[bytes] = []  # the hashes of the path's messages
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
        return id_ in self._parent

    def add(self, id_: int, digest: bytes) -> None:
        """Put a message at the end of the current path.

        Args:
            id_: The message's id.
            digest: Hash of its content.
        """
        if self.awaited and (self.awaited_after, self.awaited[0]) == (self.head, digest):
            del self.awaited[0]
            self.awaited_after = id_ if self.awaited else None
        self.moved = id_
        self._parent[id_] = self.head
        self._digest[id_] = digest
        self._child[self.head, digest] = id_
        if self._following is not None:
            self._following.setdefault(self.head, []).append(id_)
        self.path.append(id_)
        self._said.append(digest)

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

    def digests(self) -> ItemsView[int, bytes]:
        """Return the hash of each message's content, on every branch."""
        return self._digest.items()

    def digest(self) -> bytes:
        """Return a digest of the tree and its current path."""
        whole = hashlib.blake2b(repr(self.path).encode(), digest_size=16)
        for (parent, digest), id_ in sorted(self.contents().items()):
            whole.update(b"%d %d " % (parent, id_) + digest)
        return whole.digest()

    def digest_of(self, id_: int) -> bytes:
        """Return the content hash of a message."""
        return self._digest[id_]

    def among(self, digests: Collection[bytes]) -> dict[bytes, int]:
        """Return the newest message of each wanted content hash that is there."""
        return {digest: id_ for id_, digest in self._digest.items() if digest in digests}

    def following(self, id_: int) -> Sequence[int]:
        """Return the messages that follow a message or `ROOT`, ascending."""
        if self._following is None:
            self._following = {}
            for one in sorted(self._parent):
                self._following.setdefault(self._parent[one], []).append(one)
        return self._following.get(id_, ())

    def ancestors(self, id_: int) -> Iterator[int]:
        """Go from a message's parent back to the first message."""
        at = self._parent[id_]
        while at != ROOT:
            yield at
            at = self._parent[at]

    def heir(self, id_: int) -> int:
        """Return the message in whose place an entry stands: itself, or the nearest one before it.

        What a gone entry followed is what a link names, else the entry before it by id, unless the
        path's end was moved in between.

        Args:
            id_: The id of a message, of one that is gone, or of an entry that is no message.

        Returns:
            The message's id, or `ROOT`.
        """
        while id_ != ROOT and id_ not in self._parent:
            id_ = self.opaque[id_] if id_ in self.opaque else self._followed(id_)
        return id_

    def _followed(self, gone: int) -> int:
        """Return what a gone entry followed; that may be gone, too."""
        if ancestors := self.heirs.get(gone):
            heir = next((one for one in ancestors if one in self), ancestors[-1])
            if heir < gone:
                return heir
        there = (id_ for ids in (self._parent, self.opaque) for id_ in ids)
        before = max((id_ for id_ in there if id_ < gone), default=ROOT)
        moved = max((at for at in self.moves if before < at < gone), default=ROOT)
        return self.moves[moved] if moved and self.moves[moved] < gone else before

    def children(self, ids: Collection[int]) -> list[int]:
        """Return the messages that follow some messages, ascending."""
        return sorted(id_ for id_, parent in self._parent.items() if parent in ids)

    def relink(self, parents: Mapping[int, int]) -> None:
        """Make messages follow other ones, or `ROOT`; the path stays as it is until `move`.

        Args:
            parents: An earlier message for each; the order alone no longer tells it, even if there
                are none.

        Raises:
            ValueError: One is no earlier message.
        """
        self.branched = self._stale = self._relinked = True
        self._following, self.steps = None, {}
        for id_, parent in parents.items():
            if parent >= id_:
                raise ValueError(f"message {id_} cannot follow message {parent}")
            self._parent[id_] = parent

    def along_path(self, digests: Sequence[bytes]) -> int:
        """Return how many messages of the path, from the first on, a list has by their hashes.

        Args:
            digests: The hashes of the list's messages.
        """
        given = list(digests)
        least, most = 0, min(len(given), len(self._said))
        if given[:most] == self._said[:most]:
            return most
        while most - least > 1:  # the first `least` are the same, the first `most` are not
            middle = (least + most) // 2
            if given[least:middle] == self._said[least:middle]:
                least = middle
            else:
                most = middle
        return least

    def contents(self) -> dict[tuple[int, bytes], int]:
        """Return the last message of each content that follows each message or `ROOT`."""
        if self._stale:  # found anew: until now a twin may have stood in another one's place
            ids = sorted(self._parent)
            self._child = {(self._parent[id_], self._digest[id_]): id_ for id_ in ids}
            self._stale = False
        return self._child

    def move(self, head: int) -> tuple[list[int], list[int]]:
        """Make another message the end of the current path.

        Args:
            head: Its id, or `ROOT` for an empty path.

        Returns:
            Ids that left the path, and ids that joined it.
        """
        place = bisect_left(self.path, head)  # ids grow along a path
        if not self._relinked and place < len(self.path) and self.path[place] == head:
            path, left, joined = self.path[: place + 1], self.path[place + 1 :], list[int]()
            said = self._said[: place + 1]
        else:
            path = [] if head == ROOT else [head, *self.ancestors(head)][::-1]
            before, after = set(self.path), set(path)
            left = [id_ for id_ in self.path if id_ not in after]
            joined = [id_ for id_ in path if id_ not in before]
            said = [self._digest[id_] for id_ in path]
        self.path, self._said, self._relinked = path, said, False
        if not self.awaited and self.awaited_after == head:
            self.awaited_after = None
        self.branched = self.branched or bool(left or joined)
        return left, joined
