"""How tools show what is stored: as data between two marks, each piece with its id and origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from warmset.errors import InvalidInputError
from warmset.quote.format import fenced, memory_quote
from warmset.text.markup import MEMORY_CLOSING, RECALLED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from warmset.items.item import MemoryItem

IDS: Final = "warmset://id/"
"""How the URI of a turn, a memory or an item begins."""

CONVERSATIONS: Final = "warmset://conversation/"
"""How the URI of a conversation begins."""

_IN_HEAD: Final = str.maketrans("[],", "() ")
"""What a name may not have in a head, where it could pass for another part of it."""

MOST_NAME: Final = 200
"""The most characters of a name that is given as an argument."""


def uri_of(name: str) -> str:
    """Return the URI of what has an id, as `turn:12` or `memory:34`."""
    return IDS + quote(name, safe=":")


def conversation_uri(name: str) -> str:
    """Return the URI of a conversation."""
    return CONVERSATIONS + quote(name, safe=":")


def name_in(uri: str, begin: str) -> str | None:
    """Return the name in a URI that begins in a certain way; None if it begins otherwise."""
    return unquote(uri.removeprefix(begin)) if uri.startswith(begin) else None


def name_of(given: object) -> str:
    """Return the name that an argument means: `turn:12`, `#12`, `12`, or the URI.

    Raises:
        InvalidInputError: It is no id.
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return f"turn:{given}"
    if not isinstance(given, str) or not given.strip() or len(given) > 4 * MOST_NAME:
        raise InvalidInputError("ids: expected ids as turn:12 or memory:34, from a search")
    name = given.strip()
    name = name_in(name, IDS) or name
    number = name.removeprefix("#")
    return f"turn:{number}" if number.isascii() and number.isdigit() else name


def at_of(at: datetime) -> str:
    """Return a time as results have it."""
    return at.isoformat(timespec="seconds")


def shown(name: str, conversation: str | None, whose: str | None, at: datetime, text: str) -> str:
    """Quote a piece with its id, its conversation, its origin and its day."""
    where = name if conversation is None else f"{name} in {conversation}"
    said = None if whose is None else " ".join(whose.split()).translate(_IN_HEAD)
    return memory_quote(where, said, at.timestamp(), text)


def quotation(pieces: Iterable[str]) -> str:
    """Put quoted pieces between the marks that say what they are; empty if there are none."""
    body = "".join(pieces)
    return f"{RECALLED}{body}{MEMORY_CLOSING}" if body else ""


def joined(*parts: str) -> str:
    """Return parts of a result below each other; empty ones are left out."""
    return "\n".join(part for part in parts if part)


def head_of(item: MemoryItem) -> dict[str, Any]:
    """Return what is known of an item, without its text."""
    head: Mapping[str, Any] = {
        "id": item.memory_id,
        "uri": uri_of(item.memory_id),
        "type": item.memory_type,
        "conversation": item.conversation,
        "origin": item.origin,
        "at": at_of(item.timestamp),
    }
    return {name: value for name, value in head.items() if value is not None}


def plainly(text: str) -> str:
    """Return a text that is no quotation and has names in it, so that it cannot open or end one."""
    return fenced(text)
