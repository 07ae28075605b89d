"""Extracts the hard facts of a text: numbers, paths, URLs, identifiers and names, normalised.

Two texts that state the same fact share it: `1,000` and `1000`, `15 %` and `15%`, `v1.2` and `1.2`,
`./src/a.py` and `src/a.py`, `Ada's` and `Ada`. Words are judged one by one, with tables and no
model, so a turn takes microseconds.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from warmset.text.stopwords import NO_NAMES, OPENERS, ROOTS

READ: Final = 20_000
"""The most characters of a text that are read; a text may have fifty megabytes."""

_GAPS: Final = str.maketrans(
    '"“”«»(){}[]<>|;`*#\u2018\u2019\\',
    " " * 19 + "'/",
)
_CACHED: Final = 40
"""The most characters of a word whose facts are cached; most of a text are a few words."""

_EDGES: Final = ".,:!?'…-–—+&@^~%"  # noqa: RUF001 - dashes that people type
_ENDS: Final = frozenset(".!?:…")
_NUMBER = re.compile(r"[-+~<>≈]?([$€£¥]?)(\d[\d,_]*(?:\.\d+)?)(%|[kKmMbB]?)([$€£¥]?)")
_SHORT_UNIT = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?)[a-zA-Zµ°]{1,4}(?:/[a-z]{1,3})?")
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_DIGIT = re.compile(r"\d")
_LINE = re.compile(r"(?<=[\w/]):\d+(?:[:-]\d+)*$")
_CLOCK = re.compile(r"(\d{1,2}:\d\d(?::\d\d)?)[ap]\.?m")
_POSSESSIVE = re.compile(r"'s?$")
_CODE = re.compile(
    r"--?[a-zA-Z][\w-]+"  # flags
    r"|\$?\w*[^\W_]_\w*|_{1,2}\w+"  # snake_case, environment variables
    r"|[^\W\d_]*[a-z][A-Z]\w*"  # camelCase
    r"|[\w.+-]+@[\w-]+\.[\w.-]+"  # addresses
    r"|\w[\w-]*(?:\.[a-z][\w-]*)+"  # files and dotted names
)
_ABBREVIATED = re.compile(r"(?:[a-zA-Z]\.)+[a-zA-Z]?")
_TIMES: Final = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}


def facts_of(text: str) -> frozenset[str]:
    """Return the hard facts of a text.

    Args:
        text: What is said; its first 20,000 characters are read.

    Returns:
        Numbers, paths, URLs, identifiers and capitalised names, each in one spelling: numbers
        without separators and units, paths with `/`, words in lower case without a possessive. A
        capitalised word counts unless it is one of `NO_NAMES`, or begins a sentence and is one of
        `OPENERS` or ends in -ing.
    """
    found: set[str] = set()
    for line in text[:READ].translate(_GAPS).splitlines():
        opens = True
        for raw in line.split():
            if raw.isalpha() and raw.islower():
                opens = False
                continue
            found.update(_stated(raw, opens) if len(raw) <= _CACHED else _states(raw, opens))
            opens = raw[-1] in _ENDS
    return frozenset(found)


def fact_numbers(text: str) -> list[int]:
    """Return the hard facts of a text as numbers: equal facts have equal ones in this process.

    Args:
        text: What is said; its first 20,000 characters are read.
    """
    return [hash(fact) for fact in facts_of(text)]


def forget_words() -> None:
    """Clear the cache of words: they come from texts."""
    _stated.cache_clear()


def plain_number(text: str) -> str | None:
    """Return a number in one spelling: digits without separators, a percent sign if it has one.

    Args:
        text: One word: `1,000`, `$1,200.50`, `15%`, `12k`.

    Returns:
        `1000`, `1200.5`, `15%`, `12000`; None for what is no number.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    digits, tail = match[2].replace(",", "").replace("_", ""), match[3].lower()
    whole, _, part = digits.partition(".")
    part = part.rstrip("0")
    whole = whole.lstrip("0") or "0"
    if tail == "%":
        return f"{whole}.{part}%" if part else f"{whole}%"
    zeros = len(str(_TIMES[tail])) - 1
    if zeros:
        whole = (whole + part[:zeros].ljust(zeros, "0")).lstrip("0") or "0"
        part = part[zeros:]
    return f"{whole}.{part}" if part else whole


