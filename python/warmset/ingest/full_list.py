"""Matches a full list with a conversation: what is stored, what is new, and where it branches.

A list usually is the conversation with new messages at its end. It may also begin with one of the
last windows of the conversation, because the caller sends windows back as its history. Then the
turns that the window left out belong to the list as well, and what the window added does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset import messages
from warmset._core import content_hash
from warmset.ingest.likeness import ListLikeness
from warmset.ingest.own_blocks import own_blocks
from warmset.messages.canonical import SAME, form_of
from warmset.state.branches import ROOT
from warmset.state.matching import match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from warmset.ingest.given_list import GivenList
    from warmset.messages import Message
    from warmset.messages.canonical import Form, Variant
    from warmset.state.forms import Read
    from warmset.state.ledger import Ledger
    from warmset.state.matching import Match
    from warmset.state.rendered import Recognised


@dataclass(frozen=True, slots=True)
class Fresh:
    """A message to append.

    Args:
        digest: Its content hash.
        message: The message, if it is neither in the list nor a copy of a stored one.
        copy_of: The id of the message that it is a copy of.
        place: Its position in the list; None if it is not in the list itself.
    """

    digest: bytes
    message: Message | None = None
    copy_of: int = ROOT
    place: int | None = None


@dataclass(frozen=True, slots=True)
class FullList:
    """A list that was matched with a conversation.

    Args:
        head: The stored message that the new ones follow; `ROOT` if they are the first ones.
        moved: Whether that is another message than the newest one, or than one in the spool.
        fresh: The new messages, in order.
        kept: The number of messages at the front that need not be stored.
        branched_at: The position on the path at which the list leaves it; None if it does not.
        recognised: The number of messages at the front that a window held.
        variants: How the list has messages, by their ids, where it has them otherwise than the
            store; see `Ledger`.
    """

    head: int
    moved: bool
    fresh: list[Fresh]
    kept: int
    branched_at: int | None
    recognised: int
    variants: Mapping[int, Variant]


def match_list(ledger: Ledger, listed: GivenList, read: Read) -> FullList:
    """Match a full list with a conversation; the caller holds the engine's lock.

    Args:
        ledger: The conversation.
        listed: The list.
        read: Reads stored messages by their ids.

    Returns:
        What is stored, and what is new.
    """
    listed.leave_stored(ledger)
    digests, size = listed.digests, len(listed.digests)

    def given(start: int, end: int = size) -> list[Fresh]:
        return [Fresh(digests[at], place=at) for at in range(start, end)]

    likeness = ListLikeness(ledger, read, listed.forms)
    found, recognised = match(ledger.history, digests, likeness), None
    if found.branched_at is not None:
        recognised = ledger.windows.recognise(digests, len(found.of), likeness)
    quoting: dict[int, Message | None] = {}
    if recognised is None:
        quoting = own_blocks(listed, range(len(found.of), size))
    if recognised is None and not quoting:
        fresh = given(len(found.of))
        variants = _variants(ledger, found, found.ids)
    else:
        if recognised is None:
            whole = [_bare(one, quoting) for one in given(0) if quoting.get(one.place or 0, one)]
        else:
            before = _before(ledger, given(*recognised.edited), recognised)
            whole = [*before, *given(recognised.count)]
        own = ListLikeness(ledger, read, _forms_of(ledger, listed, whole, read))
        found = match(ledger.history, [one.digest for one in whole], own)
        fresh = whole[len(found.of) :]
        pairs = zip(whole, found.of, strict=False)
        listed_ids = [id_ for one, id_ in pairs if one.place is not None]
        shown = None if recognised is None else recognised.variants
        variants = _variants(ledger, found, listed_ids, shown)
    history = ledger.history
    head = found.ids[-1] if found.ids else ROOT
    moved = head != history.head
    if history.awaited_after is not None:
        ahead = history.awaited
        same = [one.digest for one in fresh[: len(ahead)]] == ahead
        in_spool = history.awaited_after == head and same
        fresh = fresh[len(ahead) :] if in_spool else fresh  # stored, but still without ids
        moved = not in_spool  # what is in the spool would come before what follows
    if fresh:
        ours, forms = ledger.windows.ours(), _forms_of(ledger, listed, fresh, read)
        fresh = [
            one
            for at, one in enumerate(fresh)
            if not ours or not (one.digest in ours or {form.digest for form in forms(at)} & ours)
        ]
    first = next((one.place for one in fresh if one.place is not None), size)
    return FullList(
        head=head,
        moved=moved,
        fresh=fresh,
        kept=first,
        branched_at=found.branched_at,
        recognised=0 if recognised is None else recognised.count,
        variants=variants,
    )


def _bare(one: Fresh, quoting: Mapping[int, Message | None]) -> Fresh:
    """Return a message of a list without what we quoted in it."""
    left = None if one.place is None else quoting.get(one.place)
    return one if left is None else Fresh(content_hash(messages.dumps(left)), left)


def _variants(
    ledger: Ledger,
    found: Match,
    listed: Iterable[int],
    shown: Mapping[int, Variant] | None = None,
) -> Mapping[int, Variant]:
    """Return how the caller has the messages of a conversation now.

    Args:
        ledger: The conversation.
        found: How the list meets it.
        listed: Ids of the messages that the list itself has, or leaves out.
        shown: How it has those that a window held.
    """
    now = found.variants if shown is None else {**shown, **found.variants}
    before = ledger.variants
    if not before:
        return {id_: one for id_, one in now.items() if one is not SAME} if now else before
    seen = {*listed, *now}
    made = {id_: one for id_, one in before.items() if id_ not in seen}
    made |= {id_: one for id_, one in now.items() if one is not SAME}
    return before if made == before else made


def _forms_of(
    ledger: Ledger, listed: GivenList, batch: Sequence[Fresh], read: Read
) -> Callable[[int], tuple[Form, ...]]:
    """Return a function that returns the forms of a message of a batch, by its position."""

    def forms(at: int) -> tuple[Form, ...]:
        one = batch[at]
        if one.place is not None:
            return listed.forms(one.place)
        if one.message is not None:
            return (form_of(one.message),)
        return (ledger.forms.get(one.copy_of, ledger.history.path, read),)

    return forms


def _before(ledger: Ledger, edited: list[Fresh], found: Recognised) -> list[Fresh]:
    """Return all turns that a window stands for, with those that were edited in it."""
    history = ledger.history
    path = [] if found.until == ROOT else [found.until, *history.ancestors(found.until)][::-1]
    turns = [Fresh(history.digest_of(id_), copy_of=id_) for id_ in path]
    if edited:
        turns = [
            *(one for one in turns if one.copy_of <= found.front),
            *edited,
            *(one for one in turns if one.copy_of > found.after),
        ]
    if found.request is not None:
        dialect = ledger.dialect or "openai"
        asked = messages.text_message(dialect, "user", found.request)
        turns.append(Fresh(content_hash(messages.dumps(asked)), asked))
    return turns
