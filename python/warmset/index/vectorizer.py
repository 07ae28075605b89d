"""Embeds turns with the store's embedder, and converts vectors to records and back.

Each turn has the rows of its own passages and, once the next message is there, one of the turn
among its neighbours; what is searched is their mean, half the cosine with the turn and half with
its context unless the embedder asks for another part. A store remembers which embedder made its
vectors, and no other one adds to them.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, Protocol

from warmset._support.log import event, kind, room
from warmset.embed.base import CONTEXT_SHARE, context_share
from warmset.embed.function import FunctionEmbedder
from warmset.errors import EmbedderMismatch
from warmset.store.records import Draft, Identity, Job, VectorMeta, as_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.embed import Embedder, Vectors

LOG: Final = room("index")

PROBE: Final = "warmset probe: the tide table for Tuesday lists seventeen boats."
"""A text that identifies embedders without a fingerprint by its vector."""

SAME: Final = 0.999
"""Cosine of two probes above which they count as the same embedder's."""

CONTEXT_WORDS: Final = 50
"""Words of each neighbour that a context takes; the turn itself has at most one passage."""


HELD: Final = 1 << 14
"""The most characters of a text that is cached until its batch is done; a longer one is read
again."""


class Source(Protocol):
    """The source of turns and texts."""

    def text(self, id_: int) -> str:
        """Return the text of a turn."""
        ...

    def neighbours(self, id_: int) -> tuple[int | None, int | None]:
        """Return the turns before and after, within the session and the current path."""
        ...

    def key(self, id_: int) -> list[bytes]:
        """Return the key of the turn's conversation."""
        ...


