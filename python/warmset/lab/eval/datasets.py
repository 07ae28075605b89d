"""The question sets that are known, read one conversation at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.lab.corpus import agents, locomo, longmemeval, rows
from warmset.lab.corpus.renamed import renamed
from warmset.lab.corpus.transcript import checked, nameless

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warmset.lab.corpus.transcript import Transcript
    from warmset.lab.eval.options import Options

AGENTS: Final = "agents"


def read(options: Options) -> Iterator[Transcript]:
    """Read a question set.

    Args:
        options: Which file, of which kind, how many questions.

    Yields:
        Conversations in the file's order, each with the questions that are to be asked; once the
        limit is reached, no more.

    Raises:
        InvalidInputError: The file cannot be read or is of another kind; the message names it.
    """
    left = options.limit
    for transcript in _of(options):
        one = transcript
        if left is not None:
            one = replace(one, questions=one.questions[:left])
            left -= len(one.questions)
        yield nameless(one) if options.roles else renamed(one, options.names)
        if left == 0:
            return


def _of(options: Options) -> Iterator[Transcript]:
    if options.dataset == AGENTS:
        yield from agents.read_all(options.path, options.split)
        return
    if options.path is None:
        raise InvalidInputError(f"path: {options.dataset} does not ship with it; give a file")
    with rows.reading(options.path):
        for transcript in _READERS[options.dataset](options.path):
            yield checked(transcript)


def _locomo(path: Path) -> Iterator[Transcript]:
    found = locomo.samples(rows.whole(path))
    if found is None:
        raise InvalidInputError("it is not LoCoMo's: expected a list of samples with conversations")
    yield from locomo.read_all(found)


def _longmemeval(path: Path) -> Iterator[Transcript]:
    found = longmemeval.samples(rows.whole(path))
    if found is None:
        raise InvalidInputError(
            "it is not LongMemEval's: expected a list of instances with haystack_sessions"
        )
    yield from longmemeval.read_all(found)


_READERS: Final = {"locomo": _locomo, "longmemeval": _longmemeval}
