"""What an embedder is, and what its vectors are held to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from warmset.errors import EmbedderError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Vectors: TypeAlias = NDArray[np.float32]
"""Shape (n, dim), f32, C-contiguous, every row of length one."""

CONTEXT_SHARE: Final = 0.5
"""The part of a searched vector that is the context's, where an embedder asks for no other."""

Stage: TypeAlias = Literal["download", "build", "quantise"]
"""What a model goes through before its first use on a machine."""


class Progress(Protocol):
    """Receives how far the preparation of a model has come.

    It is called from the thread that prepares the model, often, and with ``done == total`` once at
    the end of a stage whose total is known.
    """

    def __call__(self, stage: Stage, done: int, total: int | None, /) -> None:
        """Take note.

        Args:
            stage: What is going on.
            done: Bytes for a download, steps for the other stages.
            total: What ``done`` grows to, or None if nobody knows.
        """


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    Implementations are safe to call from several threads. Any string is a legal text: a lone
    surrogate is read as U+FFFD, and a blank text gets a vector that is valid and says nothing, so
    a caller that can skip blank texts should.

    A memory calls `embed` in a thread of its own, and waits for it where it erases or embeds anew:
    an embedder may search and append there, but must not call `erase`, `reembed`, `rebuild_index`,
    `paused` or `flush` of that memory.
    """

    @property
    def name(self) -> str:
        """For people: reports and errors."""
        ...

    @property
    def fingerprint(self) -> str | None:
        """Stable identity of model, precision and pooling; a store keeps it beside its vectors.

        None if it cannot be known; the caller then embeds a probe and compares.
        """
        ...

    @property
    def dim(self) -> int | None:
        """Length of a vector; None until the first batch for those that find out by calling."""
        ...

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine, so that calls may be slow and may fail."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts that are to be found.

        Args:
            texts: Any number of texts, none included. What exceeds the model's reach is cut off;
                `split` is how a long text keeps its end.

        Returns:
            One row a text, in their order.

        Raises:
            EmbedderError: The model failed, or its answer is not a batch of vectors.
            InvalidInputError: ``texts`` is a single string, or holds something else than strings.
        """
        ...

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed texts that seek others; differs from `embed` for models that prompt a query.

        Args:
            texts: As for `embed`.

        Returns:
            One row a text, in their order.

        Raises:
            EmbedderError: As for `embed`.
            InvalidInputError: As for `embed`.
        """
        ...

    def split(self, text: str) -> list[str]:
        """Cut a text into overlapping passages that `embed` reads whole.

        Args:
            text: Any text.

        Returns:
            1 to 32 passages of at most 200 word pieces, in order; the text itself if it is short.
            A text too long for 32 is sampled evenly, its beginning and its end included.
        """
        ...


@runtime_checkable
class Contextual(Protocol):
    """An embedder that asks for another part of the context than half."""

    @property
    def context_share(self) -> float:
        """The part of a turn's searched vector that is its context's, from 0 to 1.

        The context is the turn among its neighbours; the rest is the vector of the turn alone.
        """
        ...


def context_share(embedder: Embedder) -> float:
    """Return the part of the context that an embedder asks for; see `Contextual`."""
    return embedder.context_share if isinstance(embedder, Contextual) else CONTEXT_SHARE


def listed(texts: Sequence[str]) -> list[str]:
    """Refuse what is no list of texts, above all one string, which is a sequence of letters.

    Raises:
        InvalidInputError: ``texts`` is a single string, or holds something else than strings.
    """
    if isinstance(texts, str):
        raise InvalidInputError("embed takes a list of texts; pass [text] for a single one")
    batch = list(texts)
    for index, text in enumerate(batch):
        if not isinstance(text, str):
            raise InvalidInputError(f"text {index} is a {type(text).__name__}, not a string")
    return batch


def readable(text: str) -> str:
    """Give the text as UTF-8 can carry it: surrogate pairs joined, lone ones as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def checked(array: object, n: int, dim: int | None = None) -> Vectors:
    """Turn what an embedder gave back into unit rows.

    Args:
        array: Anything that numpy reads as real numbers of shape (n, d).
        n: The number of texts that were embedded.
        dim: What d must be; None accepts any.

    Returns:
        A new array of shape (n, d); norms are taken in f64, at a scale where they cannot overflow.

    Raises:
        EmbedderError: It has another shape or type, or the row of some text holds a NaN, an
            infinity or only zeros; the message names the text's index.
    """
    try:
        raw = np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise EmbedderError(f"the embedder's answer is not an array of vectors: {error}") from error
    if n == 0 and raw.size == 0:
        return np.empty((0, dim or 0), np.float32)
    if raw.dtype.kind not in "fiu":
        raise EmbedderError(f"the embedder's answer has type {raw.dtype}, not real numbers")
    if raw.ndim != 2 or raw.shape[0] != n or raw.shape[1] != (dim or raw.shape[1] or 1):  # noqa: PLR2004 - a matrix
        raise EmbedderError(
            f"the embedder's answer has shape {raw.shape}, not ({n}, {dim or 'd'}): one row a text"
        )
    rows = raw.astype(np.float64)
    peak = np.abs(rows).max(axis=1, keepdims=True)
    for index in np.flatnonzero(~np.isfinite(peak)):
        raise EmbedderError(f"the vector of text {index} holds a NaN or an infinity")
    for index in np.flatnonzero(peak == 0):
        raise EmbedderError(f"the vector of text {index} is all zeros, so it has no direction")
    rows /= peak
    rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.ascontiguousarray(rows, np.float32)
