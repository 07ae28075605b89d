"""The ready summaries of a conversation, and the choice of the one that a window shows."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from warmset._support.locks import guarded
from warmset._support.log import room
from warmset.errors import WarmsetError
from warmset.prepare.apply import beside, size
from warmset.prepare.stored import Ready, episode, read
from warmset.window.summary_slot import erased_of

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.states import Counters, Track
    from warmset.state.ledger import Ledger
    from warmset.state.unit_costs import Accounts
    from warmset.window.render import Call

LOG: Final = room("prepare")


@dataclass(frozen=True, slots=True)
class Choice:
    """The summary that a window would show.

    Args:
        ready: The summary; None for none.
        tokens_saved: Tokens that it saves compared with the summary shown before.
        fits: Whether the window is within the budget.
    """

    ready: Ready | None
    tokens_saved: int
    fits: bool


@dataclass(slots=True)
class Unused:
    """Summaries that were ready in this process, and that no window showed.

    Args:
        summaries: Their number.
        tokens: Tokens that their model used.
        milliseconds: How long they took to write.
    """

    summaries: int = 0
    tokens: int = 0
    milliseconds: float = 0.0

    def add(self, one: Ready) -> None:
        """Count one, unless another process prepared it."""
        if not one.adopted:
            self.summaries += 1
            self.tokens += one.spent
            self.milliseconds += one.milliseconds

    def __add__(self, other: Unused) -> Unused:
        return Unused(
            self.summaries + other.summaries,
            self.tokens + other.tokens,
            self.milliseconds + other.milliseconds,
        )


@guarded(
    "self.engine.lock",
    fields=("ready", "used", "settled", "unrecorded", "gone", "_counters", "_seen", "_path"),
)
@dataclass(slots=True)
class Summaries:
    """The valid summaries of one conversation; callers hold the engine's lock.

    Args:
        engine: The store and index.
        track: The state of the preparation.
        ready: The summaries that are valid for the conversation.
        used: The one that the last window of mode "full" showed.
        settled: The one that the last window with quoted turns showed.
        policy: The fingerprint of their policy.
        unrecorded: Events of summaries that are not stored yet: their figures, and the records with
            which they are erased.
        gone: Those that were replaced or became invalid before a window showed them.
    """

    engine: Engine
    track: Track
    ready: list[Ready] = field(default_factory=list)
    used: Ready | None = None
    settled: Ready | None = None
    policy: str | None = None
    unrecorded: list[tuple[str, dict[str, object], tuple[int, ...]]] = field(default_factory=list)
    gone: Unused = field(default_factory=Unused)
    _counters: Counters | None = None
    _seen: int = 0
    _path: Accounts | None = None

    @property
    def newest(self) -> Ready | None:
        """The summary that replaces the most messages."""
        newest: Ready | None = None
        for one in self.ready:  # of two that replace the same messages, the later one
            if newest is None or one.boundary >= newest.boundary:
                newest = one
        return newest

    def note(self, level: int, name: str, **fields: object) -> None:
        """Take note of an event for the log, with the conversation's name."""
        whose = {"tenant": self.track.tenant, "conversation": self.track.conversation}
        self.engine.notices.note(LOG, level, name, **whose, **fields)

    def record(self) -> None:
        """Store the pending events; not called in a window, which writes nothing.

        A failure to store them is ignored.
        """
        unrecorded, self.unrecorded = self.unrecorded, []
        if not unrecorded:
            return
        ledger = self.engine.ledger(self.track.tenant, self.track.conversation)
        for what, figures, sources in unrecorded:
            with suppress(WarmsetError):  # a source may have been erased meanwhile
                self.engine.put([episode(ledger, what, figures, sources)])

    def look(self, policy: PreparedCompaction, ledger: Ledger) -> None:
        """Remove invalid summaries, and add those that other processes prepared.

        On another path, an earlier summary may be valid again that a later one had replaced.
        """
        fingerprint = policy.fingerprint
        self._counters = policy.counters
        if self.policy not in (None, fingerprint):
            for one in self.ready:
                self._stale(policy, one, "the policy changed")
            self.ready, self.used, self.settled, self._seen = [], None, None, 0
        self.policy = fingerprint
        gone = [one for one in self.ready if not one.fits(self.engine, ledger)]
        for one in gone:
            self._stale(policy, one, "messages before its boundary changed or were erased")
            self.ready.remove(one)
            self.used = None if self.used is one else self.used
            self.settled = None if self.settled is one else self.settled
        path = ledger.accounts()
        if gone or path is not self._path:
            self._seen, self._path = 0, path
        derived = self.engine.derived
        if derived.last > self._seen:
            known = {one.id for one in self.ready}
            fresh = list(derived.of("prepared", ledger.tenant, ledger.name))
            for made in reversed(fresh):  # the newest replaces the most messages
                if made.id <= self._seen or made.id in known:
                    break
                if (found := read(self.engine, ledger, made, fingerprint)) is not None:
                    self._adopt(policy, found)
                    break
            self._seen = derived.last

    def forget(self, ledger: Ledger) -> None:
        """Remove the texts of erased summaries; `look` removes the rest."""
        for at, one in enumerate(self.ready):
            if erased_of(self.engine, ledger, one.settled) is None:
                continue
            self.ready[at] = replace(one, text="", settled=replace(one.settled, text=""))
            self.used = self.ready[at] if self.used is one else self.used
            self.settled = self.ready[at] if self.settled is one else self.settled

    def _adopt(self, policy: PreparedCompaction, found: Ready) -> None:
        self.ready.append(found)
        policy.counters.adopted += 1
        if self.track.state not in ("ready", "preparing"):
            why = "it was prepared before, or by another process"
            self.track.turn("ready", why, boundary=found.boundary, tokens=found.tokens)

    def _stale(self, policy: PreparedCompaction, one: Ready, why: str) -> None:
        policy.counters.stale += 1
        if not self._was_shown(one):
            self._waste(policy.counters, one)
        if self.track.state not in ("stale", "preparing"):
            self.track.turn("stale", why, boundary=one.boundary, tokens=one.tokens, spent=one.spent)

    def choose(self, policy: PreparedCompaction, call: Call, ledger: Ledger) -> Choice:
        """Choose the summary to show: one that was asked for, the one shown before, or a newer."""
        return self._asked_for(call, ledger) or self._due(policy, call, ledger)

    def _asked_for(self, call: Call, ledger: Ledger) -> Choice | None:
        newest, around = self.newest, beside(self.engine, call)
        if newest is None or not newest.now or newest is self.used:
            return None
        then = size(ledger, newest, around)
        if then > call.budget:
            return None
        return Choice(newest, size(ledger, self.used, around) - then, fits=True)

    def _due(self, policy: PreparedCompaction, call: Call, ledger: Ledger) -> Choice:
        around = beside(self.engine, call)
        now = size(ledger, self.used, around)
        later = [
            one for one in self.ready if self.used is None or one.boundary > self.used.boundary
        ]
        later.sort(key=lambda one: -one.boundary)
        if now <= call.budget:
            newest = later[0] if later else None
            prices, calls = policy.prices, policy.expected_calls
            if newest is None or prices is None or calls is None:
                return Choice(self.used, 0, fits=True)
            then = size(ledger, newest, around)
            front = sum(ledger.live()[at].tokens for at in newest.held if at < newest.place)
            if prices.pays(now - then, then - around - front, calls):
                return Choice(newest, now - then, fits=True)
            return Choice(self.used, 0, fits=True)
        for one in later:
            then = size(ledger, one, around)
            if then <= call.budget:
                return Choice(one, now - then, fits=True)
        newest = later[0] if later else None
        if newest is None:
            return Choice(self.used, 0, fits=False)
        return Choice(newest, now - size(ledger, newest, around), fits=False)

    def ask_for(self, focus: str | None) -> bool:
        """Have the next window show the newest summary; return whether there is one to show.

        Args:
            focus: What it must keep above all; None for any.
        """
        newest = self.newest
        if newest is None or newest.focus != (focus or newest.focus) or newest is self.used:
            return False
        at = next(at for at, one in enumerate(self.ready) if one is newest)
        self.ready[at] = replace(newest, now=True)
        self.settled = self.ready[at] if self.settled is newest else self.settled
        return True

    def apply(
        self, policy: PreparedCompaction, ready: Ready, tokens_saved: int, waited: float
    ) -> None:
        """Apply a summary in place of the messages before its boundary, and remove earlier ones."""
        self._overtake(policy, ready, spared=None)
        self.used = ready
        why = "at the budget" if policy.prices is None else "it costs less"
        why = "it was asked for" if ready.now else why
        self._tell(policy, ready, why, tokens_saved, waited)

    def settle(self, policy: PreparedCompaction, ready: Ready) -> None:
        """Record that windows with quoted turns show a summary; it replaces no message of them."""
        self._overtake(policy, ready, spared=self.used)
        self.settled = ready
        if ready is not self.used:
            self._tell(policy, ready, "a window that quotes turns shows it", 0, 0.0)

    def _overtake(self, policy: PreparedCompaction, ready: Ready, *, spared: Ready | None) -> None:
        """Remove summaries that replace no more than another one, unless still shown."""
        for one in self.ready:
            if one is not ready and one.boundary <= ready.boundary and not self._was_shown(one):
                policy.counters.discarded += 1
                self._waste(policy.counters, one)
        self.ready = [
            one
            for one in self.ready
            if one is ready or one is spared or one.boundary > ready.boundary
        ]

    def unused(self) -> Unused:
        """Return what was ready and was not shown so far."""
        waiting = Unused()
        for one in self.ready:
            if not self._was_shown(one):
                waiting.add(one)
        return self.gone + waiting

    def close(self) -> None:
        """Count and log what was ready and never shown; it stays in the store."""
        counters, unused = self._counters, self.unused()
        if unused.summaries:
            figures = {
                "summaries": unused.summaries,
                "tokens": unused.tokens,
                "milliseconds": round(unused.milliseconds, 3),
            }
            self.note(logging.INFO, "unused", **figures)
        if counters is not None:
            for one in self.ready:
                if not self._was_shown(one) and not one.adopted:
                    self._waste(counters, one)
        self.ready = []

    def _waste(self, counters: Counters, one: Ready) -> None:
        """Count a summary that no window showed."""
        self.gone.add(one)
        counters.unused += not one.adopted
        counters.wasted += one.spent

    def _was_shown(self, one: Ready) -> bool:
        return one is self.used or one is self.settled

    def _tell(
        self, policy: PreparedCompaction, ready: Ready, why: str, tokens_saved: int, waited: float
    ) -> None:
        figures = {
            "before_tokens": ready.before,
            "after_tokens": ready.tokens,
            "dropped": ready.boundary,
        }
        self.unrecorded.append(
            (
                "applied",
                {**figures, "tokens_saved": tokens_saved, "waited": waited, "spent": ready.spent},
                (),
            )
        )
        self.note(
            logging.DEBUG,
            "applied",
            boundary=ready.boundary,
            tokens=ready.tokens,
            tokens_saved=tokens_saved,
            spent=ready.spent,
            waited=waited,
        )
        policy.counters.applied += 1
        policy.counters.tokens_saved += max(tokens_saved, 0)
        self.track.turn(
            "applied",
            why,
            boundary=ready.boundary,
            tokens=ready.tokens,
            tokens_saved=tokens_saved,
            spent=ready.spent,
            waited=waited,
        )
