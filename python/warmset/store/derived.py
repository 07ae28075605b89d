"""What a store holds beside turns and their vectors: what was made from turns, or put by.

Records of these kinds are known here by their meta; their payloads stay in the store. A record that
names its sources goes when one of them is erased. Ids of other records stand among the sources and
nowhere else: records that are imported into another store get new ids.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from warmset.errors import InvalidInputError
from warmset.store.records import dump, key_of, load
from warmset.text.timestamps import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from warmset._core import Record
    from warmset.store.records import Draft

Kind: TypeAlias = Literal["summary", "episode", "distilled", "prepared", "item"]

_Scope: TypeAlias = tuple[str, str | None, str]
"""A tenant, a conversation, and what an item says that it is."""

KINDS: Final = frozenset[str](get_args(Kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One record that is no turn, without its payload.

    Args:
        id: The store's sequence number.
        kind: What it is.
        tenant: The tenant's name.
        conversation: The conversation that it belongs to; None if it is the tenant's.
        fields: What it says of itself.
        hash: Hash of its payload.
        sources: Ids of the records that it was made from.
    """

    id: int
    kind: Kind
    tenant: str
    conversation: str | None
    fields: dict[str, Any]
    hash: bytes
    sources: tuple[int, ...]


def derived_draft(
    kind: Kind,
    tenant: str,
    conversation: str | None,
    fields: Mapping[str, Any],
    payload: bytes = b"",
    sources: Sequence[int] = (),
) -> Draft:
    """Make such a record.

    Args:
        kind: What it is.
        tenant: The tenant's name.
        conversation: The conversation that it is to be erased with; None for the tenant's own.
        fields: What it says of itself, as JSON; it is read at every open.
        payload: What is read only when it is asked for.
        sources: Ids of the records that it is made from, and goes with.

    Raises:
        InvalidInputError: A name is empty, or a field is not plain JSON.
    """
    key = key_of_scope(tenant, conversation)
    return kind, key, dump(fields), payload, tuple(sources)


def key_of_scope(tenant: str, conversation: str | None) -> list[bytes]:
    """Make the key of records of a conversation, or of the tenant's own.

    Raises:
        InvalidInputError: A name is empty.
    """
    key = key_of(tenant, "." if conversation is None else conversation)
    return key[:1] if conversation is None else key


class Derived:
    """The records that are no turns, by kind and by whose they are; in the order of their ids.

    Attributes:
        last: The id of the last one.
    """

    def __init__(self) -> None:
        self.last = 0
        self._known: dict[int, Made] = {}
        self._lists: defaultdict[tuple[str, str], dict[int, Made]] = defaultdict(dict)
        self._versions: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._held: defaultdict[_Scope, dict[bytes, int]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, id_: int) -> bool:
        return id_ in self._known

    def get(self, id_: int) -> Made | None:
        """Return a record by its id."""
        return self._known.get(id_)

    def of(self, kind: Kind, tenant: str, conversation: str | None = None) -> Iterator[Made]:
        """Return a tenant's records of a kind, those of one conversation if one is named."""
        found = self._lists.get((kind, tenant), {})
        return (
            one
            for one in list(found.values())
            if conversation is None or one.conversation == conversation
        )

    def version(self, kind: Kind, tenant: str) -> int:
        """Return a number that is another one whenever the records of a kind are others."""
        return self._versions[kind, tenant]

    def held(self, tenant: str, conversation: str | None, what: str) -> Mapping[bytes, int]:
        """Return the items of a scope that say that they are this, by the hash of their payload."""
        return self._held.get((tenant, conversation, what), {})

    def take(self, record: Record) -> Made | None:
        """Take a record up; None if that was done before.

        Raises:
            InvalidInputError: Its meta is no JSON object, or not of its kind.
            ValueError: Its key is no tenant's and no conversation's.
        """
        if record.seq in self._known:
            return None
        if not 1 <= len(record.key) <= 2:  # noqa: PLR2004 - tenant, or tenant and conversation
            raise ValueError(f"key: expected a tenant and a conversation, found {record.key!r:.80}")
        fields = load(record.meta)
        if record.kind in ("distilled", "episode"):
            _check(fields)
        tenant, *rest = (part.decode("utf-8", "surrogatepass") for part in record.key)
        made = Made(
            id=record.seq,
            kind=record.kind,  # type: ignore[arg-type]  # the caller looked
            tenant=tenant,
            conversation=rest[0] if rest else None,
            fields=fields,
            hash=record.hash,
            sources=record.sources,
        )
        self.last = max(self.last, made.id)
        self._known[made.id] = made
        self._lists[made.kind, made.tenant][made.id] = made
        self._versions[made.kind, made.tenant] += 1
        if (scope := _scope(made)) is not None:
            self._held[scope][made.hash] = made.id
        return made

    def forget(self, is_erased: Callable[[int], bool]) -> list[Made]:
        """Drop what was erased, and return it."""
        gone = [one for id_, one in self._known.items() if is_erased(id_)]
        for one in gone:
            del self._known[one.id], self._lists[one.kind, one.tenant][one.id]
            self._versions[one.kind, one.tenant] += 1
            if (scope := _scope(one)) is not None and self._held[scope].get(one.hash) == one.id:
                del self._held[scope][one.hash]
        return gone


def _scope(made: Made) -> _Scope | None:
    """Return where an item can be found by its payload; None for what is no item."""
    what = made.fields.get("what") if made.kind == "item" else None
    return (made.tenant, made.conversation, what) if isinstance(what, str) else None


def _check(fields: Mapping[str, Any]) -> None:
    """See that what memories and episodes say of themselves can be read.

    Raises:
        InvalidInputError: It cannot.
    """
    for name, low, high in (("at", FIRST, LAST), ("confidence", 0.0, 1.0)):
        value = fields.get(name, low)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            raise InvalidInputError(f"{name}: expected {low} to {high}, found {value!r:.80}")
    for name, kind in (("kind", str), ("what", str), ("meta", dict), ("figures", dict)):
        value = fields.get(name)
        if value is not None and not isinstance(value, kind):
            raise InvalidInputError(f"{name}: expected {kind.__name__}, found {value!r:.80}")
