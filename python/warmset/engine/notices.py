"""What a store and its engine notice beside the answers of calls, on its way to the log.

The core counts what it notices and reports what it cut and found damaged; an engine takes note of
the rest. Both is noticed under locks, and logged by whoever holds none: a handler is the caller's
code, and may ask the memory that it tells of.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final

from warmset._support.locks import guarded, lock
from warmset._support.log import Later, room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import ColdStore, Cut, Damage

LOG: Final = room("store")

_MICROSECONDS: Final = 1e6
_LISTED: Final = 16
"""Offsets and files that one event lists; its counts are those of all."""


@guarded(
    "self._one_at_a_time",
    fields=("_cuts", "_known"),
    writes=("_seen", "_unread"),
    calls=("_look", "_damages"),
)
class Notices:
    """Logs what a store and its engine notice, each once.

    Args:
        store: The open store.
        lost: What the engine could not take up, as it grows.
    """

    def __init__(self, store: ColdStore, lost: Sequence[str]) -> None:
        self._store = store
        self._lost = lost
        self._path = None if store.path is None else os.fspath(store.path)
        self._later = Later()
        self._one_at_a_time = lock("notices")
        self._seen: tuple[int, ...] | None = None
        self._cuts = self._unread = 0
        self._known: set[tuple[str, tuple[int, int], str]] = set()

    def note(self, log: logging.Logger, level: int, name: str, **fields: object) -> None:
        """Take note of an event, under any lock; see `_log.event` for what it may say."""
        self._later.note(log, level, name, **fields)

    def note_store(self, level: int, name: str, **fields: object) -> None:
        """Take note of an event of the store, with its path."""
        self._later.note(LOG, level, name, path=self._path, **fields)

    def tell(self) -> None:
        """Log what was noticed since; not under a lock. Costs next to nothing if nothing was."""
        fresh = self._store.notices != self._seen or len(self._lost) != self._unread
        # If somebody else looks, what is new is theirs to tell.
        if fresh and self._one_at_a_time.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._one_at_a_time.release()
        if self._later:
            self._later.tell()

    def _look(self) -> None:
        """Compare the store's counts and reports with those before."""
        now, before = self._store.notices, self._seen
        waits, waited, refused, repairs, taken_up, _ = (
            count - was for count, was in zip(now, before or (0,) * len(now), strict=True)
        )
        self._seen = now
        if waits:
            level = logging.WARNING if refused else logging.DEBUG
            seconds = waited / _MICROSECONDS
            self.note_store(level, "busy", waits=waits, seconds=seconds, refused=refused)
        report = self._store.report()
        cuts, self._cuts = report["cuts"][self._cuts :], len(report["cuts"])
        if cuts:
            self.note_store(logging.INFO, "recovered", **_cut(cuts))
        elif repairs and before is not None:  # opening reads the directory in any case
            self.note_store(logging.DEBUG, "reread", times=repairs)
        if taken_up:
            self.note_store(logging.INFO, "taken_up", batches=taken_up)
        self._damages(report["damages"])

    def _damages(self, damages: Sequence[Damage]) -> None:
        places = {(os.fspath(one["path"]), one["bytes"], one["kind"]): one for one in damages}
        fresh = [one for place, one in places.items() if place not in self._known]
        unread, self._unread = len(self._lost) - self._unread, len(self._lost)
        self._known.update(places)
        if fresh or unread:
            self.note_store(logging.ERROR, "damaged", **_damaged(fresh), unreadable=unread)


def _cut(cuts: Sequence[Cut]) -> dict[str, Any]:
    """Say what was cut off the ends of segments, and which files were set aside whole."""
    return {
        "cuts": sum(bool(one["offset"]) for one in cuts),
        "set_aside": sum(not one["offset"] for one in cuts),
        "bytes": sum(one["bytes"] for one in cuts),
        "offsets": [(one["segment"], one["offset"]) for one in cuts[:_LISTED]],
        "copies": [os.fspath(one["aside"]) for one in cuts[:_LISTED]],
    }


def _damaged(damages: Sequence[Damage]) -> dict[str, Any]:
    """Say what is damaged, and how many ids cannot be read because of it."""
    ids = [one["seqs"] for one in damages if one["seqs"] is not None]
    return {
        "damages": len(damages),
        "bytes": sum(one["bytes"][1] - one["bytes"][0] for one in damages),
        "records": sum(last - first + 1 for first, last in ids),
        "kinds": sorted({one["kind"] for one in damages}),
        "offsets": [(one["segment"], one["bytes"][0]) for one in damages[:_LISTED]],
        "files": sorted({os.fspath(one["path"]) for one in damages[:_LISTED]}),
    }
