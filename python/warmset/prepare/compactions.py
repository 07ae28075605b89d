"""A conversation's compactions by the provider: the one being asked for, and the one that arrived.

```text
a list near the budget ─▶ ask, in the background ─▶ stored ─▶ the next list begins with it
                                  │ fails, or is late           │ edit, erasure, another epoch
                                  └▶ the fallback writes        └▶ stale
```
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmset import summarize
from warmset._support.locks import guarded
from warmset._support.log import kind
from warmset.errors import StoreError, SummarizerError, WarmsetError
from warmset.messages.prefix import Prefix
from warmset.prepare.jobs import claim
from warmset.prepare.stored import episode
from warmset.receipts import Spooled
from warmset.store.derived import derived_draft
from warmset.tokens import message_tokens
from warmset.window.summaries import Returned

if TYPE_CHECKING:
    from collections.abc import Collection
    from contextlib import AbstractContextManager

    from warmset.engine.engine import Engine
    from warmset.llm import Compacted
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.states import Track
    from warmset.prepare.summaries import Summaries
    from warmset.prepare.worker import Ticket
    from warmset.state.ledger import Ledger
    from warmset.store.derived import Made
    from warmset.window.summaries import SentOut

WHAT = "compaction"


@dataclass(slots=True, eq=False)
class Asked:
    """A compaction that the provider was asked for.

    Args:
        policy: Has who is asked.
        sent: The list.
        begun: When it was asked for, by the policy's clock.
        claim: A lock that keeps other processes from asking for the same; released at the end.
        ticket: The task that waits for the answer.
        waited: Seconds that windows waited for it.
    """

    policy: PreparedCompaction
    sent: SentOut
    begun: float
    claim: AbstractContextManager[object] | None
    ticket: Ticket | None = None
    waited: float = 0.0

    def release(self) -> None:
        """Release the claim."""
        claimed, self.claim = self.claim, None
        if claimed is not None:
            claimed.__exit__(None, None, None)


@guarded(
    "self._engine.lock",
    fields=("_arrived", "_failures", "_again", "_closed", "_seen"),
    writes=("asked", "why"),
    calls=("look", "give_up", "applied", "close", "forget"),
)
class ProviderCompactions:
    """The compactions of one conversation; decisions are made under the engine's lock.

    Args:
        engine: The store and index.
        track: The state of the preparation.
        summaries: Takes the events.
    """

    def __init__(self, engine: Engine, track: Track, summaries: Summaries) -> None:
        self._engine = engine
        self._track = track
        self._summaries = summaries
        self._arrived: Returned | None = None
        self._failures = 0
        self._again = 0.0
        self._closed = False
        self._seen = 0
        self.asked: Asked | None = None
        self.why: str | None = None

    def obstacle(self, policy: PreparedCompaction, model: str) -> str | None:
        """Return why the provider cannot be asked now; None if it can, or is being asked."""
        writer = policy.summarizer
        assert isinstance(writer, summarize.ProviderCompaction)  # noqa: S101 - the caller looked
        with self._engine.lock:
            self._expire()
            if policy.clock() < self._again:
                return self.why
        return writer.obstacle(model)

    def look(self, policy: PreparedCompaction, tokens: Collection[str]) -> Returned | None:
        """Return what has arrived for a list of an epoch; the caller holds the engine's lock.

        Args:
            policy: Who was asked.
            tokens: The names of the epoch's records.
        """
        one = self._arrived
        if one is not None and not self._stands(one, tokens):
            self._turn_stale("the list that it replaces is not shown any more", policy, one)
            one = None
        derived, fingerprint = self._engine.derived, policy.fingerprint
        if one is None and derived.last > self._seen:
            ledger = self._ledger()
            for made in reversed(list(derived.of("prepared", ledger.tenant, ledger.name))):
                if made.id <= self._seen:
                    break
                if made.fields.get("after") in tokens and made.fields.get("policy") == fingerprint:
                    one = _read(self._engine, ledger, made)
                    break
            if one is not None:
                self._arrived = one
                policy.counters.adopted += 1
                if self._track.state not in ("ready", "preparing"):
                    self._track.turn("ready", "another process asked for it", boundary=one.count)
            self._seen = derived.last
        return one

    def ask(self, policy: PreparedCompaction, sent: SentOut) -> None:
        """Ask the provider for the compaction of a list, in the background."""
        with self._engine.lock:
            self._expire()
            if self._closed or self.asked is not None or self._arrived is not None:
                return
            ledger, store = self._ledger(), self._engine.store.path
            claimed = claim(None if store is None else Path(store), ledger.tenant, ledger.name)
            if claimed is None:
                return  # another process asks; what it gets is in the store
            job = self.asked = Asked(policy, sent, policy.clock(), claimed)
            self.why = None
            self._track.turn("preparing", "the provider is asked", boundary=sent.count)
            try:
                job.ticket = policy.worker.start(lambda: self._run(job))
            except Exception as error:  # noqa: BLE001 - a window is not lost over a worker
                self._fail(job, f"the worker could not begin: {error!r}", kind(error))

    def give_up(self, policy: PreparedCompaction, why: str) -> None:
        """Do without what was asked for or has arrived; the caller holds the engine's lock."""
        job, one = self.asked, self._arrived
        if job is not None:
            self._drop(job)
            policy.counters.discarded += 1
            self._track.turn("discarded", why, boundary=job.sent.count)
        if one is not None:
            self._turn_stale(why, policy, one)
            self._failures += 1  # the next one would cost as much, and may be of no more use
            self._again = policy.clock() + policy.pause(self._failures)
        if job is not None or one is not None:
            self.why = why

    def applied(self, policy: PreparedCompaction, one: Returned) -> None:
        """Take note that a list shows what arrived; the caller holds the engine's lock."""
        self._arrived, self.why = None, None
        self._failures, self._again = 0, 0.0
        saved = one.before - one.tokens
        policy.counters.applied += 1
        policy.counters.tokens_saved += max(saved, 0)
        figures: dict[str, object] = {
            "before_tokens": one.before,
            "after_tokens": one.tokens,
            "dropped": one.count,
            "tokens_saved": saved,
            "waited": 0.0,
            "spent": one.spent,
        }
        self._summaries.unrecorded.append(("applied", figures, ()))
        why = "the first list since it arrived"
        fields = {"tokens": one.tokens, "tokens_saved": saved, "spent": one.spent}
        self._track.turn("applied", why, boundary=one.count, **fields)

    def close(self) -> None:
        """Abandon what was asked for; the caller holds the engine's lock."""
        self._closed = True
        if (job := self.asked) is not None:
            self._drop(job)
            self._track.turn("discarded", "the memory was closed", boundary=job.sent.count)

    def forget(self) -> None:
        """Remove what arrived if it was erased; the caller holds the engine's lock."""
        one = self._arrived
        if one is not None and not self._is_kept(one):
            self._arrived = None

    def _run(self, job: Asked) -> None:
        """Wait for the provider, in the worker's thread."""
        writer = job.policy.summarizer
        assert isinstance(writer, summarize.ProviderCompaction)  # noqa: S101 - the caller looked
        lost, made = 0, None
        why, error = "", ""
        try:
            made = writer.compact(job.sent.request)
            lost = _lost(job.sent, made.text)
        except BaseException as caught:  # noqa: BLE001 - the thread has nobody to raise to
            why, error = str(caught) or type(caught).__name__, type(caught).__name__
            if isinstance(caught, SummarizerError) and caught.__cause__ is not None:
                error = type(caught.__cause__).__name__
        with self._engine.lock:
            if made is not None:
                job.policy.counters.spent += 0 if made.usage is None else made.usage.tokens
            if job is not self.asked:  # abandoned, or closed
                job.policy.counters.wasted += (
                    0 if made is None or made.usage is None else made.usage.tokens
                )
                job.release()
            elif made is None:
                self._fail(job, why, error)
            else:
                try:
                    self._keep(job, made, lost)
                except WarmsetError as caught:
                    self._fail(job, f"the compaction could not be kept: {caught}", kind(caught))
                finally:
                    self._drop(job)
            self._summaries.record()
        self._track.tell(job.policy.on_event, job.policy.counters)
        self._engine.notices.tell()

    def _keep(self, job: Asked, made: Compacted, lost: int) -> None:
        """Store what the provider returned."""
        engine, ledger, sent = self._engine, self._ledger(), job.sent
        path, counters = ledger.history.path, job.policy.counters
        if len(path) < sent.count or path[sent.count - 1] != sent.head:
            counters.stale += 1
            counters.wasted += 0 if made.usage is None else made.usage.tokens
            self._track.turn("stale", "the conversation changed before its end")
            return
        spent = 0 if made.usage is None else made.usage.tokens
        counted = sum(message_tokens(list(made.messages), engine.encoding))
        tokens = max(counted, 0 if made.usage is None or made.text else made.usage.output)
        figures: dict[str, Any] = {"spent": spent, "lost": lost, "tokens": tokens}
        fields = {
            "what": WHAT,
            "mark": sent.count,
            "policy": job.policy.fingerprint,
            "after": sent.token,
            "behind": sent.behind.encode(),
            "before": sent.tokens,
            **figures,
        }
        payload = json.dumps({"text": made.text, "messages": made.messages}, ensure_ascii=False)
        row = derived_draft(
            "prepared",
            ledger.tenant,
            ledger.name,
            fields,
            payload.encode("utf-8", "surrogatepass"),
            sent.sources,
        )
        by = type(job.policy.summarizer).__name__
        run = {"before_tokens": sent.tokens, "after_tokens": tokens, "by": by}
        run |= {"dropped": sent.count, "spent": spent, "lost": lost}
        ids = engine.put([row, episode(ledger, "prepared", run)])
        self._arrived = Returned(
            id=None if isinstance(ids, Spooled) else ids[0],
            token=sent.token,
            count=sent.count,
            head=sent.head,
            behind=sent.behind,
            messages=made.messages,
            text=made.text,
            tokens=tokens,
            before=sent.tokens,
            spent=spent,
            sources=sent.sources,
        )
        counters.prepared += 1
        self._failures, self._again = 0, 0.0
        saved = {"tokens_saved": sent.tokens - tokens, "spent": spent}
        why = "the provider compacted the list"
        self._track.turn("ready", why, boundary=sent.count, tokens=tokens, **saved)

    def _expire(self) -> None:
        job = self.asked
        if job is not None and job.policy.clock() - job.begun > job.policy.timeout:
            why = f"the provider gave no answer in {job.policy.timeout:g} seconds"
            self._fail(job, why, "late")

    def _fail(self, job: Asked, why: str, error: str) -> None:
        self._failures += 1
        self._again = job.policy.clock() + job.policy.pause(self._failures)
        self.why = why
        job.policy.counters.failed += 1
        fields = {"what": WHAT, "error": error, "refused": None, "boundary": job.sent.count}
        self._summaries.note(logging.WARNING, "failed", **fields, messages=job.sent.count)
        figures: dict[str, object] = {"why": why, "dropped": 0, "before_tokens": job.sent.tokens}
        self._summaries.unrecorded.append(("failed", figures, job.sent.sources))
        self._drop(job)
        self._track.turn("failed", why, boundary=job.sent.count)

    def _turn_stale(self, why: str, policy: PreparedCompaction, one: Returned) -> None:
        self._arrived = None
        self._seen = self._engine.derived.last  # it is not taken from the store again
        policy.counters.stale += 1
        policy.counters.unused += not one.adopted
        policy.counters.wasted += one.spent
        if self._track.state not in ("idle", "stale", "preparing"):
            self._track.turn("stale", why, boundary=one.count, spent=one.spent)

    def _drop(self, job: Asked) -> None:
        if self.asked is job:
            self.asked = None
        job.release()

    def _stands(self, one: Returned, tokens: Collection[str]) -> bool:
        path = self._ledger().history.path
        kept = len(path) >= one.count and path[one.count - 1] == one.head
        return kept and one.token in tokens and self._is_kept(one)

    def _is_kept(self, one: Returned) -> bool:
        """Return whether neither it nor a message that it was made from was erased."""
        if one.id is not None:
            return one.id in self._engine.derived
        entries, derived = self._ledger().entries, self._engine.derived
        return all(id_ in entries or id_ in derived for id_ in one.sources)

    def _ledger(self) -> Ledger:
        return self._engine.ledger(self._track.tenant, self._track.conversation)


