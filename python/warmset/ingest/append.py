"""Appends messages to a conversation: check them, match them with stored ones, store them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from warmset import messages
from warmset._support.log import event, room
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.ingest.full_list import match_list
from warmset.ingest.replies import Replies, sent_with
from warmset.ingest.turn import Synced
from warmset.store.records import TurnMeta
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from datetime import datetime

    from warmset.engine.engine import Engine
    from warmset.ingest.full_list import Fresh
    from warmset.messages import Dialect, Message, MessageLike
    from warmset.state.ledger import Ledger

LOG: Final = room("store")

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


def append_messages(
    engine: Engine, ledger: Ledger, given: Given, beside: Beside, window: object = None
) -> list[int]:
    """Append messages to a conversation; see `Conversation.append`."""
    sent = sent_with(window)
    try:
        with engine.lock:
            ledger = engine.ledger(ledger.tenant, ledger.name)  # it may have been erased meanwhile
            batch, found = _accept(ledger, given)
            replies = Replies(engine, ledger, ledger.history.head, sent)
            ids = _append(engine, ledger, batch, beside.of(found), replies)
    finally:
        engine.notices.tell()
    engine.room()
    return ids


def sync_messages(engine: Engine, ledger: Ledger, given: Given, beside: Beside) -> Synced:
    """Make a conversation equal to a full list; see `Conversation.sync`."""
    try:
        synced = _sync(engine, ledger, given, beside)
        if synced.left_most:
            event(
                LOG,
                logging.WARNING,
                "branched",
                tenant=ledger.tenant,
                conversation=ledger.name,
                branched_at=synced.branched_at,
                left=synced.left,
            )
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
        try:
            listed = match_list(ledger, full, known)
        except InvalidInputError:
            messages.accept(full)  # the same error, with the message's position in the whole list
            raise
        plain = [_read(engine, one) for one in listed.fresh]
        try:
            dialect = _settle(ledger, plain)
        except InvalidMessageError as error:
            place = listed.fresh[error.index].place
            raise type(error)(error.index if place is None else place, error.why) from None
        at = listed.branched_at
        left = 0 if at is None else len(ledger.history.path) - at
        result = Synced(listed.kept, [], at, listed.recognised, left)
        if plain:
            one = beside.of(dialect)
            first = replace(one, parent=listed.head) if listed.moved else one
            replies = Replies(engine, ledger, listed.head, None)
            ids = _append(engine, ledger, plain, one, replies, first=first)
            result = replace(result, appended=ids)
        elif listed.moved:
            engine.move(ledger, listed.head)
        ledger.snapshot.take(full, known, listed.digests)
        return result


def _append(
    engine: Engine,
    ledger: Ledger,
    batch: Sequence[Message],
    meta: TurnMeta,
    replies: Replies,
    *,
    first: TurnMeta | None = None,
) -> list[int]:
    """Append messages with their meta, and what the replies among them were made behind.

    Args:
        engine: The store.
        ledger: The conversation.
        batch: The messages.
        meta: The meta of each.
        replies: Finds what they were made behind.
        first: The meta of the first one, if it is another.
    """
    dialect = ledger.dialect or meta.dialect or "openai"
    metas = [meta] * len(batch) if first is None else [first, *[meta] * (len(batch) - 1)]
    metas = [
        one if prefix is None else replace(one, behind=prefix)
        for one, prefix in zip(metas, replies.behind(batch, dialect), strict=True)
    ]
    ids = engine.append(ledger, batch, metas)
    replies.stored(ids, [messages.facts(message, dialect).role for message in batch])
    return ids


def _read(engine: Engine, fresh: Fresh) -> Message:
    return engine.message(fresh.copy_of) if fresh.message is None else fresh.message


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
    return batch, _settle(ledger, batch)


def _settle(ledger: Ledger, batch: list[Message]) -> Dialect | None:
    """Check that messages are of the conversation's dialect, and return it, if there is one."""
    messages.settle(batch, None, ledger.dialect)
    return ledger.dialect or messages.detect(batch)
