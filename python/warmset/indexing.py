"""Vectors for what was appended, made off the response path and kept in the store.

A turn is searchable by its words as soon as it is appended; its vectors follow. They are records of
the store, so that opening it again embeds only what had not been embedded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from warmset.errors import EmbedderMismatch, Erased, NotFound
from warmset.vectorbook import VectorBook
from warmset.vectorize import Job, Vectorizer, mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from warmset._core import ColdStore, Retriever
    from warmset.embed import Vectors

BATCH: Final = 16
"""Jobs that are embedded, kept and published together."""


class Indexer:
    """Embeds in a thread of its own; its state can be read at any time.

    Args:
        store: Where vectors are kept.
        retriever: Where they are searched.
        vectorizer: What makes them.
    """

    def __init__(self, store: ColdStore, retriever: Retriever, vectorizer: Vectorizer) -> None:
        self.vectorizer = vectorizer
        self.book = VectorBook(store, vectorizer)
        self._retriever = retriever
        self._queue: deque[Job] = deque()
        self._asked: set[Job] = set()
        self._rows: dict[int, Vectors] = {}
        self._failed: dict[Job, str] = {}
        self._busy = 0
        self._turns = 0
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wake = threading.Condition()
        self._work = threading.Lock()

    def restore(self, id_: int) -> None:
        """Take up a turn's vectors out of the store, as far as they are there.

        Raises:
            StoreError: They could not be read.
        """
        own = self.book.read(Job(id_, "turn"))
        if own is not None:
            self._publish(id_, own, self.book.read(Job(id_, "context")))

    def clear(self) -> None:
        """Forget all vectors that are searched: another embedder's come in their place."""
        self._retriever.clear_vectors()
        self._rows.clear()

    def paused(self) -> threading.Lock:
        """Keep vectors from being made while what is returned is entered."""
        return self._work

    def drop(self, ids: Collection[int]) -> None:
        """Forget turns that were erased."""
        with self._wake:
            self._queue = deque(job for job in self._queue if job.id not in ids)
            self._asked = {job for job in self._asked if job.id not in ids}
            self._failed = {job: why for job, why in self._failed.items() if job.id not in ids}
            self.book.drop(ids)
            for id_ in ids:
                self._rows.pop(id_, None)

    def enqueue(self, jobs: Sequence[Job]) -> None:
        """Ask for vectors that are not there yet; returns at once."""
        with self._wake:
            jobs = [
                job
                for job in dict.fromkeys(jobs)
                if job not in self._asked and job not in self.book
            ]
            if not jobs:
                return
            self._asked.update(jobs)
            self._queue.extend(jobs)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._run, name="warmset-indexer", daemon=True
                )
                self._thread.start()
            self._wake.notify_all()

    def pending(self) -> int:
        """Return how many turns still wait for their own vectors."""
        with self._wake:
            return sum(job.view == "turn" for job in self._queue) + self._turns

    def failed(self) -> dict[int, str]:
        """Return turns that could not be embedded, with the reason; `flush` tries them again."""
        with self._wake:
            return {job.id: why for job, why in self._failed.items()}

    def flush(self, timeout: float | None) -> bool:
        """Wait until nothing is pending, trying again what failed.

        Args:
            timeout: Seconds to wait at most; None waits for ever.

        Returns:
            Whether everything that was asked for is embedded.
        """
        with self._wake:
            again = list(self._failed)
            self._failed.clear()
        self.enqueue(again)
        return self.settle(timeout)

    def settle(self, timeout: float | None) -> bool:
        """Wait as `flush` does, without trying failures again."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._wake:
            while self._queue or self._busy:
                left = None if end is None else end - time.monotonic()
                if (left is not None and left <= 0) or self._closed:
                    return False
                self._wake.wait(left)
            return not self._failed

    def close(self, timeout: float) -> None:
        """Finish what is pending, at most for that many seconds, and stop."""
        self.settle(timeout)
        with self._wake:
            self._closed = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def renew(self, wanted: Callable[[], Sequence[Job]], told: Callable[[int, int], None]) -> None:
        """Make all vectors anew with this embedder; the old ones count until the last is kept.

        Args:
            wanted: Returns every view of every turn that has something to say.
            told: Is called with jobs done and jobs in all.

        Raises:
            EmbedderError: The embedder failed; the store's vectors are as they were.
            StoreError: Vectors could not be kept; likewise.
        """
        maker = self.vectorizer
        with self._work:
            jobs = wanted()
            before = maker.identity
            maker.identity = None
            made: list[tuple[Job, Vectors]] = []
            try:
                for start in range(0, len(jobs), BATCH):
                    part = maker.vectors(jobs[start : start + BATCH])
                    self.book.keep(maker.drafts(part), part)
                    made += part
                    told(min(start + BATCH, len(jobs)), len(jobs))
                if maker.identity is not None:
                    self.book.keep([maker.identity.draft()], [])
            except BaseException:
                if before is None:
                    maker.identity = None
                else:
                    maker.remember(before)
                raise
            self.clear()
            for job, rows in made:
                self._publish_job(job, rows)
            with self._wake:
                self._failed.clear()
            self.book.erase_older()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
                if self._closed:
                    return
                jobs = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                self._busy = len(jobs)
                self._turns = sum(job.view == "turn" for job in jobs)
            failed = self._attempt(jobs)
            with self._wake:
                self._failed.update(failed)
                self._asked.difference_update(jobs)
                self._busy = self._turns = 0
                self._wake.notify_all()

    def _attempt(self, jobs: Sequence[Job]) -> dict[Job, str]:
        """Index a batch; where it fails, one by one, so that a bad text costs only itself."""
        try:
            self._index(jobs)
        except EmbedderMismatch as error:
            return dict.fromkeys(jobs, str(error))
        except (Erased, NotFound) as error:
            # Erased meanwhile: nobody waits for its vectors.
            return {} if len(jobs) == 1 else self._apart(jobs, str(error))
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            return self._apart(jobs, str(error))
        return {}

    def _apart(self, jobs: Sequence[Job], why: str) -> dict[Job, str]:
        if len(jobs) == 1:
            return {jobs[0]: why}
        failed: dict[Job, str] = {}
        for job in jobs:
            if not self._closed:
                failed |= self._attempt([job])
        return failed

    def _index(self, jobs: Sequence[Job]) -> None:
        """Embed, keep, publish: in this order, so that the index is never ahead of the store."""
        maker = self.vectorizer
        with self._work:
            fresh = maker.identity is None
            # Another process may have made some meanwhile.
            jobs = [job for job in jobs if job not in self.book]
            made = maker.vectors(jobs)
            drafts = maker.drafts(made)
            if fresh and maker.identity is not None:
                drafts.append(maker.identity.draft())
            self.book.keep(drafts, made)
            for job, rows in made:
                self._publish_job(job, rows)

    def _publish_job(self, job: Job, rows: Vectors) -> None:
        own = rows if job.view == "turn" else self._rows.get(job.id)
        if own is not None or (own := self.book.read(Job(job.id, "turn"))) is not None:
            self._publish(job.id, own, None if job.view == "turn" else rows)

    def _publish(self, id_: int, own: Vectors, context: Vectors | None) -> None:
        self._retriever.put_vectors(id_, mean(own, context))
        # A single passage waits for its context, which the next message brings.
        if context is None and len(own) == 1:
            self._rows[id_] = own
        else:
            self._rows.pop(id_, None)
