"""An engine's index in a file, so that opening a store does not index every turn again.

The file has the id of the last record that it covers, and a digest of the conversations up to
there. It is used if the records give the same digest; otherwise the index is built from the
records, as without a file. It is written at `close`, and by a thread when it lacks many turns. An
encrypted store and one with few turns have no file.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warmset._core import lock_file
from warmset._support.locks import guarded, lock
from warmset._support.log import kind, room
from warmset.engine.digest import digest, names
from warmset.engine.turns_file import TurnsFile
from warmset.errors import NewerIndex, WarmsetError
from warmset.index.background import Background
from warmset.index.file_lock import LOCK, NAME, TURNS, clear, encrypted, erasing, remove

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from warmset.engine.library import Library
    from warmset.engine.turns_file import Remembered, TurnsFileDraft

LOG: Final = room("index")

FORM: Final = 3
"""Grows when other terms, labels or vectors are made of the same turns."""

LEAST: Final = 100
"""With fewer turns there is no file: they are indexed as fast as it is read."""

STEP: Final = 1_000
"""Turns that the file may lack before a thread writes it; a tenth of the turns, if that is more."""

TRIES: Final = 3
"""How often a save begins anew because a turn came between."""


class _UnfitError(Exception):
    """The file is not the index of what the store has; the words are fixed, and may be logged."""


class _NoFileError(_UnfitError):
    """There is no file, as it is with new and small stores and those in memory."""


@guarded(
    "self._busy",
    calls=("_write",),
    writes=("_saved",),
)
class IndexFile:
    """Loads and saves the index of an engine.

    Args:
        engine: What is indexed; its store is open.
        follow_all: Takes up all records, under the engine's lock; returns the last one's id.

    Attributes:
        foreign: Whether the store has vectors that this engine does not follow.
    """

    def __init__(self, engine: Library, follow_all: Callable[[], int]) -> None:
        self.foreign = False
        self._follow_all = follow_all
        self._engine = engine
        path = engine.store.path
        self._folder = None if path is None else Path(path)
        self._covered = self._saved = 0
        self._why: str | None = None
        self._failed: str | None = None
        self._note: dict[str, Any] = {}
        self._fingerprint = ""
        self._pid = os.getpid()
        self._turns = 0
        self._changes = -1  # of the retriever, when the file was as it is; -1 without a file
        self._busy = lock("index_file")
        self._conversations = TurnsFile(engine)
        self._lacks = False  # whether there is an index without conversations
        self._background = Background("warmset-index", LOG, engine.lock)

    # --- taking up --------------------------------------------------------------------------------

    def load(self) -> int:
        """Load the file if it may be valid; return the last id that it covers, else 0."""
        try:
            self._covered = self._load()
        except _NoFileError as error:
            self._refuse(str(error))
        except _UnfitError as error:
            self._unfit(str(error))
        except (WarmsetError, OSError, ValueError, KeyError, TypeError) as error:
            self._refuse(str(error), delete=not isinstance(error, NewerIndex))
            self._fell_back(logging.WARNING, why=kind(error))
        return self._covered

    def _load(self) -> int:
        if self._folder is None:
            raise _NoFileError("the store is in memory")
        file, engine = self._folder / NAME, self._engine
        if not file.exists():
            raise _NoFileError("there is no file")
        if self._is_secret():
            raise _UnfitError("the store is encrypted")
        # Windows neither deletes nor replaces a file that is mapped.
        read = "pread" if sys.platform == "win32" else engine.opening.read
        found = engine.retriever.load(file, engine.store, read=read)
        if found is None:
            raise _UnfitError("it is the index of another store")
        covers, self._fingerprint, note = found
        self._note = json.loads(note)
        if self._note["form"] != FORM:
            raise _UnfitError("it was saved by another version")
        if covers > engine.store.durable_seq():
            raise _UnfitError("it is ahead of the store")
        engine.numbers.restore(self._note["names"], self._note["numbers"])
        return covers

    def take_conversations(self, covers: int) -> Remembered | None:
        """Take up the conversations as they were saved with the index; None if they were not.

        Args:
            covers: What `load` returned.
        """
        found = None if self._folder is None else self._conversations.load(self._folder, covers)
        self._lacks = found is None
        return found

    def lost_conversations(self, why: str) -> None:
        """Log that saved conversations are of no use, and are read from the records."""
        if self._folder is not None:
            self._conversations.fell_back(why, self._folder)

    def agrees(self) -> bool:
        """Return whether the file matches the records that it covers; then it is used."""
        engine, indexer = self._engine, self._engine.indexer
        if self._note.get("digest") != digest(engine.ledgers):
            self.has_others()
            return False
        if indexer is not None and self._fingerprint != self._made_by():
            self._unfit("it has the vectors of another embedder")
            return False
        if indexer is None or indexer.vectorizer.mismatch() is not None:
            engine.retriever.clear_vectors()
        self._turns, self._changes = len(engine.retriever), engine.retriever.changes
        return True

    def has_others(self) -> None:
        """Delete the file and empty the index: it is to be made of the turns that there are."""
        self._unfit("the store has other turns")

    def outdated(self) -> None:
        """Have the file written at `close`, because it has turns that are gone."""
        self._changes = -1

    def _unfit(self, why: str) -> None:
        """Make the index from the records for a reason that is warmset's own words."""
        self._refuse(why)
        self._fell_back(logging.INFO, why=why)

    def _fell_back(self, level: int, *, why: str) -> None:
        path = None if self._folder is None else str(self._folder)
        self._engine.notices.note(
            LOG, level, "fell_back", what="index", to="records", path=path, why=why
        )

    def _refuse(self, why: str, *, delete: bool = True) -> None:
        """Record why the index is built from the records, and delete the useless file."""
        self._why, self._covered = why, 0
        self._engine.retriever.clear()
        delete = delete and self._engine.opening.writes
        if delete and self._folder is not None and (self._folder / NAME).exists():
            try:
                if (lock := lock_file(self._folder / LOCK)) is not None:
                    with lock:
                        remove(self._folder)
            except (WarmsetError, OSError) as error:
                self._failed = str(error)

    # --- writing ----------------------------------------------------------------------------------

    def grown(self) -> None:
        """Start a thread that writes the file if it lacks many turns; returns at once."""
        turns = len(self._engine.indexed)
        if turns - self._turns <= max(STEP, self._turns // 10) or self._folder is None:
            return
        if self._background.begin(self, self._run):
            self._turns = turns  # what fails is tried again when there are as many more

    def _run(self) -> None:
        self.save()
        self._engine.notices.tell()

    def close(self, timeout: float) -> None:
        """Write the file if it lacks many turns, or its conversations.

        Args:
            timeout: Seconds that a thread gets which writes it already.
        """
        if os.getpid() != self._pid:
            return
        if not self._background.join(timeout):
            return
        retriever = self._engine.retriever
        lacks = self._lacks and not self._engine.lost
        if (
            self._changes < 0
            or lacks
            or (retriever.changes - self._changes > min(len(retriever) // 100, STEP))
        ):
            self.save(wait=0.1)  # whoever makes vectors had the time of `Engine.close`

    def stop(self, seconds: float) -> None:
        """Wait at most so many seconds for the thread that writes the file."""
        self._background.join(seconds)

    def save(self, wait: float = 60.0) -> None:
        """Write the file, unless another process does or erases; `figures` reports a failure.

        Args:
            wait: Seconds to wait for vectors that are being made.
        """
        if self._folder is None or not self._may_write():
            return
        try:
            with self._busy:
                lock = lock_file(self._folder / LOCK)
                if lock is not None:
                    with lock:
                        self._write(self._folder, wait)
        except (WarmsetError, OSError) as error:
            self._failed = str(error)
            self._engine.notices.note(
                LOG,
                logging.WARNING,
                "failed",
                what="index_save",
                path=str(self._folder),
                error=kind(error),
            )

    def _write(self, folder: Path, wait: float) -> None:
        engine = self._engine
        for name in (NAME, TURNS):
            clear(folder, name)
        # Vectors are published after they are kept: nobody may be in between.
        still = threading.Lock() if engine.indexer is None else engine.indexer.paused()
        if not still.acquire(timeout=wait):
            return
        try:
            for _ in range(TRIES):
                with engine.lock:
                    covers = self._follow_all()
                    turns, changes = len(engine.retriever), engine.retriever.changes
                    told = digest(engine.ledgers)
                    vectors, note = self._made_by(), self._remarks(told)
                    draft = self._conversations.draft(covers, told)
                engine.store.sync()
                if turns < LEAST:
                    return
                if engine.retriever.save(
                    folder / NAME,
                    engine.store,
                    covers=covers,
                    fingerprint=vectors,
                    note=note,
                    changes=changes,
                ):
                    self._saved, self._turns, self._changes = covers, turns, changes
                    self._keep_conversations(folder / TURNS, draft)
                    self._failed = None
                    return
        finally:
            still.release()

    def _keep_conversations(self, file: Path, draft: TurnsFileDraft | None) -> None:
        """Write the conversations; where that fails, no file tells of others than the index."""
        try:
            if draft is None:
                file.unlink(missing_ok=True)
            else:
                draft.save(file, self._engine.store)
                self._lacks = False
        except WarmsetError:
            file.unlink(missing_ok=True)
            raise

    def _may_write(self) -> bool:
        indexer = self._engine.indexer
        if len(self._engine.retriever) < LEAST or self._is_secret():
            return False
        if not self._engine.opening.writes:
            return False
        return not self.foreign if indexer is None else indexer.vectorizer.mismatch() is None

    # --- erasing and figures ----------------------------------------------------------------------

    def erasing(self) -> AbstractContextManager[None]:
        """Delete the file, and keep everybody from saving it while what is returned is entered.

        To be entered before anything else is locked. See `saved.erasing`.
        """
        self._changes, self._turns = -1, 0
        return erasing(self._folder)

    def made_anew(self, why: str) -> None:
        """Record that the index was rebuilt from the records."""
        self._covered, self._why = 0, why

    def figures(self) -> dict[str, Any]:
        """Return how the index was loaded, and how much of it is in the file."""
        return {
            "source": "file" if self._covered else "records",
            "covered": self._covered,
            "why": None if self._covered else self._why,
            "saved": self._saved,
            "failed": self._failed,
        }

    def _is_secret(self) -> bool:
        return self._engine.opening.encryption is not None or encrypted(self._folder)

    def _made_by(self) -> str:
        indexer = self._engine.indexer
        return "" if indexer is None else indexer.vectorizer.made_by()

    def _remarks(self, told: str) -> bytes:
        engine = self._engine
        numbers, named = engine.numbers.used(names(engine.ledgers))
        about = {"form": FORM, "digest": told}
        return json.dumps({**about, "numbers": numbers, "names": named}).encode()
