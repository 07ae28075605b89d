"""What the local embedder runs: made from the weights once, then kept in the cache.

A file's name says what is in it: ``int8-reduced-1-53aa51172d14.onnx`` is precision, choice made for
the CPU, the builder's version and the weights. So a newer builder never meets an older one's file.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset._extras import extra
from warmset.embed import graph, quantise, safetensors, weights
from warmset.embed.cache import landing
from warmset.embed.pins import TOKENIZER, WEIGHTS
from warmset.errors import ModelDamaged

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from warmset.embed.base import Progress

Precision: TypeAlias = Literal["int8", "fp32"]
SHORT: Final = WEIGHTS.sha256[:12]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model that is ready to run.

    Attributes:
        model: The ONNX file.
        tokenizer: The vocabulary.
    """

    model: Path
    tokenizer: Path


def model_path(precision: Precision) -> Path:
    """Say where the model of a precision is kept, whether or not it is there."""
    reduced = "-reduced" if precision == "int8" and quantise.needs_reduced_range() else ""
    return weights.model_dir() / f"{precision}{reduced}-{graph.BUILDER}-{SHORT}.onnx"


def prepare(
    precision: Precision,
    *,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, weights.Fetch] | None = None,
    rebuild: bool = False,
) -> Artifact:
    """Find the model, else make it from the weights, fetching those if need be.

    Without ``path``, a model that is kept is used as it is, and only the tokenizer is checked.

    Args:
        precision: ``int8`` or ``fp32``.
        path: A directory with the official files, which is checked each time.
        progress: Receives the progress of each step.
        sources: Whom to ask for missing files; see `weights.resolve`.
        rebuild: Make the model anew, whatever is kept.

    Returns:
        Both files.

    Raises:
        MissingExtraError: A package of the extra ``local`` is not installed.
        ModelDamaged: See `weights.resolve`.
        ModelMissing: See `weights.resolve`.
        EmbedderError: The cache cannot be written.
    """
    model = model_path(precision)
    if path is None and not rebuild and model.is_file():
        tokenizer = weights.model_dir() / TOKENIZER.name
        with suppress(ModelDamaged, OSError):
            TOKENIZER.check(tokenizer)
            return Artifact(model, tokenizer)
    found = weights.resolve(path=path, progress=progress, sources=sources)
    if rebuild or not model.is_file():
        _make(precision, found.tensors, model, progress)
    return Artifact(model, found.tokenizer)


def _make(precision: Precision, tensors: Path, model: Path, progress: Progress | None) -> None:
    def tell(stage: Literal["build", "quantise"], done: int) -> None:
        if progress is not None:
            progress(stage, done, 1)

    with extra("local"):
        import onnx  # noqa: PLC0415 - heavy, and optional

    tell("build", 0)
    built = graph.build(safetensors.read(tensors))
    tell("build", 1)
    with landing(model) as draft:
        if precision == "fp32":
            onnx.save(built, draft)
            return
        tell("quantise", 0)
        reduced = quantise.needs_reduced_range()
        quantise.quantise(built, draft, reduced_range=reduced)
        tell("quantise", 1)
