"""Reads cues from a question before the search: speakers, days, and what it asks for."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from warmset.index.cue import Cue
from warmset.index.labels import role_number
from warmset.retrieve.names import roster, without
from warmset.text.features import days

if TYPE_CHECKING:
    from warmset.index.labels import Numbers
    from warmset.state.ledger import Ledger

_WHEN: Final = re.compile(
    r"^\s*(?:(?:in|on|since|by|around|during|until|from)\s+)?(?:when\b|(?:which|what)\s+"
    r"(?:date|day|week|weekend|month|year|season|time)\b)"
    r"|\bhow\s+(?:long|old|often|recently|many\s+(?:days|weeks|months|years|times))\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|far|big|tall|large|high)\b", re.IGNORECASE
)


def read(query: str, numbers: Numbers, ledger: Ledger | None) -> tuple[str, Cue]:
    """Read a question.

    Args:
        query: The question.
        numbers: The names of the index.
        ledger: The searched conversation, if there is one. Its newest message determines the day of
            "yesterday"; without it, the clock does.

    Returns:
        The question without participants' names, and its cues.
    """
    words, speakers, roles = query, list[int](), list[int]()
    head = None if ledger is None else ledger.entries.get(ledger.history.head)
    if ledger is not None and ledger.speakers:
        words, found = roster(tuple(ledger.speakers.values())).find(query)
        if len(found) < len(ledger.speakers):
            speakers = [numbers.of("speaker", name) for name in found]
    elif ledger is not None:
        names = ledger.addressed.names()
        words, found = without(query, (name for name, _ in names.values()))
        bearers = {names[name][1] for name in found}
        roles = [role_number(role) for role in bearers] if len(bearers) == 1 else []
    cue = Cue(
        speakers=tuple(speakers),
        roles=tuple(roles),
        days=tuple(days(query, time.time() if head is None else head.at, past=True)),
        when=_WHEN.search(query) is not None,
        number=_NUMBER.search(query) is not None,
    )
    return words, cue
