"""``warmset demo --route`` from beginning to end."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset.lab.demo.route import show
from warmset.lab.demo.route.books import YEARS
from warmset.lab.demo.route.compare import compare
from warmset.lab.demo.route.figures import TASK, Figures
from warmset.lab.demo.route.kinds import kind_of
from warmset.lab.demo.route.modules import assumed_in, worked_out
from warmset.lab.demo.route.needed import settled
from warmset.lab.demo.route.world import COMPANY, SEED, world
from warmset.lab.demo.show import console

if TYPE_CHECKING:
    from warmset.lab.demo.route.compare import Compared
    from warmset.lab.demo.route.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOptions:
    """What to show.

    Args:
        seed: What texts and figures are made from.
        as_json: Print one JSON object instead.
    """

    seed: int = SEED
    as_json: bool = False


def run_route(options: RouteOptions) -> int:
    """Run it and print what it found.

    Args:
        options: What to show.

    Returns:
        The exit code: 1 if the payload of the valuation is not as promised.

    Raises:
        WarmsetError: The store failed, or a module lacks what it needs.
    """
    found = measure(options)
    if options.as_json:
        print(json.dumps(found.as_json(), indent=2), flush=True)  # noqa: T201 - it is the output
    else:
        show.show(found, console(sys.stdout))
    return int(bool(found.broken))


def measure(options: RouteOptions) -> Figures:
    """Run it without printing; the same errors as `run_route`."""
    begun = time.perf_counter()
    with world(options.seed) as there:
        return figures_of(there, put=time.perf_counter() - begun)


def figures_of(there: World, *, put: float) -> Figures:
    """Run the modules in a world, and compare.

    Args:
        there: The world, in which none of them has run.
        put: The seconds that it took to make it.

    Raises:
        WarmsetError: As for `run_route`.
    """
    begun = time.perf_counter()
    tasks = compare(there)
    return Figures(
        company=COMPANY,
        filings=len(YEARS),
        chunks=len(there.chunks),
        tokens=sum(there.memory.items.get(one.name).token_count for one in there.chunks),
        tasks=tasks,
        kinds=_kinds(there, next(one for one in tasks if one.task == TASK)),
        known=_known(there),
        seconds={"put": put, "compare": time.perf_counter() - begun},
    )


def _kinds(there: World, one: Compared) -> dict[str, dict[str, int]]:
    """Return what is stray in each context of a task, counted by kind."""
    every = dict.fromkeys(name for context in one.contexts for name in context.stray)
    kinds = {name: kind_of(there.memory.items.get(name), one.task) for name in every}
    return {
        context.way: dict(Counter(kinds[name] for name in context.stray).most_common())
        for context in one.contexts
    }


def _known(there: World) -> float:
    """Return the value of a share by the books, without a text in between."""
    assumed: dict[str, float] = {}
    for text in settled().values():
        assumed |= assumed_in(text)
    return float(worked_out(there.books, assumed)[TASK]["value_per_share"])
