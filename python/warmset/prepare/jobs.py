"""One summary on its way: read, written, checked, and told to whoever asked for it."""

from __future__ import annotations

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
    from warmset.messages import Dialect
    from warmset.prepare.boundaries import Span
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.stored import Ready
    from warmset.prepare.worker import Ticket
    from warmset.summarize import Summary

_LOCKS = 16

CARRIED_SHARE: Final = 0.2
"""The part of the room for a summary that the list of what it lacks may have beside it."""


@dataclass(slots=True, eq=False)
class Job:
    """A summary that is being written.

    Args:
        policy: Who writes, and how much.
        span: What it is to stand for.
        path: The messages before its boundary.
        previous: The summary that it goes on from.
        dialect: How the messages are written.
        room: Tokens that it may have, whatever the policy allows.
        begun: When, by the policy's clock.
        claim: What keeps other processes from writing the same; released at its end.
        ticket: The task that writes it.
        waited: Seconds that windows waited for it.
    """

    policy: PreparedCompaction
    span: Span
    path: tuple[int, ...]
    previous: Ready | None
    dialect: Dialect
    room: int
    begun: float
    claim: AbstractContextManager[object] | None
    ticket: Ticket | None = None
    waited: float = 0.0

    def run(self, engine: Engine, done: Callable[[Job, str, Summary | Exception], None]) -> None:
        """Write the summary, and hand it over with the hash of what is before its boundary.

        Args:
            engine: Where messages are read.
            done: Takes the job, the hash, and the summary or why there is none.
        """
        prefix = ""
        made: Summary | Exception
        most = min(self.policy.max_tokens, self.room, int(self.span.cost * summarize.SHARE))
        try:
            prefix = prefix_hash(engine.store, self.path)
            made = summarize.summary_of(
                engine.messages(self.span.ids),
                self.policy.summarizer,
                max_tokens=max(most, 1),
                previous=None if self.previous is None else self.previous.text,
                fallback=self.policy.fallback,
                carry_tokens=min(self.policy.carry_tokens, int(self.room * CARRIED_SHARE)),
                dialect=self.dialect,
                encoding=engine.encoding,
            )
        except BaseException as error:  # noqa: BLE001 - the thread has nobody to raise to
            made = (
                error if isinstance(error, Exception) else SummarizerError(f"it ended: {error!r}")
            )
        done(self, prefix, made)

    def release(self) -> None:
        """Let other processes write it."""
        claim, self.claim = self.claim, None
        if claim is not None:
            claim.__exit__(None, None, None)


def claim(folder: Path | None, tenant: str, name: str) -> AbstractContextManager[object] | None:
    """Claim a conversation among processes; None if another one has it.

    Conversations share a few locks: two that meet in one are prepared one after the other.
    """
    if folder is None:
        return _Nobody()
    digest = content_hash(f"{len(tenant)}:{tenant}{name}".encode("utf-8", "surrogatepass"))
    try:
        return lock_file(folder / f"prepare-{digest[0] % _LOCKS}.lock")
    except (OSError, WarmsetError):
        return _Nobody()  # no locks there: then each process prepares for itself


class _Nobody:
    """A claim where there is nobody else."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_exc: object) -> None: ...
