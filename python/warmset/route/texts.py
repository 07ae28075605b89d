"""What candidates say, whole and in short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.options import SUMMARY_CHARS
from warmset.text.said import Said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warmset.items.items import Sources
    from warmset.route.candidates import Candidate

MOST_SUMMARY: Final = 400
"""The most characters of an item's own summary that are shown of it."""

_LOOKED_AT: Final = 4 * SUMMARY_CHARS


class Texts:
    """The texts of candidates; call it with one.

    Args:
        text: Returns the text of a candidate.
        summaries: Returns the summaries of candidates by id, of those that were put with one.
        said: Returns what a candidate says, worked out before.
    """

    def __init__(
        self,
        text: Callable[[Candidate], str],
        summaries: Callable[[Sequence[Candidate]], Mapping[int, str]] | None = None,
        *,
        said: Callable[[Candidate], Said] | None = None,
    ) -> None:
        self._text = text
        self._summaries = summaries
        self._said = said
        self._worked_out: dict[int, Said] = {}

    def __call__(self, one: Candidate, /) -> str:
        """Return the text of a candidate."""
        return self._text(one)

    def said(self, one: Candidate) -> Said:
        """Return what a candidate says: its terms, its facts, how often it says no."""
        if self._said is not None:
            return self._said(one)
        found = self._worked_out.get(one.id)
        if found is None:
            found = self._worked_out[one.id] = Said(self._text(one))
        return found

    def summaries(self, some: Sequence[Candidate]) -> dict[int, str]:
        """Return what candidates say in short, by id, each in one line.

        It is an item's own summary, cut at 400 characters, else the first 160 of its text.

        Raises:
            StoreError: The store could not be read.
        """
        own = {} if self._summaries is None else self._summaries(some)
        return {
            one.id: _short(own[one.id], MOST_SUMMARY)
            if one.id in own
            else _short(self._text(one), SUMMARY_CHARS)
            for one in some
        }


def stored_summaries(sources: Sources, some: Sequence[Candidate]) -> dict[int, str]:
    """Return the summaries that items were put with, by id.

    Raises:
        StoreError: The store could not be read.
    """
    shelf = sources.as_seen()
    held = [one for one in (shelf.get(any_.id) for any_ in some) if one is not None]
    found = (one for one in shelf.items(held) if one is not None)
    return {one.id: one.summary for one in found if one.summary and one.summary.strip()}


def _short(text: str, most: int) -> str:
    return " ".join(text[: 4 * most].split())[:most]
