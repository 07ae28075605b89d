"""The demo from beginning to end: read, keep, embed, compare, take a window apart, show."""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console

from warmset.embed.bars import Bars
from warmset.errors import InvalidInputError, ModelMissing
from warmset.lab.corpus import models
from warmset.lab.corpus.stage import stage
from warmset.lab.demo import show, transcripts
from warmset.lab.demo.compare import SHARE, Method, compare
from warmset.lab.demo.figures import Figures
from warmset.lab.demo.picture import Picture, take
from warmset.pick import picker_named
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warmset.embed import Embedder
    from warmset.lab.corpus.stage import Progress, Stage
    from warmset.lab.corpus.transcript import Question, Transcript
    from warmset.pick import Picker

NO_MODEL: Final = (
    "the local model is not on this machine and could not be fetched, so words alone are searched; "
    "with a network, run: warmset model pull"
)

_LEAST: Final = 2_000
_MOST: Final = 32_000
"""Bounds of a window where nothing is compared: 5 % of a short talk is nothing, of a year too much.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to show.

    Args:
        file: A transcript; None for the conversation that ships with warmset.
        queries: Requests to make windows for, instead of comparing the known questions.
        budget: Tokens that a window may have; None for 5 % of the conversation.
        conversation: Which conversation of a LoCoMo file.
        limit: How many of the known questions to ask; None for all.
        as_json: Print one JSON object instead.
        store: A directory to keep the conversation in; None for one that is gone afterwards.
        words_only: Search by words alone, without a model.
        embedder: What makes vectors, as `Memory.open` takes its name; MiniLM if not given.
        picker: Who picks in the windows that are taken apart, as openai:model; None for the score.
    """

    file: Path | None = None
    queries: Sequence[str] = ()
    budget: int | None = None
    conversation: str | None = None
    limit: int | None = None
    as_json: bool = False
    store: Path | None = None
    words_only: bool = False
    embedder: str | None = None
    picker: str | None = None

    def __post_init__(self) -> None:
        models.check(self.embedder, words_only=self.words_only)
        for name, value in (("budget", self.budget), ("limit", self.limit)):
            if value is not None and value < 1:
                raise InvalidInputError(f"{name}: expected at least 1, found {value}")
        if any(not query.strip() for query in self.queries):
            raise InvalidInputError("query: expected a question, found a blank text")
        if self.file is None and self.conversation is not None:
            raise InvalidInputError("conversation: names one of a file; give the file as well")


def run(options: Options) -> None:
    """Run the demo and print what it found: figures on standard output, progress on the other.

    Args:
        options: What to show.

    Raises:
        WarmsetError: A transcript, the model, the store or a budget is not as it must be.
    """
    with Bars(Console(stderr=True)) as bars:
        figures = measure(options, bars)
    if options.as_json:
        print(json.dumps(figures.as_json(), indent=2), flush=True)  # noqa: T201 - it is the output
    else:
        show.show(figures, show.console(sys.stdout))


def measure(options: Options, progress: Progress) -> Figures:
    """Run the demo without printing.

    Args:
        options: What to measure.
        progress: Called as each stage advances.

    Returns:
        The figures.

    Raises:
        WarmsetError: As for `run`.
    """
    transcript = _transcript(options)
    questions = () if options.queries else transcript.questions[: options.limit]
    tokens = count_tokens([line.message for line in transcript.lines])
    budget = options.budget or max(round(SHARE * tokens), 1)
    if options.budget is None and not questions:
        budget = min(max(budget, _LEAST), _MOST)
    model, notes = _model(options, progress)
    picking = nullcontext() if options.picker is None else picker_named(options.picker)
    with (
        picking as picker,
        stage(transcript, store=options.store, model=model, progress=progress) as on,
    ):
        started = time.perf_counter()
        methods = compare(on, questions, budget=budget, progress=progress) if questions else []
        evidence = [[on.ids[place] for place in question.evidence] for question in questions]
        pictures = _pictures(on, options, questions, methods, budget, picker)
        asked = time.perf_counter() - started
    return Figures(
        name=transcript.name,
        kind=transcript.kind,
        messages=len(transcript.lines),
        tokens=tokens,
        embedder=on.name,
        budget=budget,
        questions=questions,
        evidence=evidence,
        methods=methods,
        pictures=pictures,
        seconds={"keep": on.keep_seconds, "embed": on.embed_seconds, "ask": asked},
        notes=[*notes, *transcript.notes],
    )


def _model(options: Options, progress: Progress) -> tuple[Embedder | None, list[str]]:
    """Return the embedder with notes about it; none without a model that nobody asked for."""
    try:
        made = models.model_of(options.embedder, words_only=options.words_only, progress=progress)
    except ModelMissing:
        if options.embedder is not None:
            raise
        return None, [NO_MODEL]
    return made, []


def _transcript(options: Options) -> Transcript:
    if options.file is None:
        return transcripts.sample()
    return transcripts.read(options.file, conversation=options.conversation)


def _pictures(
    on: Stage,
    options: Options,
    questions: Sequence[Question],
    methods: Sequence[Method],
    budget: int,
    picker: Picker | None,
) -> list[Picture]:
    stretch = options.budget is None
    if not questions:
        queries: Sequence[str | None] = options.queries or [None]
        return [
            take(on.conversation, one, budget=budget, stretch=stretch, picker=picker)
            for one in queries
        ]
    best: Picture | None = None
    for at in _telling(methods):
        question = questions[at]
        evidence = {on.ids[place] for place in question.evidence}
        picture = take(
            on.conversation,
            question.text,
            budget=budget,
            stretch=False,
            evidence=evidence,
            picker=picker,
        )
        best = best or picture
        if picture.found:
            return [picture]
    return [best] if best else []


def _telling(methods: Sequence[Method]) -> list[int]:
    """Order questions: those first that jit answers and the fewest others do."""
    others = [method for method in methods if method.name not in ("full", "jit")]
    jit = methods[-1].outcomes

    def found(at: int) -> tuple[bool, int]:
        return not jit[at].found, sum(method.outcomes[at].found for method in others)

    return sorted(range(len(jit)), key=found)
