"""Pickers that ask a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from warmset import _core
from warmset.config import MAX_PICKED
from warmset.errors import InvalidInputError, ModelError, PickerError
from warmset.llm import OutOfTimeError, Patience, Reply, Spent
from warmset.pick.base import Picks
from warmset.pick.prompt import parse, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from warmset.llm import Prompt
    from warmset.pick.base import Candidate

TIMEOUT: Final = 10.0
"""Seconds that a picker's model has."""


class Asking(ABC):
    """Asks a model which turns are needed, and makes sure that its answer can be used.

    Args:
        max_picked: Ids that it may return in a window that does not say how many.
        timeout: Seconds to wait for the model, retries included; a later answer is dropped.
        encoding: The vocabulary that tokens are counted with where nobody reports them.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        *,
        max_picked: int = MAX_PICKED,
        timeout: float = TIMEOUT,
        encoding: str = "o200k_base",
    ) -> None:
        if isinstance(max_picked, bool) or not isinstance(max_picked, int) or max_picked < 1:
            raise InvalidInputError(
                f"max_picked: expected an integer of at least 1, found {max_picked!r}"
            )
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise InvalidInputError(f"timeout: expected seconds, found {timeout!r}")
        if not 0 < timeout < float("inf"):
            raise InvalidInputError(f"timeout: expected seconds above 0, found {timeout}")
        _core.count_text("", encoding)
        self.max_picked = max_picked
        self._patience = Patience(timeout)
        self._encoding = encoding

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Picks:
        """Ask the model; see `Picker.pick`."""
        prompt = write(request, candidates, limit)
        reply = self._reply(prompt)
        spent = reply.spent or self._estimate(prompt, reply.text)
        why = reply.fault or (None if reply.text.strip() else "the answer is empty")
        if why is not None:
            raise _failed(why, spent)
        try:
            return Picks(parse(reply.text), spent)
        except PickerError as error:
            raise _failed(str(error), spent) from error

    @abstractmethod
    def ask(self, prompt: Prompt, timeout: float) -> Any:
        """Ask the model.

        Args:
            prompt: What is asked.
            timeout: Seconds for one attempt.

        Returns:
            A `Reply` or a text, or an awaitable of one.
        """

    def _reply(self, prompt: Prompt) -> Reply:
        seconds = self._patience.seconds
        try:
            answer = self._patience.run(lambda: self.ask(prompt, seconds))
        except OutOfTimeError as error:
            # The request is out, and will be charged.
            raise _failed(str(error), self._estimate(prompt, "")) from error
        except ModelError as error:
            raise PickerError(str(error)) from error
        except Exception as error:
            raise PickerError(f"the model's client failed: {error!r}") from error
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            why = f"the model's answer is no text but {type(answer).__name__}"
            raise _failed(why, self._estimate(prompt, ""))
        return Reply(answer)

    def _estimate(self, prompt: Prompt, answer: str) -> Spent:
        asked, said = (_core.count_text(one, self._encoding)[0] for one in (prompt.text, answer))
        return Spent(asked, said, estimated=True)


class LLMPicker(Asking):
    """Asks any model, in strict JSON.

    Its tokens are counted here, so a report calls them estimated.

    Args:
        complete: Takes a prompt and returns the model's text, or is a coroutine function that does.
            It runs in a thread of its own, a coroutine in an event loop of its own.
        max_picked: Ids that it may return in a window that does not say how many.
        timeout: Seconds to wait for it; a later answer is dropped.
        encoding: The vocabulary that tokens are counted with.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        complete: Callable[[str], str] | Callable[[str], Awaitable[str]],
        *,
        max_picked: int = MAX_PICKED,
        timeout: float = TIMEOUT,
        encoding: str = "o200k_base",
    ) -> None:
        super().__init__(max_picked=max_picked, timeout=timeout, encoding=encoding)
        if not callable(complete):
            raise InvalidInputError(f"complete: expected a function, found {complete!r}")
        self._complete = complete

    def ask(self, prompt: Prompt, timeout: float) -> Any:
        """Ask the function; see `Asking.ask`."""
        del timeout
        return self._complete(prompt.text)


def _failed(why: str, spent: Spent) -> PickerError:
    error = PickerError(why)
    error.spent = spent
    return error
