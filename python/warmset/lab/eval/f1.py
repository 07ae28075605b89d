"""LoCoMo's official F1 of a short answer (Maharana et al., ACL 2024), over Porter stems."""

from __future__ import annotations

import re
import string
from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Final

from warmset._extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable

_DROPPED: Final = re.compile(r"\b(?:a|an|the|and)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


class F1:
    """Scores answers.

    Raises:
        MissingExtraError: The extra `eval`, which brings the stemmer, is not installed.
    """

    def __init__(self) -> None:
        with extra("eval"):
            import Stemmer  # noqa: PLC0415 - an extra
        self._stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer("porter").stemWords

    def score(self, answer: str, gold: str, category: str) -> float:
        """Score one answer.

        Multi-hop: both are split at commas, each gold part is matched with the best part of the
        answer, and the mean counts. Open-domain: the gold answer ends at the first semicolon.

        Args:
            answer: What a reader said.
            gold: What is right.
            category: The question's category; the rules above hold for LoCoMo's.

        Returns:
            0 to 1.
        """
        if category == "multi-hop":
            said = [part for part in answer.split(",") if part.strip()] or [""]
            wanted = [part for part in gold.split(",") if part.strip()] or [""]
            return fmean(max(self._f1(part, one) for part in said) for one in wanted)
        if category == "open-domain":
            gold = gold.split(";", maxsplit=1)[0]
        return self._f1(answer, gold)

    def _f1(self, answer: str, gold: str) -> float:
        said, wanted = self._words(answer), self._words(gold)
        same = sum((Counter(said) & Counter(wanted)).values())
        if not same:
            return 0.0
        precision, recall = same / len(said), same / len(wanted)
        return 2 * precision * recall / (precision + recall)

    def _words(self, text: str) -> list[str]:
        bare = text.lower().translate(_NO_PUNCTUATION)
        return self._stem(_DROPPED.sub(" ", bare).split())
