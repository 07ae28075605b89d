"""The format of turns, vectors and checkpoints in the store's records.

Meta fields are compact JSON with short names, because they are read whenever the store is opened.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from warmset.errors import InvalidInputError, TooLarge
from warmset.messages import DIALECTS, Dialect
from warmset.messages.prefix import Prefix
from warmset.options import MAX_TURN
from warmset.text.timestamps import kept_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_T = TypeVar("_T")

Draft: TypeAlias = tuple[str, list[bytes], bytes, bytes, tuple[int, ...]]
"""Kind, key, meta, payload and sources, as `ColdStore.append` takes them."""

View: TypeAlias = Literal["turn", "context", "memory", "item"]
"""Vectors of a turn's own passages, of the turn with its neighbours, of a memory, or of an item."""

_encode: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode: Final = json.JSONDecoder().decode
TURN: Final = "turn"
EMBEDDING: Final = "embedding"
HALF_EMBEDDING: Final = "half_embedding"
CHECKPOINT: Final = "checkpoint"
TOMBSTONE: Final = "tombstone"
ENTRY: Final = "entry"
HEAD: Final = "head"
REMOVED: Final = "removed"

VECTORS: Final[dict[str, np.dtype[np.float32] | np.dtype[np.float16]]] = {
    EMBEDDING: np.dtype("<f4"),
    HALF_EMBEDDING: np.dtype("<f2"),
}
"""Kinds of records of vectors, with their values: 32 bits were written once, 16 are now."""

_SPACE: Final = b"\xff"
"""How the second part of a key begins that is no conversation."""

_BELOW: Final = 2
"""What a removal of everything below a key says."""

_ID: Final = 8
"""Bytes of an id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMeta:
    """The meta of a turn.

    Args:
        at: The time of the message, in seconds since 1970 UTC.
        speaker: The speaker's name, if one was given.
        session: The session's name, if one was given.
        dialect: The dialect, if the message determines one.
        parent: The id of the message that it follows, if that is not the one appended before.
        extra: The caller's own fields.
        behind: What a reply with thinking was made behind, if that is known.
        key: The caller's own name of the message, if one was given.
    """

    at: float
    speaker: str | None = None
    session: str | None = None
    dialect: Dialect | None = None
    parent: int | None = None
    extra: dict[str, Any] | None = None
    behind: Prefix | None = None
    key: str | None = None

    def encode(self) -> bytes:
        """Return it as compact JSON without absent fields."""
        return dump(
            {
                "at": self.at,
                "by": self.speaker,
                "session": self.session,
                "dialect": self.dialect,
                "parent": self.parent,
                "meta": self.extra,
                "behind": None if self.behind is None else self.behind.encode(),
                "key": self.key,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> TurnMeta:
        """Read what `encode` wrote; unknown fields, from a newer version, are ignored.

        Raises:
            InvalidInputError: It is not the meta of a turn.
        """
        fields = load(data)
        dialect = fields.get("dialect")
        return cls(
            at=kept_time(fields.get("at", 0.0)),
            speaker=_field(fields, "by", str),
            session=_field(fields, "session", str),
            dialect=dialect if dialect in DIALECTS else None,
            parent=_field(fields, "parent", int),
            extra=_field(fields, "meta", dict),
            behind=Prefix.decode(fields.get("behind")),
            key=key if isinstance(key := fields.get("key"), str) else None,
        )


def turn_draft(key: list[bytes], meta: TurnMeta, payload: bytes) -> Draft:
    """Return the draft of a turn's record; the message is neither read nor counted for it.

    Raises:
        TooLarge: The payload is over `MAX_TURN`.
    """
    if len(payload) > MAX_TURN:
        raise TooLarge(len(payload), MAX_TURN)
    return TURN, key, meta.encode(), payload, ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorMeta:
    """The meta of a record of vectors.

    Args:
        of: The id of the turn that was embedded.
        view: What was embedded of it.
        dim: Length of one row.
        generation: The generation of the embedder that made them; see `Identity`.
    """

    of: int
    view: View
    dim: int
    generation: int

    def draft(
        self, key: list[bytes], rows: NDArray[np.float32], others: Sequence[int] = ()
    ) -> Draft:
        """Return the draft of a record of rows, shape (n, dim), in half precision.

        Args:
            key: The key of the turn's conversation.
            rows: The vectors; unit rows, as embedders return them.
            others: Ids of further turns whose words were embedded with the turn.
        """
        meta = {"of": self.of, "view": self.view, "dim": self.dim, "gen": self.generation}
        payload = rows.astype(VECTORS[HALF_EMBEDDING]).tobytes()
        return HALF_EMBEDDING, key, dump(meta), payload, (self.of, *others)

    @classmethod
    def decode(cls, data: bytes) -> VectorMeta:
        """Read the meta of a record of vectors."""
        fields = load(data)
        return cls(
            of=int(fields["of"]),
            view=fields["view"],
            dim=int(fields["dim"]),
            generation=int(fields["gen"]),
        )


def vectors_of(payload: bytes, dim: int, kind: str = HALF_EMBEDDING) -> NDArray[np.float32]:
    """Read the vectors of a record, shape (n, dim); see `as_kept`."""
    return as_kept(np.frombuffer(payload, VECTORS[kind])).reshape(-1, dim)


def as_kept(rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return vectors as a record gives them back: each value the nearest of half precision.

    What is searched is made of these, so that it is the same after the store was opened again.
    """
    return rows.astype(np.float16, copy=False).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of the embedder that made a store's vectors.

    Args:
        name: The embedder's name, for display.
        fingerprint: The embedder's fingerprint; None if it has none, then the probe identifies it.
        dim: Length of a vector.
        generation: Incremented each time that everything is embedded again.
        probe: The vector of `PROBE`, for embedders without a fingerprint.
    """

    name: str
    fingerprint: str | None
    dim: int
    generation: int
    probe: NDArray[np.float32] | None = None

    def draft(self) -> Draft:
        """Return the draft of the checkpoint that makes this the store's embedder."""
        meta = {
            "what": "embedder",
            "name": self.name,
            "fingerprint": self.fingerprint,
            "dim": self.dim,
            "gen": self.generation,
        }
        probe = b"" if self.probe is None else self.probe.astype("<f4").tobytes()
        return CHECKPOINT, [], dump(meta), probe, ()

    @classmethod
    def decode(cls, fields: Mapping[str, Any], payload: bytes) -> Identity:
        """Read a checkpoint of `what` "embedder"."""
        return cls(
            name=str(fields["name"]),
            fingerprint=fields.get("fingerprint"),
            dim=int(fields["dim"]),
            generation=int(fields["gen"]),
            probe=np.frombuffer(payload, "<f4").astype(np.float32) if payload else None,
        )