class Vectorizer:
    """Makes vectors, and makes sure that one embedder makes all of a store's.

    Args:
        embedder: Makes the vectors.
        source: Reads the texts.
        durable: Whether the store outlives the process, so that an embedder without a fingerprint
            must be identified by a probe.
        contexts: Whether a turn is also embedded with its neighbours.

    Attributes:
        newest: The highest generation of an embedder that was seen.
    """

    def __init__(
        self, embedder: Embedder, source: Source, *, durable: bool, contexts: bool = True
    ) -> None:
        self.embedder = embedder
        self.contexts = contexts
        self.identity: Identity | None = None
        self._source = source
        self._durable = durable
        self._probed = False
        self.newest = 0
        self._asking: list[None] = []  # an element for each query that is being embedded
        self._asked = 0.0
        self._around: dict[int, list[int]] = {}

    def remember(self, identity: Identity) -> None:
        """Read a checkpoint of the store: this embedder made the vectors that follow."""
        self.identity = identity
        self._probed = False
        self.seen(identity.generation)

    def seen(self, generation: int) -> None:
        """Record a generation, so that its number is not used again."""
        self.newest = max(self.newest, generation)

    def mismatch(self) -> EmbedderMismatch | None:
        """Return why this embedder does not match the store's vectors, if that is known."""
        stored = self.identity
        if stored is None:
            return None
        given = self.embedder
        wrong = given.fingerprint != stored.fingerprint or given.dim not in (None, stored.dim)
        if not wrong:
            return None
        if given.fingerprint == stored.fingerprint:
            return _other_length(stored.name, stored.dim, given.name, given.dim or 0)
        return EmbedderMismatch(stored.name, given.name)

    def check(self) -> None:
        """Determine whether this is the store's embedder, for a vector that is said to be its own.

        An embedder without a fingerprint embeds the probe, once, unless it is remote. One that
        fails is not refused: it was not asked for a vector.

        Raises:
            EmbedderMismatch: The store's vectors are another embedder's.
        """
        if wrong := self.mismatch():
            raise wrong
        if self.identity is None or self.embedder.remote or not self._probes:
            return
        try:
            self._call([], self.embedder.embed)
        except EmbedderMismatch:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises
            name = self.embedder.name
            event(LOG, logging.WARNING, "failed", what="probe", embedder=name, why=kind(error))

    @property
    def _probes(self) -> bool:
        """Whether the next call embeds the probe, by which an embedder is known."""
        return self.embedder.fingerprint is None and self._durable and not self._probed

    def made_by(self) -> str:
        """Return the identity of the searched vectors and views; empty if there are none."""
        stored = self.identity
        if stored is None:
            return ""
        share = context_share(self.embedder)
        views = "" if share == CONTEXT_SHARE else f", contexts {share:g}"
        views = views if self.contexts else ", turns alone"
        return f"{stored.generation} {stored.fingerprint or stored.name}{views}"

    def wanted(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Leave out the views that are not embedded."""
        return jobs if self.contexts else [job for job in jobs if job.view != "context"]

    def views(self) -> str:
        """Name the views that are embedded."""
        return "turn context" if self.contexts else "turn"

    def vectors(self, jobs: Sequence[Job]) -> list[tuple[Job, Vectors]]:
        """Embed turns and contexts, as they are kept; a job without a text is left out.

        Raises:
            EmbedderMismatch: The embedder did not make the store's vectors.
            EmbedderError: It failed.
        """
        spans: list[tuple[Job, int]] = []
        texts: list[str] = []
        read = _Read(self._source, self.embedder)
        for job in jobs:
            is_context = job.view == "context"
            passages = self._context(job.id, read) if is_context else read.passages(job.id)
            spans.append((job, len(passages)))
            texts += passages
        if not texts:
            return []
        rows = as_kept(self._call(texts, self.embedder.embed))
        out: list[tuple[Job, Vectors]] = []
        start = 0
        for job, count in spans:
            if count:
                out.append((job, rows[start : start + count]))
            start += count
        return out

    def query(self, text: str) -> Vectors:
        """Embed a query, shape (dim,).

        Raises:
            EmbedderMismatch: The embedder is not the one of the store's vectors.
            EmbedderError: It failed.
        """
        self._asking.append(None)
        try:
            if self.identity is None:
                rows = self.embedder.embed_query([text])
            else:
                rows = self._call([text], self.embedder.embed_query, apart=True)
        finally:
            self._asked = time.monotonic()
            self._asking.pop()
        vector: Vectors = rows[0]
        return vector

    @property
    def asked(self) -> float | None:
        """When the last query was embedded, on the monotonic clock; None while one is."""
        return None if self._asking else self._asked

    def drafts(self, made: Sequence[tuple[Job, Vectors]]) -> list[Draft]:
        """Return the drafts of records of vectors."""
        if self.identity is None:
            return []
        dim, generation = self.identity.dim, self.identity.generation
        drafts: list[Draft] = []
        for job, rows in made:
            meta = VectorMeta(of=job.id, view=job.view, dim=dim, generation=generation)
            # A context contains words of its neighbours, so it is erased with any of them.
            others = self._around.pop(job.id, []) if job.view == "context" else []
            drafts.append(meta.draft(self._source.key(job.id), rows, others))
        return drafts

    def begin(self, dim: int, probe: Vectors | None = None) -> Identity:
        """Make this embedder the one that makes the store's vectors from here on."""
        self.newest += 1
        name, fingerprint = self.embedder.name, self.embedder.fingerprint
        self.identity = Identity(
            name=name, fingerprint=fingerprint, dim=dim, generation=self.newest, probe=probe
        )
        return self.identity

    def _call(
        self,
        texts: list[str],
        embed: Callable[[Sequence[str]], Vectors],
        *,
        apart: bool = False,
    ) -> Vectors:
        """Embed, and determine whether this is the store's embedder.

        The probe is embedded as a document: with the texts, or apart from them if they are queries.
        """
        wrong = self.mismatch()
        if wrong is not None:
            raise wrong
        stored = self.identity
        probing = self._probes
        rows = embed([*texts, PROBE] if probing and not apart else texts)
        probe = (self.embedder.embed([PROBE]) if apart else rows)[-1].copy() if probing else None
        rows = rows[: len(texts)]
        if stored is None:
            self.begin(int(rows.shape[1]), probe)
        elif stored.dim != rows.shape[1]:
            dim = int(rows.shape[1])
            raise _other_length(stored.name, stored.dim, self.embedder.name, dim)
        elif probe is not None and stored.probe is not None:
            cosine = float(probe @ stored.probe)
            if cosine < SAME:
                raise _other_probe(stored.name, self.embedder.name, cosine)
        self._probed = True
        return rows

    def _context(self, id_: int, read: _Read) -> list[str]:
        """Return the turn with its neighbours; empty if it has none or is long itself."""
        before, after = self._source.neighbours(id_)
        if before is None and after is None:
            return []
        if len(read.passages(id_)) > 1:
            return []
        parts: list[str] = []
        if before is not None:
            parts.append(" ".join(read.text(before).split()[-CONTEXT_WORDS:]))
        parts.append(read.text(id_))
        if after is not None:
            parts.append(" ".join(read.text(after).split()[:CONTEXT_WORDS]))
        self._around[id_] = [other for other in (before, after) if other is not None]
        return ["\n".join(parts)]


def compare(known: Embedder, given: Embedder) -> EmbedderMismatch | None:
    """Compare two embedders; those without fingerprints by the vector of the same text.

    Args:
        known: The one in use.
        given: Another object, which may be the same embedder.

    Returns:
        How they differ; None if they are the same.

    Raises:
        EmbedderError: One of them failed.
    """
    if known is given:
        return None
    if (known.name, known.fingerprint) != (given.name, given.fingerprint):
        return EmbedderMismatch(known.name, given.name)
    if known.fingerprint is not None or _function(known) == _function(given):
        return None
    one, other = known.embed([PROBE])[0], given.embed([PROBE])[0]
    if one.shape != other.shape:
        return _other_length(known.name, len(one), given.name, len(other))
    cosine = float(one @ other)
    return None if cosine >= SAME else _other_probe(known.name, given.name, cosine)


def _function(embedder: Embedder) -> object:
    """Return what an embedder calls; itself, if it is not a wrapped function."""
    return embedder.function if isinstance(embedder, FunctionEmbedder) else embedder


def _other_length(stored: str, dim: int, given: str, found: int) -> EmbedderMismatch:
    return EmbedderMismatch(stored, given, f"{dim} dimensions, not {found}")


def _other_probe(stored: str, given: str, cosine: float) -> EmbedderMismatch:
    how = f"their vectors of the probe text have a cosine of {cosine:.3f}"
    return EmbedderMismatch(stored, given, how)


class _Read:
    """A cache of one batch's texts and passages: each turn is also a neighbour of others."""

    def __init__(self, source: Source, embedder: Embedder) -> None:
        self._source = source
        self._embedder = embedder
        self._texts: dict[int, str] = {}
        self._passages: dict[int, list[str]] = {}

    def text(self, id_: int) -> str:
        """Read the text of a turn."""
        found = self._texts.get(id_)
        if found is None:
            found = self._source.text(id_)
            if len(found) <= HELD:
                self._texts[id_] = found
        return found

    def passages(self, id_: int) -> list[str]:
        """Split a turn into the passages that are embedded."""
        found = self._passages.get(id_)
        if found is None:
            found = self._passages[id_] = self._embedder.split(self.text(id_))
        return found
