"""What the worker does with transcripts: store them, compact them, distil and audit them.

How far a transcript was read is kept beside the store, without a word of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from warmset.compact import compact_context
from warmset.compact.distil import LEAST_TEXT, clip, memory_type_of
from warmset.messages import text_of
from warmset.serve.hooks import files, transcripts, words
from warmset.serve.hooks.answers import MOST_LOST
from warmset.serve.hooks.checkpoint import QUERY, TURNS
from warmset.serve.hooks.cutting import cut
from warmset.serve.hooks.keeping import Keeping, lines_of
from warmset.serve.hooks.sessions import session
from warmset.summarize import audit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warmset.compact.distil import MemoryType
    from warmset.items.item import Origin
    from warmset.memory import Memory
    from warmset.serve.hooks.jobs import Job
    from warmset.serve.hooks.places import Places
    from warmset.serve.hooks.transcripts import Turn

READ: Final = 16_000_000
"""Bytes of a transcript that are taken up in one go."""

LOST_TOKENS: Final = 900
"""Tokens that the list of what a summary lost may have."""

CONFIDENCE: Final = 0.6
"""The confidence of a memory that was distilled from a sentence."""

_KINDS: Final = frozenset({"correction", "preference", "habit", "decision"})
_ASSISTANTS: Final = frozenset({"decision"})
"""The types of sentences that become memories; an assistant's own wishes do not."""

_EACH: Final = 5
"""How many sentences of one turn become memories."""

_WARM: Final = "what is new"
_MOST_PROGRESS: Final = 4_000_000
_MOST_SESSIONS: Final = 10_000


class Worker:
    """Does the jobs of one store.

    Args:
        places: The paths of its hooks.
        memory: The open store.
    """

    def __init__(self, places: Places, memory: Memory) -> None:
        self._places = places
        self._memory = memory

    def do(self, job: Job) -> None:
        """Do one job.

        Raises:
            OSError: The transcript cannot be read, or a file not written.
            WarmsetError: The store could not take it.
        """
        host, name = _text(job, "host"), _text(job, "session")
        path, end = _text(job, "transcript"), job.fields.get("end")
        stop = end if isinstance(end, int) else None
        if job.kind == "store":
            self._store(path, host, name)
        elif job.kind == "compact":
            if job.fields.get("wrapped") is not True:
                self._store(path, host, name)
            self._compact(path, stop, host, name)
        elif job.kind == "audit":
            self._audit(path, stop, host, name)

    def refresh(self) -> None:
        """Bring the index of words, and what searches look at, up to the store.

        The first search after a change would wait for it, and an agent for the search.

        Raises:
            OSError: It cannot be written.
            sqlite3.Error: Likewise.
        """
        self._memory.memories(query=_WARM, k=1)
        self._memory.search(_WARM, k=1)
        if self._places.is_encrypted:
            return
        last = words.last(self._places.words)
        if last is None:
            words.create(self._places.words, self._said(-1))
        else:
            newer = list(self._said(last))
            if newer:
                words.extend(self._places.words, newer)

    def _said(self, after: int) -> Iterator[words.Said]:
        """Yield all texts with ids behind one."""
        for name in self._memory.conversations():
            one = self._memory.conversation(name)
            dialect = one.dialect or "openai"
            for turn in one.fetch([id_ for id_ in one.ids if id_ > after]):
                text = text_of(turn, dialect).strip()
                if text:
                    role, at = str(turn.get("role", "assistant")), turn.at.timestamp()
                    yield words.Said(turn.id, f"#{turn.id}", role, name, at, text)
        for item in self._memory.memories(k=_MOST_SESSIONS):
            if item.id > after:
                at, origin = item.timestamp.timestamp(), item.origin or "origin not known"
                where = item.conversation or ""
                yield words.Said(item.id, item.memory_id, origin, where, at, item.text)

    def _store(self, path: str, host: str, name: str) -> None:
        """Store what is new in a transcript, and distil it."""
        keeping = Keeping(self._memory, host, name)
        while True:
            progress = self._progress()
            place = progress.get(f"{host}:{name}")
            start = place["read"] if place and place["path"] == path else 0
            if start > transcripts.size(path):
                start = 0  # it was written anew; its lines are known by their ids
            raw = _whole_lines(path, start)
            if not raw:
                return
            new = keeping.new(list(lines_of(raw)))
            self._distil(name, [line.turn for line in new if line.turn is not None])
            keeping.add(new)
            progress.pop(f"{host}:{name}", None)
            progress[f"{host}:{name}"] = {"path": path, "read": start + len(raw)}
            kept = dict(list(progress.items())[-_MOST_SESSIONS:])
            files.replace_json(self._places.progress, kept)

    def _progress(self) -> dict[str, Any]:
        try:
            return files.read_json(self._places.progress, _MOST_PROGRESS) or {}
        except ValueError:
            return {}

    def _distil(self, conversation: str, turns: Iterable[Turn]) -> None:
        for turn in turns:
            origin: Origin = "user" if turn.role == "user" else "assistant"
            for text, kind in distilled(turn):
                self._memory.remember(
                    text,
                    memory_type=kind,
                    conversation=conversation,
                    confidence=CONFIDENCE,
                    origin=origin,
                )

    def _compact(self, path: str, end: int | None, host: str, name: str) -> None:
        """Compact the last turns with the checkpoint as the query, and distil what survives."""
        said = [turn for turn in transcripts.turns(path, end=end) if turn.text]
        said = [turn for turn in said if turn.role in ("user", "assistant")][-TURNS:]
        keeping = Keeping(self._memory, host, name)
        if not said or keeping.is_erased():
            return
        with session(self._places.sessions, host, name) as state:
            kept = state.get("checkpoint")
        conversation = self._memory.conversation(name)
        messages = [{"role": turn.role, "content": turn.text} for turn in said]
        result = compact_context(
            messages,
            query=kept[:QUERY] if isinstance(kept, str) and kept else None,
            distill_novel=True,
            memory=conversation,
            dialect=keeping.dialect,
        )
        stay = {id(message) for message in result.messages}
        survivors = [t for t, m in zip(said, messages, strict=True) if id(m) in stay]
        self._distil(conversation.id, survivors)

    def _audit(self, path: str, end: int | None, host: str, name: str) -> None:
        """Find what the host's summary lost, and leave it for the session."""
        with session(self._places.sessions, host, name) as state:
            summary = state.get("summary")
        if not isinstance(summary, str) or not summary:
            turns = reversed(transcripts.turns(path))
            summary = next((t.text for t in turns if t.role == "summary" and t.text), "")
        if not summary:
            return
        lost = lost_in(path, end, summary)
        with session(self._places.sessions, host, name) as state:
            state["losses"], state["losses_shown"] = cut(lost, MOST_LOST), False


