"""Pickers that ask a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError, PickerError
from warmset.llm import Asker, Completing, Reply
from warmset.options import MAX_PICKED
from warmset.pick.base import Picks
from warmset.pick.prompt import parse, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from warmset.llm import Prompt
    from warmset.pick.base import Candidate

TIMEOUT: Final = 10.0
"""Seconds that a picker's model has."""


class Asking(Asker):
    """Asks a model which turns are needed, and makes sure that its answer can be used.

    Args:
        max_picked: Ids that it may return in a window that does not say how many.
        timeout: Seconds to wait for the model, retries included; a later answer is dropped.
        encoding: The vocabulary that tokens are counted with where nobody reports them.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    FAILURE = PickerError

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
        super().__init__(timeout=timeout, encoding=encoding)
        self.max_picked = max_picked

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Picks:
        """Ask the model; see `Picker.pick`."""
        prompt = write(request, candidates, limit)
        reply = self._reply(prompt)
        spent = reply.spent or self.estimate(prompt, reply.text)
        why = reply.fault or (None if reply.text.strip() else "the answer is empty")
        if why is not None:
            raise self.failed(why, spent)
        try:
            return Picks(parse(reply.text), spent)
        except PickerError as error:
            raise self.failed(str(error), spent) from error

    def _reply(self, prompt: Prompt) -> Reply:
        answer = self.answer(prompt, self._deadline.seconds)
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            why = f"the model's answer is no text but {type(answer).__name__}"
            raise self.failed(why, self.estimate(prompt, ""))
        return Reply(answer)


class LLMPicker(Completing, Asking):
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
        self.set_up(complete)
