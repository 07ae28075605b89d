"""The days of the messages that a window shows verbatim, as lines of ours beside them.

```text
task ─ [above: Sun 7 May 2023] │ quotes │ [Tue 9 May 2023] ─ message ─ [Wed 10 May 2023] ─ message
```

Messages stay as they are. A line stands where the day changes, and says what "yesterday" and the
like meant in the messages up to the next line. It depends on the times of messages alone, never on
today's date. Nothing stands before the task, so that the front of a list stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from warmset.quote.format import days_line
from warmset.text.timestamps import day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.quote.cache import Cards
    from warmset.state.entry import Entry

MOST_PHRASES: Final = 6
"""The most phrases in a line; a text with more of them is a table."""

LOOKED_AT: Final = 32
"""The most messages of a line in which phrases are looked for, the first ones of its day."""


@dataclass(frozen=True, slots=True)
class DayLine:
    """A line with a day.

    Args:
        text: The line.
        before: The id of the message that it stands before; None for the one after the task.
        ids: The messages that it speaks of.
    """

    text: str
    before: int | None
    ids: tuple[int, ...]


def several_days(live: Sequence[Entry], shown: Iterable[Entry]) -> bool:
    """Return whether the messages of a conversation are of more than one day.

    System messages do not count: nobody said them on a day.

    Args:
        live: The conversation's messages.
        shown: Those that are shown verbatim.
    """
    first = next((day_of(one.at) for one in live if not one.facts.is_system), None)
    last = next((day_of(one.at) for one in reversed(live) if not one.facts.is_system), None)
    spoken = (day_of(one.at) for one in shown if not one.facts.is_system)
    return last != first or any(day != first for day in spoken)


def may_stand(before: Entry | None, entry: Entry) -> bool:
    """Return whether a user's message may come between two neighbours of a list.

    That is before a user's message, and before a reply, unless it goes on with a tool loop or
    follows a system message.

    Args:
        before: The message before; None if something else stands there.
        entry: The message that it would stand before.
    """
    facts = entry.facts
    if facts.is_system or facts.results or facts.keep:
        return False
    if facts.role == "user":
        return True
    if facts.role != "assistant":
        return False
    if before is None:
        return True
    last = before.facts
    return not (last.is_system or last.calls or last.results)


def is_closed(since: Iterable[Entry]) -> bool:
    """Return whether lines may stand among the messages behind a request.

    That is where none of them is a step of a tool loop, or a reply with thinking, which was made
    behind exactly what stands before it.

    Args:
        since: The messages.
    """
    return not any(one.facts.calls or one.facts.results or one.behind is not None for one in since)


def above_line(cards: Cards, entries: Sequence[Entry]) -> DayLine:
    """Return the line that says when the messages above it were said.

    Args:
        cards: Reads phrases of time.
        entries: The messages. Phrases are given if they are of one day.
    """
    days = [day_of(entry.at) for entry in entries]
    first, last = min(days), max(days)
    said = _phrases(cards, entries) if first == last else {}
    text = days_line(first, last, said.items(), above=True)
    return DayLine(text, None, tuple(entry.id for entry in entries))


def line_before(cards: Cards, entries: Sequence[Entry]) -> DayLine:
    """Return the line before messages of one day, of which there is at least one."""
    day = day_of(entries[0].at)
    text = days_line(day, day, _phrases(cards, entries).items())
    return DayLine(text, entries[0].id, tuple(entry.id for entry in entries))


def tail_lines(
    cards: Cards, units: Iterable[Sequence[Entry]], *, until: int | None
) -> list[DayLine]:
    """Return the lines within the verbatim tail of a window.

    Args:
        cards: Reads phrases of time.
        units: The units of the tail.
        until: The id of the last message before which a line may stand; None for all.

    Returns:
        The lines, in order. No line stands within a unit.
    """
    placed = sorted(
        ((one.id, one, unit[-1].id) for unit in units for one in unit), key=itemgetter(0)
    )
    groups: list[list[Entry]] = []
    before, stated, reach = None, None, 0
    for id_, entry, end in placed:
        if until is not None and id_ > until:
            break
        day = day_of(entry.at)
        if day != stated and id_ > reach and may_stand(before, entry):
            groups.append([entry])
            stated = day
        elif groups and day == stated:
            groups[-1].append(entry)
        before, reach = entry, max(reach, end)
    return [line_before(cards, group) for group in groups]


def _phrases(cards: Cards, entries: Iterable[Entry]) -> dict[str, str]:
    """Return the phrases of time in messages of one day, each once."""
    found: dict[str, tuple[str, str]] = {}
    for entry in islice(entries, LOOKED_AT):
        for phrase, meant in cards.phrases(entry):
            found.setdefault(phrase.casefold(), (phrase, meant))
    return dict(list(found.values())[:MOST_PHRASES])
