"""What several workers saw, gathered for the page of any of them.

Each worker writes its own state into a file of a directory that they share, again and again, and
reads those of the others when the page asks. What a worker saw that has ended still counts, but for
its open streams.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from warmset.serve.proxy.recent import SHOWN, WINDOWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

EVERY: Final = 0.5
"""Seconds between two times that a worker writes its state."""

_SUMS: Final = (
    "requests",
    "failed",
    "streams",
    "tokens_in",
    "tokens_sent",
    "tokens_cached",
    "saved_usd",
    "unpriced",
)


class Gathered:
    """The states of the workers of a proxy.

    Args:
        place: A directory that they share, for their owner alone.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._own = place / f"{os.getpid()}.json"
        self._written = ""

    def write(self, state: Mapping[str, Any], known: Iterable[str]) -> None:
        """Let the others see a state, if it is another one than before.

        Args:
            state: The state of this worker, as `Recent.state` returns it.
            known: The conversations that it knows, also those that are not shown.

        Raises:
            OSError: The file cannot be written.
        """
        text = json.dumps({"state": state, "known": list(known)})
        if text != self._written:
            beside = self._own.with_suffix(".new")
            beside.write_text(text, "utf-8")
            beside.replace(self._own)
            self._written = text

    def state(self, state: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
        """Return the state of all workers, in the form of that of one.

        Windows are numbered by their workers, whose process numbers they have beside.

        Args:
            state: The state of this worker.
            known: The conversations that it knows.
        """
        states, every = [_of(os.getpid(), state)], set(known)
        for path in self._place.glob("*.json"):
            if path == self._own:
                continue
            read = json.loads(path.read_text("utf-8"))
            process = int(path.stem)
            other = read["state"] if _lives(process) else {**read["state"], "streams": 0}
            states.append(_of(process, other))
            every.update(read["known"])
        return {**_merged(states), "kept": len(every)}

    def ended(self) -> list[int]:
        """Return the process numbers of the workers that have ended."""
        every = [int(path.stem) for path in self._place.glob("*.json")]
        return [process for process in every if not _lives(process)]


def _of(process: int, state: Mapping[str, Any]) -> Mapping[str, Any]:
    windows = [{**one, "worker": process} for one in state["windows"]]
    return {**state, "windows": windows}


def _merged(states: list[Mapping[str, Any]]) -> dict[str, Any]:
    bypasses = Counter[str]()
    windows: list[Mapping[str, Any]] = []
    talks: dict[str, dict[str, Any]] = {}
    for state in states:
        bypasses.update(state["bypasses"])
        windows += state["windows"]
        for talk in state["conversations"]:
            before = talks.get(talk["conversation"])
            if before is None:
                talks[talk["conversation"]] = dict(talk)
                continue
            newest = talk if talk["at"] > before["at"] else before
            count = talk["windows"] + before["windows"]
            talks[talk["conversation"]] = {**newest, "windows": count}
    windows.sort(key=lambda one: one["at"], reverse=True)
    newest = sorted(talks.values(), key=lambda one: one["at"], reverse=True)
    return {
        "since": min(state["since"] for state in states),
        **{name: sum(state[name] for state in states) for name in _SUMS},
        "bypasses": dict(bypasses.most_common()),
        "windows": windows[:WINDOWS],
        "conversations": newest[:SHOWN],
    }


def _lives(process: int) -> bool:
    """Return whether a process is there; of ours, for they belong to one user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's has its number now
        return False
    return True
