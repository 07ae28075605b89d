"""The result texts of the tools: quoted turns, and what was left out and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from warmset.quote.format import block, quotes
from warmset.tools.schema import FETCH, SEARCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.state.entry import Entry

Shown: TypeAlias = "tuple[Entry, str]"
"""A turn and its text."""

UNKNOWN: Final = f"There is no such tool; there are {FETCH} and {SEARCH}."

COMPACTING: Final = (
    "The earlier part of this conversation is being summarised in the background. Later calls show "
    "the summary in its place. Go on."
)
NOTHING_TO_COMPACT: Final = "There is nothing to compact yet. Go on."

_TITLE: Final = "Turns that were found, one line each, the best first:\n"


def quoted(shown: Sequence[Shown]) -> str:
    """Quote turns as data, in the order of the conversation."""
    return block("", quotes(sorted(shown, key=lambda turn: turn[0].id)))


def found(lines: Sequence[str]) -> str:
    """Quote the hits of a search as lines."""
    return block("".join(lines), "", title=_TITLE)


def fetched(
    shown: Sequence[Shown],
    missing: Sequence[int],
    refused: Sequence[int],
    *,
    cut: int | None,
    exhausted: str,
) -> str:
    """Return the result text of a fetch.

    Args:
        shown: The turns that are shown.
        missing: Ids that are not in the conversation.
        refused: Ids of turns for which there was no room.
        cut: The id of the one turn that is shown in part.
        exhausted: The text if nothing could be shown.
    """
    lines = [quoted(shown)] if shown else []
    if cut is not None:
        lines.append(f"#{cut} is longer than what is left of the token budget: it is cut.")
    if missing:
        lines.append(f"This conversation has no turns {_listed(missing)}.")
    if refused:
        lines.append(f"Not shown, for want of tokens: {_listed(refused)}.")
        if not shown:
            lines.append(exhausted)
    return "\n".join(lines)


def exhausted(left: int, budget: int) -> str:
    """Return the text for an exhausted budget."""
    return (
        f"The token budget for earlier turns is exhausted ({left} of {budget} tokens are left). "
        "Answer with what you have."
    )


def _listed(ids: Sequence[int]) -> str:
    return ", ".join(f"#{id_}" for id_ in ids)
