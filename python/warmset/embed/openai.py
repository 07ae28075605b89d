"""An embedder over HTTP: OpenAI's, or any server that speaks its dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmset.embed.base import Vectors, checked, listed, readable
from warmset.embed.optional import extra
from warmset.embed.passages import passages, rough_words
from warmset.errors import EmbedderError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
_WORDS_PER_PASSAGE = 150
_WORDS_SHARED = 30
_BLANK = "."


class OpenAIEmbedder:
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
            self._client = client or sdk.OpenAI(base_url=base_url, api_key=api_key)
        except sdk.OpenAIError as error:
            raise EmbedderError(f"openai: {error}") from error
        self._model = model
        self._timeout = timeout
        official = self._client.base_url.host == "api.openai.com"
        self._dim = dimensions or (_DIMENSIONS.get(model) if official else None)
        self._identity = f"openai/{model}/{self._dim or 'full'}" if official else None

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r}, base_url={str(self._client.base_url)!r})"

    @property
    def name(self) -> str:
        """Host and model."""
        return f"{self._client.base_url.host}/{self._model}"

    @property
    def fingerprint(self) -> str | None:
        """Model and dimensions; None if another server than OpenAI's answers to that name."""
        return self._identity

    @property
    def dim(self) -> int | None:
        """As asked for, or as known of OpenAI's models, else of the first batch."""
        return self._dim

    @property
    def remote(self) -> bool:
        """True: texts leave the process."""
        return True

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
        sent = [text if text.strip() else _BLANK for text in batch]
        answers = [self._ask(part) for part in _parts(sent)]
        if not answers:
            return checked([], 0, self._dim)
        if self._dim is None:
            self._dim = answers[0].shape[1]
        return np.concatenate([checked(answer, len(answer), self._dim) for answer in answers])

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Ask for queries as for other texts; see `embed`."""
        return self.embed(texts)

    def split(self, text: str) -> list[str]:
        """Cut a text into overlapping passages of 150 words; see `Embedder.split`."""
        return passages(text, rough_words, limit=_WORDS_PER_PASSAGE, overlap=_WORDS_SHARED)

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


def _parts(texts: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for text in texts:
        if part and (len(part) == MAX_BATCH or size + len(text) > MAX_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