def lost_in(path: str, end: int | None, summary: str) -> str:
    """Return what the turns before a compaction state and the host's summary does not.

    Args:
        path: The transcript.
        end: Where the compaction began, in bytes; before the last boundary if not known.
        summary: The host's summary.

    Raises:
        OSError: The transcript cannot be read.
    """
    turns = transcripts.turns(path, end=end)
    bounds = [at for at, turn in enumerate(turns) if turn.boundary]
    if end is None and bounds:
        turns, bounds = turns[: bounds[-1]], bounds[:-1]
    if bounds:
        turns = turns[bounds[-1] + 1 :]
    said = [turn for turn in turns if turn.text and turn.role in ("user", "assistant")]
    messages = [{"role": turn.role, "content": turn.text} for turn in said]
    if not messages:
        return ""
    return audit(messages, summary, dialect="openai").carried(LOST_TOKENS)


def distilled(turn: Turn) -> list[tuple[str, MemoryType]]:
    """Return the sentences of a turn that become memories, each with its type."""
    wanted = _KINDS if turn.role == "user" else _ASSISTANTS
    found: list[tuple[str, MemoryType]] = []
    for sentence in _sentences(turn.text):
        kind = memory_type_of(sentence)
        if kind in wanted and len(sentence) >= LEAST_TEXT:
            found.append((clip(sentence), kind))
    return found[:_EACH]


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for sentence in (
            line.replace("! ", "!\n").replace("? ", "?\n").replace(". ", ".\n").split("\n")
        ):
            said = sentence.strip(" -*#>\t")
            if said:
                yield said


def _whole_lines(path: str, start: int) -> bytes:
    """Return whole lines from a place on; a line that is longer than `READ` is passed over."""
    with open(path, "rb") as file:
        file.seek(start)
        found = file.read(READ)
        whole = found.rfind(b"\n") + 1
        if not whole and len(found) == READ:
            rest = file.readline()
            return found + rest if rest.endswith(b"\n") else b""
    return found[:whole]


def _text(job: Job, name: str) -> str:
    value = job.fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"the job has no {name}")  # noqa: TRY004 - its file is damaged
    return os.fspath(value)