def _lost(sent: SentOut, text: str) -> int:
    """Count the facts of a list that a compaction does not state; 0 where it cannot be read."""
    if not text:
        return 0
    with suppress(WarmsetError):
        return len(summarize.audit(sent.request.messages, text, dialect=sent.request.dialect).lost)
    return 0


def _read(engine: Engine, ledger: Ledger, made: Made) -> Returned | None:
    """Read a record; None if the conversation's path is not the one of its list."""
    fields, path = made.fields, ledger.history.path
    count = fields.get("mark")
    if not isinstance(count, int) or not 0 < count <= len(path):
        return None
    behind = Prefix.decode(fields.get("behind"))
    if behind is None or not made.sources or made.sources[0] != path[count - 1]:
        return None
    try:
        whole = json.loads(engine.store.get(made.id).payload.decode("utf-8", "surrogatepass"))
        return Returned(
            id=made.id,
            token=str(fields["after"]),
            count=count,
            head=path[count - 1],
            behind=behind,
            messages=tuple(whole["messages"]),
            text=str(whole["text"]),
            tokens=int(fields["tokens"]),
            before=int(fields["before"]),
            spent=int(fields["spent"]),
            sources=made.sources,
            adopted=True,
        )
    except (KeyError, TypeError, ValueError, StoreError):
        return None
