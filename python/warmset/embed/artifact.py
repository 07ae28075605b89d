"""What the local embedder runs: made from the weights once, then kept in the cache.

A file's name says what is in it: ``int8-reduced-1-53aa51172d14.onnx`` is precision, choice made for
the CPU, the builder's version and the weights. So a newer builder never meets an older one's file.
Beside it lies its sha256, which is checked when the model is loaded.
"""

from __future__ import annotations

import hashlib
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
_ANEW: Final = "it was not used; build it anew: warmset model pull"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model that is ready to run.

    Attributes:
        model: The ONNX file.
        tokenizer: The vocabulary.
    """

    model: Path
    tokenizer: Path

    def check(self) -> None:
        """Compare the model with the digest that was written when it was built.

        Raises:
            ModelDamaged: It is another file, or one of them cannot be read.
        """
        try:
            wanted = digest_path(self.model).read_text(encoding="ascii").split()[:1]
            found = _digest(self.model)
        except (OSError, ValueError) as error:
            raise ModelDamaged(f"{self.model} cannot be checked ({error}); {_ANEW}") from error
        if wanted != [found]:
            raise ModelDamaged(f"{self.model} has sha256 {found}, not {wanted}; {_ANEW}")


def model_path(precision: Precision) -> Path:
    """Say where the model of a precision is kept, whether or not it is there."""
    reduced = "-reduced" if precision == "int8" and quantise.needs_reduced_range() else ""
    return weights.model_dir() / f"{precision}{reduced}-{graph.BUILDER}-{SHORT}.onnx"


def digest_path(model: Path) -> Path:
    """Return where a built model's sha256 is kept."""
    return model.with_name(f"{model.name}.sha256")


def prepare(
    precision: Precision,
    *,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, weights.Fetch] | None = None,
    rebuild: bool = False,
) -> Artifact:
    """Find the model, else make it from the weights, fetching those if need be.

    Without ``path``, a model that is kept with its digest is used, and only the tokenizer is
    checked here; see `Artifact.check`.

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
    kept = not rebuild and model.is_file() and digest_path(model).is_file()
    if path is None and kept:
        tokenizer = weights.model_dir() / TOKENIZER.name
        with suppress(ModelDamaged, OSError):
            TOKENIZER.check(tokenizer)
            return Artifact(model, tokenizer)
    found = weights.resolve(path=path, progress=progress, sources=sources)
    if not kept:
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
        else:
            tell("quantise", 0)
            reduced = quantise.needs_reduced_range()
            quantise.quantise(built, draft, reduced_range=reduced)
            tell("quantise", 1)
        digest = _digest(draft)
    with landing(digest_path(model)) as draft:
        draft.write_text(f"{digest}  {model.name}\n", encoding="ascii")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
