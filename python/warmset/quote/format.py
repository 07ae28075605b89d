"""How turns stand in a window: quoted as data, with their ids, days and speakers.

They are in a message of the user, never replayed as if they had just been said. Every line begins
with `#` or `[` and ends with a line break, where no vocabulary has a token that reaches across: the
tokens of lines are the sum of the tokens of each.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from warmset.text.decisions import entities, summarise
from warmset.text.lines import join_lines
from warmset.text.markup import CLOSING, MEMORY_TAG, OPENING, TAG
from warmset.text.resolved_dates import dated
from warmset.text.tags import tag_guard
from warmset.text.timestamps import DAY, day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from warmset.state.entry import Entry

_guarded: Final = tag_guard([TAG, MEMORY_TAG])
_INDENTED: Final = "\n  "
_BRACKETS: Final = str.maketrans("[]", "()")
INDEX_TITLE: Final = "Other turns that may matter, one line each:\n"


def who(entry: Entry) -> str:
    """Return who wrote a message: the speaker and role, or the role."""
    role = entry.facts.role
    return f"{entry.speaker} ({role})" if entry.speaker else role


def head(entry: Entry, *, flagged: bool = False) -> str:
    """Return what a quote or a line of the index begins with: a turn's id, and who wrote it.

    Args:
        entry: The turn.
        flagged: Whether a decision is told.
    """
    flag = " [decision]" if flagged and entry.decision else ""
    return f"#{entry.id} {join_lines(who(entry), ' ')}{flag}"


@lru_cache(maxsize=4_096)
def _day(number: int) -> str:
    """Write a day, UTC, as people do: that costs the least."""
    at = datetime.fromtimestamp(number * DAY, UTC)
    return f"{at:%a} {at.day} {at:%b %Y}"


def day_line(number: int) -> str:
    """Return the line that stands above the turns of a day, counted from 1970."""
    return f"[{_day(number)}]\n"


def days_line(
    first: int, last: int, phrases: Iterable[tuple[str, str]] = (), *, above: bool = False
) -> str:
    """Return a line with the days of messages that are shown verbatim.

    Args:
        first: The first day, counted from 1970.
        last: The last day.
        phrases: What "yesterday" and the like meant in these messages; see `resolved`.
        above: Whether the messages stand above the line.

    Returns:
        A line as `[above: Sun 7 May 2023; "yesterday" is 6 May 2023]`.
    """
    days = _day(first) if first == last else f"{_day(first)} to {_day(last)}"
    said = ", ".join(f'"{phrase}" is {meant}' for phrase, meant in phrases)
    return f"[{'above: ' if above else ''}{days}{'; ' if said else ''}{said}]"


def changed_line(newer: int, *, below: bool) -> str:
    """Return the line behind a quote or an index line of which a value was changed later.

    Args:
        newer: The id of the message that changed it.
        below: Whether that message is shown word for word, where no id stands beside it.
    """
    return f"[changed later: #{newer}{', below' if below else ''}]\n"


def quote(entry: Entry, text: str) -> str:
    """Quote one turn, with its id and speaker; its day stands above it.

    Its further lines are indented, so that no text can pass for another turn's beginning. A phrase
    as "yesterday" is followed by the day that it meant.
    """
    said = join_lines(dated(text, entry.facts.role, entry.at), _INDENTED)
    return fenced(f"{head(entry)}: {said}\n")


def memory_quote(name: str, origin: str | None, at: float, text: str) -> str:
    """Quote a memory, or a turn of another conversation, with its name, its origin and its day.

    No text can pass for the beginning of another one, and no name for an origin.

    Args:
        name: What it is called.
        origin: Whose words these are; None if that is not known.
        at: When it was said or stored, in seconds since 1970 UTC.
        text: Its text.
    """
    whose = "origin not known" if origin is None else origin
    head = join_lines(name, " ").translate(_BRACKETS)
    said = join_lines(dated(text, whose, at), _INDENTED)
    return fenced(f"[{head}, {whose}, {_day(day_of(at))}] {said}\n")


def quotes(turns: Iterable[tuple[Entry, str]]) -> str:
    """Quote turns in order, with a line for the day wherever it changes."""
    out: list[str] = []
    last = None
    for entry, text in turns:
        now = day_of(entry.at)
        if now != last:
            out.append(day_line(now))
            last = now
        out.append(quote(entry, text))
    return "".join(out)


def index_line(entry: Entry, text: str, said: Mapping[str, Any] | None = None) -> str:
    """Describe one turn in a line: id, role, decision flag, summary, entities.

    Args:
        entry: The turn.
        text: Its text.
        said: What callables said of it; see `store.descriptions.read_parts`.
    """
    parts = said or {}
    summary = parts.get("summary_line") or summarise(text)
    found = parts["entities"] if "entities" in parts else entities(text)
    names = ", ".join(name for name in found if name not in summary)
    tail = f" ({names})" if names else ""
    return fenced(f"{head(entry, flagged=True)}: {summary}{tail}\n")


def block(lines: str, turns: str, *, title: str = INDEX_TITLE) -> str:
    """Put the scoped index and the quoted turns into the text of one message."""
    index = f"{title}{lines}" if lines else ""
    return f"{OPENING}{index}{turns}{CLOSING}"


def fenced(text: str) -> str:
    """Keep a quoted text from closing the quotation."""
    return _guarded(text)
