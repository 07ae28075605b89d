"""Phrases of time as ranges of days: what "last week" was, said on a given day.

English only. A phrase that is not known, or that could mean two things, gives nothing: a wrong
range is worse than none.
"""

from warmset.text.temporal.phrases import Mention, mentions
from warmset.text.temporal.spans import Span

__all__ = ["Mention", "Span", "mentions"]
