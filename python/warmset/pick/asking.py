"""Asking a model which turns are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError, PickerError
from warmset.llm import Asker, FunctionModel, Terms
from warmset.options import MAX_PICKED
from warmset.pick.base import Picks
from warmset.pick.prompt import parse, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from warmset.pick.base import Candidate

TIMEOUT: Final = 10.0
"""Seconds that a picker's model has."""


def picked_by(asker: Asker, request: str, candidates: Sequence[Candidate], *, limit: int) -> Picks:
    """Ask a model which turns are needed, and make sure that its answer can be used.

    Args:
        asker: Asks the model; raises `PickerError`.
        request: What is asked of the model that the window is for.
        candidates: The shortlist, best first.
        limit: The most ids to return.

    Raises:
        PickerError: There is no answer, or none that can be used.
    """
    answer = asker.ask(write(request, candidates, limit))
    why = answer.fault
    if not isinstance(answer.text, str):  # of a caller's own function
        why = f"the model's answer is no text but {type(answer.text).__name__}"
    elif why is None and not answer.text.strip():
        why = "the answer is empty"
    if why is not None:
        raise asker.failed(why, answer.usage)
    try:
        return Picks(parse(answer.text), answer.usage)
    except PickerError as error:
        raise asker.failed(str(error), answer.usage) from error


def max_picked_of(number: int) -> int:
    """Check how many ids a picker may return.

    Raises:
        InvalidInputError: It is out of range.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidInputError(f"max_picked: expected an integer of at least 1, found {number!r}")
    return number


class LLMPicker:
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
        self.max_picked = max_picked_of(max_picked)
        terms = Terms(failure=PickerError, timeout=timeout, encoding=encoding)
        self._asker = Asker(FunctionModel(complete), terms)

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Picks:
        """Ask the model; see `Picker.pick`."""
        return picked_by(self._asker, request, candidates, limit=limit)
