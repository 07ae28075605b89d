"""What all Python tests share: hypothesis profiles, the local model, an embedder without one."""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

from warmset.embed import weights as weights_module
from warmset.embed.base import checked
from warmset.embed.passages import passages, rough_words
from warmset.errors import ModelMissing
from warmset.prepare import PreparedCompaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warmset.embed import Vectors
    from warmset.embed.weights import Weights

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("deep", deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

SYNONYMS = {"vehicle": "car", "automobile": "car", "begin": "start", "commence": "start"}


class Bag:
    """Bags of words as vectors, hashed, with a few synonyms; it knows what it was asked for.

    It takes the place of a model wherever a test is not about the model.

    Args:
        fingerprint: Its identity; None for what cannot tell.
        dim: Length of a vector.
        remote: Whether it says that texts leave the machine.
        salt: Another salt makes another embedder: its vectors have nothing to do with these.
    """

    def __init__(
        self,
        *,
        fingerprint: str | None = "bag",
        dim: int = 64,
        remote: bool = False,
        salt: str = "",
    ) -> None:
        self.name = f"bag of words {salt}".strip()
        self.fingerprint = fingerprint
        self.dim = dim
        self.remote = remote
        self.salt = salt
        self.calls = 0
        self.texts: list[str] = []
        self.before: Callable[[Sequence[str]], object] = lambda _texts: None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed, after `before` had its chance to raise or to wait."""
        with self._lock:
            self.calls += 1
            self.texts += texts
        self.before(texts)
        return checked([self._row(text) for text in texts], len(texts))

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed queries like other texts."""
        return self.embed(texts)

    def split(self, text: str) -> list[str]:
        """Cut a text into passages of 150 words."""
        return passages(text, rough_words, limit=150, overlap=30)

    def _row(self, text: str) -> np.ndarray:
        row = np.zeros(self.dim)
        row[0] = 1e-3  # a blank text has a direction too
        for word in re.findall(r"\w+", text.lower()):
            known = f"{self.salt}{SYNONYMS.get(word, word)}".encode("utf-8", "replace")
            row[zlib.crc32(known) % self.dim] += 1
        return row


@pytest.fixture
def bag() -> Bag:
    """An embedder without a model; `type(bag)(...)` makes others."""
    return Bag()


@pytest.fixture
def busy_interpreter() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="session")
def weights() -> Weights:
    """The official weights of the local model, wherever this machine has them from."""
    try:
        return weights_module.resolve()
    except ModelMissing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"offline and without the model: {error}")


@pytest.fixture
def hand() -> Any:
    """A worker that runs tasks when told, with its clock."""
    preparing = importlib.import_module("preparing")
    return preparing.Hand(preparing.Clock())


@pytest.fixture
def made(hand: Any) -> Callable[..., PreparedCompaction]:
    """Makes a policy with a clock, a worker and a writer that obey."""
    writer = importlib.import_module("preparing").Writer

    def one(**options: Any) -> PreparedCompaction:
        given = {"summarizer": writer(), "clock": hand.clock, "worker": hand, "carry_tokens": 0}
        return PreparedCompaction(**{**given, **options})

    return one
