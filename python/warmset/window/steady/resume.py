"""Continues the epoch of a conversation with the messages since its last list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from warmset.store.epochs import request_hash
from warmset.window.steady.epoch import Epoch, beside_hash
from warmset.window.steady.record import recorded, standing

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.store.epochs import Insertion
    from warmset.window.render import Call
    from warmset.window.request import Request

FIRST: Final = "the conversation began"
BESIDE: Final = "the system prompt or the tools changed"
MODEL: Final = "the model changed"
PATH: Final = "a message in it was edited or erased, or its record is lost"


@dataclass(frozen=True, slots=True)
class Plan:
    """An epoch before anything is recalled.

    Args:
        key: Its dialect and model.
        recorded: The epoch as it was recorded last, whatever the path is now; None if there is
            none.
        last: The name of the record that the next one continues.
        now: The epoch with the messages since.
        begins: Whether an exchange begins with this window.
        at: The position of its request.
        sent: The number of messages that were sent, or whose place is settled, with the last list.
    """

    key: tuple[str, str]
    recorded: Epoch | None
    last: str
    now: Epoch
    begins: bool
    at: int
    sent: int

    def stands(self, engine: Engine, ledger: Ledger) -> bool:
        """Return whether nothing was recorded or appended since; the caller holds the lock."""
        current = engine.ledger(ledger.tenant, ledger.name)
        path = ledger.history.path
        last = engine.epochs_of(ledger.tenant, ledger.name).last(self.key)
        return (
            current is ledger
            and len(path) == self.now.count
            and ledger.history.head == self.now.head
            and last == self.last
        )


def resume(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    request: Request,
    pinned: Insertion | None = None,
) -> Plan:
    """Return the epoch that a window continues; the caller holds the engine's lock.

    Where the system prompt, the tools or the model are others, a new epoch begins that has the same
    messages, and those of ours, in the same places.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call.
        request: The request of the window.
        pinned: The memories that are pinned now, for an epoch that has nothing before.

    Raises:
        StoreError: A record could not be read.
    """
    epochs, key = engine.epochs_of(ledger.tenant, ledger.name), (call.target, call.model)
    known, beside = recorded(engine, ledger, key), beside_hash(call)
    base = standing(engine, ledger, key)
    if base is None:
        other = epochs.newest(call.target)
        base = None if other in (None, key) else standing(engine, ledger, other)
        first = known is None and not epochs.ended(key)
        why = MODEL if base is not None else FIRST if first else PATH
        number = epochs.number(key) + 1
        base = _empty(ledger, pinned) if base is None else base
        base = replace(base, number=number, why=why, token="")
    elif base.beside != beside:
        base = replace(base, number=base.number + 1, why=BESIDE, token="")
    path, digest = ledger.history.path, None
    if request.send is not None:
        digest = request_hash(request.send)
    answered = _is_asked(engine, ledger, base, digest)
    if base.asked is not None and not answered:
        base = base.without_unanswered()
    at = len(path) if digest is not None else ledger.accounts().asked_at
    begins = at is not None and at >= base.count and not (answered and at == base.count)
    now = replace(base, count=len(path), head=ledger.history.head, asked=digest, beside=beside)
    sent = base.count + (answered and len(path) > base.count)  # the request was sent as a text
    return Plan(key, known, epochs.last(key), now, begins, at or 0, sent)


def _empty(ledger: Ledger, pinned: Insertion | None) -> Epoch:
    """Return an epoch that covers nothing yet, with pinned memories behind the instructions."""
    if pinned is None:
        return Epoch()
    lead = leading(ledger)
    front = (replace(pinned, at=len(lead)),)
    return Epoch(start=len(lead), held=lead, lead=len(lead), insertions=front)


def leading(ledger: Ledger) -> tuple[int, ...]:
    """Return the positions of the system messages that begin the conversation."""
    live = ledger.live()
    return tuple(at for at, _ in enumerate(takewhile(lambda entry: entry.facts.is_system, live)))


def _is_asked(engine: Engine, ledger: Ledger, base: Epoch, digest: str | None) -> bool:
    """Return whether the request at an epoch's end is still asked, or was appended since."""
    path = ledger.history.path
    if base.asked is None:
        return False
    if len(path) == base.count:
        return base.asked == digest
    entry = ledger.entries[path[base.count]]
    return entry.facts.role == "user" and request_hash(engine.text(entry.id)) == base.asked
