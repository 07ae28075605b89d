"""Anybody's function as an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from warmset._support.forks import Lock
from warmset.embed.base import Embedder, Vectors, checked, listed, readable
from warmset.embed.passages import passages, rough_words
from warmset.errors import EmbedderError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    EmbedFunction: TypeAlias = Callable[[list[str]], object]

WORDS_PER_PASSAGE = 150
"""English has about 0.75 words a word piece, so that is about 200 word pieces."""

WORDS_SHARED = 30


class FunctionEmbedder:
    """Holds a function to the contract of an `Embedder`.

    Passages are cut by words, not by the function's own word pieces: 150 words, or 150 ideographs,
    come to about 200 pieces in prose, and to more in code.

    Args:
        fn: Takes a list of texts, gives anything that numpy reads as one vector a text. It is
            called from whatever thread embeds, with no lock held.
        name: For reports; the function's own name if not given.
        fingerprint: Identity of what the function does; without one, stores compare a probe.
        dim: Length of a vector; without one, what the first batch has.
    """

    def __init__(
        self,
        fn: EmbedFunction,
        *,
        name: str | None = None,
        fingerprint: str | None = None,
        dim: int | None = None,
    ) -> None:
        if not callable(fn):
            raise InvalidInputError(f"a {type(fn).__name__} is not a function of a list of texts")
        if dim is not None and dim < 1:
            raise InvalidInputError(f"dim must be at least 1, not {dim}")
        self._fn = fn
        self._name = name or getattr(fn, "__qualname__", None) or type(fn).__name__
        self._fingerprint = fingerprint
        self._dim = dim
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"FunctionEmbedder({self._name}, dim={self._dim})"

    @property
    def function(self) -> EmbedFunction:
        """The function."""
        return self._fn

    @property
    def name(self) -> str:
        """As given, or the function's own."""
        return self._name

    @property
    def fingerprint(self) -> str | None:
        """As given."""
        return self._fingerprint

    @property
    def dim(self) -> int | None:
        """As given, or of the first batch."""
        return self._dim

    @property
    def remote(self) -> bool:
        """False: what the function does is not known, so it is called like a local one."""
        return False

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Call the function and check what it gives.

        Args:
            texts: Any number of texts; without any, the function is not called.

        Returns:
            One row a text, in their order.

        Raises:
            EmbedderError: The function raised, or its answer is not a batch of vectors.
            InvalidInputError: ``texts`` is not a list of strings.
        """
        batch = [readable(text) for text in listed(texts)]
        if not batch:
            return checked([], 0, self._dim)
        try:
            answer = self._fn(batch.copy())
        except Exception as error:
            raise EmbedderError(f"{self._name} raised {type(error).__name__}: {error}") from error
        with self._lock:
            vectors = checked(answer, len(batch), self._dim)
            self._dim = vectors.shape[1]
        return vectors

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed queries like other texts; see `embed`."""
        return self.embed(texts)

    def split(self, text: str) -> list[str]:
        """Cut a text into overlapping passages of 150 words; see `Embedder.split`."""
        return passages(text, rough_words, limit=WORDS_PER_PASSAGE, overlap=WORDS_SHARED)


def as_embedder(obj: Embedder | EmbedFunction) -> Embedder:
    """Take an embedder as it is, and wrap a function.

    Args:
        obj: An `Embedder`, or a function of a list of texts.

    Returns:
        The same object, or a `FunctionEmbedder`.

    Raises:
        InvalidInputError: It is neither; a class instead of an instance of it, for example.
    """
    if isinstance(obj, type):
        raise InvalidInputError(f"{obj.__name__} is a class; pass an instance: {obj.__name__}()")
    if isinstance(obj, Embedder):
        return obj
    if callable(obj):
        return FunctionEmbedder(obj)
    raise InvalidInputError(
        f"a {type(obj).__name__} is neither an Embedder nor a function of a list of texts"
    )
