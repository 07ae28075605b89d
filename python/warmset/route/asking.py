"""Asking a model what candidates are for a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError, TriageError
from warmset.llm import Asker, FunctionModel, Terms
from warmset.route.judgement import Judgement, TriageReport
from warmset.route.prompt import parse, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.request import Request
    from warmset.route.texts import Texts

TIMEOUT: Final = 20.0
"""Seconds that a triage's model has."""

MAX_CANDIDATES: Final = 64
"""Candidates that one call shows."""

_MOST_CANDIDATES: Final = 512


def judged_by(
    asker: Asker,
    request: Request,
    candidates: Sequence[Candidate],
    text: Texts,
    *,
    limit: int,
) -> Judgement:
    """Ask a model what candidates are for a task, and make sure that its answer can be used.

    Args:
        asker: Asks the model; raises `TriageError`.
        request: What the payload is for.
        candidates: The candidates, essential ones first, then by worth.
        text: Returns the text of a candidate, and summaries.
        limit: The most candidates that are shown to be judged, and the most essential ones beside
            them.

    Raises:
        TriageError: There is no answer, or none that can be used.
        StoreError: The store could not be read.
    """
    given = [one for one in candidates if one.priority == "essential"][:limit]
    numbered = [one for one in candidates if one.priority != "essential"][:limit]
    if not numbered:
        return Judgement(verdicts={})
    prompt = write(request, numbered, given, text.summaries([*given, *numbered]))
    answer = asker.ask(prompt)
    why = answer.fault
    if not isinstance(answer.text, str):  # of a caller's own function
        why = f"the model's answer is no text but {type(answer.text).__name__}"
    elif why is None and not answer.text.strip():
        why = "the answer is empty"
    if why is not None:
        raise asker.failed(why, answer.usage)
    try:
        verdicts = parse(answer.text, numbered)
    except TriageError as error:
        raise asker.failed(str(error), answer.usage) from error
    report = TriageReport(by="model", asked=len(numbered), usage=answer.usage)
    return Judgement(verdicts=verdicts, report=report)


def max_candidates_of(number: int) -> int:
    """Check how many candidates a call may show.

    Raises:
        InvalidInputError: It is out of range.
    """
    is_number = isinstance(number, int) and not isinstance(number, bool)
    if not is_number or not 1 <= number <= _MOST_CANDIDATES:
        raise InvalidInputError(
            f"max_candidates: expected an integer from 1 to {_MOST_CANDIDATES}, found {number!r}"
        )
    return number


class LLMTriage:
    """Asks any model, in strict JSON.

    The model sees what is known of candidates and a summary of each, never a whole text; see
    `Triage` for what its word counts. Its tokens are counted here, so a report calls them
    estimated.

    Args:
        complete: Takes a prompt and returns the model's text, or is a coroutine function that does.
            It runs in a thread of its own, a coroutine in an event loop of its own.
        max_candidates: The most candidates that it is asked about, the worthiest; the rules judge
            the others.
        timeout: Seconds to wait for it; a later answer is dropped.
        encoding: The vocabulary that tokens are counted with.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        complete: Callable[[str], str] | Callable[[str], Awaitable[str]],
        *,
        max_candidates: int = MAX_CANDIDATES,
        timeout: float = TIMEOUT,
        encoding: str = "o200k_base",
    ) -> None:
        self.max_candidates = max_candidates_of(max_candidates)
        terms = Terms(failure=TriageError, timeout=timeout, encoding=encoding)
        self._asker = Asker(FunctionModel(complete), terms)

    def judge(self, request: Request, candidates: Sequence[Candidate], text: Texts) -> Judgement:
        """Ask the model; see `Triage.judge`.

        Raises:
            TriageError: There is no answer, or none that can be used; a router falls back.
            StoreError: The store could not be read.
        """
        return judged_by(self._asker, request, candidates, text, limit=self.max_candidates)
