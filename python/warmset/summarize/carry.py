"""Lost facts as a compact list under a cap of tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from warmset._core import count_text, count_texts
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.summarize.fact import Fact

_WEIGHTS: Final = {
    "constraint": 7.0,
    "task": 6.0,
    "number": 3.0,
    "identifier": 3.5,
    "path": 3.5,
    "url": 3.0,
    "name": 3.0,
    "quote": 2.5,
}
_ROLES: Final = {"user": 1.5, "assistant": 0.5, "tool": -2.0}
_TITLES: Final = {
    "constraint": "Constraints",
    "task": "Still open",
    "number": "Numbers",
    "identifier": "Identifiers",
    "path": "Paths",
    "url": "URLs",
    "name": "Names",
    "quote": "Quoted",
}
_LONGEST: Final = 240
_MOST: Final = 2_000
"""Facts that are looked at: a list of more fits no summary."""


def weight(fact: Fact) -> float:
    """Return how important it is that a fact is not lost."""
    base = _WEIGHTS[fact.kind] + _ROLES.get(fact.role, 0.0) + math.log2(fact.times)
    if fact.kind == "number" and " " not in fact.text and fact.text.isdigit():
        base -= 1.5 if len(fact.text) > 1 else 2.5
    return base


def carry(lost: Sequence[Fact], max_tokens: int, encoding: str) -> str:
    """Return lost facts as a list; see `Audit.carried`."""
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0:
        raise InvalidInputError(f"max_tokens: expected 0 or more, found {max_tokens!r}")
    chosen = _distinct(sorted(lost, key=lambda fact: (-weight(fact), fact.at)))
    costs = count_texts([f"; {_shown(fact)}" for fact in chosen], encoding)
    titles = dict(
        zip(
            _TITLES,
            count_texts([f"\n{t}: " for t in _TITLES.values()], encoding),
            strict=True,
        )
    )
    room = max_tokens
    taken: list[Fact] = []
    begun: set[str] = set()
    for fact, cost in zip(chosen, costs, strict=True):
        whole = cost + 1 + (0 if fact.kind in begun else titles[fact.kind] + 1)
        if whole <= room:
            room -= whole
            begun.add(fact.kind)
            taken.append(fact)
    text = _listed(taken)
    while taken and count_text(text, encoding)[0] > max_tokens:
        taken.pop()
        text = _listed(taken)
    return text


def _distinct(facts: Iterable[Fact]) -> list[Fact]:
    """Leave out what is said within something more important."""
    chosen: list[Fact] = []
    said = ""
    for fact in facts:
        plain = (_shown(fact) if fact.kind == "number" else fact.text).casefold()
        if plain not in said:
            chosen.append(fact)
            said = f"{said}\n{_shown(fact).casefold()}"
        if len(chosen) == _MOST:
            break
    return chosen


def _shown(fact: Fact) -> str:
    text = fact.around if fact.kind == "number" and fact.around else fact.text
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"


def _listed(facts: Sequence[Fact]) -> str:
    lines: list[str] = []
    for kind, title in _TITLES.items():
        found = [_shown(fact) for fact in facts if fact.kind == kind]
        if found:
            lines.append(f"{title}: {'; '.join(found)}")
    return "\n".join(lines)
