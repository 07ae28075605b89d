"""The words of a model call: prompt, reply, what it took, and who answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset.errors import InvalidInputError
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.llm.lists import ListRequest

SHOWN: Final = 200
"""Characters of what a model or a server said that a reason repeats."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked.

    Args:
        data: What it is about; sent as the user's.
        instructions: What to do with it; sent where the API has a place for that, else before the
            data.
        schema: The JSON schema of the answer, for APIs that can hold a model to one.
        behind: A list that the data is the last message of, for providers' APIs.
    """

    data: str
    instructions: str = ""
    schema: Mapping[str, Any] | None = None
    behind: ListRequest | None = None

    @property
    def text(self) -> str:
        """All of it as one text."""
        return f"{self.instructions}\n\n{self.data}" if self.instructions else self.data


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Args:
        text: What it said.
        usage: What the provider says that it took; None if it does not say.
        fault: Why the text is not the whole answer, else None.
    """

    text: str
    usage: Usage | None = None
    fault: str | None = None


class Model(Protocol):
    """Answers prompts."""

    def ask(self, prompt: Prompt, *, timeout: float | None = None) -> Reply:
        """Ask once; whatever the client raises is passed on.

        Args:
            prompt: What is asked.
            timeout: Seconds for one attempt, for clients that can keep to it.
        """
        ...

    def close(self) -> None:
        """Close the client, unless the caller gave it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a provider's SDK is used.

    Args:
        base_url: Where the server is; the SDK's default if not given.
        api_key: The SDK's default, an environment variable, if not given.
        client: A synchronous client to use instead of a new one; excludes the two above.
        max_tokens: Tokens that an answer may have; None for as many as the model likes.
        strict: Whether a schema is sent along; some servers do not know of schemas.
        options: Further fields of the request, over those that are made here; None leaves one out.

    Raises:
        InvalidInputError: They contradict each other, or are out of range.
    """

    base_url: str | None = None
    api_key: str | None = None
    client: Any = None
    max_tokens: int | None = None
    strict: bool = True
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.client is not None and (self.base_url is not None or self.api_key is not None):
            raise InvalidInputError("a client has its own base_url and api_key; give it those")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InvalidInputError(f"max_tokens: expected at least 1, found {self.max_tokens}")

    def connect(self, kind: Any) -> Any:
        """Return the client that was given, or a new one.

        Args:
            kind: The SDK's synchronous client.

        Raises:
            InvalidInputError: The client is of another kind, an asynchronous one for example.
        """
        if self.client is None:
            given = {"base_url": self.base_url, "api_key": self.api_key}
            return kind(**{name: value for name, value in given.items() if value is not None})
        if not isinstance(self.client, kind):
            found = type(self.client).__name__
            raise InvalidInputError(f"client: expected one of {kind.__name__}, found {found}")
        return self.client

    def disconnect(self, client: Any) -> None:
        """Close a client that `connect` returned, unless it is the caller's."""
        if self.client is None:
            client.close()

    def request(self, made: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        """Return the fields of a request: those that were made, then the caller's."""
        fields = {**made, "timeout": timeout, **(self.options or {})}
        return {name: value for name, value in fields.items() if value is not None}


class Connected(ABC):
    """A model behind an SDK's client.

    Args:
        model: The model's name.
        settings: How the SDK is used.

    Raises:
        MissingExtraError: The SDK is not installed.
        InvalidInputError: The client is of another kind.
    """

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._client = self._settings.connect(self._kind())
        self._model = model

    @abstractmethod
    def _kind(self) -> Any:
        """Import the SDK, and return its synchronous client."""

    @abstractmethod
    def ask(self, prompt: Prompt, *, timeout: float | None = None) -> Reply:
        """Ask once; see `Model.ask`."""

    def close(self) -> None:
        """Close the client; see `Model.close`."""
        self._settings.disconnect(self._client)


def usage_of(reported: Any, *fields: str, output: str) -> Usage | None:
    """Read a provider's usage.

    Args:
        reported: The object that the SDK hands out; None where the server sent none.
        fields: Names of what adds up to the input; the first must be there.
        output: The name of the output's.

    Returns:
        What it took, or None if the server does not say.
    """
    counts = [getattr(reported, name, None) for name in (fields[0], output, *fields[1:])]
    first, answer, *more = [one if type(one) is int and one >= 0 else None for one in counts]
    if first is None or answer is None:
        return None
    return Usage(first + sum(one or 0 for one in more), answer)


def brief(said: object) -> str:
    """Return what was said in one line, shortened, to stand in a reason."""
    line = " ".join(str(said)[: 4 * SHOWN].split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
