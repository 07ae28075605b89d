"""One conversation's preparation: what is ready, what is being written, what a window shows.

```text
window ─▶ look: what is ready, what went stale ─▶ choose ─▶ fits? ──────────────▶ write
                                                    │ no
                                                    └▶ prepare ─▶ wait, at most the deadline
                                                              ─▶ choose again, or leave out
```

Everything is decided under the engine's lock, and nothing waits under it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warmset.compose import whole
from warmset.errors import BudgetTooSmall, WarmsetError
from warmset.prepare.evicting import evicted
from warmset.prepare.jobs import Job, claim
from warmset.prepare.lazy import Reading
from warmset.prepare.marks import choose
from warmset.prepare.states import Track
from warmset.prepare.stored import Ready, draft, read, said
from warmset.prepare.swap import Cut, beside, fitted, size
from warmset.told import Spooled
from warmset.window import Compaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.assemble import Assembled, Call
    from warmset.engine import Engine
    from warmset.ledger import Ledger
    from warmset.llm import Spent
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.worker import Ticket
    from warmset.summarize import Summary

LATE: Final = "no summary was ready in time"


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a window would show.

    Args:
        ready: The summary; None for none.
        freed: Tokens fewer than with the summary that stood there before.
        fits: Whether all of it is within the budget.
    """

    ready: Ready | None
    freed: int
    fits: bool


