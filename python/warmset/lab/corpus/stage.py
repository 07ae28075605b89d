"""`Stage`: a transcript in a store, with vectors, and with the baselines."""

from __future__ import annotations

import tempfile
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

from warmset.errors import EmbedderError, InvalidInputError
from warmset.lab.corpus.remembering import Remembering
from warmset.memory import Memory
from warmset.options import ONLY_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from warmset.conversation import Conversation
    from warmset.embed import Embedder
    from warmset.lab.corpus.transcript import Line, Transcript
    from warmset.options import Weights
    from warmset.store.options import Views

_BATCH: Final = 1_000
_GLANCE: Final = 0.05
"""Seconds between two looks at what is still pending."""


class Progress(Protocol):
    """A progress callback: gets the stage, the steps done and the total number of steps."""

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        """Report the progress of a stage; `total` is None while it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A transcript in a store, ready for a comparison.

    Args:
        conversation: The transcript's conversation.
        ids: The id of each line.
        words: A handle on the same store that ranks by BM25 alone.
        embedder: The embedder, which caches its vectors; None to search by words alone, or without
            questions to compare.
        name: The embedder's name.
        keep_seconds: Seconds to store the messages.
        embed_seconds: Further seconds to embed them.
        another: Opens a handle on the same store with other weights; it closes with the stage.
    """

    conversation: Conversation
    ids: list[int]
    words: Memory
    embedder: Remembering | None
    name: str
    keep_seconds: float
    embed_seconds: float
    another: Callable[[Weights], Memory]


@contextmanager
def stage(
    transcript: Transcript,
    *,
    store: Path | None,
    model: Embedder | None,
    progress: Progress,
    views: Views = "both",
) -> Iterator[Stage]:
    """Store a transcript and embed it.

    Args:
        transcript: The transcript.
        store: The store's directory; None for a temporary one. Messages that it already has are not
            stored twice.
        model: Makes the vectors; None searches by words alone.
        progress: Called during the stages "keep" and "embed".
        views: What is embedded of a turn, as `Memory.open` takes it.

    Yields:
        The stage; closed when the block ends, at once if it raises.

    Raises:
        EmbedderError: The model failed.
        InvalidInputError: The store has another conversation of that name.
        StoreError: The store cannot be opened or written.
    """
    remembering = Remembering(model) if model and transcript.questions else None
    given = remembering or model or "lexical"
    with ExitStack() as held:
        path = store or held.enter_context(_scratch())
        memory = held.enter_context(_opened(Memory.open(path, embedder=given, views=views)))

        def another(weights: Weights) -> Memory:
            return held.enter_context(
                Memory.open(path, embedder=given, weights=weights, views=views)
            )

        words = another(ONLY_WORDS)
        conversation = memory.conversation(transcript.name)
        started = time.perf_counter()
        with _still(memory):
            _keep(conversation, transcript, progress)
        kept = time.perf_counter()
        _embed(memory, progress)
        yield Stage(
            conversation=conversation,
            ids=conversation.ids,
            words=words,
            embedder=remembering,
            name=str(memory.stats()["embedder"]),
            keep_seconds=kept - started,
            embed_seconds=time.perf_counter() - kept,
            another=another,
        )


def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="warmset-stage-", ignore_cleanup_errors=True)


@contextmanager
def _opened(memory: Memory) -> Iterator[Memory]:
    """Close a memory without waiting for vectors if something went wrong, as Ctrl-C."""
    try:
        yield memory
    except BaseException:
        memory.close(timeout=0)
        raise
    memory.close()


def _still(memory: Memory) -> AbstractContextManager[object]:
    """Pause the embedding: records of vectors take ids, and ids are shown in windows.

    So a transcript has the same ids, and its windows the same tokens, regardless of the model's
    speed.
    """
    return memory.paused()


def _keep(conversation: Conversation, transcript: Transcript, progress: Progress) -> None:
    lines = transcript.lines
    known = conversation.ids
    there = [dict(turn) for turn in conversation.fetch(known)]
    if there != [line.message for line in lines[: len(known)]]:
        raise InvalidInputError(
            f"the store has another conversation named {conversation.id!r}; "
            "choose another directory"
        )
    done = len(known)
    # A line without a time gets that of the line before it, the first one that of the next.
    last = next((line.at for line in lines if line.at is not None), time.time())
    for (at, speaker, session), group in groupby(lines[done:], key=_beside):
        last = last if at is None else at
        batch = [line.message for line in group]
        for start in range(0, len(batch), _BATCH):
            part = batch[start : start + _BATCH]
            conversation.append(part, at=last, speaker=speaker, session=session)
            done += len(part)
            progress("keep", done, len(lines))


def _beside(line: Line) -> tuple[float | None, str | None, str | None]:
    return line.at, line.speaker, line.session


def _embed(memory: Memory, progress: Progress) -> None:
    total = pending = int(memory.stats()["pending"])
    while pending:
        time.sleep(_GLANCE)
        pending = int(memory.stats()["pending"])
        progress("embed", max(total - pending, 0), total)
    failed: dict[int, str] = memory.stats()["failed"]
    if failed:
        id_, why = next(iter(failed.items()))
        raise EmbedderError(f"{len(failed)} messages could not be embedded; #{id_}: {why}")
    memory.flush()
