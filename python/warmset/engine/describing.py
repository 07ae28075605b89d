"""Describes turns in the background with the callables of a memory.

Until a description is there, and where a callable fails, the built-in rules describe the turn. The
results are stored, so a turn is described once, whoever opens the store.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset._support.deadlines import time_left
from warmset._support.locks import condition, guarded
from warmset._support.log import kind, room
from warmset.errors import Erased, NotFound, StoreError, WarmsetError
from warmset.index.background import Background
from warmset.llm.deadline import Deadline
from warmset.store.descriptions import description_draft
from warmset.text.describe import checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.engine.engine import Engine
    from warmset.store.records import Draft
    from warmset.text.describe import Describers

LOG: Final = room("index")

BATCH: Final = 32
"""Turns whose descriptions are stored at once."""

SOON: Final = 1.0
"""Seconds that the thread gets to come out of the store."""

TIMEOUT: Final = 60.0
"""Seconds that a callable may take for one turn."""


@guarded(
    "self._changed",
    fields=("_waiting", "_working", "_failed"),
    writes=("_closed",),
    calls=("_is_idle",),
)
class DescribeQueue:
    """Turns that wait for their description, and the thread that describes them.

    Args:
        engine: The store and its conversations.
        describers: The callables.
    """

    def __init__(self, engine: Engine, describers: Describers) -> None:
        self._engine = engine
        self._callables = describers.given()
        self._names = describers.names()
        self._deadline = Deadline(TIMEOUT)
        self._changed = condition("descriptions")
        self._waiting: deque[int] = deque()
        self._working = 0
        self._failed: set[int] = set()
        self._background = Background("warmset-describe", LOG, self._changed)
        self._closed = False

    def enqueue(self, ids: Iterable[int]) -> None:
        """Add turns that have a text and no description yet."""
        with self._changed:
            if self._closed:
                return
            self._waiting += ids
            if self._waiting:
                self._background.begin(self, self._run)
            self._changed.notify_all()

    def left(self) -> int:
        """Return the number of turns that have no description yet, those that failed included."""
        with self._changed:
            return len(self._waiting) + self._working + len(self._failed)

    def flush(self, timeout: float | None) -> bool:
        """Try turns again that failed, and wait until all are described.

        Returns:
            Whether all are.
        """
        with self._changed:
            again, self._failed = sorted(self._failed), set()
        self.enqueue(again)
        with self._changed:
            self._changed.wait_for(self._is_idle, timeout)
            return self._is_idle() and not self._failed

    def close(self, timeout: float, /) -> None:
        """Finish within about that many seconds; the rest is described after the next open."""
        end = time.monotonic() + timeout
        try:
            with self._changed:
                if timeout > 0:
                    self._changed.wait_for(self._is_idle, timeout)
        finally:
            self.stop(time_left(end))

    def stop(self, seconds: float, /) -> None:
        """Begin nothing more, and wait at most so many seconds until the thread has ended."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self._background.join(min(seconds, SOON))  # it may be in a callable: nobody waits for that

    def forget(self) -> None:
        """Drop nothing: erased turns are passed over when it is their turn."""

    def _is_idle(self) -> bool:
        return not self._waiting and not self._working

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                count = min(len(self._waiting), BATCH)
                batch = [self._waiting.popleft() for _ in range(count)]
                self._working = count
            try:
                self._describe(batch)
            finally:
                with self._changed:
                    self._working = 0
                    self._changed.notify_all()

    def _describe(self, batch: list[int]) -> None:
        """Describe turns and store that; a turn whose callable failed is noted."""
        faults: Counter[tuple[str, str]] = Counter()
        drafts: list[Draft] = []
        for id_ in batch:
            if self._closed:
                return
            made = self._parts(id_, faults)
            if made is not None:
                drafts.append(made)
        try:
            self._engine.put(drafts)
        except WarmsetError:
            self._put_each(drafts)
        for (part, error_name), turns in faults.items():
            self._note(part, error_name, turns)
        self._engine.notices.tell()

    def _put_each(self, drafts: list[Draft]) -> None:
        """Store descriptions one by one, because the turn of one may have been erased meanwhile."""
        lost: Counter[str] = Counter()
        for draft in drafts:
            try:
                self._engine.put([draft])
            except (Erased, NotFound):
                continue
            except WarmsetError as error:
                lost[kind(error)] += 1
                with self._changed:
                    self._failed.update(draft[4])
        for error_name, turns in lost.items():
            self._note("all", error_name, turns)

    def _parts(self, id_: int, faults: Counter[tuple[str, str]]) -> Draft | None:
        engine = self._engine
        try:
            ledger = engine.owner(id_)
            text = engine.text(id_)
        except (NotFound, StoreError):  # it was erased meanwhile
            return None
        parts: dict[str, Any] = {}
        for part, call in self._callables.items():
            try:
                parts[part] = checked(part, self._deadline.run(partial(call, text)))
            except Exception as error:  # noqa: BLE001 - whatever the callable raises
                faults[part, kind(error)] += 1
        if len(parts) < len(self._callables):
            with self._changed:
                self._failed.add(id_)
            return None
        return description_draft(ledger.tenant, ledger.name, id_, self._names, parts)

    def _note(self, part: str, error: str, turns: int) -> None:
        fields = {"what": "description", "to": "built-in", "part": part, "error": error}
        self._engine.notices.note(LOG, logging.WARNING, "fell_back", **fields, turns=turns)
