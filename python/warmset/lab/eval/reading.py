"""With a reader: what a model makes of each context, question by question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.lab.eval import prompts
from warmset.lab.eval.answers import Answers
from warmset.lab.eval.contexts import Contexts
from warmset.lab.eval.f1 import F1
from warmset.lab.eval.llm import completer
from warmset.lab.eval.measures import recall
from warmset.lab.eval.options import MIDDLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from warmset.lab.corpus.stage import Stage
    from warmset.lab.corpus.transcript import Question
    from warmset.lab.eval.contexts import Context
    from warmset.lab.eval.quoting import Quoting

RIGHT_FROM: Final = 0.5
"""The F1 from which an answer counts as right where nobody judges."""

MISSED: Final = "missed"
WRONG: Final = "retrieved but wrong"
RIGHT: Final = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a reader made of one context.

    Args:
        conversation: The conversation's name.
        question: The question's name within it.
        category: What kind of question it is.
        mode: How the context was chosen.
        answer: What the reader said.
        f1: LoCoMo's official F1.
        judged: Whether the judge took it for right; None without a judge or a clear word.
        recall: The part of the evidence that was in the context.
        share: What the context cost, as a part of the whole conversation.
        fell_back: Whether the score picked because the picker's answer could not be used.
        picker_tokens: Tokens that the picker's model took.
        verdict: `RIGHT`; else `MISSED` if evidence was missing, else `WRONG`.
    """

    conversation: str
    question: str
    category: str
    mode: str
    answer: str
    f1: float
    judged: bool | None
    recall: float
    share: float
    fell_back: bool
    picker_tokens: int
    verdict: str


class Reading:
    """Asks a reader, and a judge if there is one; what was answered before is not asked again.

    Args:
        reader: The reader's name.
        judge: The judge's name, or None.
        kept: Where answers are kept; None keeps them for this run only.

    Raises:
        MissingExtraError: An SDK or the stemmer is not installed.
        InvalidInputError: A name cannot be had, or the file is not one of answers.
        ReaderError: An SDK refused its configuration.
    """

    def __init__(self, reader: str, judge: str | None, kept: Path | None) -> None:
        self._f1 = F1()
        self._answers = Answers(kept)
        self._read = self._answers.of(reader, completer(reader))
        self._judge = None if judge is None else self._answers.of(judge, completer(judge))
        self.found: list[Read] = []
        self.reader = reader
        self.judge = judge

    def contexts(self, on: Stage, quoting: Quoting) -> Contexts:
        """Return what makes the contexts of a conversation; the reader picks for "jit-picker"."""
        return Contexts(on, quoting, MIDDLE, self._read)

    def ask(self, on: Stage, contexts: Contexts, question: Question) -> None:
        """Ask one question with every context.

        Raises:
            ReaderError: The reader or the judge failed.
        """
        evidence = [on.ids[place] for place in question.evidence]
        for context in contexts.of(question):
            answer = self._read(prompts.read(question.text, context.text))
            f1 = self._f1.score(answer, question.answer, question.category)
            judged = _judge(self._judge, question, answer)
            fraction = recall(evidence, context.shown.ids)[0]
            right = f1 >= RIGHT_FROM if self._judge is None else judged is True
            self.found.append(
                Read(
                    conversation=on.conversation.id,
                    question=question.name,
                    category=question.category,
                    mode=context.mode,
                    answer=answer,
                    f1=f1,
                    judged=judged,
                    recall=fraction,
                    share=_share(context, contexts.whole),
                    fell_back=context.fell_back,
                    picker_tokens=context.picker_tokens,
                    verdict=RIGHT if right else MISSED if fraction < 1 else WRONG,
                )
            )


def _judge(ask: Callable[[str], str] | None, question: Question, answer: str) -> bool | None:
    if ask is None:
        return None
    return prompts.verdict(ask(prompts.judge(question.text, question.answer, answer)))


def _share(context: Context, whole: int) -> float:
    return context.shown.tokens / whole
