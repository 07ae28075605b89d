"""The newer value beside the older one: a turn is not quoted without the one that changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.quote.format import changed_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.engine.engine import Engine
    from warmset.quote.cache import Cards
    from warmset.retrieve.changers import Changers
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger


def with_newer(
    engine: Engine,
    ledger: Ledger,
    quoted: Sequence[tuple[Entry, ...]],
    changers: Changers,
    known: Iterable[Entry],
    room: int,
) -> tuple[tuple[tuple[Entry, ...], ...], tuple[tuple[int, int], ...]]:
    """Add to quoted units those that changed their values; the caller holds the engine's lock.

    Behind them come the units that changed values of messages that are shown besides: they take no
    room from what was found.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        quoted: The units, the best first.
        changers: The turns that changed a value.
        known: Messages that are shown besides.
        room: The most tokens of all quotes.

    Returns:
        The units, each behind the one that changed it, so that it leaves before it; and the ids of
        changed messages, each with that of the one that changed it.
    """
    cards, known = engine.cards, tuple(known)
    there = [one for unit in quoted for one in unit]
    changed = {one.id: new for one in there if (new := changers.newer(one)) is not None}
    besides = {new.id for one in known if (new := changers.newer(one)) is not None}
    if not changed and not besides:
        return tuple(quoted), ()
    shown = {one.id for one in (*there, *known)}
    units: list[tuple[Entry, ...]] = []
    for unit in quoted:
        missing = {new.id for one in unit if (new := changed.get(one.id)) and new.id not in shown}
        for more in ledger.together(sorted(missing)):
            if sum(cards.quote(one).tokens for one in more) > room // 2:
                break
            units.append(tuple(more))
            shown |= {one.id for one in more}
        if all(one.id not in changed or changed[one.id].id in shown for one in unit):
            units.append(tuple(unit))
    ordered = newer_first(units, changed)
    for more in ledger.together(sorted(besides - shown)):
        if more and more[0].id not in shown:
            ordered.append(tuple(more))
            shown |= {one.id for one in more}
    marks = {old: changed_line(new.id, below=True) for old, new in changed.items()}
    while ordered and _tokens(cards, ordered, marks) > room:
        ordered.pop()
    left = {one.id for unit in ordered for one in unit}
    return tuple(ordered), tuple((old, new.id) for old, new in changed.items() if old in left)


def lines_with_newer(
    engine: Engine,
    lines: Sequence[Entry],
    changers: Changers,
    known: Iterable[Entry],
    room: int,
) -> tuple[tuple[Entry, ...], tuple[tuple[int, int], ...]]:
    """Add to listed messages those that changed their values; see `with_newer`."""
    cards = engine.cards
    changed = {one.id: new for one in lines if (new := changers.newer(one)) is not None}
    if not changed:
        return tuple(lines), ()
    shown = {one.id for one in known}
    out: list[Entry] = []
    for one in lines:
        new = changed.get(one.id)
        if new is not None and new.id not in shown and new not in out:
            out.append(new)
        if one not in out:
            out.append(one)
    marks = {old: changed_line(new.id, below=True) for old, new in changed.items()}
    while out and sum(cards.line(one).tokens + _mark(cards, one, marks) for one in out) > room:
        out.pop()
    left = {one.id for one in out}
    return tuple(out), tuple((old, new.id) for old, new in changed.items() if old in left)


def newer_first(
    units: list[tuple[Entry, ...]], changed: dict[int, Entry]
) -> list[tuple[Entry, ...]]:
    """Order units so that each stands behind those that changed its values."""
    homes = {one.id: unit for unit in units for one in unit}
    out: list[tuple[Entry, ...]] = []
    seen: set[int] = set()

    def add(unit: tuple[Entry, ...]) -> None:
        if unit[0].id in seen:
            return
        seen.add(unit[0].id)
        newer = {changed[one.id].id for one in unit if one.id in changed}
        for id_ in sorted(newer & homes.keys()):
            add(homes[id_])
        out.append(unit)

    for unit in units:
        add(unit)
    return out


def _tokens(cards: Cards, units: Iterable[tuple[Entry, ...]], marks: dict[int, str]) -> int:
    entries = sorted((one for unit in units for one in unit), key=lambda one: one.id)
    return sum(line.tokens for line in cards.quotes(entries, marks))


def _mark(cards: Cards, entry: Entry, marks: dict[int, str]) -> int:
    return cards.plain(marks[entry.id]).tokens if entry.id in marks else 0
