"""What to measure, checked before anything is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.lab.corpus import models
from warmset.lab.corpus.renamed import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warmset.lab.corpus.agents import Split
    from warmset.lab.corpus.renamed import Names
    from warmset.store.options import Views

BUDGETS: Final = (1.0, 2.0, 5.0, 10.0, 15.0, 50.0)
AGENTS_BUDGETS: Final = (1.0, 2.0, 5.0, 10.0, 15.0)
CUTS: Final = (6, 12, 20)
MIDDLE: Final = 5.0
"""The budget, in percent, that single figures are given at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to measure.

    Args:
        dataset: "locomo", "longmemeval" or "agents".
        path: The file; for "agents" also a directory, or None for the sessions that ship with
            warmset.
        retrievers: Names of further retrievers beside the default; see `warmset.lab.eval.ways`.
        budgets: Sizes of windows, in percent of the conversation's tokens.
        cuts: Numbers of hits after which a ranking is cut, the k of recall at k.
        json: Where to write the figures.
        html: Where to write the report.
        svg: Where to write the plot of recall against cost by itself.
        reader: What answers, as `warmset.lab.eval.llm` reads it; None measures retrieval only.
        judge: What judges the answers; None leaves the judge out.
        limit: How many questions to ask; None for all.
        roles: Take the speakers' names off: user and assistant only.
        names: Rename the speakers, or whom the questions name; see `warmset.lab.corpus.renamed`.
        words_only: Search by words alone, without a model.
        embedder: What makes vectors, as `Memory.open` takes its name; MiniLM if not given.
        views: What is embedded of a turn, as `Memory.open` takes it.
        store: A directory to keep the conversations in, so that a second run embeds nothing.
        split: Which sessions of "agents" to ask.
    """

    dataset: str
    path: Path | None
    retrievers: Sequence[str] = ()
    budgets: Sequence[float] = BUDGETS
    cuts: Sequence[int] = CUTS
    json: Path | None = None
    html: Path | None = None
    svg: Path | None = None
    reader: str | None = None
    judge: str | None = None
    limit: int | None = None
    roles: bool = False
    names: Names = "exact"
    words_only: bool = False
    embedder: str | None = None
    views: Views = "both"
    store: Path | None = None
    split: Split = "all"

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InvalidInputError(f"limit: expected at least 1, found {self.limit}")
        if self.judge is not None and self.reader is None:
            raise InvalidInputError("judge: there is nothing to judge; give a reader too")
        if self.names not in NAMES:
            raise InvalidInputError(
                f"names: expected one of {', '.join(NAMES)}, found {self.names!r}"
            )
        if self.roles and self.names != "exact":
            raise InvalidInputError("names: there are none with roles; leave one of the two out")
        models.check(self.embedder, words_only=self.words_only)
        for out in (self.json, self.html, self.svg):
            if out is not None and not out.resolve().parent.is_dir():
                raise InvalidInputError(f"{out}: there is no such directory; make it first")


def percentages(text: str) -> tuple[float, ...]:
    """Read budgets, as "1,2,5".

    Raises:
        InvalidInputError: One is no percentage.
    """
    found = tuple(_number(part, "budgets", "percentages as 1,2,5") for part in text.split(","))
    if not all(0 < value <= 100 for value in found):  # noqa: PLR2004 - percent
        raise InvalidInputError(f"budgets: expected more than 0 and at most 100, found {text!r}")
    return tuple(sorted(set(found)))


def numbers(text: str) -> tuple[int, ...]:
    """Read numbers of hits or turns, as "6,12,20".

    Raises:
        InvalidInputError: One is no whole number of at least 1.
    """
    found = tuple(_number(part, "k", "whole numbers as 6,12,20") for part in text.split(","))
    if not all(value >= 1 and value == int(value) for value in found):
        raise InvalidInputError(f"expected whole numbers of at least 1, found {text!r}")
    return tuple(sorted({int(value) for value in found}))


def cut_key(k: int) -> str:
    """Return what recall at k is called."""
    return f"k{k}"


def budget_key(percent: float) -> str:
    """Return what recall at a budget is called."""
    return f"t{percent:g}"


def middle(keys: Sequence[str]) -> tuple[str, str]:
    """Return the cut and the budget that single figures are given at, among those measured."""
    cuts = [key for key in keys if key.startswith("k")]
    prices = [key for key in keys if key.startswith("t")]
    wanted = budget_key(MIDDLE)
    return cuts[-1], wanted if wanted in prices else prices[-1]


def _number(text: str, name: str, wanted: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidInputError(f"{name}: expected {wanted}, found {text!r}") from None
    if not math.isfinite(value):
        raise InvalidInputError(f"{name}: expected {wanted}, found {text!r}")
    return value
