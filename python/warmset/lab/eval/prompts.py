"""What readers and judges are asked, and how a judge's word is read."""

from __future__ import annotations

import re
from typing import Final

_READ: Final = """\
Below are turns of a long conversation, with the times at which they were said.
Answer the question from them in as few words as you can, without a sentence around it.
Give a date as day, month and year. If several things are asked for, separate them by commas.
If the turns do not tell, give your best guess.

{context}

Question: {question}
Short answer:"""

_JUDGE: Final = """\
Decide whether an answer to a question is right. It is right if it means what the gold answer means,
however it is worded; a date may be written in any form but must be the same time; more detail is
fine if it does not contradict.

Question: {question}
Gold answer: {gold}
Answer: {answer}

Reply with one word, RIGHT or WRONG."""

_WORD: Final = re.compile(r"\b(RIGHT|WRONG)\b")


def read(question: str, context: str) -> str:
    """Ask a reader."""
    return _READ.format(context=context or "(nothing)", question=question)


def judge(question: str, gold: str, answer: str) -> str:
    """Ask a judge."""
    return _JUDGE.format(question=question, gold=gold, answer=answer)


def verdict(said: str) -> bool | None:
    """Read a judge's word.

    Returns:
        Whether it is right; None if neither word is there, or both are.
    """
    words = set(_WORD.findall(said.upper()))
    return words == {"RIGHT"} if len(words) == 1 else None
