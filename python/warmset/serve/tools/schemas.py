"""Pieces of JSON Schema that several tools share."""

from __future__ import annotations

from typing import Any, Final

MOST_QUERY: Final = 2_000
"""The most characters of a query."""

MAX_IDS: Final = 16
"""The most ids of a call."""

TEXT: Final[dict[str, Any]] = {"type": "string"}
NUMBER: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
FLAG: Final[dict[str, Any]] = {"type": "boolean"}

CONVERSATION: Final[dict[str, Any]] = {
    "type": "string",
    "description": "Only this conversation; all if left out.",
}
OFFSET: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 0,
    "default": 0,
    "description": "How many to skip: next_offset of the page before.",
}
NEXT_OFFSET: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "There are more: call again with this as offset.",
}
FROM_CHARACTER: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 0,
    "default": 0,
    "description": "Where to begin in a long text: next_character of the part before.",
}


def ids(description: str) -> dict[str, Any]:
    """Return the schema of a list of ids."""
    return {
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "minItems": 1,
        "maxItems": MAX_IDS,
        "description": f"At most {MAX_IDS}{description}",
    }


def limit(default: int, most: int) -> dict[str, Any]:
    """Return the schema of how many are wanted."""
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "default": default,
        "description": "How many at most; fewer if they would be too long together.",
    }


def listed(properties: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a list of objects."""
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": list(required)},
    }
