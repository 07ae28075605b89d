"""Derived records: everything in a store besides turns and their vectors.

Only their meta is kept in memory; their payloads stay in the store. A record that names sources is
erased with any of them. Ids of other records are stored as sources and nowhere else, because
records that are imported into another store get new ids.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from warmset._support.cut_off import IfCutOff
from warmset._support.locks import guarded
from warmset.errors import InvalidInputError
from warmset.store.records import dump, key_of, load
from warmset.text.timestamps import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from warmset._core import Record
    from warmset.store.records import Draft

Kind: TypeAlias = Literal["summary", "episode", "distilled", "prepared", "item"]

_Scope: TypeAlias = tuple[str, str | None, str]
"""A tenant, a conversation, and the kind that an item names in its meta."""

KINDS: Final = frozenset[str](get_args(Kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A derived record without its payload.

    Args:
        id: The store's sequence number.
        kind: The record's kind.
        tenant: The tenant's name.
        conversation: The conversation that it belongs to; None if it belongs to the tenant.
        fields: Its meta fields.
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
    """Return a draft of a derived record.

    Args:
        kind: The record's kind.
        tenant: The tenant's name.
        conversation: The conversation that it is erased with; None for a record of the tenant.
        fields: Its meta fields, plain JSON; they are read whenever the store is opened.
        payload: Bytes that are read only on demand.
        sources: Ids of the records that it is derived from; it is erased with any of them.

    Raises:
        InvalidInputError: A name is empty, or a field is not plain JSON.
    """
    key = key_of_scope(tenant, conversation)
    return kind, key, dump(fields), payload, tuple(sources)


def key_of_scope(tenant: str, conversation: str | None) -> list[bytes]:
    """Return the key of the records of a conversation, or of the tenant.

    Raises:
        InvalidInputError: A name is empty.
    """
    key = key_of(tenant, "." if conversation is None else conversation)
    return key[:1] if conversation is None else key


@guarded("engine", calls=("forget", "held"))
class Derived:
    """The derived records of a store by kind, tenant and conversation, in the order of their ids.

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

    def __contains__(self, id_: object) -> bool:
        return id_ in self._known

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def scopes(self) -> set[tuple[str, str | None]]:
        """Return the tenants and conversations that records belong to."""
        return {(one.tenant, one.conversation) for one in self._known.values()}

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
        """Return a number that changes whenever the records of a kind change."""
        return self._versions[kind, tenant]

    def held(self, tenant: str, conversation: str | None, what: str) -> Mapping[bytes, int]:
        """Return the items of one kind in a scope, by the hash of their payload."""
        return self._held.get((tenant, conversation, what), {})

    def take(self, record: Record) -> Made | None:
        """Add a record and return it; None if it is there already.

        Raises:
            InvalidInputError: Its meta is not a JSON object, or has wrong fields for its kind.
            ValueError: Its key names neither a tenant nor a conversation.
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
        self._lists[made.kind, made.tenant][made.id] = made
        self._versions[made.kind, made.tenant] += 1
        if (scope := _scope(made)) is not None:
            self._held[scope][made.hash] = made.id
        self.last = max(self.last, made.id)
        self._known[made.id] = made  # last: a call that was cut off before is repeated
        return made

    def take_back(self, id_: int) -> Made | None:
        """Remove a record, so that `take` adds it once more; returns it if it was there."""
        made = self._known.pop(id_, None)
        if made is not None:
            self._lists[made.kind, made.tenant].pop(id_, None)
        return made

    def put_back(self, gone: Iterable[Made]) -> None:
        """Let `forget` remove erased records once more, if that was cut off."""
        self._known |= {one.id: one for one in gone}

    def forget(
        self, erased: Callable[[tuple[str, str | None], list[int]], list[int]]
    ) -> list[Made]:
        """Remove the erased records, and return them.

        Args:
            erased: Returns which of some ids of a tenant, or of a conversation, were erased.
        """
        scopes: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
        for one in self._known.values():
            scopes[one.tenant, one.conversation].append(one.id)
        left = [id_ for scope, ids in scopes.items() for id_ in erased(scope, ids)]
        gone = [self._known[id_] for id_ in sorted(left)]
        with IfCutOff(lambda: self.put_back(gone)):
            self._forget(gone)
        return gone

    def _forget(self, gone: Sequence[Made]) -> None:
        lost: set[tuple[_Scope, bytes]] = set()
        for one in gone:
            del self._known[one.id]
            self._lists[one.kind, one.tenant].pop(one.id, None)
            self._versions[one.kind, one.tenant] += 1
            scope = _scope(one)
            if scope is not None and self._held[scope].get(one.hash, one.id) == one.id:
                self._held[scope].pop(one.hash, None)
                if not self._held[scope]:
                    del self._held[scope]
                lost.add((scope, one.hash))
        for tenant in {scope[0] for scope, _ in lost}:
            for one in self._lists["item", tenant].values():
                if (scope := _scope(one)) is not None and (scope, one.hash) in lost:
                    self._held[scope][one.hash] = one.id


def _scope(made: Made) -> _Scope | None:
    """Return the scope in which an item is found by its payload; None for other records."""
    what = made.fields.get("what") if made.kind == "item" else None
    return (made.tenant, made.conversation, what) if isinstance(what, str) else None


def _check(fields: Mapping[str, Any]) -> None:
    """Check the meta fields of memories and episodes.

    Raises:
        InvalidInputError: A field is missing or has the wrong type.
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
