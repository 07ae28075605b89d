"""Epochs in the store: one record for each list that was made, with what it adds to the last one.

A window of mode "steady" only grows, so a record names no message that was sent: it has the number
of the conversation's messages, and the messages of ours that were added between them. Positions
count the messages of the conversation's path. A record names the one that it continues; of two that
continue the same record, the first one in the store holds, in every process.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from warmset.messages import DIALECTS
from warmset.messages.prefix import Prefix
from warmset.store.derived import derived_draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Dialect, Message
    from warmset.store.derived import Made
    from warmset.store.records import Draft

WHAT: Final = "epoch"
_KIND: Final = "item"

InsertionName: TypeAlias = Literal[
    "pinned",
    "anchor_day",
    "summary",
    "index",
    "memories",
    "recall",
    "listing",
    "day",
    "compaction",
]
_NAMES: Final = get_args(InsertionName)

InsertionRole: TypeAlias = Literal["user", "system", "developer"]
_ROLES: Final = ("user", "system", "developer")

_HASH: Final = 12
"""Bytes of a request's hash."""

_PLAIN: Final = 5
"""What is recorded of an insertion without memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a reply was made behind, before and after a compaction took the place of the front.

    Args:
        was: The hash of the messages before it when it was made.
        messages: The hash of the messages that stand before it instead.
        spoken: The same without thinking.
    """

    was: str
    messages: str
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """A message of ours in an epoch, or several; it stays where it was first sent.

    Args:
        name: "pinned" stands behind the instructions, or with the role "system" in the system
            prompt; "anchor_day" behind the task, "summary" and "index" before the first message
            that is shown, "memories" and "recall" before a request, "listing" before or behind one,
            "day" before the first message of a day; "compaction" is what a provider returned in the
            place of all before it.
        at: The number of the conversation's messages before it.
        text: Its text.
        quoted: Positions of the messages that it quotes.
        listed: Positions of the messages of which it has a line.
        messages: The messages of a compaction, as the provider returned them; none where it stands
            among the conversation's messages.
        hidden: Tokens of a compaction that its messages do not show.
        moved: The replies behind a compaction whose thinking stays valid.
        role: The role of the message; that of a quotation is "user".
        dated: Positions of the messages whose day it states, and whose phrases of time it has.
        memories: Ids of the memories, and of the turns of other conversations, that it quotes.
    """

    name: InsertionName
    at: int
    text: str
    quoted: tuple[int, ...] = ()
    listed: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()
    hidden: int = 0
    moved: tuple[Moved, ...] = ()
    role: InsertionRole = "user"
    dated: tuple[int, ...] = ()
    memories: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How an epoch begins.

    Args:
        number: Its number among the epochs of the conversation, the dialect and the model; from 1.
        start: The position of the first message from which on all are shown.
        held: Positions of the earlier messages that are shown as well, ascending.
        lead: How many of them come before the summary and the index.
        why: Why it began.
    """

    number: int
    start: int
    held: tuple[int, ...]
    lead: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one list added to an epoch.

    Args:
        token: The name of this record.
        after: The name of the record that it continues; empty if it is the first one.
        dialect: The dialect of the list.
        model: The model that the list is for; empty if that is not known.
        beside: The hash of the system prompt and the tools.
        count: The number of the conversation's messages that the list covers.
        asked: The hash of a request at its end that is not a message of the conversation.
        keep: What is kept of the list before: insertions at a lower position, and the front.
        behind: What a reply to the list is made behind, in dialects whose thinking is bound.
        begins: How the epoch begins; None if it goes on.
        insertions: The messages of ours that were added.
    """

    token: str
    after: str
    dialect: Dialect
    model: str
    beside: str
    count: int
    asked: str | None = None
    keep: int = 0
    behind: Prefix | None = None
    begins: Beginning | None = None
    insertions: tuple[Insertion, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The dialect and the model: epochs of different keys are independent."""
        return self.dialect, self.model


def step_draft(
    tenant: str, conversation: str, step: Step, head: int, made_of: Sequence[int]
) -> Draft:
    """Return the draft of a record.

    Args:
        tenant: The tenant's name.
        conversation: The conversation's name.
        step: What is recorded.
        head: The id of the last message that the list covers; 0 if there is none.
        made_of: Ids of the records that the insertions were made from; they are erased with any.
    """
    fields: dict[str, Any] = {
        "what": WHAT,
        "token": step.token,
        "after": step.after,
        "dialect": step.dialect,
        "model": step.model,
        "beside": step.beside,
        "count": step.count,
        "keep": step.keep,
    }
    if step.asked is not None:
        fields["asked"] = step.asked
    if step.behind is not None:
        fields["behind"] = step.behind.encode()
    if (one := step.begins) is not None:
        fields["begins"] = [one.number, one.start, list(one.held), one.lead, one.why]
    memories = [id_ for one in step.insertions for id_ in one.memories]
    beside = [*made_of, *memories] if head else memories
    sources = tuple(dict.fromkeys([head, *beside] if head else beside))
    place = {id_: at for at, id_ in enumerate(sources)}
    if step.insertions:
        fields["insertions"] = [
            [
                *(_named(one), one.at, list(one.quoted), list(one.listed), list(one.dated)),
                *([[place[id_] for id_ in one.memories]] if one.memories else ()),
            ]
            for one in step.insertions
        ]
    if sources and not head:
        fields["headless"] = True
    texts = [_written(one) for one in step.insertions]
    payload = json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return derived_draft(_KIND, tenant, conversation, fields, payload if texts else b"", sources)


def request_hash(text: str) -> str:
    """Return the hash of a request that is no message of the conversation."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH).hexdigest()


def is_step(made: Made) -> bool:
    """Return whether a record is of an epoch."""
    return made.kind == _KIND and made.fields.get("what") == WHAT and made.conversation is not None


def head_of(made: Made) -> int:
    """Return the id of the last message that a record's list covers; 0 if there is none."""
    return made.sources[0] if made.sources and not made.fields.get("headless") else 0


def decode_step(
    fields: Mapping[str, Any], payload: bytes | None, sources: Sequence[int] = ()
) -> Step | None:
    """Read a record; None if it is not as this version writes it.

    Args:
        fields: Its meta.
        payload: The texts of its insertions; None leaves them empty.
        sources: Ids of the records that it was made from.
    """
    try:
        texts: list[Any] | None = None
        if payload:
            texts = list(json.loads(payload.decode("utf-8", "surrogatepass")))
        begins, dialect = fields.get("begins"), fields["dialect"]
        rows = fields.get("insertions", [])
        if dialect not in DIALECTS or (texts is not None and len(texts) != len(rows)):
            return None
        return Step(
            token=str(fields["token"]),
            after=str(fields["after"]),
            dialect=cast("Dialect", dialect),
            model=str(fields["model"]),
            beside=str(fields["beside"]),
            count=int(fields["count"]),
            asked=fields.get("asked"),
            keep=int(fields["keep"]),
            behind=Prefix.decode(fields.get("behind")),
            begins=None if begins is None else _beginning(begins),
            insertions=tuple(
                _insertion(row, "" if texts is None else texts[at], sources)
                for at, row in enumerate(rows)
            ),
        )
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _beginning(row: Any) -> Beginning:
    number, start, held, lead, why = row[:5]
    return Beginning(
        number=int(number),
        start=int(start),
        held=tuple(int(at) for at in held),
        lead=int(lead),
        why=str(why),
    )


def _written(one: Insertion) -> object:
    """Return the payload of an insertion: its text, or what a compaction has besides."""
    if one.name != "compaction":
        return one.text
    moved = [[move.was, move.messages, move.spoken] for move in one.moved]
    return {
        "text": one.text,
        "messages": list(one.messages),
        "hidden": one.hidden,
        "moved": moved,
    }


def _named(one: Insertion) -> str:
    """Return an insertion's name with its role, unless that is the user's.

    A version that does not know the role takes the record for lost, and begins another epoch.
    """
    return one.name if one.role == "user" else f"{one.name}:{one.role}"


def _insertion(row: Any, payload: Any, sources: Sequence[int]) -> Insertion:
    named, at, quoted, listed = row[:4]
    dated = row[4] if len(row) > 4 else ()  # noqa: PLR2004 - records of the first preview have four
    name, _, role = str(named).partition(":")
    if name not in _NAMES or (role or "user") not in _ROLES:
        raise ValueError(named)
    made = Insertion(
        name=cast("InsertionName", name),
        role=cast("InsertionRole", role or "user"),
        at=int(at),
        text="" if isinstance(payload, dict) else str(payload),
        quoted=tuple(int(one) for one in quoted),
        listed=tuple(int(one) for one in listed),
        dated=tuple(int(one) for one in dated),
        memories=tuple(sources[int(at)] for at in row[5]) if len(row) > _PLAIN else (),
    )
    if not isinstance(payload, dict):
        return made
    moved = (Moved(was=str(a), messages=str(b), spoken=str(c)) for a, b, c in payload["moved"])
    return replace(
        made,
        text=str(payload["text"]),
        messages=tuple(payload["messages"]),
        hidden=int(payload["hidden"]),
        moved=tuple(moved),
    )
