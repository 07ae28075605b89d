"""The figures of a run that outgrows its window, measured twice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.lab.demo.crossing import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What was measured.

    Args:
        name: The conversation.
        kind: What kind of transcript it is.
        messages: How many it has.
        tokens: What sending all of them costs.
        budget: Tokens that a call may have.
        trigger_tokens: Tokens at which a summary is prepared.
        latency: Milliseconds that the summariser takes, simulated.
        pace: Milliseconds between two calls, simulated.
        runs: The run with summaries at the wall, and the one with prepared ones.
        notes: What was left out.
    """

    name: str
    kind: str
    messages: int
    tokens: int
    budget: int
    trigger_tokens: int
    latency: float
    pace: float
    runs: Sequence[Run]
    notes: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it; times in milliseconds."""
        return {
            "conversation": {
                "name": self.name,
                "kind": self.kind,
                "messages": self.messages,
                "tokens": self.tokens,
            },
            "budget": self.budget,
            "trigger_tokens": self.trigger_tokens,
            "simulated": {"latency": self.latency, "pace": self.pace},
            "runs": [
                {
                    "name": run.name,
                    "calls": len(run.steps),
                    "longest_wait": _ms(run.longest),
                    "waited": _ms(run.waited),
                    "longest_own": _ms(run.own),
                    "tokens": run.tokens,
                    "cached": run.cached,
                    "left_out": run.left_out,
                    "written": run.written,
                    "applied": run.applied,
                    "reach": None if run.reach is None else asdict(run.reach),
                    "steps": [
                        {**asdict(step), "waited": _ms(step.waited), "own": _ms(step.own)}
                        for step in run.steps
                    ],
                }
                for run in self.runs
            ],
            "notes": list(self.notes),
        }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
