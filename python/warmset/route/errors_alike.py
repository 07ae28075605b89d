"""How alike two errors are, whatever differs from run to run: numbers, paths, hosts, addresses.

```text
error ─▶ what varies is left out ─▶ words ─┐
     └─▶ codes and quoted names: others, ──┴─▶ shared words / all words
         another error
```
A wrong fix costs more than a diagnosis, so what is in doubt is another error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

READ: Final = 20_000
"""The most characters of an error that are read: half of them at its beginning, half at its end."""

_CODE: Final = re.compile(
    r"\b(?:errno|code|status|http|signal|error)\b[\s:=#(\[]{0,3}(\d{1,10})\b"  # errno 13, HTTP 404
    r"|\b([A-Z]{1,8}-?\d{3,6})\b",  # E0308, ORA-00942
    re.ASCII,
)
"""A number that says which error it is; that of a host or of a build has fewer or more digits."""

# What repeats is bounded wherever it may begin anywhere, so that a long run takes no longer.
_VARIES: Final = re.compile(
    r"[a-z][a-z+.-]{0,40}+://\S+"  # addresses of the web
    r"|\b0x[0-9a-f]+\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|[\w.-]{1,255}+:\d{2,5}\b"  # a host with its port
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,64}\b",  # digests
    re.IGNORECASE | re.ASCII,
)
_QUOTED: Final = re.compile(r"(?<!\w)([\"'`])([^\s\"'`]{1,100})\1(?!\w)")
_FOLDERS: Final = re.compile(r"(?:\b[A-Za-z]:)?(?:[\w.@+~-]{0,255}+[/\\])+")
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[^\W\d]+")


@dataclass(frozen=True, slots=True)
class ErrorText:
    """What of an error is compared.

    Args:
        words: Its words, without what varies.
        codes: Numbers that say which error it is.
        names: What stands in quotes: a module, a table, a key.
        plain: All that it says, without what varies, in one line.
    """

    words: frozenset[str]
    codes: frozenset[str]
    names: frozenset[str]
    plain: str


def error_text(error: str) -> ErrorText:
    """Return what of an error is compared."""
    if len(error) > READ:
        error = f"{error[: READ // 2]}\n{error[-READ // 2 :]}"
    codes = frozenset(one[1] or one[2] for one in _CODE.finditer(error))
    said = _FOLDERS.sub(" ", _VARIES.sub(" ", error)).casefold()
    found: set[str] = set()
    for run in _WORD.findall(said):
        if run.isascii():
            found.add(run)
        else:  # not every script has spaces between words
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    quoted = (_DIGITS.sub("", one[2]) for one in _QUOTED.finditer(said))
    plain = " ".join((*_DIGITS.sub(" ", said).split(), *sorted(codes)))
    return ErrorText(frozenset(found), codes, frozenset(filter(None, quoted)), plain)


def alike(one: ErrorText, other: ErrorText) -> float:
    """Return how alike two errors are, 0 to 1: twice the words that they share, of all they have.

    Two errors with codes of which they share none are different ones, whatever they say, and so are
    two that quote a name each that the other one does not. Errors without a word are alike if they
    say the same.
    """
    if one.codes and other.codes and one.codes.isdisjoint(other.codes):
        return 0.0
    if one.names - other.names and other.names - one.names:
        return 0.0
    both = len(one.words) + len(other.words)
    if not both:
        return float(one.plain == other.plain)
    return 2 * len(one.words & other.words) / both
