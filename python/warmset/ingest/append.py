"""Appends messages to a conversation: check them, match them with stored ones, store them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from warmset import messages
from warmset._core import content_hash
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.ingest.turn import Synced
from warmset.store.records import TurnMeta
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from datetime import datetime

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message, MessageLike
    from warmset.state.ledger import Ledger

Given: TypeAlias = "Iterable[MessageLike] | MessageLike"
"""One message or several, as callers pass them."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The arguments besides the messages; see `Conversation.append`."""

    at: datetime | float | str | None
    speaker: str | None
    session: str | int | None
    meta: Mapping[str, Any] | None

    def of(self, dialect: Dialect | None) -> TurnMeta:
        """Check the arguments.

        Args:
            dialect: The dialect of the messages, if they determine one.

        Returns:
            The meta that is stored with each message.

        Raises:
            InvalidInputError: A field has the wrong type.
        """
        speaker, session = self.speaker, self.session
        if speaker is not None and (not isinstance(speaker, str) or not speaker.strip()):
            raise InvalidInputError(f"speaker: expected a name, found {speaker!r}")
        if session is not None and (
            isinstance(session, bool) or not isinstance(session, (str, int))
        ):
            raise InvalidInputError(f"session: expected a name or a number, found {session!r}")
        if self.meta is not None and not isinstance(self.meta, Mapping):
            raise InvalidInputError(f"meta: expected a mapping, found {self.meta!r}")
        try:
            extra = None if self.meta is None else messages.loads(messages.dumps(dict(self.meta)))
        except InvalidInputError as error:
            raise InvalidInputError(f"meta: {error}") from error
        return TurnMeta(
            at=seconds(time.time() if self.at is None else self.at),
            speaker=speaker,
            session=None if session is None else str(session),
            dialect=dialect,
            extra=extra,
        )


def append_messages(engine: Engine, ledger: Ledger, given: Given, beside: Beside) -> list[int]:
    """Append messages to a conversation; see `Conversation.append`."""
    try:
        with engine.lock:
            ledger = engine.ledger(ledger.tenant, ledger.name)  # it may have been erased meanwhile
            batch, found = _accept(ledger, given)
            ids = engine.append(ledger, batch, [beside.of(found)] * len(batch))
    finally:
        engine.notices.tell()
    engine.room()
    return ids


def sync_messages(engine: Engine, ledger: Ledger, given: Given, beside: Beside) -> Synced:
    """Make a conversation equal to a full list; see `Conversation.sync`."""
    try:
        synced = _sync(engine, ledger, given, beside)
    finally:
        engine.notices.tell()
    engine.room()
    return synced


def _sync(engine: Engine, ledger: Ledger, given: Given, beside: Beside) -> Synced:
    with engine.lock:
        ledger = engine.ledger(ledger.tenant, ledger.name)  # it may have been erased meanwhile
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise _no_list(given)
        full: list[Any] = list(given)
        known = ledger.snapshot.known(full)
        places = [at for at, digest in enumerate(known) if digest is None]
        try:
            batch, found = _accept(ledger, [full[at] for at in places])
        except InvalidInputError:
            _accept(ledger, full)  # the same error, with the message's position in the whole list
            raise
        hashed = iter([content_hash(messages.dumps(message)) for message in batch])
        digests = [next(hashed) if digest is None else digest for digest in known]
        match = ledger.history.match(digests)
        plain = dict(zip(places, batch, strict=True))
        kept, awaited = len(match.ids), ledger.history.awaited
        if awaited and match.branched_at is None and digests[kept : kept + len(awaited)] == awaited:
            kept += len(awaited)  # in the spool: stored, but still without ids
        fresh = [
            plain[at] if at in plain else messages.without_client_only(full[at])
            for at in range(kept, len(full))
        ]
        head = match.ids[-1] if match.ids else 0
        moved = head != ledger.history.head
        if not fresh:
            if moved:
                engine.move(ledger, head)
            ledger.snapshot.take(full, known, digests)
            return Synced(kept, [], match.branched_at)
        one = beside.of(found)
        metas = [replace(one, parent=head) if moved else one, *[one] * (len(fresh) - 1)]
        ids = engine.append(ledger, fresh, metas)
        ledger.snapshot.take(full, known, digests)
        return Synced(kept, ids, match.branched_at)


def _no_list(given: object) -> InvalidMessageError:
    return InvalidMessageError(0, f"expected a list of messages, found {type(given).__name__}")


def _accept(ledger: Ledger, given: Given) -> tuple[list[Message], Dialect | None]:
    """Convert a caller's messages to dicts, and detect their dialect, if they determine one.

    Client-only fields are left out of dicts too, so that a message is recognised whether it is sent
    again as the SDK's object, as its dump, or as the store returned it.
    """
    one = isinstance(given, Mapping) or hasattr(given, "model_dump")
    if not one and not isinstance(given, Iterable):
        raise _no_list(given)
    taken = messages.accept([given] if one else cast("Iterable[object]", given))
    batch = [messages.without_client_only(message) for message in taken]
    messages.settle(batch, None, ledger.dialect)
    return batch, ledger.dialect or messages.detect(batch)
