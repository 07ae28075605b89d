"""An embedder over HTTP: OpenAI's, or any server that speaks its dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmset._extras import extra
from warmset.embed.base import Vectors, checked, listed, readable
from warmset.embed.remote import BLANK, Remote, parts
from warmset.errors import EmbedderError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import openai

MAX_BATCH = 256
MAX_CHARACTERS = 75_000
"""Of all texts of a request: the service takes 300,000 tokens, and a character is 4 at worst."""

MAX_TEXT = 8_000
"""Of one text: the service takes 8,192 tokens; prose has far fewer tokens than characters."""

_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder(Remote):
    """Asks a server for embeddings; retries are the SDK's.

    A blank text is sent as a full stop, as the service refuses empty ones; a text of more than
    8,000 characters is cut there.

    Args:
        model: The model's name.
        base_url: Where the server is; the SDK's default (``OPENAI_BASE_URL``) if not given.
        api_key: The SDK's default (``OPENAI_API_KEY``) if not given.
        dimensions: Asks for shorter vectors, of models that can.
        timeout: Seconds for a request.
        client: A client to use instead of a new one; excludes ``base_url`` and ``api_key``.

    Raises:
        MissingExtraError: The package openai is not installed.
        EmbedderError: The SDK refused the configuration; no key is set, for example.
        InvalidInputError: Arguments contradict each other or are out of range.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        timeout: float = 30.0,
        client: openai.OpenAI | None = None,
    ) -> None:
        if client is not None and (base_url is not None or api_key is not None):
            raise InvalidInputError("a client has its own base_url and api_key; give it those")
        if dimensions is not None and dimensions < 1:
            raise InvalidInputError(f"dimensions must be at least 1, not {dimensions}")
        with extra("openai"):
            import openai as sdk  # noqa: PLC0415 - heavy, and optional

        self._failure = sdk.OpenAIError
        self._asked = sdk.omit if dimensions is None else dimensions
        try:
            client = client or sdk.OpenAI(base_url=base_url, api_key=api_key)
        except sdk.OpenAIError as error:
            raise EmbedderError(f"openai: {error}") from error
        self._timeout = timeout
        official = client.base_url.host == "api.openai.com"
        super().__init__(client, "openai", model, dimensions, _DIMENSIONS if official else None)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Ask for the vectors, in requests of at most 256 texts and 75,000 characters.

        Args:
            texts: Any number of texts; without any, nothing is sent.

        Returns:
            One unit row a text, in their order.

        Raises:
            EmbedderError: A request failed after the SDK's retries, or the answer does not fit.
            InvalidInputError: ``texts`` is not a list of strings.
        """
        batch = [readable(text)[:MAX_TEXT] for text in listed(texts)]
        sent = [text if text.strip() else BLANK for text in batch]
        requests = parts(sent, len, most=MAX_BATCH, size=MAX_CHARACTERS)
        answers = [self._ask(part) for part in requests]
        if not answers:
            return checked([], 0, self._dim)
        if self._dim is None:
            self._dim = answers[0].shape[1]
        return np.concatenate([checked(answer, len(answer), self._dim) for answer in answers])

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Ask for queries as for other texts; see `embed`."""
        return self.embed(texts)

    def _ask(self, texts: list[str]) -> Vectors:
        try:
            response = self._client.embeddings.create(
                input=texts, model=self._model, dimensions=self._asked, timeout=self._timeout
            )
            rows = sorted(response.data, key=lambda row: row.index)
        except self._failure as error:
            raise EmbedderError(f"{self.name}: {type(error).__name__}: {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise EmbedderError(f"{self.name} gave no embeddings: {error!r}") from error
        if [row.index for row in rows] != list(range(len(texts))):
            raise EmbedderError(f"{self.name} gave {len(rows)} vectors for {len(texts)} texts")
        return checked([row.embedding for row in rows], len(texts))
