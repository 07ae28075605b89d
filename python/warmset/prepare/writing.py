"""Starts the writing of summaries, and handles their results."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warmset._support.cut_off import IfCutOff
from warmset._support.locks import guarded
from warmset._support.log import kind
from warmset.errors import SummaryRefused, WarmsetError
from warmset.prepare.apply import beside, size
from warmset.prepare.boundaries import choose
from warmset.prepare.jobs import Job, claim
from warmset.prepare.lazy import Reading
from warmset.prepare.stored import Cover, draft, episode, ready_of, sources_of
from warmset.receipts import Spooled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.states import Track
    from warmset.prepare.stored import Ready
    from warmset.prepare.summaries import Choice, Summaries
    from warmset.state.ledger import Ledger
    from warmset.summarize import Summary
    from warmset.usage import Usage
    from warmset.window.render import Call
    from warmset.window.summaries import PrefixOf


NOW_SHARE: Final = 0.5
"""The share of a conversation's tokens that a summary may have which was asked for."""

LITTLE: Final = "too little could be summarised"


@dataclass(frozen=True, slots=True)
class Order:
    """What a summary is started for.

    Args:
        tokens: The tokens that the policy's shares are of: a budget, or the conversation's.
        room: The most tokens that it may have.
        focus: What it should keep above all.
        now: Whether it was asked for, so that the next window shows it.
        prefix: Returns the list up to a boundary, as it was sent; None where that is not known.
    """

    tokens: int
    room: int
    focus: str | None = None
    now: bool = False
    prefix: PrefixOf | None = None


