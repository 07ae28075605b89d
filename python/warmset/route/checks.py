"""Checking the fields of a specification; an error says where in the document it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from warmset._support.names import MOST, fault_of
from warmset.compact.weights import is_number
from warmset.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Made = TypeVar("Made")


def put(self: object, field: str, value: object) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(self, field, value)


def check_name(path: str, given: object) -> None:
    """Refuse what is no name."""
    if (fault := fault_of(given)) is not None:
        raise SpecError(path, fault)


def check_choice(path: str, given: object, choices: Sequence[str]) -> None:
    """Refuse what is none of some words."""
    if not isinstance(given, str) or given not in choices:
        raise SpecError(path, f"expected one of {', '.join(choices)}, found {given!r:.80}")


def check_fraction(path: str, given: object) -> float:
    """Return a number over 0 to 1."""
    if is_number(given) and 0 < given <= 1:
        return float(given)
    raise SpecError(path, f"expected a number over 0 to 1, found {given!r:.80}")


def names_of(path: str, given: object) -> tuple[str, ...]:
    """Return names that were given as a list or a tuple."""
    if not isinstance(given, list | tuple):
        raise SpecError(path, f"expected a list of names, found {given!r:.80}")
    names = tuple(given)
    if len(names) > MOST:
        raise SpecError(path, f"expected at most {MOST:,} names, found {len(names):,}")
    seen: set[str] = set()
    for at, name in enumerate(names):
        check_name(f"{path}[{at}]", name)
        if name in seen:
            raise SpecError(f"{path}[{at}]", f"{name!r:.80} is there already")
        seen.add(name)
    return names


def read(
    kind: type[Made], value: object, path: str, parts: Mapping[str, Callable[[Any, str], object]]
) -> Made:
    """Make a dataclass of a JSON object.

    Args:
        kind: The dataclass, which checks its own fields.
        value: What was read.
        path: Its place in the whole document.
        parts: How fields that are objects themselves are read.

    Raises:
        SpecError: It is no object, has an unknown field, lacks one, or has one with a wrong value.
    """
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(value, Mapping):
        raise SpecError(path, f"expected an object, found {value!r:.80}")
    for name in value:
        if name not in known:
            there = ", ".join(known)
            raise SpecError(_below(path, name), f"there is no such field; there are {there}")
    for name, field in known.items():
        if name not in value and field.default is MISSING and field.default_factory is MISSING:
            raise SpecError(f"{path}.{name}", "it is missing")
    made = {
        name: parts[name](one, f"{path}.{name}") if name in parts else one
        for name, one in value.items()
    }
    try:
        return kind(**made)
    except SpecError as error:
        raise SpecError(path + error.path[1:], error.problem) from None


def _below(path: str, name: object) -> str:
    """Return the JSON path of a field that nobody knows."""
    is_plain = isinstance(name, str) and name.isidentifier() and name.isascii()
    return f"{path}.{name}" if is_plain else f"{path}[{name!r:.80}]"


def without_defaults(value: Any) -> dict[str, Any]:
    """Return a dataclass as JSON, without the fields that have their defaults."""
    said = ((field, getattr(value, field.name)) for field in fields(value))
    return {field.name: _as_json(one) for field, one in said if one != field.default}


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    return without_defaults(value) if is_dataclass(value) else value
