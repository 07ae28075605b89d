"""Stores an exchange's choices, and finds those that another process stored.

Only choices for a message of the conversation are stored: a request that is not appended is asked
once. They are written without a sync, because they can be made again.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from warmset._support.log import room
from warmset.errors import StoreError
from warmset.pick import Picked
from warmset.store.choices import StoredChoices, choices_draft, decode_choices
from warmset.store.descriptions import Described
from warmset.window.choices import Frozen, Unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.engine.engine import Engine
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.store.derived import Made
    from warmset.window.choices import Settled, Unused
    from warmset.window.request import Request

LOG: Final = room("window")

Key: TypeAlias = tuple[object, ...]

_HASH: Final = 12
"""Bytes of the hash of a request and its options."""


def last_for(engine: Engine, ledger: Ledger, request: Request) -> Made | None:
    """Return the record of the newest choices, if they were made for this request.

    The caller holds the engine's lock.
    """
    made = engine.choices.get((ledger.tenant, ledger.name))
    return made if made is not None and request.id == made.sources[0] else None


def store_choices(
    engine: Engine,
    ledger: Ledger,
    request: Request,
    key: Key,
    made: Frozen | Unchanged,
) -> None:
    """Store the choices of the exchange's first window; the caller holds the engine's lock.

    Where that fails, another process chooses anew.
    """
    if request.id is None or engine.store.path is None or not engine.opening.writes:
        return
    began, pinned = ledger.pinned or ((), ())
    one = StoredChoices(
        request=request.id,
        key=_hash(key),
        whole=True,
        memories=made.memories,
        pinned=pinned if began == request.key else (),
    )
    if isinstance(made, Frozen):
        summary = made.summary
        if summary is not None and summary.id is None:
            return  # it lies in the spool
        by_picker = made.picked.by != "score"
        one = replace(
            one,
            whole=False,
            since=made.since,
            summary=None if summary is None else summary.id,
            quoted=made.quoted,
            lines=[entry.id for entry in made.lines],
            described=[
                None if entry.described is None else entry.described.record for entry in made.lines
            ],
            picked=made.picked.ids if by_picker else (),
            changed=made.changed,
            least=made.least,
            unused=made.unused,
            by=made.picked.by,
            why=made.picked.why,
        )
    try:
        engine.put([choices_draft(ledger.tenant, ledger.name, one)], sync=False)
    except StoreError as error:
        engine.notices.note(
            LOG,
            logging.WARNING,
            "failed",
            what="choices",
            tenant=ledger.tenant,
            conversation=ledger.name,
            error=type(error).__name__,
        )


def stored_choices(
    engine: Engine,
    ledger: Ledger,
    request: Request,
    key: Key,
    summary_of: Callable[[int], Settled | None] | None,
) -> Frozen | Unchanged | None:
    """Return the choices that another process made for the request; None if there are none.

    The caller holds the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        request: The request.
        key: What the choices are for.
        summary_of: Reads a prepared summary; None without a policy.
    """
    made = last_for(engine, ledger, request)
    one = None if made is None else decode_choices(made)
    if one is None or one.key != _hash(key):
        return None
    if one.whole:
        return Unchanged(key, tuple(one.memories))
    summary = None
    if one.summary is not None:
        summary = None if summary_of is None else summary_of(one.summary)
        if summary is None:
            return None
    if any(id_ not in ledger.entries for id_ in (*one.lines, *one.quoted)):
        return None
    return Frozen(
        key=key,
        found=None,
        picked=Picked(tuple(one.picked), one.by, one.why),
        quoted=tuple(one.quoted),
        lines=tuple(
            _as_described(ledger.entries[id_], record)
            for id_, record in zip(one.lines, one.described, strict=True)
        ),
        since=one.since,
        summary=summary,
        changed=tuple(one.changed),
        least=one.least,
        unused=cast("Unused | None", one.unused),
        memories=tuple(one.memories),
    )


def _as_described(entry: Entry, record: int | None) -> Entry:
    """Return a message with the description that it had, for its line in the index."""
    return replace(entry, described=None if record is None else Described(record, None))


def _hash(key: Key) -> str:
    """Return a hash that is the same in every process.

    The ids in a key are left out, because they change when a store is imported; a picker and a
    policy count by what they are.
    """
    _, text, _, *options, weights, picker, policy = key
    parts = (
        text,
        options,
        weights,
        None if picker is None else f"{type(picker).__module__}.{type(picker).__qualname__}",
        getattr(policy, "fingerprint", None),
    )
    words = repr(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, digest_size=_HASH).hexdigest()
