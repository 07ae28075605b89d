"""Compares methods of choosing turns: which find the evidence, for the same questions and budget.

Every method builds its window with `Conversation.window`, so each pays for the system prompt, the
task, the question and, where turns are quoted, the block's header, out of the same budget. Plain
BM25, plain dense and jit differ in the ranking alone: they fill one block in the same way. Plain
means the question as it is asked (names stay in it), one signal, no context, no session, no
decision bonus and no least score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset.lab.corpus.plain import PlainDense, plain_words
from warmset.lab.corpus.shown import EVERYTHING, shown, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warmset.lab.corpus.stage import Progress, Stage
    from warmset.lab.corpus.transcript import Question
    from warmset.pick import Candidate
    from warmset.window.result import Window

SHARE: Final = 0.05
"""The default budget of a window, as a share of the conversation's tokens."""

Ask: TypeAlias = "Callable[[str], Window]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one method for one question.

    Args:
        tokens: The tokens of the window.
        recall: The share of the evidence messages that it shows as a whole, 0 to 1.
    """

    tokens: int
    recall: float

    @property
    def found(self) -> bool:
        """Whether it shows all of them."""
        return self.recall == 1.0


@dataclass(frozen=True, slots=True)
class Method:
    """The results of one method.

    Args:
        name: The method.
        outcomes: One for each question, in their order.
    """

    name: str
    outcomes: Sequence[Outcome]

    @property
    def tokens(self) -> float:
        """The mean tokens of its windows."""
        return sum(outcome.tokens for outcome in self.outcomes) / len(self.outcomes)

    @property
    def found(self) -> int:
        """The number of questions for which it shows all evidence."""
        return sum(outcome.found for outcome in self.outcomes)

    @property
    def recall(self) -> float:
        """The mean share of the evidence that it shows."""
        return sum(outcome.recall for outcome in self.outcomes) / len(self.outcomes)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A picker that takes turns in a given order.

    Args:
        ids: The order.
    """

    ids: Sequence[int]

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Sequence[int]:
        """Return the order; see `Picker.pick`."""
        del request, candidates, limit
        return self.ids


def compare(
    on: Stage, questions: Sequence[Question], *, budget: int, progress: Progress
) -> list[Method]:
    """Ask every question by every method.

    Args:
        on: The conversation with its baselines.
        questions: Questions with known evidence, at least one.
        budget: Tokens that a window may have; "full" has as many as it needs.
        progress: Called during the stage "ask".

    Returns:
        The methods: full, recency, plain BM25, plain dense (where there are vectors), jit.

    Raises:
        BudgetTooSmall: System prompt, task and question alone do not fit.
        EmbedderError: A question could not be embedded.
    """
    ways = list(_ways(on, budget))
    total = len(ways) * len(questions)
    methods: list[Method] = []
    # Method by method: a conversation keeps the choices that it made for a question until another
    # one is asked, whichever handle asks.
    for name, ask in ways:
        outcomes: list[Outcome] = []
        for question in questions:
            outcomes.append(_judge(on, question, ask(question.text)))
            progress("ask", len(methods) * len(questions) + len(outcomes), total)
        methods.append(Method(name, outcomes))
    return methods


def _judge(on: Stage, question: Question, window: Window) -> Outcome:
    wanted = [on.ids[place] for place in question.evidence]
    there = shown(on.conversation, window)
    return Outcome(window.tokens, sum(id_ in there for id_ in wanted) / len(wanted))


def _ways(on: Stage, budget: int) -> Iterator[tuple[str, Ask]]:
    one = on.conversation

    def full(question: str) -> Window:
        return one.window(question, budget=EVERYTHING, mode="full")

    def recency(question: str) -> Window:
        return one.window(question, budget=budget, mode="recency")

    def jit(question: str) -> Window:
        return one.window(question, budget=budget, recent=0, index_share=0)

    def bm25(question: str) -> Window:
        return _fill(on, question, budget, plain_words(on, question))

    yield "full", full
    yield "recency", recency
    yield "plain BM25", bm25
    if on.embedder is not None:
        texts = ((id_, text_of(one, id_)) for id_ in on.ids)
        plain = PlainDense(on.embedder, texts)

        def dense(question: str) -> Window:
            return _fill(on, question, budget, plain.rank(question))

        yield "plain dense", dense
    yield "jit", jit


def _fill(on: Stage, question: str, budget: int, ids: Sequence[int]) -> Window:
    """Fill a window by a ranking.

    The picker may choose among all turns; nothing recent and no scoped index take room.
    """
    every = len(on.ids)
    return on.conversation.window(
        question,
        budget=budget,
        recent=0,
        index_share=0,
        shortlist=every,
        max_picked=every,
        picker=Ranked(ids),
    )
