"""One conversation's preparation: its ready summaries, the one being written, the one shown.

```text
window ─▶ look: what is ready, what went stale ─▶ choose ─▶ fits? ──────────────▶ write
                                                    │ no
                                                    └▶ prepare ─▶ wait, at most the deadline
                                                              ─▶ choose again, or leave out
```

All decisions are made under the engine's lock, and nothing waits while holding it.
"""

from __future__ import annotations

from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Final

from warmset._support.locks import guarded
from warmset.errors import BudgetTooSmall, Erased
from warmset.prepare.apply import Cut, fitted
from warmset.prepare.compactions import ProviderCompactions
from warmset.prepare.evicting import evicted
from warmset.prepare.states import Track
from warmset.prepare.stored import read
from warmset.prepare.summaries import Choice, Summaries, Unused
from warmset.prepare.writing import Writing
from warmset.window.result import Compaction
from warmset.window.stages import whole
from warmset.window.summary_slot import erased_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from warmset.engine.engine import Engine
    from warmset.prepare.compactions import Asked
    from warmset.prepare.jobs import Job
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.states import State
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.summaries import PrefixOf, Returned, SentOut

FULL_SHARE: Final = 0.5
"""The part of the budget that a summary may have which a window of mode "full" has begun: a long
history may have begun without summaries, and what is behind the boundary needs room, too."""

JIT_SHARE: Final = 0.25
"""The same in a window of mode "jit", which has other things to show."""

LATE: Final = "no summary was ready in time"


