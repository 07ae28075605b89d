"""Verdicts of the modules of a run, kept in the store, so that another process goes on with them.

They lie beside the records of payloads: a cell for each run, module and conversation, with the
names of items, what each was for the module, and when that was said. It is erased with the
conversation, and expires as records do after the last change.
"""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from warmset._core import content_hash
from warmset._support.log import event, kind, room
from warmset.errors import Conflict, WarmsetError
from warmset.items.cells import PAYLOADS
from warmset.route.decided import CLASSES
from warmset.store.conditions import Version
from warmset.store.rows import Put

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from warmset.items.items import Sources
    from warmset.route.candidates import Classification
    from warmset.store.rows import Key

RUN: Final = "run"
"""The third part of the keys of verdicts; no record of a payload has such a name."""

TRIES: Final = 8
"""How often verdicts are written anew, because another process changed them meanwhile."""

_LOG: Final = room("route")


class KeptVerdicts:
    """The verdicts of one run, in the store.

    Args:
        sources: The items, memories and messages of the tenant.
        run: The name of the run.
        keep: How long they are kept after the last change; None for ever.
    """

    def __init__(self, sources: Sources, run: str, keep: timedelta | None) -> None:
        self._sources = sources
        self._run = run
        self._keep = keep

    def read(self) -> dict[str, dict[str, Classification]]:
        """Return what each item was for each module, by the item's name, in order of time.

        Raises:
            StoreError: They could not be read.
        """
        log = self._sources.handle.live().log
        keys = [one.key for one in log.scan(self._prefix(), limit=None)]
        said = [
            (at, name, cell.key[4].decode(), number)
            for cell in log.view(cells=keys).cells
            if cell is not None
            for name, (number, at) in _rows(cell.payload).items()
        ]
        found: dict[str, dict[str, Classification]] = {}
        for _at, name, task, number in sorted(said):
            words = found.setdefault(name, {})
            words.pop(task, None)
            words[task] = CLASSES[number]
        return found

    def write(
        self, task: str, words: Mapping[str, Classification], conversation: str | None
    ) -> None:
        """Keep what items are for a module; if that fails, the process alone knows it.

        Args:
            task: The name of the module.
            words: What each item is, by its name.
            conversation: The conversation that they are erased with.
        """
        try:
            self._sources.handle.engine.must_write()
            self._write(task, words, conversation)
        except WarmsetError as error:
            event(
                _LOG, logging.WARNING, "fell_back", what="record", to="no record", error=kind(error)
            )

    def by_conversation(self, names: Iterable[str]) -> dict[str | None, list[str]]:
        """Return names of items by the conversations that the items belong to.

        Raises:
            StoreError: The store could not be read.
        """
        shelf, found = self._sources.shelf(), dict[str | None, list[str]]()
        for name in names:
            held = shelf.named(name)
            if held is not None:
                conversation = next(iter(held.names("conversation")), None)
            else:
                other = self._sources.existing.get(name)
                conversation = None if other is None else other.conversation
            found.setdefault(conversation, []).append(name)
        return found

    def _write(
        self, task: str, words: Mapping[str, Classification], conversation: str | None
    ) -> None:
        log = self._sources.handle.engine.log
        key: Key = (*self._prefix(), task, *_part_of(conversation))
        columns: dict[str, Any] = {"pipeline": self._run, "module": task}
        if conversation is not None:
            columns["conversation"] = conversation
        at = time.time_ns() // 1_000
        new = {name: (CLASSES.index(word), at) for name, word in words.items()}
        for last in range(TRIES - 1, -1, -1):
            cell = log.get(key)
            rows = new if cell is None else {**_rows(cell.payload), **new}
            payload = json.dumps(rows, separators=(",", ":")).encode()
            put = Put(key, payload, codec="json", columns=columns, ttl=self._keep)
            is_at = Version(key, 0 if cell is None else cell.version)
            try:
                log.write([put], expect=[is_at], sync=False)
            except Conflict:
                if not last:
                    raise
            else:
                return

    def _prefix(self) -> tuple[bytes, bytes, str, str]:
        tenant = self._sources.handle.tenant.encode("utf-8", "surrogatepass")
        return tenant, PAYLOADS, RUN, self._run


def _rows(payload: bytes) -> dict[str, tuple[int, int]]:
    """Return numbers of classifications and times, by the names of items."""
    return {name: (number, at) for name, (number, at) in json.loads(payload).items()}


def _part_of(conversation: str | None) -> tuple[bytes, ...]:
    """Return what keeps the verdicts of a conversation apart from those of others."""
    return () if conversation is None else (content_hash(conversation.encode()),)
