"""Which tests a mutant of a Python file meets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.mutants.tree import TESTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.mutants.mutant import Mutant
    from tests.mutants.record import Record
    from tests.mutants.tree import Tree

SECONDS = 20.0  # worth of tests that a mutant meets first
MORE_SECONDS = 120.0  # worth of other tests that it meets if it lived these
SHARE_OF_ROOM = 0.5  # of these for the tests of its own room, if there are so many
MOST = 20  # tests a second's worth: each also costs time before it runs
MIN_SECONDS = 0.002  # what a test costs at least, around what was measured


def choose(
    mutant: Mutant,
    record: Record,
    seconds: float = SECONDS,
    within: Sequence[str] = (),
    besides: Sequence[str] = (),
) -> list[str]:
    """Choose the tests that execute the mutated line, fastest first, up to some seconds' worth.

    Half of the time goes to tests of the mutant's own room, which check what it promises; tests of
    other rooms fill the rest. If no recorded test executes the line (it runs at import, or in
    another process), these are the tests of its function, then those of its file. The list is
    empty if there are none; see `folder_for`. `within`, if given, are the folders and files of
    tests, and the tests, that they are chosen from; `besides` are tests that it has met.
    """
    found = record.tests_of(mutant.file, mutant.line) or record.tests_of_file(mutant.file)
    if within:
        found = {test for test in found if any(_lies_in(test, place) for place in within)}
    found = found - set(besides)
    home = f"{TESTS}/{mutant.room}/"
    ordered = sorted(found, key=lambda test: (record.seconds.get(test, math.inf), test))
    own = [test for test in ordered if test.startswith(home)]
    most = round(seconds * MOST)
    first = _worth(own, seconds * SHARE_OF_ROOM, record, most)
    taken = set(first)
    rest = [test for test in ordered if test not in taken]
    left = seconds - sum(_cost(test, record) for test in first)
    return [*first, *_worth(rest, left, record, most - len(first))]


def folder_for(mutant: Mutant, tree: Tree) -> str:
    """Name the folder of tests of a mutant's room, or that of `memory`, which uses every room."""
    for room in (mutant.room, "memory"):
        if (tree.root / TESTS / room).is_dir():
            return f"{TESTS}/{room}"
    return TESTS


def _lies_in(test: str, place: str) -> bool:
    """Whether a test is a place of tests, or lies in it: a folder, a file, a class."""
    place = place.rstrip("/")
    return test == place or test.startswith((f"{place}/", f"{place}::", f"{place}["))


def _cost(test: str, record: Record) -> float:
    return max(record.seconds.get(test, math.inf), MIN_SECONDS)


def _worth(tests: list[str], seconds: float, record: Record, most: int) -> list[str]:
    """Take tests from the front while they fit; at least one, so that a slow test alone runs."""
    taken: list[str] = []
    for test in tests[:most]:
        seconds -= _cost(test, record)
        if seconds < 0 and taken:
            break
        taken.append(test)
        if seconds < 0:
            break
    return taken
