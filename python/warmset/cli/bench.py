"""``warmset bench``: what warmset takes on this machine, beside peers that are installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from warmset._support.files import destination
from warmset.embed.bars import Bars
from warmset.errors import InvalidInputError
from warmset.lab.bench.setting import one_core, one_thread, setting
from warmset.lab.eval import write

_STEPS = 100
"""Steps of the progress bar for each case."""

Name = Literal[
    "index",
    "store",
    "trim",
    "window",
    "count",
    "search-1k",
    "search-10k",
    "search-100k",
    "batch-10k",
    "add-10k",
    "append",
    "append-1000",
    "read",
    "trim-2k",
    "trim-10k",
    "fit-2k",
    "fit-10k",
    "window-2k",
    "window-10k",
    "turns-2k",
    "turns-10k",
    "pack",
    "count-o200k",
    "count-cl100k",
]
"""Groups of cases, then the cases; written out for completion, without importing what they need."""


def bench(
    *,
    only: Annotated[list[Name] | None, Parameter(consume_multiple=True, negative="")] = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    json: Path | None = None,
    plot: Path | None = None,
    place: Path | None = None,
) -> int:
    """Measure warmset on this machine, beside peers that are installed.

    Index, store, trimming, windows and counting, in one process on one core: contestants take
    turns, and every result is checked. Peers are faiss, numpy, hnswlib, usearch, SQLite, LMDB,
    langchain-core, tiktoken and rs-bpe, each if it is installed. The exit code is 1 if a result is
    wrong.

    Args:
        only: Cases or groups to measure; all if not given.
        quick: Take less than 30 seconds: shorter turns, and no large cases unless they are named.
        json: Where to write the figures.
        plot: Where to draw the ratios, as SVG.
        place: A directory on the disk that is measured; the system's temporary one if not given.
    """
    for path in (json, plot):
        _writable(path)
    if place is not None and not place.is_dir():
        raise InvalidInputError(f"{place}: no directory; make it, or give another one")
    alone = one_thread()
    # What imports numpy comes after the threads were set.
    from warmset.adapters.langchain import trim_messages  # noqa: PLC0415
    from warmset.lab.bench import picture, run, show  # noqa: PLC0415

    cases = run.chosen(run.all_cases(trim_messages), only or (), quick=quick)
    numbers = {one.name: at for at, one in enumerate(cases)}
    with one_core() as core, Bars(Console(stderr=True)) as bars:

        def progress(name: str, done: int, total: int) -> None:
            bars("measure", numbers[name] * _STEPS + done * _STEPS // total, len(cases) * _STEPS)

        found = setting(place or Path(gettempdir()), core, one_thread=alone)
        seconds = run.QUICK if quick else run.SECONDS
        results = run.measure(cases, place, seconds=seconds, progress=progress)
    report = run.Report(setting=found, results=results)
    if json is not None:
        write.figures(json, report.as_json())
    if plot is not None:
        write.text(plot, picture.draw(report))
    show.show(report, Console(file=sys.stdout, highlight=False, emoji=False, markup=False))
    return 0


def _writable(path: Path | None) -> None:
    """Refuse a file that cannot be written before minutes go into its figures."""
    if path is None:
        return
    real, replaceable = destination(path)
    if real.is_dir() or not os.access(real.parent if replaceable else real, os.W_OK):
        raise InvalidInputError(f"{path}: no file can be written there; give another one")
