"""What pickers and summarizers share that ask a model: how long they wait, what went wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from warmset._core import count_text
from warmset.errors import (
    InvalidInputError,
    ModelError,
    PickerError,
    SummarizerError,
    WarmsetError,
)
from warmset.llm.deadline import Deadline, OutOfTimeError
from warmset.tokens import known_encoding
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from warmset.llm.base import Connected, Prompt, Reply, Settings


class Asker(ABC):
    """Asks a model.

    Args:
        timeout: Seconds to wait for the model.
        encoding: The vocabulary that tokens are counted with where nobody reports them.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    FAILURE: ClassVar[type[PickerError | SummarizerError]]
    """What is raised."""

    def __init__(self, *, timeout: float, encoding: str) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise InvalidInputError(f"timeout: expected seconds, found {timeout!r}")
        if not 0 < timeout < float("inf"):
            raise InvalidInputError(f"timeout: expected seconds above 0, found {timeout}")
        known_encoding(encoding)
        self._deadline = Deadline(float(timeout))
        self._encoding = encoding

    @abstractmethod
    def ask(self, prompt: Prompt, timeout: float) -> Any:
        """Ask the model.

        Args:
            prompt: What is asked.
            timeout: Seconds for one attempt.

        Returns:
            A `Reply` or a text, or an awaitable of one.
        """

    def answer(self, prompt: Prompt, seconds: float) -> Any:
        """Ask the model, and wait no longer than that many seconds.

        Returns:
            What it returned; nothing says that it is an answer.

        Raises:
            PickerError, SummarizerError: What `FAILURE` says.
        """
        try:
            return self._deadline.run(lambda: self.ask(prompt, seconds), seconds=seconds)
        except OutOfTimeError as error:
            # The request is out, and will be charged.
            raise self.failed(self.late(error), self.estimate(prompt, "")) from error
        except ModelError as error:
            raise self.FAILURE(str(error)) from error
        except Exception as error:
            raise self.FAILURE(f"the model's client failed: {error!r}") from error

    def late(self, error: OutOfTimeError) -> str:
        """Say why there is no answer in time."""
        return str(error)

    def failed(self, why: str, spent: Usage) -> PickerError | SummarizerError:
        """Make an error with what was spent all the same."""
        error = self.FAILURE(why)
        error.spent = spent
        return error

    def estimate(self, prompt: Prompt, answer: object) -> Usage:
        """Count what was asked and said, where nobody reports it."""
        said = answer if isinstance(answer, str) else ""
        asked, told = (count_text(one, self._encoding)[0] for one in (prompt.text, said))
        return Usage(asked, told, estimated=True)


class Completing(Asker):
    """Asks a function of a text, which may be a coroutine function."""

    def set_up(self, complete: Callable[[str], str] | Callable[[str], Awaitable[str]]) -> None:
        """Take the function.

        Raises:
            InvalidInputError: It cannot be called.
        """
        if not callable(complete):
            raise InvalidInputError(f"complete: expected a function, found {complete!r}")
        self._complete = complete

    def ask(self, prompt: Prompt, timeout: float) -> Any:
        """Ask the function; see `Asker.ask`."""
        del timeout
        return self._complete(prompt.text)


class Providing(Asker):
    """Asks through a provider's SDK, whose retries are its own."""

    MODEL: ClassVar[type[Connected]]
    """The provider's model."""

    def connect(self, model: str, settings: Settings) -> None:
        """Connect to a model.

        Raises:
            MissingExtraError: The SDK is not installed.
            InvalidInputError: The client is of another kind.
            PickerError, SummarizerError: The SDK refused its configuration; what `FAILURE` says.
        """
        try:
            self._model = self.MODEL(model, settings)
        except WarmsetError:
            raise
        except Exception as error:
            raise self.FAILURE(f"{type(self).__name__} cannot be used: {error}") from error

    def ask(self, prompt: Prompt, timeout: float) -> Reply:
        """Ask through the SDK; see `Asker.ask`."""
        return self._model.ask(prompt, timeout=timeout)

    def close(self) -> None:
        """Close the client, unless it was given; a `with` block does it too."""
        self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
