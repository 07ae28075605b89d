"""Embedders that ask a service over HTTP.

Requests go through the openai package's client, whatever the service: its retries, back-off,
time-outs and typed errors are what a client of one's own would have to be written and kept for.
The services' own packages bring 80 MB (cohere) and 210 MB (voyageai, with langchain-core and
pillow) of others for this one request.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from warmset._extras import extra
from warmset.embed.base import Vectors, checked, listed, readable
from warmset.embed.remote import BLANK, Remote, parts
from warmset.errors import EmbedderError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import openai

Kind: TypeAlias = Literal["query", "document"]

_THEIRS: Final = ("OpenAI-Organization", "OpenAI-Project")
_CUSTOM: Final = "OPENAI_CUSTOM_HEADERS"


class Service(Remote, ABC):
    """Asks a service for embeddings; what differs between services is in the subclasses.

    Args:
        model: The model's name; ``MODEL`` if not given.
        base_url: Where the service is; ``HOME`` if not given.
        api_key: The first of ``KEYS`` that is set in the environment if not given.
        dimensions: Asks for vectors of another length, of models that can.
        timeout: Seconds for one attempt.
        retries: How often a request is tried again after a time-out, a lost connection or one of
            the statuses 408, 409, 429 and 5xx; ``Retry-After`` is kept to, up to a minute.

    Raises:
        MissingExtraError: The package openai is not installed.
        EmbedderError: No key is set.
        InvalidInputError: An argument is out of range.
    """

    SERVICE: ClassVar[str]
    MODEL: ClassVar[str]
    HOME: ClassVar[str]
    KEYS: ClassVar[tuple[str, ...]]
    BATCH: ClassVar[int]
    """Texts in a request."""
    BYTES: ClassVar[int]
    """Bytes of all texts of a request; a token is a byte at least."""
    LONGEST: ClassVar[int] = 8_000
    """Characters of a text that are sent; the services cut at their models' reach themselves."""
    DIMENSIONS: ClassVar[Mapping[str, int]]

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        timeout: float = 30.0,
        retries: int = 2,
    ) -> None:
        if dimensions is not None and dimensions < 1:
            raise InvalidInputError(f"dimensions must be at least 1, not {dimensions}")
        if not timeout > 0:
            raise InvalidInputError(f"timeout must be more than 0 seconds, not {timeout}")
        if retries < 0:
            raise InvalidInputError(f"retries must be at least 0, not {retries}")
        with extra(self.SERVICE):
            import openai as sdk  # noqa: PLC0415 - heavy, and optional

        key = api_key or next(filter(None, map(os.environ.get, self.KEYS)), None)
        if not key:
            raise EmbedderError(f"{self.SERVICE}: no key; set {self.KEYS[0]}, or give api_key=")
        try:
            client = _client(sdk, base_url or self.HOME, key, timeout, retries)
        except (sdk.OpenAIError, ValueError, TypeError) as error:
            raise EmbedderError(f"{self.SERVICE}: {error}") from error
        self._failure = sdk.OpenAIError
        self._asked = dimensions
        official = (base_url or self.HOME).rstrip("/") == self.HOME
        known = self.DIMENSIONS if official else None
        model = self.MODEL if model is None else model
        super().__init__(client, self.SERVICE, model, dimensions, known)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Ask for the vectors of texts that are to be found.

        A blank text is sent as a full stop; of a longer text, the first 8,000 characters are sent.

        Args:
            texts: Any number of texts; without any, nothing is sent.

        Returns:
            One unit row a text, in their order.

        Raises:
            EmbedderError: A request failed after the retries, or the answer does not fit.
            InvalidInputError: ``texts`` is not a list of strings.
        """
        return self._embed(texts, "document")

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Ask for the vectors of queries, which the model reads as such; see `embed`."""
        return self._embed(texts, "query")

    @abstractmethod
    def _request(self, texts: list[str], kind: Kind) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request."""

    @abstractmethod
    def _rows(self, answer: Any) -> list[Any]:
        """Take the vectors out of an answer, in the order of the texts; any error may be raised."""

    def _embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        batch = [readable(text)[: self.LONGEST] for text in listed(texts)]
        sent = [text if text.strip() else BLANK for text in batch]
        found: list[Vectors] = []
        for part in parts(sent, _bytes, most=self.BATCH, size=self.BYTES):
            rows = self._ask(part, kind)
            self._dim = self._dim or rows.shape[1]
            found.append(rows)
        return np.concatenate(found) if found else checked([], 0, self._dim)

    def _ask(self, texts: list[str], kind: Kind) -> Vectors:
        path, body = self._request(texts, kind)
        try:
            rows = self._rows(self._client.post(path, body=body, cast_to=object))
        except self._failure as error:
            raise EmbedderError(f"{self.name}: {explained(error, self.KEYS[0])}") from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            raise EmbedderError(
                f"{self.name} gave no embeddings ({error!r}); is base_url right?"
            ) from error
        if len(rows) != len(texts):
            raise EmbedderError(f"{self.name} gave {len(rows)} vectors for {len(texts)} texts")
        try:
            return checked(rows, len(texts), self._dim)
        except EmbedderError as error:
            raise EmbedderError(f"{self.name}: {error}") from error


def _bytes(text: str) -> int:
    return len(text.encode())


def explained(error: Exception, key: str) -> str:
    """Say what a failed request was, and what to do about it.

    Args:
        error: What the client raised.
        key: The variable that holds the key.
    """
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    if status in {401, 403}:
        advice = f"check the key in {key}"
    elif status == 404:  # noqa: PLR2004 - HTTP's
        advice = "check the model's name and base_url"
    elif status == 429:  # noqa: PLR2004 - HTTP's
        advice = "the service's limit was met through all retries; wait, or ask it for more"
    elif status is not None and status >= 500:  # noqa: PLR2004 - HTTP's
        advice = "the service failed through all retries; try again later"
    elif status is not None:
        advice = "the service refused the request"
    elif "Timeout" in kind:
        advice = "there was no answer in time; give a longer timeout="
    else:
        advice = "check base_url and the network"
    return f"{advice} ({kind}: {error})"


def _client(sdk: Any, url: str, key: str, timeout: float, retries: int) -> openai.OpenAI:
    """Make a client that sends nothing that the environment meant for OpenAI."""
    custom = [line.partition(":")[0].strip() for line in os.environ.get(_CUSTOM, "").splitlines()]
    headers = {name: sdk.Omit() for name in (*_THEIRS, *filter(None, custom))}
    client: openai.OpenAI = sdk.OpenAI(
        api_key=key,
        base_url=url,
        timeout=timeout,
        max_retries=retries,
        default_headers={"User-Agent": "warmset", **headers},
    )
    return client
