"""What a cache keeps of a conversation beside its messages, and taking it up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.store.records import dump, load

if TYPE_CHECKING:
    from warmset._core import Turns
    from warmset.state.ledger import Ledger


def kept(ledger: Ledger) -> bytes:
    """Return all that records told of a conversation besides its messages; the lock is held."""
    history = ledger.history
    return dump(
        {
            "dialect": ledger.dialect,
            "speakers": ledger.speakers,
            "addressed": ledger.addressed.heard(),
            "branched": history.branched,
            "moved": history.moved,
            "moves": _pairs(history.moves),
            "opaque": _pairs(history.opaque),
            "heirs": [[id_, *of] for id_, of in history.heirs.items()],
            "session": ledger.session,
            "behind": ledger.sent_lists.stored or None,
            "decides": _pairs(ledger.entries.decided()),
        }
    )


def restore(ledger: Ledger, turns: Turns, beside: bytes) -> None:
    """Give an empty conversation its messages, and what `kept` returned of it.

    Raises:
        InvalidInputError: It is not what `kept` returns.
        KeyError: A part is missing.
        TypeError: A part has another type.
        ValueError: A part has another form.
    """
    fields: dict[str, Any] = load(beside)
    for id_, decides in fields.get("decides", ()):
        turns.decide(id_, bool(decides))
    ledger.restore(turns)
    history = ledger.history
    ledger.dialect = fields.get("dialect")
    ledger.speakers = dict(fields.get("speakers", {}))
    ledger.addressed.restore(fields.get("addressed", {}))
    history.branched = bool(fields.get("branched"))
    history.moved = int(fields["moved"])
    history.moves = dict(fields.get("moves", ()))
    history.opaque = dict(fields.get("opaque", ()))
    history.heirs = {id_: tuple(of) for id_, *of in fields.get("heirs", ())}
    number, name, last = fields["session"]
    ledger.session = (int(number), name, float(last))
    if fields.get("behind"):
        ledger.sent_lists.stored = ledger.sent_lists.ever = True


def beside_messages(ledger: Ledger) -> list[int]:
    """Return the ids of a conversation's records that are no messages; the lock is held."""
    history = ledger.history
    return [*history.opaque, *history.moves]


def beside_saved(beside: bytes) -> list[int]:
    """Return what `beside_messages` returned when `kept` returned this.

    Raises:
        InvalidInputError: It is not what `kept` returns.
        ValueError: A part has another form.
    """
    fields = load(beside)
    return [int(id_) for id_, _ in (*fields.get("opaque", ()), *fields.get("moves", ()))]


def _pairs(known: dict[int, Any]) -> list[list[Any]]:
    """Return a mapping as JSON can keep it: its keys are no texts."""
    return [[key, value] for key, value in known.items()]
