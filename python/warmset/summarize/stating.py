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
from warmset.text.stopwords import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

FactKind: TypeAlias = Literal[
    "number", "path", "url", "identifier", "name", "quote", "constraint", "task"
]
"""Numbers have their units, and dates, times, money and versions are among them."""

KINDS: Final[tuple[FactKind, ...]] = get_args(FactKind)

_AROUND: Final = 28
_WORDS: Final = 2
_STOPS: Final = re.compile(r"\n|[.!?;,] | [-–—] |[()\[\]{}|]")  # noqa: RUF001
_JOINS: Final = frozenset(
    "and but or so because while whereas which although though since".split()  # noqa: SIM905
)
"""Words that begin another clause."""

_ARTICLES: Final = frozenset({"a", "an", "the"})

_ESCAPES: Final = re.compile(r'\\([nrt"/\\])')
_UNESCAPED: Final = {"n": "\n", "r": "\n", "t": " ", '"': '"', "/": "/", "\\": "\\"}
_SHORT: Final = 3


def stated(
    text: str, said: str, lower: set[str], done: set[str], *, written: bool
) -> Iterator[tuple[FactKind, str, str, str]]:
    """Yield what a text states: kind, text, key and what stands around it.

    Args:
        text: The text.
        said: The part of it that somebody said, and no tool put out.
        lower: Words that occur in lower case somewhere.
        done: Keys of tasks that were ticked; they are added here.
        written: Whether there are arguments of calls in it, whose escapes are read.
    """
    structured = text.lstrip()[:1] in {"{", "["}
    if written or structured:
        text, said = (_ESCAPES.sub(lambda one: _UNESCAPED[one[1]], part) for part in (text, said))
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
    yield from _said(said, done)


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
    """Return a thing with the few words that say what it is, of the same clause.

    At most two words that carry meaning on either side, with the words of grammar between them:
    "gateway takes 50 requests per minute", and not the rest of the clause.
    """
    before = _STOPS.split(text[max(0, start - _AROUND) : start])[-1]
    if len(before) == min(start, _AROUND) and start > _AROUND:
        before = before.partition(" ")[2]
    after = _STOPS.split(text[end : end + _AROUND], maxsplit=1)[0]
    if len(after) == _AROUND:
        after = after.rpartition(" ")[0]
    left, right = _near(before.split()[::-1], before[-1:]), _near(after.split(), after[:1])
    gaps = ["" if side.strip() else " " for side in (before[-1:], after[:1])]
    whole = f"{' '.join(left[::-1])}{gaps[0]}{text[start:end]}{gaps[1]}{' '.join(right)}"
    return whole.strip(" ,;:.")


def _near(words: list[str], edge: str) -> list[str]:
    """Return the words from a thing on, up to two that carry meaning."""
    near: list[str] = []
    count = 0
    for word in words:
        plain = word.casefold().strip(",.;:")
        if plain in _JOINS or (count and plain in _ARTICLES):
            break
        near.append(word)
        count += plain not in EMPTY and plain != "per"
        if count == _WORDS:
            break
    keep = 1 if edge.strip() else 0  # what is written together stays together
    while len(near) > keep and near[-1].casefold() in EMPTY:
        near.pop()
    return near
