"""Appends messages to a conversation: check them, match them with stored ones, store them."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from warmset import messages
from warmset._support.log import event, room
from warmset.errors import Conflict, InvalidInputError, InvalidMessageError, NotFound
from warmset.ingest.full_list import match_list
from warmset.ingest.given_list import GivenList
from warmset.ingest.keys import Keyed, checked_keys
from warmset.ingest.plain import PLAIN
from warmset.ingest.replies import Replies, sent_with
from warmset.ingest.turn import Synced, id_of
from warmset.messages.model import FixedList
from warmset.store.records import TurnMeta
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from datetime import datetime

    from warmset.engine.engine import Engine
    from warmset.engine.redaction import Redactor
    from warmset.ingest.full_list import Fresh
    from warmset.messages import Dialect, Message, MessageLike
    from warmset.messages.canonical import Variant
    from warmset.state.branches import PathMark
    from warmset.state.ledger import Ledger
    from warmset.state.sent_lists import SentList

TRIES: Final = 100
"""How often messages with keys are matched anew because another process stored some meanwhile."""

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

    def redacted(self, redactor: Redactor) -> Beside:
        """Return them with the speaker's name and the caller's fields redacted.

        Raises:
            InvalidInputError: The caller's fields are not plain JSON.
            RedactionError: The redaction hook failed.
        """
        speaker, meta = self.speaker, self.meta
        if isinstance(speaker, str) and speaker.strip():
            speaker = redactor.text(speaker).strip() or None
        if isinstance(meta, Mapping):
            meta = redactor.data(_plain_fields(meta))
        return replace(self, speaker=speaker, meta=meta)

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
        extra = None if self.meta is None else _plain_fields(self.meta)
        return TurnMeta(
            at=seconds(time.time() if self.at is None else self.at),
            speaker=speaker,
            session=None if session is None else str(session),
            dialect=dialect,
            extra=extra,
        )


def _plain_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return messages.loads(messages.dumps(dict(given)))
    except InvalidInputError as error:
        raise InvalidInputError(f"meta: {error}") from error


def append_messages(
    engine: Engine,
    ledger: Ledger,
    given: Given,
    beside: Beside,
    redactor: Redactor,
    *,
    window: object = None,
    key: object = None,
    after: int | None = None,
) -> list[int]:
    """Append messages to a conversation; see `Conversation.append`."""
    sent = sent_with(window)
    if after is not None and key is not None:
        raise InvalidInputError("append: expected `key` or `after`, not both")
    follows = None if after is None else id_of(after)
    taken, payloads = _written(given, redactor)
    keys = checked_keys(key, len(taken))
    batch = taken if payloads else redactor.messages(taken)
    changed = 0 if payloads else sum(map(operator.is_not, batch, taken))
    beside = beside.redacted(redactor)
    try:
        if keys is not None:
            ids, changed = _append_once(engine, ledger, batch, taken, keys, beside, sent)
        else:
            with engine.lock:
                ledger = engine.ledger(ledger.tenant, ledger.name)  # it may have been erased
                found = _settle(ledger, batch)
                parent = _parent(ledger, follows)
                meta = beside.of(found)
                first = replace(meta, parent=parent) if batch and parent is not None else None
                head = ledger.history.head if parent is None else parent
                replies = Replies(engine, ledger, head, sent)
                ids = _append(
                    engine,
                    ledger,
                    batch,
                    meta,
                    replies,
                    given=taken,
                    first=first,
                    payloads=payloads,
                )
    finally:
        engine.notices.tell()
    redactor.note(ledger.tenant, ledger.name, changed)
    engine.room()
    return ids


def _parent(ledger: Ledger, after: int | None) -> int | None:
    """Return the message that the first one of a batch follows; None for the end of the path.

    Raises:
        NotFound: The conversation has no message of that id.
    """
    history = ledger.history
    if after is None or after in history:
        # What is in the spool comes first: it has no id yet that could be named.
        waits = after == history.head and history.awaited_after is not None
        return None if waits else after
    raise NotFound(f"conversation {ledger.name!r} has no message with id {after}")


def _append_once(
    engine: Engine,
    ledger: Ledger,
    batch: Sequence[Message],
    given: Sequence[Message],
    keys: Sequence[str],
    beside: Beside,
    sent: SentList | None,
) -> tuple[list[int], int]:
    """Append those messages whose keys are not on the path yet.

    Args:
        engine: The store.
        ledger: The conversation.
        batch: The messages.
        given: The same before they were redacted.
        keys: The key of each.
        beside: What is kept beside each.
        sent: The list that a reply among them was made behind, if the caller names it.

    Returns:
        The id of each message, and the number of those that were redacted and stored.

    Raises:
        Conflict: A message of the path has one of the keys, and other content.
    """
    whose, left = (ledger.tenant, ledger.name), TRIES
    with engine.lock:
        while True:
            ledger = engine.ledger(*whose)  # it may have been erased meanwhile
            found = _settle(ledger, [*batch])
            keyed = Keyed(ledger, batch, keys)
            fresh, plain = keyed.pick(batch), keyed.pick(given)
            replies = Replies(engine, ledger, ledger.history.head, sent)
            meta, named = beside.of(found), keyed.pick(keys)
            left -= 1
            try:
                stored = _append(engine, ledger, fresh, meta, replies, given=plain, keys=named)
                break
            except Conflict as error:  # another process has stored one since
                ledger = engine.ledger(*whose)
                if not left or not keyed.is_settled(ledger, error):
                    raise keyed.placed(ledger, error) from None
    if keyed.skipped:
        names = {"tenant": ledger.tenant, "conversation": ledger.name}
        event(LOG, logging.INFO, "skipped", **names, messages=keyed.skipped)
    changed = sum(new is not old for new, old in zip(fresh, plain, strict=True))
    return keyed.ids(stored), changed


def sync_messages(
    engine: Engine, ledger: Ledger, given: Given, beside: Beside, redactor: Redactor
) -> tuple[Synced, PathMark]:
    """Make a conversation equal to a full list; see `Conversation.sync`.

    Returns:
        What became of the list, and the path that it is now.
    """
    listed = _listed(ledger, given, redactor)
    beside = beside.redacted(redactor)
    try:
        synced, mark = _sync(engine, ledger, listed, beside)
        redactor.note(ledger.tenant, ledger.name, synced.redacted)
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
    return synced, mark


def _listed(ledger: Ledger, given: Given, redactor: Redactor) -> GivenList:
    """Read a full list, before any lock is taken."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise _no_list(given)
    full: list[Any] = list(given)
    fixed = isinstance(given, FixedList)
    try:
        return GivenList.read(full, ledger.last_list, redactor, fixed=fixed)
    except InvalidInputError:
        messages.accept(full)  # the same error, with the message's position in the whole list
        raise


