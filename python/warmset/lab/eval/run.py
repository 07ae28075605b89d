"""The harness from beginning to end: read, keep, embed, ask, sum up."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.lab.corpus.models import model_of
from warmset.lab.corpus.stage import stage
from warmset.lab.eval import datasets, reading_summary
from warmset.lab.eval.declining import Declining
from warmset.lab.eval.observe import Asked, Observer
from warmset.lab.eval.quoting import Quoting
from warmset.lab.eval.reading import Reading
from warmset.lab.eval.summary import summarise
from warmset.lab.eval.ways import CONTROLS, check, ways

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from warmset.embed import Embedder
    from warmset.lab.corpus.stage import Progress
    from warmset.lab.corpus.transcript import Transcript
    from warmset.lab.eval.options import Options

TOKENIZER: Final = "o200k_base"


def measure(options: Options, progress: Progress) -> dict[str, Any]:
    """Run the harness without printing.

    Args:
        options: What to measure.
        progress: Called as each stage advances.

    Returns:
        The figures, ready for JSON.

    Raises:
        InvalidInputError: The file, or a name, is not usable, or there is no question.
        ReaderError: A reader or judge failed; what was answered is kept.
        WarmsetError: The model, the store or a window failed.
    """
    check(options.retrievers)
    reading = _reading(options)
    transcripts = list(datasets.read(options))
    total = sum(len(one.questions) for one in transcripts)
    if not total:
        found = options.path or "the data"
        raise InvalidInputError(f"{found}: it has no question with known evidence")
    counts: Counter[str] = Counter()
    for transcript in transcripts:
        counts.update(transcript.counts)
    steps = total + sum(len(one.unanswerable) for one in transcripts)
    run = _Run(options, progress, steps, reading)
    for transcript in transcripts:
        if transcript.questions:
            run.conversation(transcript)
    figures: dict[str, Any] = {
        "dataset": options.dataset,
        "questions": total,
        "conversations": run.conversations,
        "left_out": {
            name: counts[name] for name in ("without_evidence", "not_scored", "malformed")
        },
        "evidence": {"mended": counts["evidence_mended"], "unknown": counts["evidence_unknown"]},
        "settings": {
            "tokenizer": TOKENIZER,
            "embedder": run.embedder,
            "views": options.views,
            "recent": 0,
            "index_share": 0,
            "roles": options.roles,
            "names": options.names,
            "limit": options.limit,
        },
        "retrievers": run.figures(),
    }
    if options.dataset == datasets.AGENTS:
        figures["settings"]["split"] = options.split
        figures["declining"] = run.declining.figures([one.name for one in transcripts])
        figures["splits"] = _splits(run, transcripts)
    if reading is not None:
        figures["reader"] = reading_summary.figures(reading, options.dataset)
    return figures


def _reading(options: Options) -> Reading | None:
    if options.reader is None:
        return None
    beside = options.json or options.html
    kept = None if beside is None else beside.with_suffix(".answers.jsonl")
    return Reading(options.reader, options.judge, kept)


def _splits(run: _Run, transcripts: Sequence[Transcript]) -> dict[str, Any]:
    """Return the figures of each part of the data set that was asked."""
    members: dict[str, list[Transcript]] = defaultdict(list)
    for transcript in transcripts:
        members[transcript.split].append(transcript)
    return {
        split: {
            "conversations": (names := [one.name for one in found]),
            "questions": sum(len(one.questions) for one in found),
            "retrievers": run.figures(names),
            "declining": run.declining.figures(names),
        }
        for split, found in sorted(members.items())
    }


class _Run:
    """Asks conversation by conversation."""

    def __init__(
        self, options: Options, progress: Progress, total: int, reading: Reading | None
    ) -> None:
        self._options = options
        self._progress = progress
        self._total = total
        self._reading = reading
        self._done = 0
        self._asked: dict[str, list[Asked]] = defaultdict(list)
        self._budgeted: dict[str, bool] = {}
        self._model: Embedder | None = None
        self.conversations: list[dict[str, Any]] = []
        self.embedder = "lexical"
        self.declining = Declining(options.budgets)

    def conversation(self, transcript: Transcript) -> None:
        """Keep one conversation and ask its questions every way."""
        options = self._options
        if self._model is None:
            self._model = model_of(
                options.embedder, words_only=options.words_only, progress=self._progress
            )
        store = None if options.store is None else options.store / _directory(transcript, options)
        with ExitStack() as held:
            on = held.enter_context(
                stage(
                    transcript,
                    store=store,
                    model=self._model,
                    progress=self._progress,
                    views=options.views,
                )
            )
            self.embedder = on.name
            quoting = Quoting(on.conversation)
            chosen = list(ways(on, quoting, options.retrievers))
            whole = quoting.everything.tokens
            observer = Observer(on, cuts=options.cuts, budgets=options.budgets, whole=whole)
            self.conversations.append(
                {
                    "name": transcript.name,
                    "messages": len(on.ids),
                    "questions": len(transcript.questions),
                    "tokens": observer.tokens,
                    "bare_tokens": observer.bare,
                }
            )
            contexts = None if self._reading is None else self._reading.contexts(on, quoting)
            for question in transcript.questions:
                for way in chosen:
                    self._asked[way.name].append(observer.ask(way, question))
                    self._budgeted[way.name] = way.budgeted
                if self._reading is not None and contexts is not None:
                    self._reading.ask(on, contexts, question)
                if options.dataset == datasets.AGENTS:
                    self.declining.ask(on.conversation, whole, question.text, answerable=True)
                self._step()
            for question in transcript.unanswerable:
                self.declining.ask(on.conversation, whole, question.text, answerable=False)
                self._step()

    def _step(self) -> None:
        self._done += 1
        self._progress("ask", self._done, self._total)

    def figures(self, names: Collection[str] | None = None) -> dict[str, Any]:
        """Return the figures of every way, the controls last.

        Args:
            names: Conversations that count; None for all.
        """
        order = sorted(self._asked, key=lambda name: name in CONTROLS)
        return {
            name: summarise(
                [one for one in self._asked[name] if names is None or one.conversation in names],
                cuts=self._options.cuts,
                budgets=self._options.budgets,
                budgeted=self._budgeted[name],
            )
            for name in order
        }


def _directory(transcript: Transcript, options: Options) -> str:
    """Return the directory of a conversation's store: one for each set of speakers' names."""
    name = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in transcript.name)
    if options.roles:
        return f"{name}.roles"
    return f"{name}.{options.names}" if options.names in {"full", "handles", "emails"} else name
