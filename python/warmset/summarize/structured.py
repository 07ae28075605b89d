"""Telling a summary in prose from data: a JSON object or array where a text was asked for."""

from __future__ import annotations

import json
import re
from typing import Final

_FENCE: Final = re.compile(r"(?:```|~~~)[ \t]*[\w+-]{0,20}[ \t]*\n?")
_WRAPPING: Final = re.compile(
    r"(?:<think(?:ing)?>.{0,20000}?</think(?:ing)?>\s*|<[A-Za-z][\w-]{0,40}>\s*)+", re.DOTALL
)
_ANNOUNCES: Final = re.compile(
    r"\b(?:here|sure|certainly|of course|okay|ok|summary|summari[sz]ed|json|output|result|response"
    r"|following|below|requested)\b|[:：]\s*\n\s*$",  # noqa: RUF001
    re.IGNORECASE,
)
_STOPS: Final = ":：.!\n"  # noqa: RUF001
_PREFACE: Final = 200
"""Characters before data, or behind it, that do not make it prose."""

_OBJECT: Final = re.compile(r"\{\s*(?:\}|[\"'][^\"'\n]{0,80}[\"']\s*:)")
_ARRAY: Final = re.compile(r"\[\s*(?:\{\s*[\"']|\[|[\"'](?:[^\"\\\n]|\\.){0,400}[\"']\s*[,\]])")
_OPENS: Final = re.compile(r"[{\[]")
_LONGEST: Final = 200_000
"""Characters of a text that are parsed."""


def is_structured(text: str) -> bool:
    """Return whether a text is a JSON object or array, and not prose.

    A fence of code or tags around it, and a sentence that announces it or follows it, make no
    difference.
    JSON that is cut off counts as well, and so does a Python dict. Prose that shows a piece of JSON
    is prose.

    Args:
        text: What a summarizer wrote.
    """
    head = text[:_LONGEST].lstrip("\ufeff\u200b \t\r\n")
    if (wrapping := _WRAPPING.match(head)) is not None:
        head = head[wrapping.end() :]
    opens = _OPENS.search(head, 0, _PREFACE + 40)
    if opens is None:
        return False
    preface = head[: opens.start()]
    fence = _FENCE.search(preface)
    bare = fence is None and preface.rstrip(" \t")
    if bare and not (bare[-1] in _STOPS and _ANNOUNCES.search(preface)):
        return False
    if len(preface) > _PREFACE or (fence is not None and preface[fence.end() :].strip()):
        return False
    body = head[opens.start() :]
    try:
        found, end = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return _begins(body)
    if isinstance(found, list) and not _holds_data(found):
        return False  # "[1] says ..." and "[x] done"
    behind = _FENCE.sub("", body[end:]).strip()
    return len(behind) <= min(_PREFACE, end)  # more would be prose that shows some JSON


def _begins(body: str) -> bool:
    """Return whether JSON begins that cannot be read to its end."""
    return _OBJECT.match(body) is not None or _ARRAY.match(body) is not None


def _holds_data(found: list[object]) -> bool:
    return not found or any(isinstance(one, (dict, list, str)) for one in found)
