"""Quotes and lines of plain texts, made and counted by the core."""

from __future__ import annotations

from functools import lru_cache

from warmset._core import Quoter
from warmset.options import SUMMARY_CHARS
from warmset.text import decisions, features
from warmset.text.markup import MEMORY_TAG, TAG
from warmset.text.stopwords import STARTERS
from warmset.text.tags import OPENING_SIGNS
from warmset.text.temporal import RELATIVE_NEEDS, RELATIVE_REACH


@lru_cache(maxsize=4)
def quoter(encoding: str) -> Quoter:
    r"""Return what writes quotes and lines as `quote` and `index_line` do, where texts are plain.

    Plain is a text without phrases that are dated, without what may begin a tag, and with `\n` as
    the only end of its lines; for a line, its letters are those of ASCII.

    Args:
        encoding: The vocabulary that tokens are counted with.
    """
    return Quoter(
        dated=[[sorted(words) for words in needs] for needs in RELATIVE_NEEDS],
        reach=RELATIVE_REACH,
        starters=sorted(STARTERS),
        names=decisions.MAX_ENTITIES,
        signs=OPENING_SIGNS,
        tags="".join({tag[0] for tag in (TAG, MEMORY_TAG)}),
        quoted=features.READ,
        described=decisions.READ,
        summary=SUMMARY_CHARS,
        encoding=encoding,
    )
