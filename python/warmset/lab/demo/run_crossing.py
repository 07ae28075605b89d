"""``warmset demo --compact`` from beginning to end."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console

from warmset.embed.bars import Bars
from warmset.errors import InvalidInputError
from warmset.lab.demo import show_crossing, transcripts
from warmset.lab.demo.crossing import Pace, cross
from warmset.lab.demo.crossing_figures import Crossing
from warmset.lab.demo.show import console
from warmset.prepare.policy import TRIGGER_RATIO
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from warmset.lab.corpus.stage import Progress

BUDGET: Final = 12_000
LATENCY: Final = 8_000.0
PACE: Final = 2_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossingOptions:
    """What to show.

    Args:
        file: A transcript; None for the conversation that ships with warmset.
        conversation: Which conversation of a LoCoMo file.
        budget: Tokens that a call may have.
        latency: Milliseconds that the summariser takes, simulated.
        pace: Milliseconds from one call of the agent's model to the next, simulated.
        as_json: Print one JSON object instead.
    """

    file: Path | None = None
    conversation: str | None = None
    budget: int = BUDGET
    latency: float = LATENCY
    pace: float = PACE
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise InvalidInputError(f"budget: expected at least 1, found {self.budget}")
        for name, value in (("latency", self.latency), ("pace", self.pace)):
            if not 0 <= value < math.inf:
                raise InvalidInputError(f"{name}: expected milliseconds, found {value}")
        if self.file is None and self.conversation is not None:
            raise InvalidInputError("conversation: names one of a file; give the file as well")


def run_crossing(options: CrossingOptions) -> None:
    """Run it and print what it found: figures on standard output, progress on the other.

    Args:
        options: What to show.

    Raises:
        WarmsetError: A transcript or a budget is not as it must be.
    """
    with Bars(Console(stderr=True)) as bars:
        found = crossing(options, bars)
    if options.as_json:
        print(json.dumps(found.as_json(), indent=2), flush=True)  # noqa: T201 - it is the output
    else:
        show_crossing.show(found, console(sys.stdout))


def crossing(options: CrossingOptions, progress: Progress) -> Crossing:
    """Run it without printing.

    Args:
        options: What to measure.
        progress: Called as each stage advances.

    Raises:
        WarmsetError: As for `run_crossing`.
    """
    if options.file is None:
        transcript, keys = transcripts.sample(), transcripts.sample_keys()
    else:
        transcript = transcripts.read(options.file, conversation=options.conversation)
        keys = []
    pace = Pace(latency=options.latency / 1000, agent=options.pace / 1000)
    runs = cross(transcript, keys, budget=options.budget, pace=pace, progress=progress)
    return Crossing(
        name=transcript.name,
        kind=transcript.kind,
        messages=len(transcript.lines),
        tokens=count_tokens([line.message for line in transcript.lines]),
        budget=options.budget,
        trigger_tokens=math.ceil(TRIGGER_RATIO * options.budget),
        latency=options.latency,
        pace=options.pace,
        runs=runs,
        notes=transcript.notes,
    )
