"""Recurring errors: calls for a diagnosis, with fixes that are kept and without.

``python -m benches.python.route.recurring [--svg FILE]``

200 errors of 25 root causes come one after the other, some causes more often than others, each time
with other paths, numbers and hosts. Without kept fixes every error is a call of the model that
diagnoses. With them, `Router.fix_for` is asked first; what the model says is kept by
`Router.learn_fix`, and whether it worked is reported by `Router.outcome`. The model is made up: for
every fourth cause its first diagnosis is wrong, and the second one, told of the failure, is right;
two causes have fixes that work three times of four. Some causes say nearly the same and need
different fixes. The table and the chart show calls for each 20 errors; nothing here depends on a
clock or on chance that is not seeded, so the numbers are the same everywhere.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benches.python.recall.chart import RESULTS, STYLE
from warmset import Memory
from warmset.route import Router

ERRORS: Final = 200
STEP: Final = 20
CHART: Final = RESULTS / "recurring-errors.svg"

CAUSES: Final = (
    "ConnectionError: connection to {host}:{port} refused after {n} s",
    "TimeoutError: no answer from {host}:{port} within {n} ms while reading the header",
    "OSError: [Errno 28] no space left on device: '{path}/spool/part-{n}.bin'",
    "PermissionError: [Errno 13] permission denied: '{path}/secrets/token.json'",
    "FileNotFoundError: [Errno 2] no such file or directory: '{path}/config/model.yaml'",
    "HTTP 429 from https://{host}/v1/embed: rate limit of {n} requests exceeded",
    "HTTP 503 from https://{host}/v1/embed: upstream unavailable, request {n}",
    "KeyError: 'operating_margin' in {path}/extract/ratios.py line {n}",
    "KeyError: 'fiscal_year' in {path}/extract/periods.py line {n}",
    'psycopg.errors.UndefinedTable: relation "filings" does not exist at character {n}',
    "psycopg.errors.DeadlockDetected: process {n} waits for ShareLock, blocked by process {port}",
    "ssl.SSLCertVerificationError: certificate of {host} has expired, depth {n}",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x{hex} in position {n}: {path}/a.csv",
    "json.decoder.JSONDecodeError: expecting value: line {n} column 1 in the model's reply",
    "MemoryError: cannot allocate {n} MiB for the array of chunk vectors",
    "torch.cuda.OutOfMemoryError: tried to allocate {n} MiB on GPU {port}",
    "ModuleNotFoundError: no module named 'lxml' ({path}/parse/html.py:{n})",
    "ImportError: cannot import name 'soft_unicode' from 'markupsafe' ({path}/lib)",
    "AssertionError: balance sheet does not add up: assets {n}, liabilities {port}",
    "ValueError: currency of section 'Item 8' is ambiguous in {path}/10k-{n}.html",
    "redis.exceptions.ReadOnlyError: you can't write against a read only replica at {host}:{port}",
    "kafka.errors.NoBrokersAvailable: bootstrap servers {host}:{port} gave no metadata",
    "botocore.exceptions.ClientError: ExpiredToken when calling PutObject, attempt {n}",
    "subprocess.CalledProcessError: pdftotext {path}/in-{n}.pdf died with SIGSEGV",
    "RecursionError: maximum recursion depth exceeded in {path}/graph/walk.py line {n}",
)
"""What the errors of each root cause say."""

FLAKY: Final = frozenset((1, 6))
"""Causes whose right fix works three times of four."""


def right(cause: int) -> str:
    """Return the fix that works for a cause."""
    return f"apply remedy {chr(97 + cause)}: see the runbook of root cause {chr(97 + cause)}"


@dataclass
class Model:
    """A made-up model that diagnoses: slow, costly, and wrong at first for every fourth cause."""

    calls: int = 0
    asked: dict[int, int] = field(default_factory=dict)

    def diagnose(self, cause: int) -> str:
        self.calls += 1
        before = self.asked.get(cause, 0)
        self.asked[cause] = before + 1
        if cause % 4 == 3 and not before:
            return f"restart everything, says guess {chr(97 + cause)}"
        return right(cause)


@dataclass(frozen=True)
class Step:
    """What happened in so many errors."""

    calls: int
    kept: int
    wrong: int
    """Kept fixes that belong to another cause, or never worked."""

    solved: int


def errors(seed: int) -> list[tuple[int, str]]:
    """Return root causes and what each error says."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    weights = [1 / (1 + at) ** 0.5 for at in range(len(CAUSES))]
    order = draw.sample(range(len(CAUSES)), len(CAUSES))
    made: list[tuple[int, str]] = []
    for at in draw.choices(range(len(CAUSES)), weights, k=ERRORS):
        cause = order[at]
        kind, zone = draw.choice(("db", "cache", "edge")), draw.choice("abc")
        said = CAUSES[cause].format(
            host=f"{kind}-{draw.randrange(90):02}.{zone}.example",
            port=draw.randrange(1_024, 65_000),
            path=f"/srv/run-{draw.randrange(9_999)}/{draw.choice(('x', 'y', 'z'))}",
            n=draw.randrange(2, 90_000),
            hex=f"{draw.randrange(128, 256):02x}",
        )
        made.append((cause, said))
    return made


