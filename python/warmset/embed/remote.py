"""What embedders over HTTP share: who answers, and how texts are divided among requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.embed.passages import passages, rough_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import openai

WORDS_PER_PASSAGE: Final = 150
WORDS_SHARED: Final = 30
BLANK: Final = "."
"""What is sent instead of a blank text, which services refuse."""


class Remote:
    """An embedder whose texts go to a server.

    Args:
        client: Through what they are sent.
        service: Whose models they are; "openai", for example.
        model: The model's name.
        dimensions: The length of vectors that is asked for; None for the model's own.
        known: The lengths of the models' vectors; None if another server answers to their names.
    """

    def __init__(
        self,
        client: openai.OpenAI,
        service: str,
        model: str,
        dimensions: int | None,
        known: Mapping[str, int] | None,
    ) -> None:
        self._client = client
        self._model = model
        self._dim = dimensions or (known or {}).get(model)
        self._identity = None if known is None else f"{service}/{model}/{self._dim or 'full'}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r}, base_url={str(self._client.base_url)!r})"

    @property
    def name(self) -> str:
        """Host and model."""
        return f"{self._client.base_url.host}/{self._model}"

    @property
    def fingerprint(self) -> str | None:
        """Service, model and dimensions; None if another server answers to that name."""
        return self._identity

    @property
    def dim(self) -> int | None:
        """As asked for, or as known of the service's models, else of the first batch."""
        return self._dim

    @property
    def remote(self) -> bool:
        """True: texts leave the process."""
        return True

    def split(self, text: str) -> list[str]:
        """Cut a text into overlapping passages of 150 words; see `Embedder.split`."""
        return passages(text, rough_words, limit=WORDS_PER_PASSAGE, overlap=WORDS_SHARED)


def parts(
    texts: list[str], measure: Callable[[str], int], *, most: int, size: int
) -> Iterator[list[str]]:
    """Divide texts among requests, in order.

    Args:
        texts: The texts.
        measure: How large a text is.
        most: How many a request may have.
        size: How large a request's texts may be together; a larger text goes alone.
    """
    part: list[str] = []
    total = 0
    for text in texts:
        length = measure(text)
        if part and (len(part) == most or total + length > size):
            yield part
            part, total = [], 0
        part.append(text)
        total += length
    if part:
        yield part
