"""An agent's run that outgrows its window: a summary at the budget, compared with a prepared one.

Both runs use the same code with the same transcript, summarizer, tail and budget. Only the moment
differs at which a summary is started: when the call no longer fits, or at the trigger. Time is
simulated, see `warmset.lab.demo.simulated`; warmset's own time is measured.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.lab.demo.reach import reach_of
from warmset.lab.demo.simulated import SimulatedTime
from warmset.memory import Memory
from warmset.messages import facts, resolve
from warmset.prepare import PreparedCompaction
from warmset.summarize import ExtractiveSummarizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.conversation import Conversation
    from warmset.lab.corpus.stage import Progress
    from warmset.lab.corpus.transcript import Line, Transcript
    from warmset.lab.demo.reach import Reach
    from warmset.window.result import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The durations of simulated work.

    Args:
        latency: Seconds that the summarizer takes.
        agent: Seconds that the agent takes from one call of its model to the next.
    """

    latency: float
    agent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A call of the agent's model.

    Args:
        waited: Simulated seconds that it waited for the summarizer.
        own: Real seconds that the window took, without the summarizer's.
        tokens: The tokens that were sent.
        cached: Tokens at the front that are the same as in the call before.
        state: The state of the preparation; see `warmset.prepare`.
        tokens_saved: Tokens that a summary saved in this call, in addition to earlier ones; 0 if
            none was applied.
        left_out: Messages that were left out without a summary.
    """

    waited: float
    own: float
    tokens: int
    cached: int
    state: str
    tokens_saved: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The figures of a run.

    Args:
        name: "at the wall" or "prepared".
        steps: Every call.
        reach: The answers that can still be reached at its end; None if no answers are known.
        written: The number of summaries that were written.
        applied: The number of summaries that were applied.
    """

    name: str
    steps: Sequence[Step]
    reach: Reach | None
    written: int
    applied: int

    @property
    def longest(self) -> float:
        """The longest wait of a call for the summarizer, in simulated seconds."""
        return max(step.waited for step in self.steps)

    @property
    def waited(self) -> float:
        """All waits together."""
        return sum(step.waited for step in self.steps)

    @property
    def own(self) -> float:
        """The longest time that warmset itself took for a window, in real seconds."""
        return max(step.own for step in self.steps)

    @property
    def tokens(self) -> int:
        """All tokens that were sent."""
        return sum(step.tokens for step in self.steps)

    @property
    def left_out(self) -> int:
        """Calls in which messages were left out without a summary."""
        return sum(step.left_out > 0 for step in self.steps)

    @property
    def cached(self) -> int:
        """The tokens of them that a prompt cache could have had."""
        return sum(step.cached for step in self.steps)


def cross(
    transcript: Transcript, keys: Sequence[str], *, budget: int, pace: Pace, progress: Progress
) -> list[Run]:
    """Let the agent run twice.

    Args:
        transcript: The messages that the agent sent and received; the model is called before each
            message of its own.
        keys: The words of each of the transcript's questions' answers that count; none where they
            are not known.
        budget: Tokens that a call may have.
        pace: The durations of simulated work.
        progress: Called during the stage "ask".

    Returns:
        The run with summaries at the wall, and the one with prepared summaries.

    Raises:
        BudgetTooSmall: What must stay does not fit.
        InvalidInputError: No model answers in the transcript.
        StoreError: A message could not be kept.
    """
    runs: list[Run] = []
    for name, made, kept in _WAYS:
        clock = SimulatedTime(pace.latency)
        policy = made(clock)
        with Memory.open(None, embedder="lexical", compaction=policy) as memory:
            one = memory.conversation(transcript.name)
            total, before = 2 * len(transcript.lines), len(runs) * len(transcript.lines)
            steps: list[Step] = []
            window: Window | None = None
            answers = _answers(transcript.lines)
            for at, line in enumerate(transcript.lines):
                if at in answers:
                    window = _call(one, clock, budget, steps)
                    clock.pass_to(clock.now + pace.agent)
                one.append([line.message], at=line.at, speaker=line.speaker, session=line.session)
                progress("ask", before + at + 1, total)
            if window is None:
                raise InvalidInputError("no model answers in it; give the run of an agent")
            runs.append(
                Run(
                    name=name,
                    steps=steps,
                    reach=reach_of(one, window, transcript, keys, kept=kept) if keys else None,
                    written=policy.counters.prepared,
                    applied=policy.counters.applied,
                )
            )
    return runs


def _prepared(clock: SimulatedTime) -> PreparedCompaction:
    return PreparedCompaction(
        summarizer=ExtractiveSummarizer(), clock=clock, worker=clock, timeout=math.inf
    )


def _at_the_wall(clock: SimulatedTime) -> PreparedCompaction:
    """A policy that starts a summary only when a call no longer fits, and waits for it."""
    return replace(_prepared(clock), should_compact=lambda *_: False, deadline=math.inf)


_ANSWERS: Final = frozenset({"assistant", "model"})


_WAYS: Final = (("at the wall", _at_the_wall, False), ("prepared", _prepared, True))
"""Names, policies, and whether anything is kept beside the list."""


def _answers(lines: Sequence[Line]) -> set[int]:
    """Return where a model's answers begin; one that is several items or steps begins once."""
    plain = [line.message for line in lines]
    dialect = resolve(plain)
    model = [facts(message, dialect).role == "assistant" for message in plain]
    return {
        at
        for at in range(1, len(plain))
        if plain[at].get("role") in _ANSWERS
        or ("role" not in plain[at] and model[at] and not model[at - 1])
    }


def _call(one: Conversation, clock: SimulatedTime, budget: int, steps: list[Step]) -> Window:
    working, begun = clock.working, time.perf_counter()
    window = one.window(mode="full", budget=budget)
    own = time.perf_counter() - begun - (clock.working - working)
    did = window.report.compaction
    tokens_saved = (
        did.tokens_saved - sum(step.tokens_saved for step in steps) if did and did.applied else 0
    )
    steps.append(
        Step(
            waited=did.waited if did else 0.0,
            own=own,
            tokens=window.tokens,
            cached=window.report.cached,
            state=did.state if did else "idle",
            tokens_saved=tokens_saved,
            left_out=did.left_out if did else 0,
        )
    )
    return window
