"""What is known of a store's conversations, in a file beside the index.

With it, opening reads the records that came after it, and a conversation is taken up when it is
first asked for. The file is a cache that is written and deleted with the index, and used only
beside an index that covers the same records. Whatever is wrong with it, the records are read.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._core import SavedTurns, TurnsDraft
from warmset._support.locks import guarded
from warmset._support.log import kind, room
from warmset._support.version import __version__
from warmset.engine.digest import digest
from warmset.engine.ledgers import key_bytes
from warmset.errors import Erased, NotFound, WarmsetError
from warmset.index.file_lock import TURNS
from warmset.index.vector_catalog import no_rows
from warmset.state.kept_ledger import kept
from warmset.store.derived import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import ColdStore
    from warmset.engine.library import Library

LOG: Final = room("index")

FORM: Final = 3
"""Grows when other things are known of the same turns."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What else the file says.

    Args:
        embedder: The meta and the payload of the record of the embedder that makes the vectors;
            None without one.
        views: The views of which every turn had its vectors, or all wait for none; empty if that
            is not known.
    """

    embedder: tuple[bytes, bytes] | None
    views: str


@dataclass(frozen=True, slots=True)
class TurnsFileDraft:
    """What is to be written.

    Args:
        turns: The conversations.
        vectors: Where their vectors lie.
        note: What is written beside them.
    """

    turns: TurnsDraft
    vectors: NDArray[np.uint64]
    note: bytes

    def save(self, file: Path, store: ColdStore) -> None:
        """Write the file in the place of the one that is there.

        Raises:
            StoreError: It could not be written.
        """
        self.turns.save(file, store, self.vectors, self.note)


def check(saved: SavedTurns) -> None:
    """Check every byte, so that damage is met here and not when a conversation is asked for.

    Raises:
        IndexDamaged: The file is damaged.
    """
    saved.verify()


@guarded("self._engine.lock", calls=("load", "draft"))
class TurnsFile:
    """Loads and saves what is known of conversations.

    Args:
        engine: Has them.
    """

    def __init__(self, engine: Library) -> None:
        self._engine = engine

    def load(self, folder: Path, covers: int) -> Remembered | None:
        """Take up the file if it covers the records up to an id; None, and nothing is done, if not.

        Nothing was taken up before.

        Args:
            folder: The store's directory.
            covers: The id of the last record that the index covers.
        """
        engine, file = self._engine, folder / TURNS
        if not file.exists():
            return None
        try:
            # Windows neither deletes nor replaces a file that is mapped.
            read = "pread" if sys.platform == "win32" else engine.opening.read
            saved = SavedTurns.open(file, engine.store, read=read)
            note: dict[str, Any] = {} if saved is None else json.loads(saved.note())
            if saved is None or not self._fits(note, covers):
                return None
            check(saved)
            engine.ledgers.owners.saved = saved
            self._restore(note)
            meta, payload = map(bytes.fromhex, note["embedder"] or ("", ""))
            made = (meta, payload) if meta else None
            return Remembered(made, str(note["views"]))
        except (WarmsetError, OSError, ValueError, KeyError, TypeError) as error:
            engine.ledgers.clear()
            engine.forget_derived()
            self.fell_back(kind(error), folder)
            return None

    def fell_back(self, why: str, folder: Path) -> None:
        """Log that the records are read in the place of the file."""
        told = {"what": "turns", "to": "records", "path": str(folder), "why": why}
        self._engine.notices.note(LOG, logging.WARNING, "fell_back", **told)

    def _fits(self, note: Mapping[str, Any], covers: int) -> bool:
        """Return whether the file is of these records, read by the same rules."""
        engine = self._engine
        if (note["form"], note["version"]) != (FORM, __version__):
            return False
        if (note["covers"], note["encoding"]) != (covers, engine.encoding):
            return False
        return bool(note["last"] == self._last(covers))

    def _last(self, covers: int) -> list[str]:
        """Return what tells the last record from others with its id."""
        try:
            record = self._engine.store.get(covers)
        except (Erased, NotFound):
            return []
        return [record.kind, record.hash.hex(), record.meta.hex()]

    def _restore(self, note: Mapping[str, Any]) -> None:
        """Take up everything besides conversations, whose derived records are read."""
        engine = self._engine
        if note["digest"] != digest(engine.ledgers):
            raise ValueError("digest: its conversations are others")
        for id_ in note["derived"]:
            try:
                record = engine.store.get(id_)
            except (Erased, NotFound):  # as a later record says, which is read next
                continue
            if record.kind not in KINDS:
                raise ValueError("derived: expected ids of derived records")
            engine.take_derived(record)
        held = frozenset(note["choices"])
        for (tenant, conversation), made in list(engine.choices.items()):
            if made.id not in held:
                engine.end_choices(tenant, conversation)
        if (indexer := engine.indexer) is not None:
            generation, count = note["counted"]
            told = note["generation"], note["twice"], (int(generation), int(count))
            indexer.book.restore(engine.ledgers.file(), *told)

    def draft(self, covers: int, told: str) -> TurnsFileDraft | None:
        """Return what is to be written; None if that is not to be relied on.

        Args:
            covers: The id of the last record; everything up to it is taken up.
            told: The digest of all conversations.
        """
        engine = self._engine
        if engine.lost:  # whoever opens the store is to be told of it
            return None
        ledgers, indexer = engine.ledgers, engine.indexer
        note = {
            "form": FORM,
            "version": __version__,
            "covers": covers,
            "encoding": engine.encoding,
            "last": self._last(covers),
            "digest": told,
            "derived": list(engine.derived),
            "choices": [made.id for made in engine.choices.values()],
            # Not its id: whoever reads a record of an old segment has all places there in memory.
            "embedder": engine.embedder and [one.hex() for one in engine.embedder],
            "generation": 0 if indexer is None else indexer.vectorizer.newest,
            "twice": [] if indexer is None else indexer.book.twice(),
            "counted": (0, 0) if indexer is None else indexer.book.counted(),
            "views": "" if indexer is None else indexer.complete(),
        }
        here = [
            (key_bytes(name), one.history.turns, kept(one))
            for name, one in ledgers.here.items()
            if one.entries or one.history.opaque or one.history.moved
        ]
        turns = TurnsDraft(here, ledgers.owners.saved, [at for at, _name in ledgers.apart()])
        vectors = no_rows() if indexer is None else indexer.book.rows()
        return TurnsFileDraft(turns, vectors, json.dumps(note).encode())
