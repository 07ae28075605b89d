"""How items stand in a payload: quoted as data, with their names, types, times and origins.

Every line begins with `#` and ends with a line break, where no vocabulary has a token that reaches
across: the tokens of quotes are the sum of the tokens of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from warmset._core import count_texts
from warmset.items.cells import time_of
from warmset.items.existing import MESSAGE
from warmset.text.lines import join_lines
from warmset.text.markup import ITEMS_TAG
from warmset.text.said import Said
from warmset.text.tags import tag_guard

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from warmset.route.candidates import Candidate

MOST_KEPT: Final = 8_192
"""The most quotes that are kept to be used again."""

guard: Final = tag_guard([ITEMS_TAG])
"""Makes a text one that cannot end the quotation."""
_INDENTED: Final = "\n  "


def quote(one: Candidate, text: str) -> str:
    """Quote an item; its further lines are indented, so that no text passes for another item."""
    day = f"{time_of(one.at):%Y-%m-%d}"
    if one.memory_type == MESSAGE:  # its name says what it is
        said = f"{day}, {one.origin}"
    else:
        of = (one.known.names("sections") or one.known.names("module"))[:1]
        said = ", ".join((one.memory_type, *of, day, one.origin))
    head = one_line(f"#{one.memory_id} ({said})")
    return guard(f"{head}: {join_lines(text, _INDENTED)}\n")


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return join_lines(text, " ")


class Line(NamedTuple):
    """An item as it may stand in a payload.

    Attributes:
        text: Its text.
        quote: The line or lines that quote it.
        tokens: What these take.
        said: What it says, to be compared with others.
    """

    text: str
    quote: str
    tokens: int
    said: Said


class Lines:
    """Items as they may stand in a payload, kept while the items stay as they are.

    Args:
        encoding: The vocabulary that tokens are counted with.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._kept: dict[int, Line] = {}
        self._removals = 0

    def of(
        self,
        some: Sequence[Candidate],
        read: Callable[[Sequence[Candidate]], Mapping[int, str]],
        lasting: Container[int],
    ) -> dict[int, Line]:
        """Return the lines of items by id, without those that are gone.

        Args:
            some: The items.
            read: Reads the texts of items.
            lasting: The ids of items whose lines may be kept.
        """
        kept = self._kept
        found = {one.id: known for one in some if (known := kept.get(one.id)) is not None}
        fresh = [one for one in some if one.id not in found]
        if fresh:
            texts = read(fresh)
            there = [one for one in fresh if one.id in texts]
            quotes = [quote(one, texts[one.id]) for one in there]
            counts = count_texts(quotes, self._encoding)
            new = {
                one.id: Line(texts[one.id], said, count, Said(texts[one.id]))
                for one, said, count in zip(there, quotes, counts, strict=True)
            }
            if len(kept) + len(new) > MOST_KEPT:
                self._kept = kept = {}
            kept.update((id_, line) for id_, line in new.items() if id_ in lasting)
            found |= new
        return found

    def follow(self, removals: int) -> None:
        """Drop what is kept if something was removed since the last call, so that it is gone.

        Args:
            removals: How often something was removed so far.
        """
        if removals != self._removals:
            self._removals = removals
            self.forget()

    def forget(self) -> None:
        """Drop what is kept, because something that it is of may be gone."""
        self._kept = {}
