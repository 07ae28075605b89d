"""Mistakes written by hand: one list a room, in `tests/mutants/by_hand/<room>.toml`.

    room = "compact"
    tests = ["tests/python/compact"]     # where they would be seen; a mistake may name its own
    [[mistake]]
    file = "python/warmset/compact/plan.py"
    what = "a stand-in between original neighbours counts as a gap"
    find = "if diff > 1:"                # occurs once in the file
    make = "if diff >= 1:"

`run`, of a list or of a mistake, is a line for the shell where pytest is not what sees it:
`run = "cargo test -p warmset-core --test hot topk"`. `equivalent = "reason"` says that nothing can
see a mistake; `fresh = true`, that it was written after the tests that the list led to.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.mutants.mutant import Mutant
from tests.mutants.sample import thinned
from tests.mutants.tree import TESTS, UsageError
from tests.mutants.trial import Suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.mutants.tree import Tree

OF_A_LIST = {"room": str, "tests": list, "run": str, "mistake": list}
OF_A_MISTAKE = {
    **dict.fromkeys(("file", "what", "find", "make", "run", "equivalent"), str),
    "tests": list,
    "fresh": bool,
}
NEEDED = ("file", "what", "find", "make")


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One entry of a list."""

    room: str
    file: str
    what: str
    find: str
    make: str
    tests: Suite
    equivalent: str = ""
    fresh: bool = False

    def mutant(self, tree: Tree) -> tuple[Mutant, int]:
        """Make the mutant, and count how often the text to be changed occurs."""
        try:
            before = tree.read(self.file)
        except FileNotFoundError:
            before = ""
        at = before.find(self.find)
        line = before.count("\n", 0, at) + 1 if at >= 0 else 0
        mutant = Mutant(
            room=self.room,
            file=self.file,
            line=line,
            operator=self.what,
            text=before.splitlines()[line - 1].strip() if line else "",
            before=before,
            after=before.replace(self.find, self.make, 1),
        )
        return mutant, before.count(self.find)


def mistakes(tree: Tree, rooms: Sequence[str] = (), holds: str = "") -> list[Mistake]:
    """Read the lists of some rooms, or all; `holds` picks those with a text in `what` or `file`.

    Raises:
        UsageError: A list cannot be read, has other keys, or a room has no list.
    """
    found = [one for path in sorted(tree.lists.glob("*.toml")) for one in _read(path)]
    known = {one.room for one in found}
    if wrong := sorted(set(rooms) - known):
        there = ", ".join(sorted(known)) or "none yet"
        raise UsageError(f"no list of {', '.join(wrong)}; there are lists of: {there}")
    return [
        one
        for one in found
        if (not rooms or one.room in rooms) and holds in f"{one.what}\n{one.file}"
    ]


def part(listed: Sequence[Mistake], number: int, parts: int) -> list[Mistake]:
    """Keep every n-th room, so that several machines try all of them and each room is whole."""
    rooms = sorted({one.room for one in listed})[number - 1 :: parts]
    return [one for one in listed if one.room in rooms]


def each(listed: Sequence[Mistake], most: int, seed: int) -> list[Mistake]:
    """Keep at most so many of every room, drawn at random, so that a night is enough for all."""
    rooms: dict[str, list[Mistake]] = {}
    for one in listed:
        rooms.setdefault(one.room, []).append(one)
    return [one for _, own in sorted(rooms.items()) for one in thinned(own, most, seed)]


def _read(path: Path) -> Iterator[Mistake]:
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path.name}: {error}") from None
    _check(path.name, said, OF_A_LIST, ())
    room = said.get("room", path.stem)
    for number, one in enumerate(said.get("mistake", []), 1):
        _check(f"{path.name}, mistake {number}", one, OF_A_MISTAKE, NEEDED)
        home = one if {"tests", "run"} & set(one) else said
        tests = Suite(
            arguments=tuple(home.get("tests", (f"{TESTS}/{room}",))), shell=home.get("run", "")
        )
        fields = {key: one[key] for key in one if key not in {"tests", "run"}}
        yield Mistake(room=room, tests=tests, **fields)


def _check(
    place: str, said: dict[str, Any], known: Mapping[str, type], needed: Sequence[str]
) -> None:
    if other := sorted(set(said) - set(known)):
        raise UsageError(f"{place}: no such key: {', '.join(other)}; known: {', '.join(known)}")
    if missing := [key for key in needed if key not in said]:
        raise UsageError(f"{place}: {', '.join(missing)} is missing")
    for key, value in said.items():
        if not isinstance(value, known[key]):
            raise UsageError(f"{place}: {key} is no {known[key].__name__}")