@guarded(
    "self._engine.lock",
    fields=("_left",),
    calls=("_write", "unused", "forget"),
)
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
        self._summaries = Summaries(engine, self._track)
        self._writing = Writing(engine, self._summaries)
        self._compactions = ProviderCompactions(engine, self._track, self._summaries)
        self._left: Cut | None = None

    @property
    def state(self) -> State:
        """Where the preparation is; see `warmset.prepare`."""
        return self._track.state

    def window(self, policy: PreparedCompaction, call: Call) -> tuple[Assembled, Compaction]:
        """Build a window that shows all messages, or a summary in place of the oldest.

        Args:
            policy: Who writes summaries, and when.
            call: The call that the messages are for.

        Returns:
            The window, and the report of the preparation.

        Raises:
            BudgetTooSmall: The messages that must stay do not fit.
            ConversionError: The target dialect cannot express the messages.
            StoreError: A message could not be read.
        """
        try:
            waited = 0.0
            choice = self._look_and_choose(policy, call)
            job = self._writing.prepare(policy, call, choice, FULL_SHARE)
            if not choice.fits and job is not None and (waited := self._wait(policy, job)):
                choice = self._look_and_choose(policy, call)
            with self._engine.lock:
                return self._write(policy, call, choice, waited)
        finally:
            self._tell(policy)

    def obstacle(self, policy: PreparedCompaction, model: str) -> str | None:
        """Return why the provider cannot be asked to compact a list; None if it can, or is."""
        return self._compactions.obstacle(policy, model)

    def arrived(
        self, policy: PreparedCompaction, tokens: Collection[str], *, wait: bool
    ) -> Returned | None:
        """Return what the provider returned for a list of the current epoch.

        Args:
            policy: Who was asked.
            tokens: The names of the epoch's records.
            wait: Whether to wait for it, up to the deadline.
        """
        with self._engine.lock:
            one, job = self._compactions.look(policy, tokens), self._compactions.asked
        if one is None and wait and job is not None and self._wait(policy, job):
            with self._engine.lock:
                one = self._compactions.look(policy, tokens)
        self._tell(policy)
        return one

    def ask(self, policy: PreparedCompaction, sent: SentOut, budget: int) -> None:
        """Ask the provider to compact a list, from the policy's trigger on."""
        due = sent.tokens >= policy.trigger_ratio * budget
        if policy.should_compact is not None:
            due = bool(policy.should_compact(sent.request.messages, sent.tokens))
        if due and self._writing.job is None:
            self._compactions.ask(policy, sent)
        self._tell(policy)

    def give_up(self, policy: PreparedCompaction, why: str) -> None:
        """Do without what the provider was asked for or returned."""
        with self._engine.lock:
            self._compactions.give_up(policy, why)
        self._tell(policy)

    def replaced(self, policy: PreparedCompaction, one: Returned) -> None:
        """Take note that a list shows what the provider returned."""
        with self._engine.lock:
            self._compactions.applied(policy, one)
        self._tell(policy)

    def _wait(self, policy: PreparedCompaction, job: Job | Asked) -> float:
        """Wait for a summary, up to the deadline; return the seconds."""
        left = policy.deadline - job.waited
        if job.ticket is None or left <= 0:
            return 0.0
        begun = policy.clock()
        job.ticket.wait(min(left, TIMEOUT_MAX))
        waited = policy.clock() - begun
        with self._engine.lock:
            job.waited += waited
            policy.counters.waits += 1
            policy.counters.waited += waited
        return waited

    def offer(
        self,
        policy: PreparedCompaction,
        call: Call,
        *,
        share: float | None = None,
        wait: bool = False,
        prefix: PrefixOf | None = None,
    ) -> Settled | None:
        """Return the newest summary that is ready, and start another one if it is due.

        Args:
            policy: Who writes summaries, and when.
            call: What the messages are for.
            share: The share of the budget that a summary may have; None for that of mode "jit".
            wait: Whether to wait for the summary that is being written, up to the deadline.
            prefix: Returns the list up to a boundary, as it was sent.
        """
        try:
            with self._engine.lock:
                self._summaries.look(policy, self._ledger())
                newest = self._summaries.newest
            share = JIT_SHARE if share is None else share
            choice = Choice(newest, 0, fits=True)
            job = self._writing.prepare(policy, call, choice, share, prefix)
            if wait and job is not None:
                self._wait(policy, job)
                with self._engine.lock:
                    self._summaries.look(policy, self._ledger())
                    newest = self._summaries.newest
            return None if newest is None else newest.settled
        finally:
            self._tell(policy)

    def compact_now(
        self, policy: PreparedCompaction, focus: str | None, *, wait: bool
    ) -> Compaction:
        """Have the messages summarised now; see `Conversation.compact_now`.

        Args:
            policy: Who writes summaries.
            focus: What the summary should keep above all.
            wait: Whether to wait for the summary, at most the policy's timeout.
        """
        try:
            waited = 0.0
            with self._engine.lock:
                self._summaries.look(policy, self._ledger())
            job = self._writing.begin_now(policy, focus)
            with self._engine.lock:
                shown = job is None and self._summaries.ask_for(focus)
            if wait and job is not None and job.ticket is not None:
                begun = policy.clock()
                job.ticket.wait(min(policy.timeout, TIMEOUT_MAX))
                waited = policy.clock() - begun
            with self._engine.lock:
                newest = self._summaries.newest
                state = "ready" if shown else self._track.state
                return Compaction(
                    state=state,
                    boundary=0 if newest is None else newest.boundary,
                    tokens=0 if newest is None else newest.tokens,
                    tokens_saved=0 if newest is None else newest.before - newest.tokens,
                    waited=waited,
                    why=None if shown else self._writing.why,
                )
        finally:
            self._tell(policy)

    def stored(self, policy: PreparedCompaction, id_: int) -> Settled | None:
        """Return a summary by its record's id; None if it is not one of the policy's any more.

        Args:
            policy: Who wrote it.
            id_: The id of its record.
        """
        with self._engine.lock:
            known = (one for one in self._summaries.ready if one.id == id_)
            ready, made = next(known, None), self._engine.derived.get(id_)
            if ready is None and made is not None:
                ready = read(self._engine, self._ledger(), made, policy.fingerprint)
            return None if ready is None else ready.settled

    def settled(
        self, policy: PreparedCompaction, shown: Settled | None
    ) -> tuple[bool, State, str | None]:
        """Record the summary that a window with quoted turns shows.

        Args:
            policy: Who wrote it.
            shown: The summary; None if none is shown.

        Returns:
            Whether it is shown for the first time, the state, and why there is no newer summary.

        Raises:
            Erased: The summary or a message that it replaces was erased.
        """
        with self._engine.lock:
            gone = None if shown is None else erased_of(self._engine, self._ledger(), shown)
            if gone is not None:
                raise Erased(gone)
            ready = next((one for one in self._summaries.ready if one.settled is shown), None)
            fresh = ready is not None and ready is not self._summaries.settled
            if ready is not None and fresh:
                self._summaries.settle(policy, ready)
            why = self._writing.why or self._compactions.why
            result = fresh, self._track.state, why
        self._tell(policy)
        return result

    def close(self, timeout: float) -> None:  # noqa: ARG002 - nobody waits for a model at the end
        """Abandon the summary that is being written, and report those that were never shown."""
        self._writing.close()
        with self._engine.lock:
            self._compactions.close()
            self._summaries.close()

    def unused(self) -> Unused:
        """Return what was ready and was not shown so far; the caller holds the engine's lock."""
        return self._summaries.unused()

    def forget(self) -> None:
        """Remove the texts of erased summaries; the caller holds the engine's lock."""
        self._summaries.forget(self._ledger())
        self._compactions.forget()

    def _tell(self, policy: PreparedCompaction) -> None:
        """Tell what happened since, to the policy's callback and to the log; not under a lock."""
        self._track.tell(policy.on_event, policy.counters)
        self._engine.notices.tell()

    def _ledger(self) -> Ledger:
        return self._engine.ledger(self._track.tenant, self._track.conversation)

    def _look_and_choose(self, policy: PreparedCompaction, call: Call) -> Choice:
        with self._engine.lock:
            ledger = self._ledger()
            self._summaries.look(policy, ledger)
            return self._summaries.choose(policy, call, ledger)

    def _write(
        self, policy: PreparedCompaction, call: Call, choice: Choice, waited: float
    ) -> tuple[Assembled, Compaction]:
        engine, ledger, ready = self._engine, self._ledger(), choice.ready
        if ready is not None and not ready.fits(
            engine, ledger
        ):  # the conversation changed meanwhile
            choice = Choice(None, 0, fits=False)
            ready = None
        applied = ready is not None and ready is not self._summaries.used
        low = int(call.budget * policy.trigger_ratio)
        count = 0
        if ready is None and choice.fits:
            made = whole(engine, ledger.sendable(), call)
        elif ready is None:
            made, count = evicted(engine, ledger, call, low)
        else:
            try:
                made, self._left = fitted(engine, ledger, call, ready, self._left, low)
                behind = len(ledger.history.path) - ready.boundary
                recent = made.draft.frame.recent
                shown = sum(entry.id > ready.last for unit in recent for entry in unit)
                count = (
                    behind - shown if self._left and self._left.boundary == ready.boundary else 0
                )
            except BudgetTooSmall:
                made, count = evicted(engine, ledger, call, low)
                ready, applied = None, False
        tokens_saved = 0 if ready is None else ready.before - ready.tokens
        if ready is not None and applied:
            self._summaries.apply(policy, ready, choice.tokens_saved, waited)
        if count:
            policy.counters.evicted += 1
        return made, Compaction(
            state=self._track.state,
            boundary=0 if ready is None else ready.boundary,
            tokens=0 if ready is None else ready.tokens,
            tokens_saved=tokens_saved,
            applied=applied,
            waited=waited,
            left_out=count,
            why=(self._writing.why or LATE) if count else None,
        )


def unused_of(engine: Engine, tenant: str) -> Unused:
    """Return the summaries of a tenant that were ready in this process and not shown so far."""
    with engine.lock:
        found = list(engine.attached.items())
        ours = [one for key, one in found if key[:2] == ("prepare", tenant)]
        return sum((one.unused() for one in ours if isinstance(one, Preparation)), start=Unused())


def of(engine: Engine, tenant: str, name: str) -> Preparation:
    """Return the preparation of a conversation; there is one for all handles on a store."""
    with engine.lock:
        key = ("prepare", tenant, name)
        found = engine.attached.get(key)
        if not isinstance(found, Preparation):
            found = engine.attached[key] = Preparation(engine, tenant, name)
        return found
