"""Voyage AI's embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from warmset.embed.http import Kind, Service

if TYPE_CHECKING:
    from collections.abc import Mapping


class VoyageEmbedder(Service):
    """Asks Voyage AI, 128 texts a request, queries as queries and turns as documents.

    Args:
        model: The model's name; voyage-3.5 if not given.
        base_url: Where the service is; Voyage AI's own if not given.
        api_key: ``VOYAGE_API_KEY`` of the environment if not given.
        dimensions: 256, 512, 1024 or 2048, for the models that can.
        timeout: Seconds for one attempt.
        retries: How often a request is tried again; see `Service`.

    Raises:
        MissingExtraError: The package openai, whose HTTP client is used, is not installed.
        EmbedderError: No key is set.
        InvalidInputError: An argument is out of range.
    """

    SERVICE = "voyage"
    MODEL = "voyage-3.5"
    HOME = "https://api.voyageai.com/v1"
    KEYS = ("VOYAGE_API_KEY",)
    BATCH = 128
    BYTES = 120_000
    DIMENSIONS: ClassVar[Mapping[str, int]] = {
        "voyage-3.5": 1024,
        "voyage-3.5-lite": 1024,
        "voyage-3-large": 1024,
        "voyage-3": 1024,
        "voyage-3-lite": 512,
        "voyage-code-3": 1024,
    }

    def _request(self, texts: list[str], kind: Kind) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {
            "model": self._model,
            "input": texts,
            "input_type": kind,
            "truncation": True,
        }
        if self._asked is not None:
            body["output_dimension"] = self._asked
        return "/embeddings", body

    def _rows(self, answer: Any) -> list[Any]:
        found = {row["index"]: row["embedding"] for row in answer["data"]}
        if sorted(found) != list(range(len(answer["data"]))):
            raise ValueError("the vectors are not numbered from 0 on")
        return [found[index] for index in range(len(found))]
