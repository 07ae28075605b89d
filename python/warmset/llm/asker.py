"""Asking a model within a time, with what it took and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset._core import count_text
from warmset.errors import InvalidInputError, ModelError
from warmset.llm.base import Reply
from warmset.llm.deadline import Deadline, OutOfTimeError, TooManyCallsError
from warmset.tokens import known_encoding
from warmset.usage import Usage

if TYPE_CHECKING:
    from warmset.errors import PickerError, SummarizerError, TriageError
    from warmset.llm.base import Model, Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a model is asked.

    Args:
        failure: What is raised where no answer can be had.
        timeout: Seconds to wait for the model.
        encoding: The vocabulary that tokens are counted with where nobody reports them.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    failure: type[PickerError | SummarizerError | TriageError]
    timeout: float
    encoding: str = "o200k_base"

    def __post_init__(self) -> None:
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, (int, float)):
            raise InvalidInputError(f"timeout: expected seconds, found {self.timeout!r}")
        if not 0 < self.timeout < float("inf"):
            raise InvalidInputError(f"timeout: expected seconds above 0, found {self.timeout}")
        known_encoding(self.encoding)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Args:
        text: What it said; of a caller's own function, nothing says that it is a text.
        usage: What it took; counted here, and called estimated, if the provider does not say.
        fault: Why the text is not the whole answer, else None.
    """

    text: str
    usage: Usage
    fault: str | None = None


class Asker:
    """Asks a model.

    Args:
        model: Who answers.
        terms: How it is asked.
    """

    def __init__(self, model: Model, terms: Terms) -> None:
        self.terms = terms
        self._model = model
        self._deadline = Deadline(float(terms.timeout))

    def ask(self, prompt: Prompt, *, seconds: float | None = None) -> Answer:
        """Ask the model, and wait no longer than that.

        Args:
            prompt: What is asked.
            seconds: How long to wait, if not as long as the terms say.

        Raises:
            PickerError, SummarizerError, TriageError: What the terms say.
        """
        wait = self._deadline.seconds if seconds is None else seconds
        if wait <= 0:
            raise self.terms.failure(self._late())
        said = self._wait(prompt, wait)
        reply = said if isinstance(said, Reply) else Reply(said)
        usage = reply.usage or self._estimate(prompt, reply.text)
        return Answer(reply.text, usage, reply.fault)

    def failed(self, why: str, usage: Usage) -> PickerError | SummarizerError | TriageError:
        """Make an error with what it took all the same."""
        error = self.terms.failure(why)
        error.usage = usage
        return error

    def close(self) -> None:
        """Close the model's client, unless the caller gave it."""
        self._model.close()

    def _wait(self, prompt: Prompt, wait: float) -> Any:
        try:
            return self._deadline.run(lambda: self._model.ask(prompt, timeout=wait), seconds=wait)
        except OutOfTimeError as error:
            why = str(error) if isinstance(error, TooManyCallsError) else self._late()
            # The request is out, and will be charged.
            raise self.failed(why, self._estimate(prompt, "")) from error
        except ModelError as error:
            raise self.terms.failure(str(error)) from error
        except Exception as error:
            raise self.terms.failure(f"the model's client failed: {error!r}") from error

    def _late(self) -> str:
        return f"the model did not answer within {self._deadline.seconds:g} s"

    def _estimate(self, prompt: Prompt, answer: object) -> Usage:
        """Count what was asked and said, where nobody reports it."""
        said = answer if isinstance(answer, str) else ""
        asked, answered = (count_text(one, self.terms.encoding)[0] for one in (prompt.text, said))
        return Usage(asked, answered, estimated=True)
