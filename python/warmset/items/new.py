"""An item that is to be put, with its fields checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

from warmset._core import content_hash
from warmset._support.names import MOST, fault_of
from warmset.compact.weights import is_number
from warmset.errors import InvalidInputError
from warmset.items.item import ORIGINS, Origin
from warmset.options import CONFIDENCE

GIVEN: Final = re.compile(r"(?:turn|memory|item):\d+")
"""Names that nobody may give: those of what has none."""

LABELS: Final = ("sections", "keys", "entities")
"""Fields with names that an item is found by."""

OTHERS: Final = ("dependencies", "supersedes", "derived_from")
"""Fields with names of other items."""

LISTS: Final = (*LABELS, *OTHERS)

MOST_BYTES: Final = 50_000
"""The most bytes of all names of an item."""

MOST_SUMMARY: Final = 20_000
"""The most characters of a summary."""

MOST_META: Final = 900_000
"""The most bytes of the JSON of the caller's own fields."""

as_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
"""Writes compact JSON, the same for the same value."""

_NAMES: Final = ("conversation", "session_id", "module_context", "pipeline")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item that is to be put; see `MemoryItem` for what its fields mean.

    Args:
        memory_type: Its type: any name but "conversation", which messages have.
        text: Its text; this or `data`.
        data: Plain JSON in place of a text.
        memory_id: Your own name for it; putting another item of that name replaces it.
        summary: What it says, in few words; a model that chooses items sees this.
        conversation: The conversation that it belongs to and is erased with.
        session_id: The session of the conversation.
        timestamp: When it was said or made; the time of the call if not given. Without a time zone
            it is UTC.
        module_context: The module that made it, or that it is made for.
        pipeline: The run of modules that it was made in.
        sections: Labels of the sections of a document that it is from.
        keys: What it is known under.
        entities: Whom or what it names.
        relevance_decay: What its relevance is multiplied by for each hour, or turn, of its age;
            over 0 to 1.
        dependencies: Names of items without which it cannot be understood; they may come later.
        supersedes: Names of items that it replaces from now on; they stay, and are not shown.
        derived_from: Names of items that it was made from; they must be there. It is erased with
            any of them, and its origin is no more trusted than theirs.
        origin: Whose words these are: "user", "assistant", "tool", "import" or "web".
        reward: How well it worked, from 0 to 1.
        confidence: How certain it is, from 0 to 1.
        meta: Your own fields, plain JSON.

    Raises:
        InvalidInputError: A field has a wrong value; the error names it.
    """

    memory_type: str
    text: str | None = None
    data: Any = None
    memory_id: str | None = None
    summary: str | None = None
    conversation: str | None = None
    session_id: str | None = None
    timestamp: datetime | None = None
    module_context: str | None = None
    pipeline: str | None = None
    sections: Sequence[str] = ()
    keys: Sequence[str] = ()
    entities: Sequence[str] = ()
    relevance_decay: float = 1.0
    dependencies: Sequence[str] = ()
    supersedes: Sequence[str] = ()
    derived_from: Sequence[str] = ()
    origin: Origin = "import"
    reward: float | None = None
    confidence: float = CONFIDENCE
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _check_name("memory_type", self.memory_type)
        if self.memory_type == "conversation":
            raise InvalidInputError(
                'memory_type: messages have "conversation"; append one to a conversation'
            )
        if (self.text is None) == (self.data is None):
            raise InvalidInputError("text: expected a text or data, and not both")
        if self.text is not None and (not isinstance(self.text, str) or not self.text.strip()):
            raise InvalidInputError(
                f"text: expected a text that is not blank, found {self.text!r:.80}"
            )
        self._check_names()
        self._check_numbers()
        if self.summary is not None and not isinstance(self.summary, str):
            raise InvalidInputError(f"summary: expected a text, found {self.summary!r:.80}")
        if self.summary is not None and len(self.summary) > MOST_SUMMARY:
            raise InvalidInputError(
                f"summary: expected at most {MOST_SUMMARY:,} characters, "
                f"found {len(self.summary):,}"
            )
        if self.origin not in ORIGINS:
            known = ", ".join(ORIGINS)
            raise InvalidInputError(f"origin: expected one of {known}, found {self.origin!r:.80}")
        object.__setattr__(self, "data", _plain("data", self.data))
        if self.meta is not None and not isinstance(self.meta, Mapping):
            raise InvalidInputError(f"meta: expected a mapping, found {self.meta!r:.80}")
        object.__setattr__(
            self, "meta", None if self.meta is None else _plain("meta", dict(self.meta))
        )
        length = len(as_json(self.meta).encode("utf-8", "surrogatepass"))
        if length > MOST_META:
            raise InvalidInputError(
                f"meta: expected at most {MOST_META:,} bytes of JSON, found {length:,}"
            )

    def _check_names(self) -> None:
        if self.memory_id is not None:
            _check_name("memory_id", self.memory_id)
            if GIVEN.fullmatch(self.memory_id):
                raise InvalidInputError(
                    f"memory_id: {self.memory_id!r} is what an item without a name is called; "
                    f"give another name"
                )
        for field in _NAMES:
            if getattr(self, field) is not None:
                _check_name(field, getattr(self, field))
        for field in LISTS:
            object.__setattr__(self, field, _names(field, getattr(self, field)))
        for field in OTHERS:
            if self.memory_id is not None and self.memory_id in getattr(self, field):
                raise InvalidInputError(f"{field}: {self.memory_id!r:.80} is the item itself")
        names = [getattr(self, field) or () for field in (*LISTS, *_NAMES)]
        length = sum(len(name.encode()) for given in names for name in given)
        if length > MOST_BYTES:
            raise InvalidInputError(
                f"sections: expected at most {MOST_BYTES:,} bytes in all names, found {length:,}"
            )

    def _check_numbers(self) -> None:
        for field in ("reward", "confidence"):
            number = getattr(self, field)
            if number is None and field == "reward":
                continue
            if not is_number(number) or not 0 <= number <= 1:
                raise InvalidInputError(f"{field}: expected 0 to 1, found {number!r:.80}")
        decay = self.relevance_decay
        if not is_number(decay) or not 0 < decay <= 1:
            raise InvalidInputError(
                f"relevance_decay: expected a number over 0 to 1, found {decay!r:.80}"
            )
        if self.timestamp is not None:
            if not isinstance(self.timestamp, datetime):
                raise InvalidInputError(
                    f"timestamp: expected a datetime, found {self.timestamp!r:.80}"
                )
            zoned = self.timestamp.tzinfo is not None
            try:
                at = self.timestamp.astimezone(UTC) if zoned else self.timestamp.replace(tzinfo=UTC)
            except OverflowError as error:
                raise InvalidInputError(f"timestamp: {self.timestamp} is no time in UTC") from error
            object.__setattr__(self, "timestamp", at)

    def said(self) -> str:
        """Return its text, or the JSON of its data."""
        return as_json(self.data) if self.text is None else self.text

    def given(self) -> str:
        """Return everything that was given, as JSON."""
        at = None if self.timestamp is None else self.timestamp.isoformat()
        return as_json([at, *_GIVEN(self)])


def digest_of(given: str) -> str:
    """Return the digest of what `NewItem.given` returns."""
    return content_hash(given.encode("utf-8", "surrogatepass")).hex()


_GIVEN: Final = attrgetter(*(one.name for one in fields(NewItem) if one.name != "timestamp"))


def _check_name(field: str, given: object) -> None:
    if (fault := fault_of(given)) is not None:
        raise InvalidInputError(f"{field}: {fault}")


def _names(field: str, given: object) -> tuple[str, ...]:
    """Return names, each once."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInputError(f"{field}: expected a list of names, found {given!r:.80}")
    if len(given) > MOST:
        raise InvalidInputError(f"{field}: expected at most {MOST:,} names, found {len(given):,}")
    for name in given:
        _check_name(field, name)
    return tuple(dict.fromkeys(given))


def _plain(field: str, value: object) -> Any:
    """Return a copy of plain JSON."""
    if value is None:
        return None
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{field}: expected plain JSON ({error})") from error
