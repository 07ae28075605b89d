"""The checkpoint of a session: goal, files in use, done, next, blockers, decisions.

It is extracted from the transcript by tables of words, without a model, and has no more than 2,000
bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from warmset.compact.distil import CUES
from warmset.serve.hooks.cutting import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.serve.hooks.transcripts import Turn

MOST_BYTES: Final = 2_000
"""The most bytes of a checkpoint, as UTF-8."""

QUERY: Final = 300
"""How many of its first characters are the query of a compaction."""

TURNS: Final = 60
"""How many of the last user and assistant turns a compaction reads."""

_SHARES: Final = {
    "goal": 420,
    "next": 330,
    "done": 330,
    "files in use": 330,
    "decisions": 330,
    "blockers": 200,
}
"""The most bytes of each part, in the order in which they stand."""

_EACH: Final = 160
_LEAST_GOAL: Final = 12
_MOST_FILES: Final = 12
_MOST_LINES: Final = 6
_READ: Final = 4_000
_READ_TURNS: Final = 2 * TURNS
_DONE: Final = (
    "done",
    "fixed",
    "added",
    "implemented",
    "created",
    "updated",
    "removed",
    "renamed",
    "committed",
    "passes",
    "pass now",
    "passing",
    "works now",
    "finished",
    "completed",
)
_NEXT: Final = (
    "next",
    "remaining",
    "still need",
    "still needs",
    "todo",
    "to do",
    "left to",
    "then i will",
    "then i'll",
    "will now",
)
_BLOCKED: Final = (
    "blocked",
    "blocker",
    "cannot",
    "can't",
    "fails",
    "failing",
    "failed",
    "waiting for",
    "need your",
    "needs your",
    "permission denied",
    "not installed",
)
_SENTENCE: Final = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*[.!?]?")
_MARKS: Final = re.compile(r"^[\s\-*#>|]+|[*`_]{2,}")


def _pattern(cues: Iterable[str]) -> re.Pattern[str]:
    spoken = (r"\s+".join(map(re.escape, cue.split())) for cue in cues)
    return re.compile(rf"(?<!\w)(?:{'|'.join(spoken)})(?!\w)", re.IGNORECASE)


_IS_DONE, _IS_NEXT, _IS_BLOCKED = _pattern(_DONE), _pattern(_NEXT), _pattern(_BLOCKED)
_IS_DECISION: Final = _pattern(CUES["decision"])


def checkpoint(turns: Sequence[Turn], first: str = "") -> str:
    """Return the checkpoint of a session.

    Args:
        turns: Its last turns, oldest first.
        first: What the user asked first.

    Returns:
        Lines, each with the name of its part; empty if the turns say nothing. No part has a line
        break, and all of it has at most `MOST_BYTES` bytes.
    """
    plan = next((turn.plan for turn in reversed(turns) if turn.plan), ())
    last = [turn for turn in turns if turn.text and turn.role in ("user", "assistant")][
        -_READ_TURNS:
    ]
    said = [turn.text for turn in last if turn.role == "assistant"]
    both = [turn.text for turn in last]
    parts = {
        "goal": _goal(turns, first),
        "next": [item for item, status in plan if status != "completed"]
        or _sentences(said, _IS_NEXT, without=_IS_DONE),
        "done": [item for item, status in plan if status == "completed"]
        or _sentences(said, _IS_DONE, without=_IS_NEXT),
        "files in use": _files(turns),
        "decisions": _sentences(both, _IS_DECISION),
        "blockers": _sentences(said[-_MOST_LINES:], _IS_BLOCKED),
    }
    lines = [_line(name, parts[name], most) for name, most in _SHARES.items() if parts[name]]
    return cut("\n".join(lines), MOST_BYTES)


def _goal(turns: Sequence[Turn], first: str) -> list[str]:
    """Return what the user asked last, and what the session began with."""
    asked = [turn.text for turn in turns if turn.role == "user" and len(turn.text) >= _LEAST_GOAL]
    if not asked:
        return []
    half = _SHARES["goal"] // 2
    now, then = one_line(asked[-1], half), one_line(first or asked[0], half - 30)
    return [now] if now.startswith(then) else [now, f"(it began with: {then})"]


def _files(turns: Sequence[Turn]) -> list[str]:
    found = [name for turn in reversed(turns) for name in reversed(turn.files)]
    return list(dict.fromkeys(found))[:_MOST_FILES]


def _sentences(
    texts: Sequence[str], cues: re.Pattern[str], without: re.Pattern[str] | None = None
) -> list[str]:
    """Return the last sentences with a cue, the newest first."""
    found: dict[str, None] = {}
    for text in reversed(texts):
        for sentence in reversed(_SENTENCE.findall(text[-_READ:])):
            line = one_line(_MARKS.sub("", sentence), _EACH)
            if cues.search(line) and not (without is not None and without.search(line)):
                found.setdefault(line)
        if len(found) >= _MOST_LINES:
            break
    return list(found)[:_MOST_LINES]


def _line(name: str, items: Sequence[str], most: int) -> str:
    """Join items under the name of their part; those that do not fit are left out."""
    line = f"{name}: "
    for at, item in enumerate(items):
        said = one_line(item, _EACH if name != "goal" else most)
        more = said if at == 0 else f"; {said}"
        if at and len((line + more).encode("utf-8", "replace")) > most:
            break
        line += more
    return cut(line, most)
