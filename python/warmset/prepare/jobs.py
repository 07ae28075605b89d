"""The job of writing one summary: read the messages, write, check, and report the result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset import summarize
from warmset._core import content_hash, lock_file
from warmset.errors import SummarizerError, WarmsetError
from warmset.prepare.boundaries import prefix_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from warmset.engine.engine import Engine
    from warmset.llm import ListRequest
    from warmset.messages import Dialect
    from warmset.prepare.boundaries import Span
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.stored import Ready
    from warmset.prepare.worker import Ticket
    from warmset.summarize import Summarizer, Summary

_LOCKS = 16

CARRIED_SHARE: Final = 0.2
"""The share of a summary's room that the list of facts that it lacks may have in addition."""


@dataclass(slots=True, eq=False)
class Job:
    """A summary that is being written.

    Args:
        policy: Who writes, and how much.
        span: The messages to summarise.
        path: The messages before its boundary.
        previous: The summary that it continues.
        dialect: The dialect of the messages.
        room: The most tokens that it may have, even if the policy allows more.
        size: The tokens that the policy's shares are of.
        begun: When it began, by the policy's clock.
        focus: What the summary should keep above all.
        now: Whether it was asked for, so that the next window shows it.
        claim: A lock that keeps other processes from writing the same summary; released at the end.
        prefix: The list up to the boundary, as it was sent; None where that is not known.
        ticket: The task that writes it.
        waited: Seconds that windows waited for it.
        milliseconds: How long it took to write.
    """

    policy: PreparedCompaction
    span: Span
    path: tuple[int, ...]
    previous: Ready | None
    dialect: Dialect
    room: int
    size: int
    begun: float
    focus: str | None
    now: bool
    claim: AbstractContextManager[object] | None
    prefix: ListRequest | None = None
    ticket: Ticket | None = None
    waited: float = 0.0
    milliseconds: float = 0.0

    def run(self, engine: Engine, done: Callable[[Job, str, Summary | Exception], None]) -> None:
        """Write the summary, and call `done` with it.

        Args:
            engine: The store, from which messages are read.
            done: Called with the job, the hash of the messages before the boundary, and the summary
                or the reason why there is none.
        """
        prefix, begun = "", time.perf_counter()
        made: Summary | Exception
        most = min(self.policy.max_tokens, self.room, int(self.span.cost * summarize.SHARE))
        try:
            prefix = prefix_hash(engine.store, self.path)
            made = summarize.summary_of(
                engine.messages(self.span.ids),
                self._writer(),
                max_tokens=max(most, 1),
                previous=None if self.previous is None else self.previous.text,
                focus=self.focus,
                fallback=self.policy.fallback,
                carry_tokens=min(self.policy.carry_tokens, int(self.room * CARRIED_SHARE)),
                dialect=self.dialect,
                encoding=engine.encoding,
            )
        except BaseException as error:  # noqa: BLE001 - the thread has nobody to raise to
            made = (
                error if isinstance(error, Exception) else SummarizerError(f"it ended: {error!r}")
            )
        self.milliseconds = (time.perf_counter() - begun) * 1000
        done(self, prefix, made)

    def _writer(self) -> Summarizer | None:
        """Return who writes: behind the list that was sent, if it can."""
        writer = self.policy.summarizer
        if self.prefix is None or not isinstance(writer, summarize.ProviderSummarizer):
            return writer
        return writer.behind(self.prefix) or writer

    def release(self) -> None:
        """Release the claim, so that other processes may write the summary."""
        claim, self.claim = self.claim, None
        if claim is not None:
            claim.__exit__(None, None, None)


def claim(folder: Path | None, tenant: str, name: str) -> AbstractContextManager[object] | None:
    """Claim a conversation among processes; None if another process has claimed it.

    Conversations share a few locks: two with the same lock are prepared one after the other.
    """
    if folder is None:
        return _NoClaim()
    digest = content_hash(f"{len(tenant)}:{tenant}{name}".encode("utf-8", "surrogatepass"))
    try:
        return lock_file(folder / f"prepare-{digest[0] % _LOCKS}.lock")
    except (OSError, WarmsetError):
        return _NoClaim()  # no file locks there: each process prepares its own summaries


class _NoClaim:
    """A claim that needs no lock, because no other process has the store or locks do not work."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_exc: object) -> None: ...
