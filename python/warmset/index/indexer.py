"""Embeds appended turns in the background, and stores their vectors.

A turn is searchable by its words as soon as it is appended; its vectors follow. They are records of
the store, so that opening it again embeds only what had not been embedded. The queue is bounded,
failures are retried, and an embedder out of reach is not called for a while; see `Backlog`.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from warmset._support.deadlines import time_left
from warmset._support.ending import ENDING
from warmset._support.locks import condition, guarded, lock
from warmset._support.log import event, kind, room
from warmset.embed.base import context_share
from warmset.index.background import Background
from warmset.index.batch_size import LEAST, Pace
from warmset.index.linger import QUIET, Linger
from warmset.index.queue import Backlog, delay_after
from warmset.index.retry import attempt
from warmset.index.rows import Searched
from warmset.index.vector_catalog import VectorBook

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Sequence

    from warmset._core import ColdStore, Retriever
    from warmset.embed import Vectors
    from warmset.index.retry import Outcome
    from warmset.index.vectorizer import Vectorizer
    from warmset.store.records import Job

LOG: Final = room("index")

QUEUED: Final = 1 << 15
"""Jobs, two a turn, that are queued or failed at once; the store has the others."""

ROOM: Final = 0.25
"""Seconds that an append waits for room in a queue that is full."""


@guarded(
    "self._wake",
    fields=("_backlog", "_outages", "_held", "_linger"),
    writes=("_closed",),
    calls=("_resting", "_begin", "_next_work", "_until"),
)
@guarded(
    "self._work",
    calls=("_make",),
)
class Indexer:
    """Embeds in a thread of its own; its state can be read at any time.

    Args:
        store: Stores the vectors.
        retriever: Returns what searches them.
        vectorizer: Makes them.
        wanted: Returns every view of every turn from an id on, embedded or not.
        embeds: Whether missing vectors are made, which are written to the store.
        items: Gets the vectors of items, which are searched by themselves.
    """

    def __init__(
        self,
        store: ColdStore,
        retriever: Callable[[], Retriever],
        vectorizer: Vectorizer,
        wanted: Callable[[int], Sequence[Job]],
        *,
        embeds: bool = True,
        items: Callable[[Sequence[tuple[Job, Vectors]]], None] = lambda _made: None,
    ) -> None:
        self._embeds = embeds
        self._items = items
        self.vectorizer = vectorizer
        self.book = VectorBook(store, vectorizer)
        self._searched = Searched(
            retriever,
            self.book,
            contexts=vectorizer.contexts,
            share=context_share(vectorizer.embedder),
        )
        self._wanted = wanted
        self._backlog = Backlog(QUEUED)
        self._pace = Pace()
        self._linger = Linger(LEAST)
        self._outages, self._held = 0, 0.0
        self._closed = False
        self._wake = condition("jobs")
        self._background = Background("warmset-indexer", LOG, self._wake)
        self._work = lock("embedding")

    def restore(self, id_: int) -> None:
        """Load a turn's vectors from the store, if they are there.

        Raises:
            StoreError: They could not be read.
        """
        self._searched.restore(id_)

    def clear(self) -> None:
        """Remove all searched vectors: another embedder's will replace them."""
        self._searched.clear()

    def release(self) -> None:
        """Give the memory back, with the files that vectors are looked up in; it is closed."""
        self.clear()
        self.book.release()

    def paused(self) -> threading.Lock:
        """Return a context manager that pauses the embedding."""
        return self._work

    def drop(self, ids: Collection[int]) -> None:
        """Remove erased turns."""
        with self._wake:
            self._backlog.forget(ids)
            self.book.drop(ids)
            self._searched.drop(ids)
            self._begin()

    def enqueue(self, jobs: Sequence[Job]) -> None:
        """Queue missing vectors; returns at once."""
        if not self._embeds:
            return
        with self._wake:
            self._backlog.add(self.vectorizer.wanted(jobs), self.book.__contains__)
            self._linger.queued(time.monotonic())
            self._begin()

    def room(self) -> None:
        """Wait for a moment if the queue is full, so that embedding keeps up with new turns."""
        with self._wake:
            self._until(lambda: not self._backlog.full or self._resting(), ROOM)

    def pending(self, wanted: Callable[[int], bool] | None = None) -> int:
        """Return how many turns, all or those that are wanted, wait for their own vectors."""
        with self._wake:
            return self._backlog.pending(wanted)

    def failed(self) -> dict[int, str]:
        """Return failed turns, with the reason; they are retried later, or at once by `flush`."""
        with self._wake:
            return self._backlog.failed()

    def complete(self) -> str:
        """Return the views of which nothing is to be made any more; empty if something is."""
        with self._wake:
            done = self._backlog.idle and not self._backlog.full and not self._backlog.failed()
        return self.vectorizer.views() if done and self._embeds else ""

    def flush(self, timeout: float | None) -> bool:
        """Wait until nothing is pending, and retry failures.

        Args:
            timeout: The most seconds to wait; None waits without a limit.

        Returns:
            Whether everything is embedded; False at once when the embedder is out of reach.
        """
        with self._wake:
            self._backlog.try_again()
            self._held = 0.0
            self._begin()
        return self.settle(timeout)

    def settle(self, timeout: float | None) -> bool:
        """Wait like `flush`, without retrying failures."""
        with self._wake:
            self._until(self._resting, timeout)
            return self._backlog.idle and not self._backlog.failed()

    def await_turns(self, wanted: Callable[[int], bool], timeout: float) -> None:
        """Wait until no wanted turn is to be embedded.

        Args:
            wanted: Returns whether a turn is wanted; called under a lock, so it must be quick.
            timeout: The most seconds to wait.
        """
        with self._wake:
            self._until(lambda: self._resting() or not self._backlog.waits_for(wanted), timeout)

    def close(self, timeout: float) -> None:
        """Finish pending work, for at most some seconds, and stop."""
        end = time.monotonic() + timeout
        self.settle(timeout)
        self.end()
        self._background.join(time_left(end))

    def stop(self, seconds: float) -> None:
        """Begin no further batch, and wait for the one that is being embedded in this process."""
        self.end()
        if not self.vectorizer.embedder.remote:
            self._background.join(seconds)

    def end(self) -> None:
        """Begin no further batch."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()

    def renew(
        self, wanted: Callable[[], Sequence[Job]], progress: Callable[[int, int], None]
    ) -> None:
        """Embed everything again; the old vectors are used until the last new one is stored.

        Args:
            wanted: Returns every view of every turn with a text.
            progress: Called with the number of jobs done so far and the total number.

        Raises:
            EmbedderError: The embedder failed; the store's vectors are unchanged.
            StoreError: Vectors could not be stored; the store's vectors are unchanged.
        """
        maker = self.vectorizer
        with self._work:
            jobs = maker.wanted(wanted())
            before = maker.identity
            maker.identity = None
            made: list[tuple[Job, Vectors]] = []
            try:
                done = 0
                while done < len(jobs):
                    made += self._make(jobs[done : (done := done + self._pace.size)])
                    progress(min(done, len(jobs)), len(jobs))
                if maker.identity is not None:
                    self.book.keep([maker.identity.draft()], [])
            except BaseException:
                if before is None:
                    maker.identity = None
                else:
                    maker.remember(before)
                raise
            self.clear()
            self._publish(made)
            with self._wake:
                self._backlog.forgive()
            self.book.erase_older()

    def _until(self, happened: Callable[[], bool], timeout: float | None) -> None:
        """Wait until something happened, for which what is queued is done at once."""
        if not happened():
            self._linger.hurry()
            self._wake.notify_all()
            self._wake.wait_for(happened, timeout)

    def _resting(self) -> bool:
        return self._closed or self._backlog.idle or self._held > time.monotonic()

    def _begin(self) -> None:
        if not self._closed and not self._backlog.idle:
            self._background.begin(self, self._run)
        self._wake.notify_all()

    def _run(self) -> None:
        while True:
            with self._wake:
                first = self._next_work()
                if self._closed:
                    return
                jobs = self._backlog.take(self._pace.size)
            deferred = self._deferred(first)
            remote = self.vectorizer.embedder.remote
            made = attempt(jobs, self._index, remote=remote, stopped=lambda: self._closed)
            now = time.monotonic()
            with self._wake:
                is_away = deferred is None or bool(made.spared)
                self._outages = self._outages + 1 if is_away else 0
                self._held = now + delay_after(self._outages) if is_away else 0.0
                lost = self._backlog.done(made, now)
                if deferred is None:
                    self._backlog.look_again()
                else:
                    self._backlog.looked(deferred, self.book.__contains__)
                self._wake.notify_all()
            if made.failed and not ENDING.is_set():
                self._tell(made, lost)

    def _deferred(self, first: int | None) -> Sequence[Job] | None:
        """Return the jobs from an id on; none for no id, and None if the store is unreadable."""
        if first is None:
            return []
        try:
            return self.vectorizer.wanted(self._wanted(first))  # without our lock: the engine's
        except Exception as error:  # noqa: BLE001 - the thread goes on, and looks again later
            fields = {"embedder": self.vectorizer.embedder.name, "error": kind(error)}
            event(LOG, logging.WARNING, "fell_back", what="vectors", **fields, to="retry", turns=0)
            return None

    def _tell(self, made: Outcome, lost: set[int]) -> None:
        """Log turns whose vectors could not be made or kept; not under a lock."""
        again = {job.id for job in made.failed} - lost
        fields = {"what": "vectors", "embedder": self.vectorizer.embedder.name, "error": made.error}
        if again:
            event(LOG, logging.WARNING, "fell_back", **fields, to="retry", turns=len(again))
        if lost:
            event(LOG, logging.WARNING, "failed", **fields, turns=len(lost))

    def _next_work(self) -> int | None:
        """Wait for something to do; returns where to look for more of it, if that is it."""
        while not self._closed:
            now = time.monotonic()
            due = self._backlog.wake(now)
            if self._held > now:
                self._wake.wait(self._held - now)
            elif (first := self._backlog.look()) is not None:
                return first
            elif jobs := self._backlog.queued:
                left = self._linger.left(now, jobs, self.vectorizer.asked)
                if not left:
                    self._linger.hurry()
                    return None
                self._wake.wait(min(left, QUIET))
            else:
                self._wake.wait(None if due is None else due - now)
        return None

    def _index(self, jobs: Sequence[Job]) -> None:
        """Embed, store, publish: in this order, so that the index is never ahead of the store."""
        with self._work:
            fresh = self.vectorizer.identity is None
            # Another process may have made some meanwhile.
            made = self._make([job for job in jobs if job not in self.book], fresh=fresh)
            self._publish(made)

    def _publish(self, made: Sequence[tuple[Job, Vectors]]) -> None:
        self._searched.publish(made)  # which items have no rows of
        if items := [one for one in made if one[0].view == "item"]:
            self._items(items)

    def _make(self, jobs: Sequence[Job], *, fresh: bool = False) -> list[tuple[Job, Vectors]]:
        """Embed and store a batch, and record how long it took.

        Args:
            jobs: The batch.
            fresh: Whether to store the embedder's identity, too.
        """
        maker, started = self.vectorizer, time.monotonic()
        try:
            made = maker.vectors(jobs)
            drafts = maker.drafts(made)
            if fresh and maker.identity is not None:
                drafts.append(maker.identity.draft())
            self.book.keep(drafts, made)
        except BaseException:
            self._pace.failed()
            raise
        self._pace.took(len(jobs), time.monotonic() - started)
        return made
