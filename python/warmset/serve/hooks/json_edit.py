"""Adds to a JSON file, and takes from it, without touching anything else in its text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.serve.hooks.draft import Draft

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")


class Span(NamedTuple):
    """Where something stands in a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Node:
    """An object or a list, with the places of what is in it.

    Args:
        span: Where it stands, its brackets included.
        members: Where each member stands: its key, if it has one, to the end of its value.
        values: Where each value stands.
        keys: The key of each, in an object.
    """

    span: Span
    members: tuple[Span, ...]
    values: tuple[Span, ...]
    keys: tuple[str, ...]

    def value(self, key: str) -> Span | None:
        """Return where the value of a key stands; the last one counts, as for a reader."""
        for name, span in zip(reversed(self.keys), reversed(self.values), strict=True):
            if name == key:
                return span
        return None


def loaded(text: str, name: str) -> dict[str, Any]:
    """Return the object in a text.

    Args:
        text: The text.
        name: What to call it in errors.

    Raises:
        InvalidInputError: It is no JSON object.
    """
    try:
        made = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{name} is no valid JSON ({error}); nothing was changed: mend it first"
        ) from None
    if not isinstance(made, dict):
        raise InvalidInputError(f"{name} is no JSON object; nothing was changed: mend it first")
    return made


def node(text: str, start: int = 0) -> Node:
    """Return the object or the list that begins behind a place of valid JSON."""
    at = _behind_space(text, start)
    first, is_object = at, text[at] == "{"
    at = _behind_space(text, at + 1)
    members: list[Span] = []
    values: list[Span] = []
    keys: list[str] = []
    decoder = json.JSONDecoder()
    while text[at] not in "}]":
        begun = at
        if is_object:
            key, at = decoder.raw_decode(text, at)
            keys.append(str(key))
            at = _behind_space(text, _behind_space(text, at) + 1)
        _, end = decoder.raw_decode(text, at)
        values.append(Span(at, end))
        members.append(Span(begun, end))
        at = _behind_space(text, end)
        if text[at] == ",":
            at = _behind_space(text, at + 1)
    return Node(Span(first, at + 1), tuple(members), tuple(values), tuple(keys))


def add(draft: Draft, path: tuple[str, ...], made: object) -> None:
    """Add a member to an object, or an element to the list that is there already.

    Objects on the way that are missing are made.

    Args:
        draft: A text with a valid JSON object.
        path: The keys that lead to it.
        made: The value; for a list that is there, a list of the elements to add.

    Raises:
        InvalidInputError: What is there is neither an object on the way, nor a list at its end.
    """
    here, depth = node(draft.text), 0
    while True:
        key, last = path[depth], depth == len(path) - 1
        span = here.value(key)
        if span is None:
            value = made
            for name in reversed(path[depth + 1 :]):
                value = {name: value}
            _put(draft, here, depth, [f"{json.dumps(key)}: ", value])
            return
        wanted = "[" if last else "{"
        if draft.text[span.start] != wanted:
            kind = "list" if last else "object"
            raise InvalidInputError(
                f"{'.'.join(path[: depth + 1])} is no {kind}; nothing was changed: mend it first"
            )
        here, depth = node(draft.text, span.start), depth + 1
        if last:
            for element in made if isinstance(made, list) else [made]:
                _put(draft, node(draft.text, span.start), depth, ["", element])
            return


def take(text: str, path: tuple[str, ...], wanted: Callable[[Any], bool]) -> str:
    """Take elements from a list, or a member from an object, with its comma.

    Args:
        text: A valid JSON object.
        path: The keys that lead to the list, or to the member.
        wanted: Says of an element, or of the member, whether it leaves.

    Returns:
        The text without them; without the list, too, if it is empty then.
    """
    here = node(text)
    for key in path[:-1]:
        span = here.value(key)
        if span is None or text[span.start] != "{":
            return text
        here = node(text, span.start)
    span = here.value(path[-1])
    if span is None:
        return text
    if text[span.start] != "[":
        if wanted(json.loads(text[span.start : span.end])):
            text = _cut(text, here, here.values.index(span))
        return text
    there = node(text, span.start)
    gone = [at for at, one in enumerate(there.values) if wanted(json.loads(text[one[0] : one[1]]))]
    if not gone:
        return text
    if len(gone) == len(there.values):
        return _cut(text, here, here.values.index(span))
    for at in reversed(gone):
        text = _cut(text, node(text, span.start), at)
    return text


def _cut(text: str, here: Node, at: int) -> str:
    """Take a member with the comma before it, or behind it where it is the first."""
    member = here.members[at]
    if at:
        return text[: here.members[at - 1].end] + text[member.end :]
    if len(here.members) > 1:
        return text[: member.start] + text[here.members[1].start :]
    return text[: here.span.start + 1] + text[here.span.end - 1 :]


def _put(draft: Draft, here: Node, depth: int, member: list[Any]) -> None:
    """Add a member at the end of an object or a list, in the style of the text."""
    text, [key, value] = draft.text, member
    line = "\r\n" if "\r\n" in text else "\n"
    if "\n" not in text.strip():
        first = ", " if here.members else ""
        at = here.members[-1].end if here.members else here.span.start + 1
        draft.insert(at, first + key + json.dumps(value, ensure_ascii=False))
        return
    found = _INDENT.search(text)
    unit = found[1] if found else "  "
    inner = unit * (depth + 1)
    said = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", line + inner)
    if here.members:
        draft.insert(here.members[-1].end, f",{line}{inner}{key}{said}")
        return
    inside = text[here.span.start + 1 : here.span.end - 1]
    tail = "" if "\n" in inside else line + unit * depth
    draft.insert(here.span.start + 1, f"{line}{inner}{key}{said}{tail}")


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
