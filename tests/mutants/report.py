"""What came of the mutants: a table by room, the survivors with their diffs, files."""

from __future__ import annotations

import json
import platform
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from tests.mutants.equivalent import Equivalent
    from tests.mutants.mutant import Result
    from tests.mutants.tree import Tree

SEEN = ("found", "timeout")
SCORED = (*SEEN, "lived")
COLUMNS = ("found", "timeout", "lived", "equivalent", "unviable", "stale", "broken")
DIFF_ROWS = 14


def score(results: Sequence[Result]) -> float | None:
    """Return the share that was found, from 0 to 1; None if none was tried.

    Mutants that took too long count as found; equivalent, stale and broken ones do not count.
    """
    return _share(Counter[str](one.outcome for one in results))


def _share(counts: Mapping[str, int]) -> float | None:
    tried = sum(counts[name] for name in SCORED)
    return sum(counts[name] for name in SEEN) / tried if tried else None


def by_room(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Sort results into rooms."""
    rooms = defaultdict(list)
    for one in results:
        rooms[one.mutant.room].append(one)
    return dict(sorted(rooms.items()))


def show(results: Sequence[Result], unmatched: Sequence[Equivalent], console: Console) -> None:
    """Print the table, then everything that somebody has to look at."""
    table = Table(title="Mutants")
    table.add_column("room")
    fresh = any(one.fresh for one in results)
    for name in (*COLUMNS, "score", *(["fresh"] if fresh else [])):
        table.add_column(name, justify="right")
    rooms = by_room(results)
    for room, own in [*rooms.items(), ("all", list(results))]:
        if room == "all":
            table.add_section()
        counts = Counter[str](one.outcome for one in own)
        cells = [str(counts[name] or "") for name in COLUMNS]
        cells.append(_percent(own))
        if fresh:
            cells.append(_percent([one for one in own if one.fresh]))
        table.add_row(room, *cells)
    for outcome in ("lived", "stale", "broken"):
        for one in results:
            if one.outcome == outcome:
                _show_one(one, console)
    for entry in unmatched:
        console.print(
            f"[red]unmatched[/] equivalent.toml: {escape(entry.file)}, {escape(entry.operator)}, "
            f"{escape(entry.line)}: no such mutant any more",
            soft_wrap=True,
        )
    console.print(table)


def _percent(results: Sequence[Result]) -> str:
    found = score(results)
    return "" if found is None else f"{found:.0%}"


def _show_one(one: Result, console: Console) -> None:
    mutant = one.mutant
    place = f"{mutant.file}:{mutant.line}"
    why = f" ({one.by})" if one.by else ""
    text = f"[red]{one.outcome}[/] {escape(place)}: {escape(mutant.operator + why)}"
    console.print(text, soft_wrap=True, highlight=False)
    if one.outcome == "lived":
        rows = one.shown().splitlines()
        rows = [row for row in rows if not row.startswith(("---", "+++", "@@"))]
        kept = rows[:DIFF_ROWS] + (["…"] if len(rows) > DIFF_ROWS else [])
        for row in kept:
            console.print(f"    {row}", markup=False, soft_wrap=True, highlight=False)


def as_json(
    results: Sequence[Result], unmatched: Sequence[Equivalent], command: str
) -> dict[str, Any]:
    """Return every result in words and numbers."""
    return {
        "command": command,
        "rooms": _counts(results),
        "unmatched": [[one.file, one.operator, one.line] for one in unmatched],
        "mutants": [
            {
                "room": one.mutant.room,
                "file": one.mutant.file,
                "line": one.mutant.line,
                "operator": one.mutant.operator,
                "outcome": one.outcome,
                "seconds": round(one.seconds, 2),
                "by": one.by,
                "fresh": one.fresh,
                "diff": one.shown() if one.outcome in {"lived", "broken"} else "",
            }
            for one in results
        ],
    }


def _counts(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    rows = {}
    for room, own in [*by_room(results).items(), ("all", list(results))]:
        counts = Counter[str](one.outcome for one in own)
        rows[room] = _row(counts)
    return rows


def save(tree: Tree, kind: str, results: Sequence[Result], command: str) -> Path:
    """Write the counts by room, with what they belong to, beside the other results.

    What the file has of other rooms stays, so that all rooms may be tried in several runs.

    Raises:
        UsageError: The commit cannot be named.
    """
    path = tree.root / "benches" / "results" / f"mutants-{kind}.json"
    setting = {
        "commit": tree.git("rev-parse", "HEAD").strip(),
        "changed": bool(tree.git("status", "--porcelain", "--untracked-files=no").strip()),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "command": command,
    }
    counted = _counts(results)
    del counted["all"]
    rooms = {**_saved(path), **{room: {**row, **setting} for room, row in counted.items()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    made = {"rooms": dict(sorted(rooms.items())), "all": _sums(rooms.values())}
    path.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    return path


def _saved(path: Path) -> dict[str, dict[str, Any]]:
    try:
        read: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))["rooms"]
    except FileNotFoundError:
        return {}
    return read


def _sums(rows: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    return _row({name: sum(row[name] for row in rows) for name in COLUMNS})


def _row(counts: Mapping[str, int]) -> dict[str, Any]:
    found = _share(counts)
    return {
        **{name: counts[name] for name in COLUMNS},
        "score": None if found is None else round(found, 4),
    }


def below(results: Sequence[Result], least: float) -> list[str]:
    """List the rooms whose score is below a share from 0 to 1."""
    scores = {room: score(own) for room, own in by_room(results).items()}
    return [room for room, found in scores.items() if found is not None and found < least]