@guarded(
    "self.engine.lock",
    writes=("job", "why"),
    fields=("_room", "_failures", "_again", "_closed"),
    calls=("_begin", "_keep", "_fail", "_note", "_drop"),
)
@dataclass(slots=True)
class Writing:
    """The summary of a conversation that is being written; at most one at a time.

    Args:
        engine: The store and index.
        summaries: Receives the summaries.
        job: The current job.
        why: Why there is no summary, if one failed or could not be started.
    """

    engine: Engine
    summaries: Summaries
    job: Job | None = None
    why: str | None = None
    _room: int | None = None
    _failures: int = 0
    _again: float = 0.0
    _closed: bool = False

    def close(self) -> None:
        """Abandon the summary that is being written."""
        with self.engine.lock:
            self.summaries.record()
            self._closed = True
            job = self.job
            if job is not None:
                self._drop(job)
                self.track.turn("discarded", "the memory was closed", boundary=job.span.boundary)
        if job is not None:
            self.track.tell(job.policy.on_event, job.policy.counters)

    def prepare(
        self,
        policy: PreparedCompaction,
        call: Call,
        choice: Choice,
        share: float,
        prefix: PrefixOf | None = None,
    ) -> Job | None:
        """Start a summary if it is due, and return the current job, or None.

        Args:
            policy: Who writes summaries, and when.
            call: The call that the messages are for.
            choice: The current summary.
            share: The share of the budget that a summary may have.
            prefix: Returns the list up to a boundary, as it was sent.
        """
        with self.engine.lock:
            self._room = int(share * call.budget)
            job = self.job
            if job is not None and policy.clock() - job.begun <= policy.timeout:
                return job
            if job is not None:
                why = f"the summariser gave no answer in {policy.timeout:g} seconds"
                self._fail(job, why, "late")
            ledger = self._ledger()
            newest = self.summaries.newest
            tokens = size(ledger, newest, beside(self.engine, call))
            if self._closed or policy.clock() < self._again:
                return None
        if choice.fits and not self._is_due(policy, call, tokens, newest):
            return None
        with self.engine.lock:
            if self.job is not None or self._closed:
                return self.job
            focus = None if newest is None else newest.focus  # it holds for what comes after
            order = Order(call.budget, int(share * call.budget), focus, prefix=prefix)
            return self._begin(policy, order, newest)

    def begin_now(self, policy: PreparedCompaction, focus: str | None) -> Job | None:
        """Start a summary that the next window shows, whatever is due; return the job, or None.

        A summary with another focus is made from the messages themselves, and not from the earlier
        summary, which may lack what the focus is about.

        Args:
            policy: Who writes summaries.
            focus: What the summary should keep above all; None keeps the focus of the last one.
        """
        with self.engine.lock:
            if self._closed:
                return None
            job, newest, ledger = self.job, self.summaries.newest, self._ledger()
            if focus is None and newest is not None:
                focus = newest.focus
            if job is not None and job.focus == focus:
                job.now = True
                return job
            base = newest if newest is not None and newest.focus == focus else None
            tokens = size(ledger, newest, 0)
            if newest is not None:  # as much stays verbatim as last time
                tokens = max(tokens, newest.size)
            room = int(NOW_SHARE * tokens)
            if self._room is not None:
                room = min(room, self._room)
            order = Order(tokens, room, focus, now=True)
            if job is not None:
                self._drop(job)
                job.policy.counters.discarded += 1
                why = "a compaction with another focus was asked for"
                self.track.turn("discarded", why, boundary=job.span.boundary)
            return self._begin(policy, order, base)

    def _is_due(
        self, policy: PreparedCompaction, call: Call, tokens: int, newest: Ready | None
    ) -> bool:
        if policy.should_compact is None:
            return tokens >= policy.trigger_ratio * call.budget
        with self.engine.lock:
            messages = Reading(self.engine, self._ledger(), newest)
        return bool(policy.should_compact(messages, tokens))

    def _begin(
        self, policy: PreparedCompaction, order: Order, previous: Ready | None
    ) -> Job | None:
        engine, ledger = self.engine, self._ledger()
        tail, keep = int(policy.tail * order.tokens), policy.keep
        latest = self.summaries.newest
        if latest is not None and previous is None:  # it replaces no fewer messages than that one
            accounts = ledger.accounts()
            home = accounts.home(latest.boundary)
            tail = min(tail, accounts.roll.since(home))
            keep = min(keep, len(accounts.roll) - home)
        after = 0 if previous is None else previous.boundary
        span = choose(ledger, after=after, tail=tail, keep=keep)
        least = 0 if latest is None else latest.boundary
        if span is None or span.boundary < least or span.cost < policy.min_saving * order.tokens:
            self.why = LITTLE
            return None
        store = engine.store.path
        claimed = claim(None if store is None else Path(store), ledger.tenant, ledger.name)
        if claimed is None:
            self.why = "another process is writing the summary"
            return None
        path = tuple(ledger.history.path[: span.boundary])
        dialect = ledger.dialect or "openai"
        job = Job(
            policy=policy,
            span=span,
            path=path,
            previous=previous,
            dialect=dialect,
            room=order.room,
            size=order.tokens,
            begun=policy.clock(),
            focus=order.focus,
            now=order.now,
            claim=claimed,
            prefix=None if order.prefix is None else order.prefix(span.boundary),
        )
        why = "it was asked for" if order.now else "the trigger was crossed"
        with IfCutOff(lambda: self._cut_off(job)):
            self.track.turn("preparing", why, boundary=span.boundary)
            self.job, self.why = job, None
            try:
                job.ticket = policy.worker.start(lambda: job.run(engine, self._done))
            except Exception as error:  # noqa: BLE001 - a window is not lost over a worker
                self._fail(job, f"the worker could not begin: {error!r}", kind(error))
        return self.job

    def _cut_off(self, job: Job) -> None:
        """Let another summary begin in the place of one of which nobody knows whether it began."""
        self._drop(job)
        if self.track.state == "preparing":
            self.track.turn("discarded", "its beginning was cut off", boundary=job.span.boundary)

    def _done(self, job: Job, prefix: str, made: Summary | Exception) -> None:
        """Handle the result of a job, in the worker's thread."""
        counters = job.policy.counters
        with self.engine.lock:
            spent = _spent(made)
            counters.spent += spent
            counters.refused += _refused(made) is not None
            self.summaries.record()  # store earlier events first
            if job is not self.job:  # abandoned, or closed
                counters.wasted += spent
                job.release()
                return
            try:
                if isinstance(made, Exception):
                    counters.wasted += spent
                    self._fail(job, str(made) or type(made).__name__, kind(made), _refused(made))
                else:
                    self._keep(job, prefix, made, spent)
            except WarmsetError as error:
                self._fail(job, f"the summary could not be kept: {error}", kind(error))
            finally:
                if self.job is job:
                    self._drop(job)
                self.summaries.record()
        self.track.tell(job.policy.on_event, counters)
        self.engine.notices.tell()

    def _keep(self, job: Job, prefix: str, made: Summary, spent: int) -> None:
        engine, ledger, span, counters = (
            self.engine,
            self._ledger(),
            job.span,
            job.policy.counters,
        )
        path, previous = ledger.history.path, job.previous
        fresh = len(path) > span.boundary and path[span.boundary - 1] == span.last
        if previous is not None and not previous.fits(engine, ledger):
            fresh = False
        if not fresh or self.summaries.policy != job.policy.fingerprint:
            counters.stale += 1
            counters.wasted += spent
            why = (
                "the conversation changed before its boundary"
                if not fresh
                else "the policy changed"
            )
            self._drop(job)
            self._note("stale", why, span.cost)
            self.track.turn("stale", why, boundary=span.boundary, spent=spent)
            return
        figures = {"by": made.by, "spent": spent, "lost": len(made.audit.lost)}
        known: dict[str, object] = {**figures, "size": job.size}
        known |= {} if job.focus is None else {"focus": job.focus}
        known |= {"now": True} if job.now else {}
        row = draft(ledger, span, prefix, job.policy.fingerprint, made.text, previous, known)
        before = span.cost + (0 if previous is None else previous.tokens)
        run = {
            "before_tokens": before,
            "after_tokens": made.tokens,
            "dropped": len(span.ids),
            **figures,
        }
        ids: Sequence[int] | Spooled = engine.put([row, episode(ledger, "prepared", run)])
        covered = set(row[4])
        if previous is not None:
            covered |= set(previous.settled.ids)
        whole = span.cost + (0 if previous is None else previous.before)
        cover = Cover(
            boundary=span.boundary,
            covered=covered,
            before=whole,
            spent=spent,
            focus=job.focus,
            now=job.now,
            size=job.size,
            milliseconds=job.milliseconds,
        )
        id_ = None if isinstance(ids, Spooled) else ids[0]
        ready = ready_of(engine, ledger, id_, made.text, cover)
        self._drop(job)
        self.summaries.ready.append(ready)
        self._failures, self._again = 0, 0.0
        counters.prepared += 1
        if made.failure is not None:
            counters.fallbacks += 1
            fell_back = {"to": made.by, "why": made.failure, "refused": made.refused}
            fields = {"what": "summary", **fell_back, "boundary": ready.boundary}
            self.summaries.note(logging.WARNING, "fell_back", **fields)
        self.track.turn(
            "ready",
            "; ".join(made.notes) or "the summary was accepted",
            boundary=ready.boundary,
            tokens=ready.tokens,
            tokens_saved=ready.before - ready.tokens,
            spent=spent,
        )

    def _fail(self, job: Job, why: str, error: str, refused: str | None = None) -> None:
        """Give a summary up.

        Args:
            job: What was being written.
            why: What went wrong, maybe in words of the turns.
            error: The class of the error; the log gets no more than that and the next.
            refused: The reason of a `SummaryRefused`.
        """
        self._failures += 1
        self._again = job.policy.clock() + job.policy.pause(self._failures)
        self.why = why
        job.policy.counters.failed += 1
        boundary, messages = job.span.boundary, len(job.span.ids)
        fields = {"error": error, "refused": refused, "boundary": boundary, "messages": messages}
        self.summaries.note(logging.WARNING, "failed", what="summary", **fields)
        # A summarizer's text may quote the turns, so it is erased with them.
        self._note("failed", why, job.span.cost, sources_of(job.span.ids, job.previous, job.path))
        self._drop(job)
        self.track.turn("failed", why, boundary=job.span.boundary)

    def _note(self, what: str, why: str, tokens: int, sources: tuple[int, ...] = ()) -> None:
        figures: dict[str, object] = {"why": why, "dropped": 0, "before_tokens": tokens}
        self.summaries.unrecorded.append((what, figures, sources))

    def _drop(self, job: Job) -> None:
        if self.job is job:
            self.job = None
        job.release()

    def _ledger(self) -> Ledger:
        return self.engine.ledger(self.track.tenant, self.track.conversation)

    @property
    def track(self) -> Track:
        """The state of the preparation."""
        return self.summaries.track


def _refused(made: Summary | Exception) -> str | None:
    """Return why the summarizer's text was refused; None if it was not."""
    if isinstance(made, SummaryRefused):
        return made.reason
    return None if isinstance(made, Exception) else made.refused


def _spent(made: Summary | Exception) -> int:
    """Return the tokens that a model used for a summary, or for a failed attempt."""
    usage: Usage | None = getattr(made, "usage", None)
    return 0 if usage is None else usage.tokens
