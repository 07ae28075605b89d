"""Brings turns into a form that a dialect can write: what all dialects share of it.

What has to go is reported; nothing is invented, except for the text of a user's turn at an end of
the list of which nothing is left, where the dialect demands a user's turn there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset.messages.mending import CONTINUE, CONTINUED
from warmset.messages.pairing import fresh_ids
from warmset.messages.turns import Call, Part, Result, Text, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages.turns import Losses

NAMELESS: Final = "_"
"""The id of a call whose id is empty."""

PLACE: Final = "the place of a system message behind the first turn"
"""What is lost of a system message that becomes a part of the system prompt."""

ORDER: Final = "the order of text and tool parts"
"""What is lost where results have to stand in front, or calls at the end."""

Keep: TypeAlias = "Callable[[Part, Turn], Part | None]"
"""Returns a part of a turn as a dialect can write it; reports what it cannot, and returns None."""


def parts_of(turn: Turn) -> tuple[Part, ...]:
    """Return the parts of a turn; a text that is not empty is one part."""
    if isinstance(turn.content, str):
        return (Text(turn.content),) if turn.content else ()
    return turn.content


def with_own_ids(
    turns: list[Turn], losses: Losses, clean: Callable[[str], str] = str
) -> list[Turn]:
    """Give every call an id of its own, and its result the same.

    Args:
        turns: The turns.
        losses: Where other ids are reported, as metadata.
        clean: Returns an id as the dialect can write it.

    Returns:
        The turns; the first call of an id keeps it. A result belongs to the latest call of its id.
    """
    calls = [part.id for turn in turns for part in parts_of(turn) if isinstance(part, Call)]
    fresh = fresh_ids([clean(call) or NAMELESS for call in calls])
    number = -1
    ids: dict[str, str] = {}

    def own(part: Part, turn: Turn) -> Part:
        nonlocal number
        if isinstance(part, Call):
            number += 1
            ids[part.id] = fresh.get(number, clean(part.id) or NAMELESS)
            if ids[part.id] != part.id:
                losses.metadata(turn.index, f"the id {part.id!r} of a call, now {ids[part.id]!r}")
        elif isinstance(part, Result):
            return replace(part, id=ids.get(part.id, clean(part.id)))
        return replace(part, id=ids[part.id]) if isinstance(part, Call) else part

    return sifted(turns, own)


def sifted(turns: list[Turn], keep: Keep) -> list[Turn]:
    """Leave out what a dialect cannot write.

    Args:
        turns: The turns.
        keep: Called for every part that is not inside of a result; for a plain string as a text.

    Returns:
        The turns, those that stay as they are as the same objects.
    """
    return [_sift(turn, keep) for turn in turns]


def _sift(turn: Turn, keep: Keep) -> Turn:
    if isinstance(turn.content, str):
        kept = keep(Text(turn.content), turn)
        return turn if kept is not None else replace(turn, content=())
    content = tuple(kept for part in turn.content if (kept := keep(part, turn)) is not None)
    return turn if content == turn.content else replace(turn, content=content)


def joined_calls(turns: list[Turn]) -> list[Turn]:
    """Join turns of the assistant in a row, of which one calls, as their provider does.

    Args:
        turns: The turns, some of them perhaps empty.

    Returns:
        The turns; the results of all calls of a joined turn stand behind it.
    """
    joined: list[Turn] = []
    last: int | None = None  # where the assistant's turn stands that a further one may join
    for turn in turns:
        if turn.role == "assistant" and last is not None and _calls(joined[last], turn):
            both = (*parts_of(joined[last]), *parts_of(turn))
            joined[last] = replace(joined[last], content=both)
            continue
        if turn.content != ():
            last = len(joined) if turn.role == "assistant" else None
        joined.append(turn)
    return joined


def _calls(*turns: Turn) -> bool:
    return any(isinstance(part, Call) for turn in turns for part in parts_of(turn))


def without_empty(turns: list[Turn], losses: Losses, *, user_ends: bool = False) -> list[Turn]:
    """Leave out turns without content.

    Args:
        turns: The turns.
        losses: Where they are reported, as metadata.
        user_ends: Whether the dialect wants the list to begin and to end with the user. Then a
            user's turn without content says "(continued)" where the list would begin with the
            assistant without it, and "(continue)" where the list would end so.

    Returns:
        The turns that have content. Where that is none but system messages, and a user's turn was
        there, it says "(continue)" in all dialects, because they refuse an empty list.
    """
    kept: list[Turn] = []
    full = [at for at, turn in enumerate(turns) if turn.content != () and turn.role != "system"]
    for at, turn in enumerate(turns):
        if turn.content != ():
            kept.append(turn)
            continue
        said = _filler(turns, full, at, user_ends=user_ends) if turn.role == "user" else None
        instead = "" if said is None else f" but {said!r}"
        losses.metadata(turn.index, f"the {turn.role} message, as nothing is left in it{instead}")
        if said is not None and (not kept or kept[-1].content != said):
            kept.append(replace(turn, content=said))
    return kept


def _filler(turns: list[Turn], full: list[int], at: int, *, user_ends: bool) -> str | None:
    """Return what the user's turn at a position has to say; None if it may leave."""
    if not full:
        return CONTINUE
    if not user_ends:
        return None
    if at > full[-1] and turns[full[-1]].role == "assistant":
        return CONTINUE
    return CONTINUED if at < full[0] and turns[full[0]].role == "assistant" else None


def with_results_first(turns: list[Turn], losses: Losses) -> list[Turn]:
    """Put tool results before everything else that the user says in a row.

    Args:
        turns: The turns.
        losses: Where another order is reported, as content.

    Returns:
        The turns, those of runs that stay as they are as the same objects.
    """
    ordered: list[Turn] = []
    for _, run in groupby(turns, key=lambda turn: turn.role):
        ordered += _results_first(list(run), losses)
    return ordered


def _results_first(run: list[Turn], losses: Losses) -> list[Turn]:
    placed = [(turn, isinstance(part, Result)) for turn in run for part in parts_of(turn)]
    said = next((at for at, (_, is_result) in enumerate(placed) if not is_result), len(placed))
    late = next((turn for turn, is_result in placed[said:] if is_result), None)
    if late is None:
        return run
    losses.content(late.index, ORDER)
    results = tuple(part for turn in run for part in parts_of(turn) if isinstance(part, Result))
    rest = sifted(run, lambda part, _: None if isinstance(part, Result) else part)
    return [replace(late, content=results), *rest]  # what is empty now is merged or writes nothing
