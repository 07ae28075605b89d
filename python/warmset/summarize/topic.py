"""Telling a summary of some turns from a text about something else, by the facts that it keeps.

Measured on an agent's run of 467 messages, in spans of 10 to 467: summaries in a few sentences keep
one of the facts that were said for every 7 to 30 of their tokens, or more. Phrases that suit every
conversation keep none, and texts on other subjects one for every 75 to 400 tokens, by chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import SummaryRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.summarize.fact import Fact
    from warmset.summarize.losses import Audit

LEAST_FACTS: Final = 8
"""Facts that must have been said for a summary to be judged by them: of fewer, a sentence that is
right may state none."""

TOKENS_PER_FACT: Final = 15
"""Tokens of a summary for each fact that it can be expected to keep."""

LEAST_SHARE: Final = 0.1
"""The least share to be kept of the facts that were said, or that so short a text can keep."""


def check_topic(audit: Audit, tokens: int, earlier: Audit | None = None) -> None:
    """Check that a summary keeps some of what was said.

    Facts of tool results do not count, and neither do plain numbers, which are in other texts by
    chance.

    Args:
        audit: What the summary keeps of the turns, and what it lost.
        tokens: The tokens of the summary.
        earlier: The same for the earlier summary that it continues.

    Raises:
        SummaryRefused: At least eight facts were said, and it keeps next to none: fewer than one in
            ten, or than one for every 150 of its tokens where it is too short for so many.
    """
    kept, lost = _telling(audit.kept), _telling(audit.lost)
    if earlier is not None:
        kept, lost = kept + _telling(earlier.kept), lost + _telling(earlier.lost)
    total = kept + lost
    expected = min(total, tokens / TOKENS_PER_FACT)
    if total >= LEAST_FACTS and (not kept or kept < LEAST_SHARE * expected):
        raise SummaryRefused(
            "low_recall", f"it states {kept} of {total} facts of what it is to stand for"
        )


def _telling(facts: Iterable[Fact]) -> int:
    return sum(
        fact.role != "tool" and not (fact.kind == "number" and fact.text.isdigit())
        for fact in facts
    )