def run(happened: list[tuple[int, str]], *, keep: bool, seed: int) -> list[Step]:
    """Meet the errors, and return what happened in each step."""
    model, luck = Model(), random.Random(seed)  # noqa: S311
    steps: list[Step] = []
    with Memory.open(None, embedder="lexical") as memory:
        router = Router(memory)
        for first in range(0, len(happened), STEP):
            before, kept, wrong, solved = model.calls, 0, 0, 0
            for cause, error in happened[first : first + STEP]:
                known = router.fix_for(error) if keep else None
                if known is None:
                    fix = model.diagnose(cause)
                    name = router.learn_fix(error, fix, origin="assistant") if keep else ""
                else:
                    kept += 1
                    fix, name = known.fix, known.memory_id
                    wrong += fix != right(cause)
                works = fix == right(cause) and (cause not in FLAKY or luck.random() < 0.75)
                solved += works
                if keep:
                    router.outcome(name, float(works))
            steps.append(Step(model.calls - before, kept, wrong, solved))
        if keep:
            check(router, happened)
    return steps


def check(router: Router, happened: list[tuple[int, str]]) -> None:
    """See that what is kept at the end is right, and that only what worked is."""
    for cause, error in happened:
        known = router.fix_for(error)
        if known is not None:
            assert known.fix == right(cause), (known, error)
            assert known.outcomes > 0
            assert known.reward >= 0.5


def draw(steps: list[Step], without: list[Step]) -> str:
    """Draw calls for each step, with kept fixes and without."""
    width, height, left, top, wide, high = 720, 360, 60, 80, 620, 200
    title = "Diagnosis calls for each 20 errors"
    total, other = (sum(one.calls for one in some) for some in (steps, without))
    said = f"{total} calls with kept fixes, {other} without"

    def places(some: list[Step]) -> str:
        return " ".join(
            f"{left + wide * at / (len(some) - 1):.1f},{top + high - high * one.calls / STEP:.1f}"
            for at, one in enumerate(some)
        )

    head = f'viewBox="0 0 {width} {height}" width="{width}"'
    lines_style = ".line{fill:none;stroke-width:3}.with{stroke:#c2410c}.without{stroke:#8c959f}"
    what = f"{said}; 25 root causes, other paths, numbers and hosts each time"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {head} role="img" aria-label="{title}: {said}">',
        f"<style>{STYLE}{lines_style}</style>",
        f'<text class="head" x="16" y="30">{title}</text>',
        f'<text class="note" x="16" y="51">{what}</text>',
    ]
    for calls in (0, 5, 10, 15, 20):
        y = top + high - high * calls / STEP
        lines += [
            f'<path d="M{left} {y:g}H{left + wide}" stroke="#8c959f" stroke-opacity=".3" />',
            f'<text class="note" x="{left - 12}" y="{y + 5:g}" text-anchor="end">{calls}</text>',
        ]
    for at in range(len(steps)):
        text = f'x="{left + wide * at / (len(steps) - 1):.1f}" y="{top + high + 22}"'
        lines.append(f'<text class="note" {text} text-anchor="middle">{(at + 1) * STEP}</text>')
    right_end = f'x="{left + wide}" text-anchor="end"'
    end = top + high - high * steps[-1].calls / STEP - 14
    source = "errors so far; the model that diagnoses is made up"
    lines += [
        f'<polyline class="line without" points="{places(without)}" />',
        f'<polyline class="line with" points="{places(steps)}" />',
        f'<text class="note" {right_end} y="{top + 18}">without kept fixes</text>',
        f'<text class="strong" {right_end} y="{end:.1f}">with kept fixes</text>',
        f'<text class="note" x="16" y="{height - 14}">{source}</text></svg>',
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the experiment, print the table, draw the chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path, default=CHART)
    parser.add_argument("--seed", type=int, default=25)
    options = parser.parse_args()
    happened = errors(options.seed)
    steps = run(happened, keep=True, seed=options.seed)
    without = run(happened, keep=False, seed=options.seed)
    out = sys.stdout.write
    out(f"{'errors':>9}{'calls':>8}{'without':>9}{'kept':>7}{'wrong':>7}{'solved':>8}\n")
    for at, (one, other) in enumerate(zip(steps, without, strict=True)):
        span = f"{at * STEP + 1}-{(at + 1) * STEP}"
        out(f"{span:>9}{one.calls:>8}{other.calls:>9}{one.kept:>7}{one.wrong:>7}{one.solved:>8}\n")
    calls, wrong = sum(one.calls for one in steps), sum(one.wrong for one in steps)
    kept, solved = sum(one.kept for one in steps), sum(one.solved for one in steps)
    others = sum(one.calls for one in without)
    out(f"{'all':>9}{calls:>8}{others:>9}{kept:>7}{wrong:>7}{solved:>8}\n")
    causes = {cause for cause, _error in happened}
    assert calls + kept == ERRORS
    assert all(one.calls == STEP for one in without)
    assert calls >= len(causes), "each cause takes a diagnosis"
    assert sum(one.calls for one in steps[:3]) > 3 * sum(one.calls for one in steps[-3:])
    assert calls < ERRORS / 3
    assert wrong <= ERRORS * 0.02, "a kept fix belongs to the cause of its error"
    options.svg.write_text(draw(steps, without), encoding="utf-8")


if __name__ == "__main__":
    main()