class Preparation:
    """The preparation of one conversation; see `of`.

    Args:
        engine: The store and index.
        tenant: The tenant's name.
        name: The conversation's name.
    """

    def __init__(self, engine: Engine, tenant: str, name: str) -> None:
        self._engine = engine
        self._track = Track(tenant, name)
        self._policy: str | None = None
        self._ready: list[Ready] = []
        self._used: Ready | None = None
        self._job: Job | None = None
        self._left: Cut | None = None
        self._seen = 0
        self._failures = 0
        self._again = 0.0
        self._why: str | None = None
        self._closed = False

    @property
    def state(self) -> str:
        """Where the preparation is; see `warmset.prepare`."""
        return self._track.state

    def window(self, policy: PreparedCompaction, call: Call) -> tuple[Assembled, Compaction]:
        """Make a window that shows everything, or a summary instead of the front.

        Args:
            policy: Who writes summaries, and when.
            call: What the messages are for.

        Returns:
            The window, and what the preparation did for it.

        Raises:
            BudgetTooSmall: What must stay does not fit.
            ConversionError: The target dialect cannot say the messages.
            StoreError: A message could not be read.
        """
        try:
            waited = 0.0
            choice = self._look_and_choose(policy, call)
            ticket = self._prepare(policy, call, choice)
            if not choice.fits and ticket is not None:
                begun = policy.clock()
                ticket.wait(policy.deadline)
                waited = policy.clock() - begun
                with self._engine.lock:
                    policy.counters.waits += 1
                    policy.counters.waited += waited
                choice = self._look_and_choose(policy, call)
            with self._engine.lock:
                return self._write(policy, call, choice, waited)
        finally:
            self._track.tell(policy.on_event, policy.counters)

    def close(self, timeout: float) -> None:  # noqa: ARG002 - nobody waits for a model at the end
        """Give up what is being written."""
        with self._engine.lock:
            self._closed = True
            job = self._job
            if job is not None:
                self._drop(job)
                self._track.turn("discarded", "the memory was closed", mark=job.span.mark)
        if job is not None:
            self._track.tell(job.policy.on_event, job.policy.counters)

    # --- under the lock --------------------------------------------------------------------------

    def _ledger(self) -> Ledger:
        return self._engine.ledger(self._track.tenant, self._track.conversation)

    def _look_and_choose(self, policy: PreparedCompaction, call: Call) -> _Choice:
        with self._engine.lock:
            ledger = self._ledger()
            self._look(policy, ledger)
            return self._choose(policy, call, ledger)

    def _look(self, policy: PreparedCompaction, ledger: Ledger) -> None:
        """Let go of what no longer fits, and take up what other processes prepared."""
        told = policy.fingerprint
        if self._policy not in (None, told):
            for one in self._ready:
                self._stale(policy, one, "the policy changed")
            self._ready, self._used, self._seen = [], None, 0
        self._policy = told
        gone = [one for one in self._ready if not one.fits(self._engine, ledger)]
        for one in gone:
            self._stale(policy, one, "messages before its mark changed or were erased")
            self._ready.remove(one)
            self._used = None if self._used is one else self._used
        derived = self._engine.derived
        if derived.last > self._seen:
            known = {one.id for one in self._ready}
            for made in derived.of("prepared", ledger.tenant, ledger.name):
                if made.id > self._seen and made.id not in known:
                    self._adopt(policy, read(self._engine, ledger, made, told))
            self._seen = derived.last

    def _adopt(self, policy: PreparedCompaction, found: Ready | None) -> None:
        if found is None:
            return
        self._ready.append(found)
        policy.counters.adopted += 1
        if self._job is None and self._track.state != "ready":
            why = "it was prepared before, or by another process"
            self._track.turn("ready", why, mark=found.mark, tokens=found.tokens)

    def _stale(self, policy: PreparedCompaction, one: Ready, why: str) -> None:
        policy.counters.stale += 1
        if one is not self._used:
            policy.counters.wasted += one.spent
        if self._job is None and self._track.state != "stale":
            self._track.turn("stale", why, mark=one.mark, tokens=one.tokens, spent=one.spent)

    def _choose(self, policy: PreparedCompaction, call: Call, ledger: Ledger) -> _Choice:
        """Choose what stands before the mark: what stood there, or a newer summary if it must."""
        around = beside(self._engine, call)
        now = size(ledger, self._used, around)
        later = [one for one in self._ready if self._used is None or one.mark > self._used.mark]
        later.sort(key=lambda one: -one.mark)
        if now <= call.budget:
            newest = later[0] if later else None
            prices = policy.prices
            if newest is None or prices is None:
                return _Choice(self._used, 0, fits=True)
            then = size(ledger, newest, around)
            front = sum(ledger.live()[at].tokens for at in newest.held if at < newest.place)
            if prices.pays(now - then, then - around - front):
                return _Choice(newest, now - then, fits=True)
            return _Choice(self._used, 0, fits=True)
        for one in later:
            then = size(ledger, one, around)
            if then <= call.budget:
                return _Choice(one, now - then, fits=True)
        newest = later[0] if later else None
        if newest is None:
            return _Choice(self._used, 0, fits=False)
        return _Choice(newest, now - size(ledger, newest, around), fits=False)

    def _write(
        self, policy: PreparedCompaction, call: Call, choice: _Choice, waited: float
    ) -> tuple[Assembled, Compaction]:
        engine, ledger, ready = self._engine, self._ledger(), choice.ready
        if ready is not None and not ready.fits(engine, ledger):  # changed while nobody looked
            choice = _Choice(None, 0, fits=False)
            ready = None
        swapped = ready is not None and ready is not self._used
        low = int(call.budget * policy.soft)
        count = 0
        if ready is None and choice.fits:
            made = whole(engine, ledger.live(), call)
        elif ready is None:
            made, count = evicted(engine, ledger, call, low)
        else:
            try:
                made, self._left = fitted(engine, ledger, call, ready, self._left, low)
                behind = len(ledger.history.path) - ready.mark
                recent = made.draft.frame.recent
                shown = sum(entry.id > ready.last for unit in recent for entry in unit)
                count = behind - shown if self._left and self._left.mark == ready.mark else 0
            except BudgetTooSmall:
                made, count = evicted(engine, ledger, call, low)
                ready, swapped = None, False
        freed = 0 if ready is None else ready.before - ready.tokens
        if ready is not None and swapped:
            self._swap(policy, ready, choice.freed, waited)
        if count:
            policy.counters.evicted += 1
        return made, Compaction(
            state=self._track.state,
            mark=0 if ready is None else ready.mark,
            tokens=0 if ready is None else ready.tokens,
            freed=freed,
            swapped=swapped,
            waited=waited,
            left_out=count,
            why=(self._why or LATE) if count else None,
        )

    def _swap(self, policy: PreparedCompaction, ready: Ready, freed: int, waited: float) -> None:
        for one in self._ready:
            if one is not ready and one is not self._used and one.mark <= ready.mark:
                policy.counters.discarded += 1
                policy.counters.wasted += one.spent
        self._ready = [one for one in self._ready if one is ready or one.mark > ready.mark]
        self._used = ready
        policy.counters.swapped += 1
        policy.counters.freed += max(freed, 0)
        self._track.turn(
            "swapped",
            "at the hard line" if policy.prices is None else "it costs less",
            mark=ready.mark,
            tokens=ready.tokens,
            freed=freed,
            spent=ready.spent,
            waited=waited,
        )

    # --- writing summaries -----------------------------------------------------------------------

    def _prepare(self, policy: PreparedCompaction, call: Call, choice: _Choice) -> Ticket | None:
        """Begin a summary if it is time; returns what is being written, or None."""
        with self._engine.lock:
            job = self._job
            if job is not None and policy.clock() - job.begun <= policy.patience:
                return job.ticket
            if job is not None:
                self._fail(job, f"the summariser gave no answer in {policy.patience:g} seconds")
            ledger = self._ledger()
            newest = max(self._ready, key=lambda one: one.mark, default=None)
            tokens = size(ledger, newest, beside(self._engine, call))
            if self._closed or policy.clock() < self._again:
                return None
        if choice.fits and not self._is_due(policy, call, tokens, newest):
            return None
        with self._engine.lock:
            if self._job is not None or self._closed:
                return None if self._job is None else self._job.ticket
            return self._begin(policy, call)

    def _is_due(
        self, policy: PreparedCompaction, call: Call, tokens: int, newest: Ready | None
    ) -> bool:
        if policy.should_compact is None:
            return tokens >= policy.soft * call.budget
        with self._engine.lock:
            messages = Reading(self._engine, self._ledger(), newest)
        return bool(policy.should_compact(messages, tokens))

    def _begin(self, policy: PreparedCompaction, call: Call) -> Ticket | None:
        engine, ledger = self._engine, self._ledger()
        newest = max(self._ready, key=lambda one: one.mark, default=None)
        span = choose(
            ledger,
            after=0 if newest is None else newest.mark,
            tail=int(policy.tail * call.budget),
            keep=policy.keep,
        )
        if span is None or span.cost < policy.least * call.budget:
            self._why = "too little could be summarised"
            return None
        store = engine.store.path
        claimed = claim(None if store is None else Path(store), ledger.tenant, ledger.name)
        if claimed is None:
            self._why = "another process is writing the summary"
            return None
        path = tuple(ledger.history.path[: span.mark])
        dialect = ledger.dialect or "openai"
        job = Job(policy, span, path, newest, dialect, policy.clock(), claimed)
        self._job, self._why = job, None
        self._track.turn("preparing", "the soft line was crossed", mark=span.mark)
        job.ticket = policy.worker.start(lambda: job.run(engine, self._done))
        return job.ticket

    def _done(self, job: Job, prefix: str, made: Summary | Exception) -> None:
        """Take up what a job came to; in the worker's thread."""
        counters = job.policy.counters
        with self._engine.lock:
            spent = _spent(made)
            counters.spent += spent
            if job is not self._job:  # given up, or closed
                counters.wasted += spent
                job.release()
                return
            try:
                if isinstance(made, Exception):
                    counters.wasted += spent
                    self._fail(job, str(made) or type(made).__name__)
                else:
                    self._keep(job, prefix, made, spent)
            except WarmsetError as error:
                self._fail(job, f"the summary could not be kept: {error}")
            finally:
                if self._job is job:
                    self._drop(job)
        self._track.tell(job.policy.on_event, counters)

    def _keep(self, job: Job, prefix: str, made: Summary, spent: int) -> None:
        engine, ledger, span, counters = (
            self._engine,
            self._ledger(),
            job.span,
            job.policy.counters,
        )
        path, previous = ledger.history.path, job.previous
        fresh = len(path) > span.mark and path[span.mark - 1] == span.last
        if previous is not None and not previous.fits(engine, ledger):
            fresh = False
        if not fresh or self._policy != job.policy.fingerprint:
            counters.stale += 1
            counters.wasted += spent
            why = "the conversation changed before its mark" if not fresh else "the policy changed"
            self._drop(job)
            self._track.turn("stale", why, mark=span.mark, spent=spent)
            return
        told = {"by": made.by, "spent": spent, "lost": len(made.audit.lost)}
        [row] = [draft(ledger, span, prefix, job.policy.fingerprint, made.text, previous, told)]
        ids: Sequence[int] | Spooled = engine.put([row])
        covered = set(row[4])
        if previous is not None:
            covered |= {path[at] for at in range(previous.mark)} - {
                path[at] for at in previous.held
            }
        message, tokens = said(engine, made.text, job.dialect)
        ready = Ready(
            id=None if isinstance(ids, Spooled) else ids[0],
            mark=span.mark,
            last=span.last,
            held=tuple(at for at in range(span.mark) if path[at] not in covered),
            place=next(at for at in range(span.mark) if path[at] in covered),
            message=message,
            text=made.text,
            tokens=tokens,
            before=span.cost + (0 if previous is None else previous.before),
            spent=spent,
        )
        self._drop(job)
        self._ready.append(ready)
        self._failures, self._again = 0, 0.0
        counters.prepared += 1
        counters.fallbacks += any(" failed: " in note for note in made.notes)
        self._track.turn(
            "ready",
            "; ".join(made.notes) or "the summary was accepted",
            mark=ready.mark,
            tokens=ready.tokens,
            freed=ready.before - ready.tokens,
            spent=spent,
        )

    def _fail(self, job: Job, why: str) -> None:
        self._failures += 1
        self._again = job.policy.clock() + job.policy.pause(self._failures)
        self._why = why
        job.policy.counters.failed += 1
        self._drop(job)
        self._track.turn("failed", why, mark=job.span.mark)

    def _drop(self, job: Job) -> None:
        if self._job is job:
            self._job = None
        job.release()


def _spent(made: Summary | Exception) -> int:
    """Return the tokens that a model took for a summary, or for none."""
    spent: Spent | None = getattr(made, "spent", None)
    return 0 if spent is None else spent.tokens


def of(engine: Engine, tenant: str, name: str) -> Preparation:
    """Return the preparation of a conversation; there is one for all handles on a store."""
    with engine.lock:
        key = ("prepare", tenant, name)
        found = engine.attached.get(key)
        if not isinstance(found, Preparation):
            found = engine.attached[key] = Preparation(engine, tenant, name)
        return found
