"""What a task needs of one type of memory, and when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from warmset.errors import SpecError
from warmset.route.checks import (
    check_choice,
    check_fraction,
    check_name,
    names_of,
    put,
    read,
    without_defaults,
)
from warmset.text.durations import duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

Priority: TypeAlias = Literal["essential", "supplementary", "conditional"]
"""How much a task depends on what it needs; see `Need`."""

Scope: TypeAlias = Literal[
    "current_session", "prior_sessions", "global", "current_error", "current_pipeline"
]
"""Where a need looks for items; see `Need`."""

PRIORITIES: Final = get_args(Priority)
SCOPES: Final = get_args(Scope)
MEMORY_TYPES: Final = (
    "conversation",
    "document_chunk",
    "module_output",
    "error_fix",
    "error_context",
    "user_context",
)
"""The types that are known without an item of them; callers may add their own."""

_TURNS: Final = re.compile(r"last_([1-9][0-9]{0,6})_turns?")


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """What must be so of a request for a conditional need to count: all that is given.

    Args:
        similarity: The least similarity that an item must have with the query, over 0 to 1; only
            such items count.
        mentions: Words or phrases; the query must hold one of them, whatever its case.
        present: Types of memory; there must be an item of each in the scope of the need.

    Raises:
        SpecError: A field has a wrong value, or none is given.
    """

    similarity: float | None = None
    mentions: tuple[str, ...] = ()
    present: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.similarity is not None:
            put(self, "similarity", check_fraction("$.similarity", self.similarity))
        for field in ("mentions", "present"):
            put(self, field, names_of(f"$.{field}", getattr(self, field)))
        if self.similarity is None and not self.mentions and not self.present:
            raise SpecError("$", "expected similarity, mentions or present, found none of them")

    @classmethod
    def from_json(cls, value: object, path: str = "$") -> When:
        """Read a condition; `path` is its place in the whole document."""
        return read(cls, value, path, {})

    def to_json(self) -> dict[str, Any]:
        """Return the condition as JSON, without fields that have their defaults."""
        return without_defaults(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a task needs of one type of memory.

    Args:
        type: The type of the items: one of `MEMORY_TYPES`, or one that the caller has put.
        priority: "essential": all that the fields below name must be in the payload, or routing is
            an error. "supplementary": by value, as far as the budget goes. "conditional": as
            "supplementary", if `when` holds for the request.
        scope: "current_session": items of the session, and of no session. "prior_sessions": of the
            conversation's earlier sessions. "global": of the tenant. "current_error": of the error
            that the request names. "current_pipeline": of the pipeline that it names.
        recency: "last_5_turns": no older than the fifth newest message of the conversation. A
            number with s, m, h, d or w, as in "30d": put within that time. Numbers
            have at most 7 digits.
        sections: Labels of sections; the item has one of them.
        modules: Modules; the item is an output of one of them, or made for it.
        module: The same for one module.
        keys: Keys; the item has one of them.
        entities: Entities; the item names one of them.
        similarity_match: Whether an item must be similar to the query: True for the usual
            threshold, or the threshold, over 0 to 1.
        when: The condition of a conditional need; by default a similarity over the usual threshold.

    Raises:
        SpecError: A field has a wrong value, or two do not go together.
    """

    type: str
    priority: Priority = "supplementary"
    scope: Scope = "current_session"
    recency: str | None = None
    sections: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    module: str | None = None
    keys: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    similarity_match: bool | float = False
    when: When | None = None

    def __post_init__(self) -> None:
        check_name("$.type", self.type)
        check_choice("$.priority", self.priority, PRIORITIES)
        check_choice("$.scope", self.scope, SCOPES)
        if self.recency is not None:
            _check_recency(self.recency)
        for field in ("sections", "modules", "keys", "entities"):
            put(self, field, names_of(f"$.{field}", getattr(self, field)))
        if self.module is not None:
            check_name("$.module", self.module)
        match = self.similarity_match
        if not isinstance(match, bool):
            put(self, "similarity_match", check_fraction("$.similarity_match", match))
        if self.when is not None and not isinstance(self.when, When):
            raise SpecError("$.when", f"expected a When, found {self.when!r:.80}")
        if self.when is not None and self.priority != "conditional":
            raise SpecError("$.when", 'only a need of priority "conditional" has a condition')

    @property
    def turns(self) -> int | None:
        """How many of the newest messages `recency` spans; None if it says no such number."""
        found = _TURNS.fullmatch(self.recency or "")
        return int(found[1]) if found else None

    @property
    def within(self) -> timedelta | None:
        """The time that `recency` spans; None if it says none."""
        return duration(self.recency or "")

    @property
    def all_modules(self) -> tuple[str, ...]:
        """`modules`, with `module`."""
        one = () if self.module is None or self.module in self.modules else (self.module,)
        return (*self.modules, *one)

    @classmethod
    def from_json(cls, value: Mapping[str, Any], path: str = "$") -> Need:
        """Read a need; `path` is its place in the whole document."""
        return read(cls, value, path, {"when": _read_when})

    def to_json(self) -> dict[str, Any]:
        """Return the need as JSON, without fields that have their defaults."""
        return without_defaults(self)


def _read_when(value: object, path: str) -> object:
    return None if value is None else When.from_json(value, path)


def _check_recency(given: object) -> None:
    if isinstance(given, str) and (_TURNS.fullmatch(given) or duration(given)):
        return
    raise SpecError(
        "$.recency", f'expected "last_5_turns" or a time as "30d" or "12h", found {given!r:.80}'
    )
