"""Descriptions of turns that callables made, in the store: one record each, erased with its turn.

A record has the names of the callables, so that results of others are never shown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset.store.derived import derived_draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.store.derived import Made
    from warmset.store.records import Draft

WHAT: Final = "line"
_KIND: Final = "summary"


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of a turn's description without reading it.

    Args:
        record: The id of its record.
        decision: Whether the turn settles something; None where the built-in rule decides.
    """

    record: int
    decision: bool | None


def description_draft(
    tenant: str, conversation: str, turn: int, by: Mapping[str, str], parts: Mapping[str, Any]
) -> Draft:
    """Return the draft of a turn's description.

    Args:
        tenant: The tenant's name.
        conversation: The conversation's name.
        turn: The id of the turn.
        by: The name of the callable of each part.
        parts: What each returned; a part whose callable failed is left out.
    """
    fields: dict[str, Any] = {"what": WHAT, "by": {part: by[part] for part in parts}}
    if "decisions" in parts:
        fields["decision"] = parts["decisions"]
    said = {part: parts[part] for part in ("summary_line", "entities") if part in parts}
    payload = json.dumps(said).encode() if said else b""
    return derived_draft(_KIND, tenant, conversation, fields, payload, (turn,))


def turn_of(made: Made) -> int | None:
    """Return the id of the turn that a record describes; None if it describes none."""
    if made.kind != _KIND or made.fields.get("what") != WHAT or len(made.sources) != 1:
        return None
    return made.sources[0]


def described(made: Made, names: Mapping[str, str]) -> Described | None:
    """Return the description in a record, if the callables in use made it.

    Args:
        made: The record.
        names: The names of the callables in use, by part.

    Returns:
        The description; None if another callable made a part of it, or one lacks.
    """
    if not names or made.fields.get("by") != dict(names):
        return None
    decision = made.fields.get("decision")
    return Described(made.id, decision if isinstance(decision, bool) else None)


def read_parts(payload: bytes) -> dict[str, Any]:
    """Read the texts of a description; empty if they are not as they are written."""
    try:
        found = json.loads(payload) if payload else {}
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    line, names = found.get("summary_line"), found.get("entities")
    kept: dict[str, Any] = {}
    if isinstance(line, str):
        kept["summary_line"] = line
    if isinstance(names, list) and all(isinstance(one, str) for one in names):
        kept["entities"] = names
    return kept
