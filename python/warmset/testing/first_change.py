"""The first changed byte between two values, with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from warmset.messages.codec import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

ChangeKind: TypeAlias = Literal["changed", "added", "left out", "reordered"]
"""How something changed: it is another value, it is new, it is gone, or the order is another."""

_AROUND: Final = 24
"""Characters that are shown on each side of the first difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixChange:
    """The first change between two requests, in the order in which the prompt cache reads them.

    Args:
        place: Where it is, as `messages[3].content[0].text`.
        kind: How it changed.
        byte: The number of equal bytes before it: of all that stands before it, each part (a tool,
            a block of the system prompt, a message) as compact JSON without cache marks.
        character: The position of the first other character in the text at that place; None if
            what changed is no text.
        before: What the first request has there, cut on both sides; empty if it has nothing.
        after: What the second request has there, likewise.
    """

    place: str
    kind: ChangeKind
    byte: int
    character: int | None
    before: str
    after: str


def common(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Return how many elements two sequences have in common at their front."""
    pairs = enumerate(zip(before, after, strict=False))
    least = min(len(before), len(after))
    return next((at for at, (one, other) in pairs if one != other), least)


def same_bytes(before: Any, after: Any) -> int:
    """Return how many bytes the compact JSON of two values has in common at its front."""
    return common(_bytes(before), _bytes(after))


def size(value: Any) -> int:
    """Return the number of bytes of a value as compact JSON."""
    return len(_bytes(value))


def equal(before: Any, after: Any) -> bool:
    """Return whether two values are equal as compact JSON, byte for byte."""
    return encode(before) == encode(after)


def first_change(before: Any, after: Any, place: str, byte: int) -> PrefixChange:
    """Return the first change between two values that are not equal.

    Args:
        before: The first value.
        after: The second value.
        place: Their place in the request.
        byte: The number of equal bytes before them.
    """
    byte += same_bytes(before, after)
    return _descend(before, after, place, byte)


def list_change(before: Sequence[Any], after: Sequence[Any], place: str, byte: int) -> PrefixChange:
    """Return the first change between two lists that are not equal.

    An element that comes later in the other list was not changed: elements before it were left
    out, added, or stand in another order.

    Args:
        before: The first list.
        after: The second list.
        place: Their place in the request.
        byte: The number of equal bytes before their first elements.
    """
    old, new = [encode(one) for one in before], [encode(one) for one in after]
    at = common(old, new)
    byte += sum(len(one.encode("utf-8", "surrogatepass")) for one in old[:at])
    here = f"{place}[{at}]"
    if at == len(old):
        return _change(here, "added", byte, "", _cut(new[at], 0))
    if at == len(new):
        return _change(here, "left out", byte, _cut(old[at], 0), "")
    byte += same_bytes(before[at], after[at])
    if new[at] in old[at:] and old[at] in new[at:]:
        return _change(here, "reordered", byte, _cut(old[at], 0), _cut(new[at], 0))
    if new[at] in old[at:]:
        return _change(here, "left out", byte, _cut(old[at], 0), "")
    if old[at] in new[at:]:
        return _change(here, "added", byte, "", _cut(new[at], 0))
    return _descend(before[at], after[at], here, byte)


def _descend(before: Any, after: Any, place: str, byte: int) -> PrefixChange:
    if isinstance(before, dict) and isinstance(after, dict):
        return _in_mappings(before, after, place, byte)
    if isinstance(before, list) and isinstance(after, list):
        found = list_change(before, after, place, 0)
        return _change(found.place, found.kind, byte, found.before, found.after, found.character)
    if isinstance(before, str) and isinstance(after, str):
        at = common(before, after)
        return _change(place, "changed", byte, _cut(before, at), _cut(after, at), at)
    return _change(place, "changed", byte, _shown(before), _shown(after))


def _in_mappings(
    before: dict[str, Any], after: dict[str, Any], place: str, byte: int
) -> PrefixChange:
    for old, new in zip(before, after, strict=False):
        if old == new:
            if not equal(before[old], after[old]):
                return _descend(before[old], after[old], f"{place}.{old}", byte)
        elif old not in after:
            return _change(f"{place}.{old}", "left out", byte, _shown(before[old]), "")
        elif new not in before:
            return _change(f"{place}.{new}", "added", byte, "", _shown(after[new]))
        else:
            return _change(place, "reordered", byte, ", ".join(before), ", ".join(after))
    if len(after) > len(before):
        new = list(after)[len(before)]
        return _change(f"{place}.{new}", "added", byte, "", _shown(after[new]))
    old = list(before)[len(after)]
    return _change(f"{place}.{old}", "left out", byte, _shown(before[old]), "")


def _change(
    place: str, kind: ChangeKind, byte: int, before: str, after: str, character: int | None = None
) -> PrefixChange:
    return PrefixChange(
        place=place, kind=kind, byte=byte, character=character, before=before, after=after
    )


def _shown(value: Any) -> str:
    return _cut(value if isinstance(value, str) else encode(value), 0)


def _cut(text: str, at: int) -> str:
    """Return a text around a position, with an ellipsis on each side that is cut."""
    start, end = max(0, at - _AROUND), at + _AROUND
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _bytes(value: Any) -> bytes:
    return encode(value).encode("utf-8", "surrogatepass")
