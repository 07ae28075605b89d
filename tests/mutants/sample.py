"""A random sample of mutants that is the same for the same seed and the same sources."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

from tests.mutants.operators import mutant_at, spots
from tests.mutants.tree import room_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.mutants.mutant import Mutant
    from tests.mutants.operators import Spot
    from tests.mutants.tree import Tree

Drawn = TypeVar("Drawn")


def sample(tree: Tree, count: int, seed: int, files: Sequence[str]) -> list[Mutant]:
    """Draw mutants of Python files, from each room in turn.

    Within a room a file is drawn by its number of lines, then a line, then a mutant on it: lines
    on which much can go wrong are not drawn more often than others.
    """
    by_room = defaultdict(list)
    for file in files:
        by_room[room_of(file)].append(file)
    draws = {
        room: _drawn(tree, own, random.Random(f"{seed}/{room}")) for room, own in by_room.items()
    }
    return in_turn(draws, count, random.Random(seed))


def thinned(mutants: Sequence[Drawn], count: int, seed: int) -> list[Drawn]:
    """Keep as many as are asked for, in their order."""
    if len(mutants) <= count:
        return list(mutants)
    kept = sorted(random.Random(seed).sample(range(len(mutants)), count))
    return [mutants[at] for at in kept]


def in_turn(draws: dict[str, Iterator[Drawn]], count: int, order: random.Random) -> list[Drawn]:
    """Take one from each room, rooms in random order, and again, until there are enough."""
    rooms = sorted(draws)
    order.shuffle(rooms)
    taken: list[Drawn] = []
    while rooms and len(taken) < count:
        for room in rooms.copy():
            if len(taken) == count:
                break
            try:
                taken.append(next(draws[room]))
            except StopIteration:
                rooms.remove(room)
    return taken


def _drawn(tree: Tree, files: Sequence[str], chance: random.Random) -> Iterator[Mutant]:
    """Yield mutants of one room until there is no line left."""
    sources = {file: tree.read(file) for file in files}
    left: dict[str, dict[int, list[Spot]]] = {}
    while sources:
        sizes = [text.count("\n") + 1 for text in sources.values()]
        [file] = chance.choices(list(sources), sizes)
        if file not in left:
            left[file] = defaultdict(list)
            for spot in spots(sources[file]):
                left[file][spot.line].append(spot)
        if not left[file]:
            del sources[file]
            continue
        line = chance.choice(sorted(left[file]))
        on_it = left[file].pop(line)
        chance.shuffle(on_it)
        made = (mutant_at(file, sources[file], spot) for spot in on_it)
        if one := next((mutant for mutant in made if mutant is not None), None):
            yield one
