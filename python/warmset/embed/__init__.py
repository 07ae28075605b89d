"""Texts become vectors.

Whatever makes them, what comes out is a C-contiguous f32 array of one L2-normalised row a text, in
the order of the texts, or an exception; never a guess and never a weaker embedder in silence. The
local one is verified against pinned digests before it is used, and touches the network only if the
model is not on this machine yet.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.embed.bars import Bars, watched
    from warmset.embed.base import Embedder, Progress, Stage, Vectors, checked
    from warmset.embed.by_name import named
    from warmset.embed.cohere import CohereEmbedder
    from warmset.embed.function import FunctionEmbedder, as_embedder
    from warmset.embed.minilm import MiniLM
    from warmset.embed.openai import OpenAIEmbedder
    from warmset.embed.static import StaticEmbedder
    from warmset.embed.voyage import VoyageEmbedder

__all__ = [
    "Bars",
    "CohereEmbedder",
    "Embedder",
    "FunctionEmbedder",
    "MiniLM",
    "OpenAIEmbedder",
    "Progress",
    "Stage",
    "StaticEmbedder",
    "Vectors",
    "VoyageEmbedder",
    "as_embedder",
    "checked",
    "named",
    "watched",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "bars": ["Bars", "watched"],
            "base": ["Embedder", "Progress", "Stage", "Vectors", "checked"],
            "cohere": ["CohereEmbedder"],
            "function": ["FunctionEmbedder", "as_embedder"],
            "minilm": ["MiniLM"],
            "by_name": ["named"],
            "openai": ["OpenAIEmbedder"],
            "static": ["StaticEmbedder"],
            "voyage": ["VoyageEmbedder"],
        },
    )