def _sync(
    engine: Engine, ledger: Ledger, listed: GivenList, beside: Beside
) -> tuple[Synced, PathMark]:
    with engine.lock:
        ledger = engine.ledger(ledger.tenant, ledger.name)  # it may have been erased meanwhile
        matched = match_list(ledger, listed, engine.messages)
        plain = [_read(engine, listed, one) for one in matched.fresh]
        try:
            dialect = _settle(ledger, plain)
        except InvalidMessageError as error:
            place = matched.fresh[error.index].place
            raise type(error)(error.index if place is None else place, error.why) from None
        at = matched.branched_at
        left = 0 if at is None else len(ledger.history.path) - at
        places = [one.place for one in matched.fresh if one.place is not None]
        redacted = sum(map(listed.is_redacted, places))
        result = Synced(matched.kept, [], at, matched.recognised, left, redacted)
        _show_as(ledger, matched.variants)
        if plain:
            one = beside.of(dialect)
            first = replace(one, parent=matched.head) if matched.moved else one
            replies = Replies(engine, ledger, matched.head, None)
            given = [
                new if fresh.place is None else listed.original(fresh.place)
                for fresh, new in zip(matched.fresh, plain, strict=True)
            ]
            ids = _append(engine, ledger, plain, one, replies, given=given, first=first)
            result = replace(result, appended=ids)
        elif matched.moved:
            engine.move(ledger, matched.head)
        ledger.last_list.take(listed.draft, listed.digests)
        mark = ledger.history.mark()
        return replace(result, head=mark.head or None), mark


