"""How much a sentence of a conversation matters, by what it holds and where it stands."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.messages import anchor, exchange_start
from warmset.summarize.sentences import asks_for_work, binds, without_marks
from warmset.text.decisions import is_decision

if TYPE_CHECKING:
    from warmset.messages import Facts

_ROLES: Final = {"user": 0.6, "assistant": 0.3, "tool": -0.4, "system": 0.2, "developer": 0.2}
_NUMBER: Final = re.compile(r"\d")
_CODE: Final = re.compile(r"[\w.-]/[\w.-]|\w_\w|[a-z][A-Z]|\b[A-Z]{2,}-\d|--[a-z]|`|://")
_NAME: Final = re.compile(r"(?<=[\w,;] )[A-ZÀ-ÞА-Я]\w")
_TALK: Final = re.compile(
    r"^\W*(?:hi|hello|hey|thanks|thank you|ok|okay|sure|great|good (?:morning|night)|sorry|you're"
    r" welcome|sounds good|let me)\b",
    re.IGNORECASE,
)
_CALL: Final = re.compile(r"^[\w.-]{1,60}\([{\[\"]")
_AMPLE: Final = 200
"""Characters from which on a sentence takes the place of two."""

_SHORT: Final = 12
_FEW: Final = 3
_LETTERS: Final = 0.5
_FOCUS: Final = 4.0
"""The weight of a sentence with all words of the focus: above that of the task's first sentence."""

_SIGNS: Final = ((_NUMBER, 0.4), (_CODE, 0.4), (_NAME, 0.3), (_TALK, -0.6), (_CALL, -1.5))


@dataclass(slots=True)
class Sentence:
    """A sentence that may be chosen.

    Args:
        text: What it says.
        turn: Number of its turn; below 0 in an earlier summary.
        place: Its place within the turn.
        role: Whose turn it is.
        words: What carries its meaning.
        weight: How much it matters.
        output: Whether it is of the output of a tool.
    """

    text: str
    turn: int
    place: int
    role: str
    words: frozenset[str]
    weight: float
    output: bool = False


def weigh(found: list[Sentence], turns: list[Facts], focus: frozenset[str] = frozenset()) -> None:
    """Give each sentence its weight.

    Args:
        found: The sentences.
        turns: The facts of each message.
        focus: Content words of what matters most.
    """
    spread = Counter(word for one in found for word in one.words)
    total = len(found)
    rare = {
        word: math.log1p(count) * math.log((1 + total) / count) for word, count in spread.items()
    }
    most = max(rare.values(), default=0.0) or 1.0
    task, newest = anchor(turns), exchange_start(turns)
    last = max(1, len(turns) - 1)
    for one in found:
        mean = sum(rare[word] for word in one.words) / (len(one.words) + 2) / most
        weight = mean + _held(one) + _ROLES.get("tool" if one.output else one.role, 0.0)
        if one.turn < 0:
            weight += 1.0  # it was worth a place before
        elif one.turn == task:
            weight += max(0.0, 2.6 - 0.2 * one.place)
        elif one.turn == newest:
            weight += max(0.0, 1.2 - 0.2 * one.place)
        else:
            weight += 0.3 * one.turn / last + 0.2 / one.place
        if focus:
            weight += _FOCUS * len(focus & one.words) / len(focus)
        one.weight = weight


def _held(one: Sentence) -> float:
    """Weigh what a sentence holds."""
    text = one.text
    bare = without_marks(text)
    held = 0.0
    if not one.output:  # what a tool puts out binds nobody
        held += 1.2 * binds(bare) + 1.1 * asks_for_work(text) + 0.9 * is_decision(text)
    held += sum(weight for sign, weight in _SIGNS if sign.search(text))
    held -= max(0, len(text) - _AMPLE) / _AMPLE
    if len(one.words) < _FEW and len(text) < 4 * _SHORT:
        held -= 1.0 if len(bare) < _SHORT else 0.5
    letters = sum(map(str.isalpha, text))
    if letters < _LETTERS * len(text):
        held -= 1.0
    return held
