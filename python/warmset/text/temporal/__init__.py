"""Phrases of time as ranges of days: what "last week" was, said on a given day.

English only. An unknown or ambiguous phrase gives no range, because a wrong range is worse than
none.
"""

from warmset.text.temporal.phrases import RELATIVE_NEEDS, RELATIVE_REACH, Mention, mentions
from warmset.text.temporal.spans import Span

__all__ = ["RELATIVE_NEEDS", "RELATIVE_REACH", "Mention", "Span", "mentions"]
