"""The messages of one conversation as objects, each made when it is asked for.

What is known of a message lies in the core as a row. Windows look at the same few hundred messages
again and again, so the objects that were asked for last are held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, overload

from warmset.messages import Facts
from warmset.messages.prefix import Prefix
from warmset.state.entry import Entry
from warmset.store.records import dump, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warmset._core import Turns
    from warmset.store.descriptions import Described
    from warmset.store.records import TurnMeta

_NOTHING: Final = (None, None)

HELD: Final = 65_536
"""Entries of a conversation that are held; the older half of them leaves first. A window of mode
"recency" looks at every one, and would make all of them anew if fewer were held than there are."""


def beside(meta: TurnMeta) -> bytes | None:
    """Return what is kept beside a message besides its columns; None for nothing."""
    if meta.extra is None and meta.behind is None:
        return None
    behind = None if meta.behind is None else meta.behind.encode()
    return dump({"meta": meta.extra, "behind": behind})


def _beside(data: bytes) -> tuple[dict[str, object] | None, Prefix | None]:
    """Read what `beside` returned."""
    fields = load(data)
    return fields.get("meta"), Prefix.decode(fields.get("behind"))


class Entries(Mapping[int, Entry]):
    """The messages of a conversation by id, on every branch, in the order of ids.

    Args:
        turns: The rows.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._described: dict[int, Described] = {}
        self._decided: dict[int, bool] = {}  # what was so before they were described
        self._young: dict[int, Entry] = {}
        self._old: dict[int, Entry] = {}

    def __getitem__(self, id_: int) -> Entry:
        return self._young.get(id_) or self._made(id_)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._turns

    def __iter__(self) -> Iterator[int]:
        return iter(self._turns.ids())

    def __len__(self) -> int:
        return len(self._turns)

    def describe(self, id_: int, described: Described) -> bool | None:
        """Take up the description of a message.

        Returns:
            Whether the message settles something by it, if it did not, or did, before; else None.

        Raises:
            KeyError: There is no such message.
        """
        old = self[id_]
        self._described[id_] = described
        ruled = self._decided.setdefault(id_, old.decision)
        decision = ruled if described.decision is None else described.decision
        self._turns.decide(id_, decision)
        self._young.pop(id_, None)
        self._old.pop(id_, None)
        return None if decision == old.decision else decision

    def decided(self) -> dict[int, bool]:
        """Return whether described messages settle something by the built-in rules."""
        return self._decided

    def of(self, ids: Iterable[int]) -> list[Entry]:
        """Return messages by their ids, in order."""
        young, made = self._young, self._made
        return [young.get(id_) or made(id_) for id_ in ids]

    def tokens(self, ids: Sequence[int]) -> list[int]:
        """Return what messages cost verbatim, in order."""
        return self._turns.tokens(ids)

    def _made(self, id_: int) -> Entry:
        entry = self._old.get(id_) or self._read(id_)
        self._young[id_] = entry
        if len(self._young) > HELD // 2:
            self._young, self._old = {}, self._young
        return entry

    def _read(self, id_: int) -> Entry:
        if id_ not in self._turns:
            raise KeyError(id_)
        named, known = self._turns.row(id_)
        role, calls, results, item_id, request, bond, keep, thinks = named
        speaker, at, tokens, session, decision, blank, key, data = known
        facts = Facts(role, "", calls, results, None, 0, request, bond, keep, thinks, item_id)
        extra, behind = _NOTHING if data is None else _beside(data)
        described = self._described.get(id_)
        return Entry(
            id_,
            facts,
            at,
            speaker,
            session,
            tokens,
            decision,
            blank,
            extra,
            behind,
            key,
            described,
        )


class Live(Sequence[Entry]):
    """Messages of a path, in order, as it was when it was asked for.

    Args:
        entries: The conversation's messages.
        path: Their ids; the list may grow, and is never changed otherwise.
        count: How many of them count.
    """

    __slots__ = ("_count", "_entries", "_path")

    def __init__(self, entries: Entries, path: list[int], count: int) -> None:
        self._entries = entries
        self._path = path
        self._count = count

    def __len__(self) -> int:
        return self._count

    def ids(self) -> list[int]:
        """Return their ids."""
        return self._path[: self._count]

    def at(self, places: Iterable[int]) -> list[Entry]:
        """Return the messages at some positions, none of which is negative."""
        return self._entries.of([self._path[place] for place in places])

    def tokens(self) -> list[int]:
        """Return what each costs verbatim."""
        return self._entries.tokens(self.ids())

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, slice):
            return self.at(range(*at.indices(self._count)))
        if 0 <= at < self._count:
            return self._entries[self._path[at]]
        if not -self._count <= at < self._count:
            raise IndexError(f"no message has the position {at}")
        return self._entries[self._path[at + self._count]]

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entries.__getitem__, islice(self._path, self._count))