def plain_path(text: str) -> str:
    """Return a path or a URL in one spelling: `/` between pieces, no `./`, no scheme, no end."""
    path = text.replace("\\", "/").casefold()
    for scheme in ("https://", "http://"):
        path = path.removeprefix(scheme)
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/.,:") or path


def plain_name(text: str) -> str:
    """Return a name in one spelling: lower case, without a possessive."""
    return _POSSESSIVE.sub("", text.replace("’", "'")).casefold()


def is_path(word: str) -> bool:
    """Return whether a word with a slash is a path or a URL, and not `and/or`.

    Args:
        word: One word, with `/` between its pieces.
    """
    if "://" in word or word[0] in "/~." or word.count("/") > 1:
        return len(word.strip("/~.")) > 1 and not _NUMBER.fullmatch(word.replace("/", ""))
    first, _, last = word.partition("/")
    return not _DIGIT.match(first) and (
        first.casefold() in ROOTS or last.casefold() in ROOTS or bool(_CODE.fullmatch(last))
    )


def _states(raw: str, opens: bool) -> tuple[str, ...]:  # noqa: FBT001
    """Return the facts of a word."""
    word = raw.strip(_EDGES) or raw
    if word.isalpha() and word.islower():
        return ()
    found: set[str] = set()
    _judge(word, raw, opens, found)
    return tuple(found)


_stated = functools.lru_cache(8_192)(_states)


def _judge(word: str, raw: str, opens: bool, found: set[str]) -> None:  # noqa: FBT001
    """Add the facts of a word, if it has any."""
    if "/" in word and is_path(word):
        # A dot or a tilde before a path belongs to it; a line's number behind it does not.
        path = _LINE.sub("", raw.lstrip("'-").rstrip(_EDGES))
        found.add(plain_path(path))
    elif _DIGIT.search(word):
        _digits(word, raw, found)
    elif word.isalpha() or "'" in word:
        if word[0].isupper() or (raw[0] not in "-$" and not word.islower()):
            name = plain_name(word)
            if len(name) < 2 or name in NO_NAMES or word.lower() in NO_NAMES:  # noqa: PLR2004
                return
            opener = opens and (name in OPENERS or name.endswith("ing"))
            if not opener and word.lower() != word.upper():
                found.add(name)
    elif raw[0] == "-" and _CODE.fullmatch(raw.rstrip(_EDGES)):
        found.add(raw.rstrip(_EDGES).casefold())
    elif _CODE.fullmatch(word) and not _ABBREVIATED.fullmatch(word):
        found.add(word.lstrip("$").casefold())
    else:
        _pieces(word, opens, found)


def _digits(word: str, raw: str, found: set[str]) -> None:
    number = plain_number(word + "%" if raw.rstrip(".,:!?").endswith("%") else word)
    if number is not None:
        found.add(number.removesuffix("%"))
        return
    united = _SHORT_UNIT.fullmatch(word)
    if united is not None:
        found.add(plain_number(united[1]) or united[1])
    elif not word.isascii():
        found.update(plain_number(digits.strip(",")) or digits for digits in _DIGITS.findall(word))
    elif any(sign in word for sign in ",/=") or (":" in word and not word[0].isdigit()):
        _pieces(word, False, found)
    else:
        name = plain_name(_CLOCK.sub(r"\1", word)).lstrip("$")
        found.add(name[1:] if name[0] == "v" and name[1:2].isdigit() else name)


def _pieces(word: str, opens: bool, found: set[str]) -> None:  # noqa: FBT001
    """Judge what commas, colons, slashes and hyphens join, piece by piece."""
    for sign in ",=:/-&+":
        if sign in word:
            for piece in word.split(sign):
                plain = piece.strip(_EDGES)
                if plain and not (plain.isalpha() and plain.islower()):
                    _judge(plain, piece.strip("'") or plain, opens, found)
            return
