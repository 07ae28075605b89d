"""What users can call, as text: `python -m tests.signatures`, after a change that is meant.

Each public name with its parameters, their defaults and how they are given; of a dataclass also how
its fields compare and print. A change of the text is a change of the API, and belongs into the
changelog.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE = Path(__file__).parent / "fixtures" / "signatures.txt"
ROOMS = (
    *("warmset", "warmset.pick", "warmset.summarize", "warmset.embed", "warmset.messages"),
    *("warmset.tokens", "warmset.errors", "warmset.native", "warmset.testing", "warmset.tools"),
    *("warmset.route", "warmset.compact", "warmset.evict", "warmset.money"),
)
"""In the order of the reference, which has a section for each."""

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
PRINTED = (str, int, float, tuple, frozenset)
USUAL = {"init": True, "repr": True, "compare": True, "hash": None}


def lines() -> Iterator[str]:
    """Yield a line for everything that is public."""
    for room in (*ROOMS, "warmset.items", "warmset.prepare", "warmset.maintenance"):
        module = importlib.import_module(room)
        for name in sorted(module.__all__):
            yield from _lines_of(f"{room}.{name}", getattr(module, name))


def _lines_of(name: str, one: Any) -> Iterator[str]:
    if not callable(one):
        yield from _value(name, one)
        return
    yield f"{name}{_signature(one)}"
    if not isinstance(one, type):
        return
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            flags = {flag: getattr(field, flag) for flag in USUAL}
            if flags != USUAL:
                yield f"{name}.{field.name}: {flags}"
    for member in sorted(dir(one)):
        value = inspect.getattr_static(one, member)
        inner = value.fget if isinstance(value, property) else getattr(one, member, None)
        home = str(getattr(inner, "__module__", ""))
        if member.startswith("_") or not home.startswith("warmset"):
            continue
        if isinstance(value, property):
            yield f"{name}.{member}"
        elif callable(inner):
            kind = type(value).__name__
            kind = f"{kind} " if kind in {"classmethod", "staticmethod"} else ""
            yield f"{kind}{name}.{member}{_signature(inner)}"


def _value(name: str, one: Any) -> Iterator[str]:
    if isinstance(one, Mapping):
        told = all("<" not in str(value) for value in one.values())
        shown = {key: value if told else type(value) for key, value in one.items()}
        yield from (f"{name}[{key!r}] = {_in_order(value)}" for key, value in shown.items())
        return
    yield f"{name} = {_in_order(one if isinstance(one, PRINTED) else type(one))}"


def _in_order(one: Any) -> str:
    return _plain(sorted(one) if isinstance(one, frozenset) else one)


def _signature(one: Any) -> str:
    try:
        return _plain(inspect.signature(one))
    except ValueError:  # of the core, or of an exception
        return "(…)"


def _plain(one: object) -> str:
    return ADDRESS.sub("", str(one))


def main() -> None:
    """Write the file."""
    PLACE.write_text("\n".join(lines()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
