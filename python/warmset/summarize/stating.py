"""What one text states: facts with their spelling, constraints and open tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from warmset.summarize.finding import code_of, names_of, quotes_of
from warmset.summarize.sentences import (
    asks_for_work,
    binds,
    box_of,
    content,
    forbids,
    sentences,
    without_marks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FactKind: TypeAlias = Literal[
    "number", "path", "url", "identifier", "name", "quote", "constraint", "task"
]
"""Numbers have their units, and dates, times, money and versions are among them."""

KINDS: Final[tuple[FactKind, ...]] = get_args(FactKind)

_AROUND: Final = 28
_ESCAPES: Final = re.compile(r'\\([nrt"/\\])')
_UNESCAPED: Final = {"n": "\n", "r": "\n", "t": " ", '"': '"', "/": "/", "\\": "\\"}
_SHORT: Final = 3


def stated(
    text: str, lower: set[str], done: set[str], *, written: bool
) -> Iterator[tuple[FactKind, str, str, str]]:
    """Yield what a text states: kind, text, key and what stands around it.

    Args:
        text: What is said.
        lower: Words that occur in lower case somewhere.
        done: Keys of tasks that were ticked; they are added here.
        written: Whether there are arguments of calls in it, whose escapes are read.
    """
    structured = text.lstrip()[:1] in {"{", "["}
    if written or structured:
        text = _ESCAPES.sub(lambda match: _UNESCAPED[match[1]], text)
    code = list(code_of(text))
    for one in code:
        yield one.kind, one.text, one.key, _around(text, one.start, one.end)  # type: ignore[misc]
    for one in names_of(text, code, lower):
        yield "name", one.text, one.key, ""
    if not structured:
        held = {(one.start, one.end) for one in code}
        for one in quotes_of(text):
            if (one.start + 1, one.end - 1) not in held:
                yield "quote", one.text, one.key, ""
    yield from _said(text, done)


def _said(text: str, done: set[str]) -> Iterator[tuple[FactKind, str, str, str]]:
    """Yield constraints and open tasks; a box that is ticked closes its task."""
    for sentence in sentences(text):
        box = box_of(sentence)
        said = box[0] if box else without_marks(sentence)
        key = " ".join(sorted(content(said)))
        if box is not None and box[1]:
            done.add(key)
        elif len(content(said)) > 1:
            bound = binds(said) and not said.endswith("?")
            if bound and (forbids(said) or not asks_for_work(sentence)):
                yield "constraint", said, key, ""
            elif asks_for_work(sentence):
                yield "task", said, key, ""


def _around(text: str, start: int, end: int) -> str:
    """Return a few words on either side, of the same line and sentence."""
    before = text[max(0, start - _AROUND) : start]
    for sign in ("\n", ". ", "! ", "? ", "; "):
        before = before.rpartition(sign)[2]
    if len(before) == min(start, _AROUND) and start > _AROUND:
        before = before.partition(" ")[2]
    after = text[end : end + _AROUND]
    for sign in ("\n", ". ", "! ", "? ", "; "):
        after = after.partition(sign)[0]
    if len(after) == _AROUND:
        after = after.rpartition(" ")[0]
    return " ".join(f"{before}{text[start:end]}{after}".split()).strip(" ,;:.")
