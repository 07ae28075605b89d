"""Adds a table to the end of a TOML file, and takes it away, without touching anything else."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.serve.hooks.draft import Draft

_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


def loaded(text: str, name: str) -> dict[str, Any]:
    """Return what is in a text.

    Raises:
        InvalidInputError: It is no valid TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(
            f"{name} is no valid TOML ({error}); nothing was changed: mend it first"
        ) from None


def add(draft: Draft, path: tuple[str, ...], fields: Mapping[str, str | list[str]]) -> None:
    """Add a table at the end.

    Args:
        draft: A text of valid TOML.
        path: The table's name.
        fields: Its fields: texts, and lists of texts.

    Raises:
        InvalidInputError: Such a table cannot be added there.
    """
    line = "\r\n" if "\r\n" in draft.text else "\n"
    before, wanted = tomllib.loads(draft.text), ".".join(path)
    rows = [f"[{wanted}]", *(f"{key} = {_written(value)}" for key, value in fields.items())]
    opening = "" if not draft.text else line if draft.text.endswith("\n") else line * 2
    draft.insert(len(draft.text), opening + line.join(rows) + line)
    try:
        made = tomllib.loads(draft.text)
    except tomllib.TOMLDecodeError:
        made = {}
    here: Any = made
    for key in path:
        here = here.get(key) if isinstance(here, dict) else None
    if here != dict(fields) or _without(made, path) != _without(before, path):
        raise InvalidInputError(
            f"a table {wanted} cannot be added, because {path[0]} is not written as tables; "
            "nothing was changed: write it as tables first"
        )


def take(text: str, path: tuple[str, ...]) -> str:
    """Take a table from a text, from its header to its last field, with an empty line before it."""
    header = re.compile(
        r"^[ \t]*\[[ \t]*"
        + r"[ \t]*\.[ \t]*".join(rf'"?{re.escape(k)}"?' for k in path)
        + r"[ \t]*\][^\n]*\n?",
        re.MULTILINE,
    )
    found = header.search(text)
    if found is None:
        return text
    after = _HEADER.search(text, found.end())
    rows = text[found.end() : len(text) if after is None else after.start()].splitlines(True)
    while rows and rows[-1].lstrip()[:1] in ("", "#"):
        rows.pop()  # empty lines and comments before the next table are the user's
    end = found.end() + sum(map(len, rows))
    start = found.start()
    for blank in ("\r\n", "\n"):
        if text[:start].endswith(blank * 2):
            start -= len(blank)
            break
    return text[:start] + text[end:]


def _without(made: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return tables without one, and without those around it that are empty then."""
    key, *rest = path
    if key not in made:
        return made
    kept = {name: value for name, value in made.items() if name != key}
    if rest and isinstance(made[key], dict):
        inner = _without(made[key], tuple(rest))
        return kept | ({key: inner} if inner else {})
    return kept


def _written(value: str | list[str]) -> str:
    """Write a text or a list of texts; TOML's basic strings are JSON's, but for surrogates."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
