"""Results as plain JSON values, and as tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from html import escape
from typing import Any


def plain(value: object) -> Any:
    """Return a value as plain JSON: dataclasses as dicts, sequences as lists, times as ISO 8601.

    Fields whose name begins with an underscore are left out.
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if not one.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(one) for one in value]
    return value


def table(title: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table; all texts are escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = [f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows]
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