def _show_as(ledger: Ledger, variants: Mapping[int, Variant]) -> None:
    """Take note of how the caller's list has stored messages."""
    before, ledger.variants = ledger.variants, variants
    if {id_ for id_ in before if before[id_].bare} != {
        id_ for id_ in variants if variants[id_].bare
    }:
        ledger.path_hash = None


def _append(
    engine: Engine,
    ledger: Ledger,
    batch: Sequence[Message],
    meta: TurnMeta,
    replies: Replies,
    *,
    given: Sequence[Message],
    first: TurnMeta | None = None,
    keys: Sequence[str] | None = None,
    payloads: Sequence[bytes] | None = None,
) -> list[int]:
    """Append messages with their meta, and what the replies among them were made behind.

    Args:
        engine: The store.
        ledger: The conversation.
        batch: The messages.
        meta: The meta of each.
        replies: Finds what they were made behind.
        given: The messages before they were redacted, as the model saw them.
        first: The meta of the first one, if it is another.
        keys: The key of each, if they have keys.
        payloads: Each as it is written, where that is known.
    """
    dialect = ledger.dialect or meta.dialect or "openai"
    metas = [meta] * len(batch) if first is None else [first, *[meta] * (len(batch) - 1)]
    metas = [
        one if prefix is None else replace(one, behind=prefix)
        for one, prefix in zip(metas, replies.behind(given, dialect), strict=True)
    ]
    if keys is not None:
        metas = [replace(one, key=key) for one, key in zip(metas, keys, strict=True)]
    ids = engine.append(ledger, batch, metas, payloads)
    replies.stored(ids, [messages.facts(message, dialect).role for message in batch])
    return ids


def _read(engine: Engine, listed: GivenList, fresh: Fresh) -> Message:
    if fresh.place is not None:
        return listed.message(fresh.place)
    return engine.message(fresh.copy_of) if fresh.message is None else fresh.message


def _no_list(given: object) -> InvalidMessageError:
    return InvalidMessageError(0, f"expected a list of messages, found {type(given).__name__}")


def _written(given: Given, redactor: Redactor) -> tuple[list[Message], list[bytes] | None]:
    """Return a caller's messages, and how they are written if they are stored as they are."""
    if not redactor.has_hook:
        listed: list[Any] | None = [given] if isinstance(given, dict) else None
        if isinstance(given, list):
            listed = [*given]
        if listed and (payloads := PLAIN.payloads(listed)):
            return listed, payloads
    return _accept(given), None


def _accept(given: Given) -> list[Message]:
    """Convert a caller's messages to dicts.

    Client-only fields are left out of dicts too, so that a message is recognised whether it is sent
    again as the SDK's object, as its dump, or as the store returned it.
    """
    one = isinstance(given, Mapping) or hasattr(given, "model_dump")
    if not one and not isinstance(given, Iterable):
        raise _no_list(given)
    taken = messages.accept([given] if one else cast("Iterable[object]", given))
    return [messages.without_client_only(message) for message in taken]


def _settle(ledger: Ledger, batch: list[Message]) -> Dialect | None:
    """Check that messages are of the conversation's dialect, and return it, if there is one."""
    messages.settle(batch, None, ledger.dialect)
    return ledger.dialect or messages.detect(batch)
