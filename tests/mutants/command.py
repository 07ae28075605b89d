"""The options of `poe mutants`, and the run that they ask for."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.mutants import report
from tests.mutants.equivalent import equivalents
from tests.mutants.lists import each, mistakes, part
from tests.mutants.run import Run
from tests.mutants.tree import Tree, UsageError
from tests.mutants.trial import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
REPOSITORY = Path(__file__).resolve().parents[2]
EPILOG = """\
examples:
  poe mutants --by-hand compact evict      the lists of two rooms
  poe mutants --by-hand --each 30 --seed 1 at most thirty mistakes of every list
  poe mutants --sample 60 --seed 1         random Python mutants, from each room in turn
  poe mutants --sample 10 --seed 1 --language rust
  poe mutants --changed                    everything on the lines of this branch
  poe mutants --changed HEAD~3 --sample 40 forty of them
  poe mutants --record                     note which test executes which line, and stop
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="poe mutants",
        description="Make small mistakes in a copy of the sources and see whether a test fails.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("rooms", nargs="*", metavar="ROOM", help="only these rooms; rust/hot is one of the core")
    add("--by-hand", action="store_true", help="the lists in tests/mutants/by_hand")
    add("--sample", type=_count, metavar="N", help="N automatic mutants at random")
    add("--changed", nargs="?", const="", metavar="REV", help="automatic mutants on changed lines")
    add("--record", action="store_true", help="record what tests execute; ROOM is then a folder")
    add("--each", type=_count, metavar="N", help="lists: at most N of each room, at random")
    add("--seed", type=int, default=0, metavar="S", help="of what is drawn (default 0)")
    add("--language", choices=("python", "rust", "both"), help="default: python; both if --changed")
    add("-k", dest="holds", default="", metavar="TEXT", help="lists: mistakes that hold a text")
    add(
        "--part",
        type=_part,
        metavar="K/N",
        help="lists: part K of N, a room in one part as a whole",
    )
    add(
        "--no-record",
        action="store_true",
        help="choose tests by what is recorded already, as lists always do",
    )
    add("--timeout", type=float, default=TIMEOUT, metavar="S", help="lists: seconds for a mistake")
    add("--json", type=Path, metavar="F", help="write every result")
    add("--save", action="store_true", help="write counts into benches/results/mutants-<kind>.json")
    add("--at-least", type=float, metavar="PERCENT", help="fail if a room has a lower score")
    return made


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected at least 1")
    return number


def _part(text: str) -> tuple[int, int]:
    number, parts = map(int, text.split("/"))
    if not 1 <= number <= parts:
        raise argparse.ArgumentTypeError("expected K/N, with K from 1 to N")
    return number, parts


def main(arguments: Sequence[str] | None = None, root: Path = REPOSITORY) -> int:
    """Run the command.

    Returns:
        0; 1 if a list or equivalent.toml no longer fits the sources, or a score is too low; 2 if
        the command cannot be run; 130 after Ctrl-C.
    """
    options = parser().parse_args(arguments)
    console = Console(stderr=False, width=None if sys.stdout.isatty() else 110)
    automatic = options.sample is not None or options.changed is not None
    if [options.by_hand, automatic, options.record].count(True) != 1:
        console.print("say one of --by-hand, --sample N, --changed [REV], --record", markup=False)
        return 2
    if not options.by_hand and (options.each or options.part or options.holds):
        console.print("--each, --part and -k pick from lists: add --by-hand", markup=False)
        return 2
    if options.save and options.holds:
        console.print("--save is of whole rooms, and -k takes some of their mistakes", markup=False)
        return 2
    # Both, also where a shell has a background command ignore Ctrl-C: the tests would inherit it.
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, signal.default_int_handler)
    try:
        return _run(Tree(root), options, console, arguments)
    except UsageError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("interrupted", markup=False)
        return INTERRUPTED


def _run(
    tree: Tree, options: argparse.Namespace, console: Console, given: Sequence[str] | None
) -> int:
    said = shlex.join(["poe", "mutants", *(sys.argv[1:] if given is None else given)])
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True))
    interrupted = False
    run = Run(tree, bar, seconds=options.timeout)
    try:
        with bar:
            if options.record:
                run.record(options.rooms)
                return 0
            if options.by_hand:
                listed = mistakes(tree, options.rooms, options.holds)
                listed = part(listed, *options.part) if options.part else listed
                run.by_hand(each(listed, options.each, options.seed) if options.each else listed)
            else:
                run.automatic(options)
    except KeyboardInterrupt:
        interrupted = True
    entries = equivalents(tree) if not options.by_hand else []
    unmatched = [] if interrupted else [one for one in entries if not one.is_there(tree)]
    if run.results or unmatched:
        report.show(run.results, unmatched, console)
    else:
        console.print("no mutants")
    if options.json:
        made = report.as_json(run.results, unmatched, said)
        options.json.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    if interrupted:
        raise KeyboardInterrupt
    if options.save:
        kind = (
            "by-hand" if options.by_hand else "changed" if options.changed is not None else "sample"
        )
        report.save(tree, kind, run.results, said)
    unfit = {"stale", "broken", *(["unviable"] if options.by_hand else [])}
    wrong = bool(unmatched) or any(one.outcome in unfit for one in run.results)
    if options.at_least is not None and (low := report.below(run.results, options.at_least / 100)):
        console.print(f"below {options.at_least:g} %: {', '.join(low)}", markup=False)
        wrong = True
    return int(wrong)
