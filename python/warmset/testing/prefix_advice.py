"""Findings between two requests as lines for people: what, where, what it costs, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.testing.prefix_order import SYSTEM, TOOLS
from warmset.text.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.testing.first_change import PrefixChange
    from warmset.testing.prefix_diff import PrefixDiff

_SYSTEM: Final = (
    "build the system prompt once for a conversation; put what changes, as the date, into a "
    "message at the end"
)
_TOOLS: Final = (
    "send the same tools in the same order in all requests; allow or forbid one by tool_choice"
)
_MODEL: Final = "caches and thinking belong to one model; switch it where the list begins anew"
_PARAMETER: Final = "set it once for a conversation"
_REORDERED: Final = "write it in the same order in all requests"
_LEFT_OUT: Final = (
    "leave messages out seldom and many at once, as a compaction does, not some at each request"
)
_ADDED: Final = "append what is new at the end of the list"
_CHANGED: Final = (
    "send messages as they were first sent; shorten tool results before they are first sent"
)
_THINKING: Final = (
    "send what stood before it unchanged, or leave out all thinking behind the change"
)

_PLACES: Final = 3
"""The most blocks of invalid thinking that are listed; the rest is only counted."""


def advice(found: PrefixDiff) -> str:
    """Return what to do about a finding; empty if there is nothing to do."""
    if found.change is None:
        return _THINKING if found.thinking else ""
    name, kind = found.changed[0], found.change.kind
    known = {"model": _MODEL, **dict.fromkeys(TOOLS, _TOOLS), **dict.fromkeys(SYSTEM, _SYSTEM)}
    if name not in known and not found.change.place.startswith(f"{name}["):
        return _PARAMETER
    kinds = {"left out": _LEFT_OUT, "added": _ADDED, "reordered": _REORDERED}
    return known.get(name) or kinds.get(kind, _CHANGED)


def lines(found: PrefixDiff) -> Iterator[str]:
    """Yield the lines that describe a finding, without control characters.

    Args:
        found: What changed between two requests.
    """
    first = f"requests {found.first} and {found.first + 1}: "
    if found.change is None:
        yield f"{first}the second only appends; {found.same:,} tokens can come from the cache"
    else:
        yield first + _what(found.change)
        yield from _shown(found.change)
        cost = f"read again: {found.lost:,} tokens{_money(found)}"
        yield f"  equal before it: {found.same:,} tokens; {cost}"
        if len(found.changed) > 1:
            yield f"  changed as well: {', '.join(found.changed[1:])}"
    for one in found.thinking[:_PLACES]:
        yield f"  thinking at {one.place} is {one.consequence}: {one.why}"
    if len(found.thinking) > _PLACES:
        yield f"  and {len(found.thinking) - _PLACES:,} more blocks of thinking"
    if found.marks_moved and not found.ok:
        yield "  cache marks moved, which is no change"
    for note in found.notes:
        yield f"  {note}"
    if not found.ok:
        yield f"  to do: {advice(found)}"


def _what(change: PrefixChange) -> str:
    where = "" if change.character is None else f", character {change.character:,}"
    verb = {"changed": "changed", "added": "is new", "left out": "was left out"}
    what = verb.get(change.kind, "is in another order")
    return f"{printable(change.place)} {what} (byte {change.byte:,}{where})"


def _shown(change: PrefixChange) -> Iterator[str]:
    if change.before:
        yield f"    was: {printable(change.before)}"
    if change.after:
        yield f"    now: {printable(change.after)}"


def _money(found: PrefixDiff) -> str:
    if found.money is None:
        return ", at a price that is not known" if found.lost else ""
    return f", {found.money:.6f} USD more than from the cache" if found.lost else ""