def checkpoint(data: bytes) -> dict[str, Any]:
    """Read a checkpoint's meta; `what` is its type, and callers must ignore unknown types."""
    return load(data)


def key_of(tenant: str, conversation: str) -> list[bytes]:
    """Return the key of a conversation's records.

    Raises:
        InvalidInputError: A part is empty or not a string.
    """
    parts: list[bytes] = []
    for name, part in (("tenant", tenant), ("conversation", conversation)):
        if not isinstance(part, str) or not part:
            raise InvalidInputError(f"{name}: expected a name, found {part!r}")
        parts.append(part.encode("utf-8", "surrogatepass"))
    return parts


def is_conversation(key: Sequence[bytes]) -> bool:
    """Return whether a key is that of a conversation, and of no space of the log."""
    return len(key) == 2 and not key[1].startswith(_SPACE)  # noqa: PLR2004 - tenant and name


def names_of(key: tuple[bytes, ...]) -> tuple[str, str]:
    """Return the tenant and the conversation of a key."""
    tenant, conversation = key
    return (
        tenant.decode("utf-8", "surrogatepass"),
        conversation.decode("utf-8", "surrogatepass"),
    )


def dump(fields: Mapping[str, Any]) -> bytes:
    """Encode a record's meta as JSON, without fields that are None.

    Raises:
        InvalidInputError: A value is not plain JSON.
    """
    present = {name: value for name, value in fields.items() if value is not None}
    try:
        return _encode(present).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"meta: expected plain JSON values ({error})") from error


def load(data: bytes) -> dict[str, Any]:
    """Read a record's meta.

    Raises:
        InvalidInputError: It is not a JSON object.
    """
    try:
        fields = _decode(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"meta: expected a JSON object ({error})") from error
    if not isinstance(fields, dict):
        raise InvalidInputError(f"meta: expected a JSON object, found a {type(fields).__name__}")
    return fields


def _field(fields: dict[str, Any], name: str, kind: type[_T]) -> _T | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidInputError(f"{name}: expected {kind.__name__}, found {value!r:.80}")
    return value


@dataclass(frozen=True, slots=True)
class Removal:
    """What a record of kind "removed" takes away, of what has a lower id.

    Args:
        below: Whether that is everything below the record's key.
        entries: Else the ids of entries of the list of that key, as ranges.
        derived: Ids of what was made from that, as ranges.
    """

    below: bool
    entries: tuple[range, ...]
    derived: tuple[range, ...]

    @classmethod
    def decode(cls, payload: bytes) -> Removal:
        """Read the payload of such a record.

        Raises:
            ValueError: It is not as the log writes it.
        """
        try:
            what, *words = struct.unpack(f"<{len(payload) // 8}Q", payload)
            listed: list[tuple[range, ...]] = []
            for _ in range(2):
                end = 1 + 2 * words[0]
                starts, ends = words[1:end:2], words[2:end:2]
                listed.append(tuple(range(a, b + 1) for a, b in zip(starts, ends, strict=True)))
                words = words[end:]
        except (struct.error, IndexError, ValueError) as error:
            raise ValueError(f"payload: expected ranges of ids ({error})") from error
        return cls(what == _BELOW, *listed)


def head_of(payload: bytes) -> int:
    """Read the payload of a record of kind "head": the last entry, 0 for none.

    Raises:
        ValueError: It is no id.
    """
    if len(payload) != _ID:
        raise ValueError(f"payload: expected {_ID} bytes, found {len(payload)}")
    return int.from_bytes(payload, "little")


@dataclass(frozen=True, slots=True)
class Job:
    """One view of one turn that is to be embedded."""

    id: int
    view: View
