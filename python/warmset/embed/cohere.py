"""Cohere's embeddings, over its API v2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from warmset.embed.http import Kind, Service

if TYPE_CHECKING:
    from collections.abc import Mapping

_INPUT: Mapping[Kind, str] = {"query": "search_query", "document": "search_document"}


class CohereEmbedder(Service):
    """Asks Cohere, 96 texts a request, queries as ``search_query`` and turns as documents.

    Args:
        model: The model's name; embed-v4.0 if not given.
        base_url: Where the service is; Cohere's own if not given.
        api_key: ``CO_API_KEY`` or ``COHERE_API_KEY`` of the environment if not given.
        dimensions: 256, 512, 1024 or 1536, for embed-v4.0.
        timeout: Seconds for one attempt.
        retries: How often a request is tried again; see `Service`.

    Raises:
        MissingExtraError: The package openai, whose HTTP client is used, is not installed.
        EmbedderError: No key is set.
        InvalidInputError: An argument is out of range.
    """

    SERVICE = "cohere"
    MODEL = "embed-v4.0"
    HOME = "https://api.cohere.com"
    KEYS = ("CO_API_KEY", "COHERE_API_KEY")
    BATCH = 96
    BYTES = 500_000
    DIMENSIONS: ClassVar[Mapping[str, int]] = {
        "embed-v4.0": 1536,
        "embed-english-v3.0": 1024,
        "embed-multilingual-v3.0": 1024,
        "embed-english-light-v3.0": 384,
        "embed-multilingual-light-v3.0": 384,
    }

    def _request(self, texts: list[str], kind: Kind) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {
            "model": self._model,
            "texts": texts,
            "input_type": _INPUT[kind],
            "embedding_types": ["float"],
            "truncate": "END",
        }
        if self._asked is not None:
            body["output_dimension"] = self._asked
        return "/v2/embed", body

    def _rows(self, answer: Any) -> list[Any]:
        return list(answer["embeddings"]["float"])
