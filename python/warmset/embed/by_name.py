"""Embedders by name, for options and command lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.embed.cohere import CohereEmbedder
from warmset.embed.minilm import MiniLM
from warmset.embed.openai import OpenAIEmbedder
from warmset.embed.static import StaticEmbedder
from warmset.embed.voyage import VoyageEmbedder
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.embed.base import Embedder, Progress

REMOTE: Final[dict[str, Callable[..., Embedder]]] = {
    "openai": OpenAIEmbedder,
    "cohere": CohereEmbedder,
    "voyage": VoyageEmbedder,
}
"""Embedders that ask a service; a model of it may be named after a colon."""

NAMES: Final = ("minilm", "static", *REMOTE)


def named(name: str, *, progress: Progress | None = None, threads: int | None = 1) -> Embedder:
    """Make an embedder by its name.

    Args:
        name: "minilm", "static", or a service, alone or with a model: "cohere",
            "voyage:voyage-3.5".
        progress: Receives the progress of the preparation of a local model.
        threads: How many texts `MiniLM` embeds at once; None for every core.

    Returns:
        The embedder, with its defaults; a service's key is taken from the environment.

    Raises:
        InvalidInputError: No embedder has that name.
        EmbedderError: The model is not to be had, or there is no key.
        MissingExtraError: A package that it needs is not installed.
    """
    which, colon, model = name.partition(":")
    if which in REMOTE and bool(colon) == bool(model):
        return REMOTE[which](model) if model else REMOTE[which]()
    if name == "static":
        return StaticEmbedder(progress=progress)
    if name == "minilm":
        return MiniLM(threads=threads, progress=progress)
    raise InvalidInputError(
        f"embedder: expected one of {', '.join(NAMES)}, a service with a model as "
        f"cohere:embed-v4.0, or for a memory lexical or an embedder, found {name!r}"
    )
