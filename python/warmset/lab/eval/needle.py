"""The needle: what four ways to make a window cost, and whether the old decision is in it.

The full index has a line for every turn not shown, beside the recent turns and the six best ones.
It is kept in the table although it loses: on short turns it costs more than sending everything.
That is why warmset's index is a scoped one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.lab.corpus import models
from warmset.lab.corpus.shown import EVERYTHING, shown
from warmset.lab.corpus.stage import stage
from warmset.lab.eval.needle_talk import talk
from warmset.lab.eval.quoting import Quoting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.lab.corpus.stage import Progress, Stage
    from warmset.lab.corpus.transcript import Question
    from warmset.pick import Candidate
    from warmset.window.result import Window

TURNS: Final = (20, 40, 80, 160, 320)
BUDGET: Final = 800
TRIALS: Final = 5
DEPTH: Final = 20.0
MODES: Final = ("full", "recency", "jit", "full-index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to try.

    Args:
        turns: Lengths of conversations, in messages.
        budget: Tokens of a window, for "recency" and "jit".
        trials: Conversations of each length.
        depth: Where the decision stands, in percent of the conversation.
        words_only: Search by words alone, without a model.
        embedder: What makes vectors, as `Memory.open` takes its name; MiniLM if not given.
    """

    turns: Sequence[int] = TURNS
    budget: int = BUDGET
    trials: int = TRIALS
    depth: float = DEPTH
    words_only: bool = False
    embedder: str | None = None

    def __post_init__(self) -> None:
        models.check(self.embedder, words_only=self.words_only)
        for name, value in (("budget", self.budget), ("trials", self.trials)):
            if value < 1:
                raise InvalidInputError(f"{name}: expected at least 1, found {value}")
        if min(self.turns, default=0) < 2:  # noqa: PLR2004 - a question and its answer
            raise InvalidInputError(f"turns: expected at least 2 each, found {self.turns}")
        if not 0 <= self.depth <= 100:  # noqa: PLR2004 - percent
            raise InvalidInputError(f"depth: expected 0 to 100 percent, found {self.depth:g}")


@dataclass(frozen=True, slots=True)
class _Best:
    """A picker that takes the best of the shortlist, as many as a picker may."""

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Sequence[int]:
        """Return the first candidates; see `Picker.pick`."""
        del request
        return [candidate.id for candidate in candidates[:limit]]


def needle(settings: Settings, progress: Progress) -> dict[str, Any]:
    """Try every length.

    Args:
        settings: What to try.
        progress: Called after each trial.

    Returns:
        Figures ready for JSON: for each length and mode the mean tokens, the part of the full
        tokens that is saved (below zero where a window costs more), and accuracy by an oracle
        reader, which is right exactly if the decision is in the window.

    Raises:
        WarmsetError: The model, the store or a window failed.
    """
    model = models.model_of(settings.embedder, words_only=settings.words_only, progress=progress)
    total = len(settings.turns) * settings.trials
    name, rows = "lexical", list[dict[str, Any]]()
    for length in settings.turns:
        tried: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        for seed in range(settings.trials):
            made = talk(length, depth=settings.depth / 100, seed=seed)
            with stage(made, store=None, model=model, progress=_quiet) as on:
                name = on.name
                for mode in MODES:
                    tried[mode].append(_try(on, made.questions[0], mode, settings.budget))
            progress("ask", len(rows) * settings.trials + seed + 1, total)
        full = fmean(tokens for tokens, _ in tried["full"])
        rows.append(
            {
                "turns": length,
                "modes": {
                    mode: {
                        "tokens": round(fmean(tokens for tokens, _ in found), 1),
                        "saved": round(1 - fmean(tokens for tokens, _ in found) / full, 4),
                        "accuracy": round(fmean(right for _, right in found), 4),
                    }
                    for mode, found in tried.items()
                },
            }
        )
    return {
        "dataset": "needle",
        "depth": settings.depth,
        "trials": settings.trials,
        "budget": settings.budget,
        "embedder": name,
        "reader": "oracle",
        "rows": rows,
    }


def _try(on: Stage, question: Question, mode: str, budget: int) -> tuple[int, bool]:
    try:
        window = _window(on, question.text, mode, budget)
    except BudgetTooSmall as error:
        return error.have, False
    there = shown(on.conversation, window)
    tokens = window.tokens
    if mode == "full-index":
        tokens += Quoting(on.conversation).index(id_ for id_ in on.ids if id_ not in there)
    return tokens, all(on.ids[place] in there for place in question.evidence)


def _window(on: Stage, question: str, mode: str, budget: int) -> Window:
    one = on.conversation
    if mode == "full":
        return one.window(question, budget=EVERYTHING, mode="full")
    if mode == "recency":
        return one.window(question, budget=budget, mode="recency")
    if mode == "jit":
        return one.window(question, budget=budget)
    return one.window(question, budget=EVERYTHING, index_share=0, picker=_Best())


def _quiet(_stage: str, _done: int, _total: int | None, /) -> None:
    """Say nothing: there are many small conversations."""
