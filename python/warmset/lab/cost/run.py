"""``warmset demo --cost`` from beginning to end."""

from __future__ import annotations

import json
import sys

from rich.console import Console

from warmset.embed.bars import Bars
from warmset.lab.cost.figures import CostOptions, cost_table
from warmset.lab.cost.show import show
from warmset.lab.demo.show import WIDTH, console


def run_cost(options: CostOptions) -> None:
    """Play the sessions and print the table: on standard output, progress on the other.

    Args:
        options: What to measure.
    """
    with Bars(Console(stderr=True)) as bars:
        found = cost_table(options, bars)
    out = console(sys.stdout)
    if not out.is_terminal:
        out.width = WIDTH
    if options.as_json:
        out.print(json.dumps(found.as_json(), indent=2), soft_wrap=True)
    else:
        show(found, out)
