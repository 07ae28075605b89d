"""Keeps quoted texts from closing the tags that they stand between.

A model also takes a tag with a zero-width space, a full-width sign or a Cyrillic letter for the
tag. So a text is compared as it looks: compatibility forms decomposed, marks and format characters
left out, letters of other scripts as the Latin ones that they look like. Only the sign that begins
such a tag is replaced; everything else of the text stays as it is.
"""

# ruff: noqa: RUF001 - letters that look like others are the subject
from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN: Final = "‹"
"""The sign that stands in place of one that would begin a tag."""

OPENING_SIGNS: Final = "<\u02c2\u1438\u16b2\u276e\u2329\u27e8\u3008\ufe64\uff1c\U0001d236"
"""Signs that may begin a tag."""

_SLASHES: Final = "/\\\u2044\u2215\u2571\u27cb\u29f8\u3033\U0001d23a"
_DASHES: Final = "-_\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u02d7\u06d4\u2cba\u30fc"
_LIKE: Final = {
    "a": "аαɑᴀ",
    "b": "ЬВβʙ",
    "c": "сϲᴄ",
    "d": "ԁᴅ",
    "e": "еєεᴇ℮ҽ",
    "f": "ғꜰ",
    "g": "ցɡɢ",
    "h": "һнհʜ",
    "i": "іιıɪӏӀ|1l!ǀʟլ",
    "j": "јϳᴊ",
    "k": "кκᴋ",
    "m": "мᴍ",
    "n": "ոпηɴռ",
    "o": "оοσօ0ᴏ",
    "p": "рρᴘ",
    "q": "ԛզ",
    "r": "гʀᴦꭇꭈ",
    "s": "ѕꜱƽ",
    "t": "тτᴛ",
    "u": "սυцᴜʋ",
    "v": "νѵᴠ",
    "w": "ԝѡωᴡ",
    "x": "хχ×",
    "y": "уүγʏ",
    "z": "ᴢ",
}
_LETTERS: Final = {like: letter for letter, all_ in _LIKE.items() for like in all_.casefold()}
_ASCII_OPEN: Final = re.compile("<")
_OPEN: Final = re.compile(f"[{OPENING_SIGNS}]")


@lru_cache(maxsize=16_384)
def _looks(char: str) -> str:
    """Return what a character looks like: Latin letters, "/", "-", " ", or nothing at all."""
    if char in _SLASHES:
        return "/"
    if char in _DASHES:
        return "-"
    if char.isspace():
        return " "
    out: list[str] = []
    for one in unicodedata.normalize("NFKD", char).casefold():
        if one in _DASHES:
            out.append("-")
        elif unicodedata.category(one) not in {"Cf", "Cc", "Mn", "Me", "Cn", "Co", "Cs"}:
            out.append(_LETTERS.get(one, one))
    return "".join(out)


def tag_guard(names: Sequence[str]) -> Callable[[str], str]:
    """Return a function that keeps texts from beginning or ending one of some tags.

    Args:
        names: The tags' names: ASCII letters, "-" and "_".

    Returns:
        A function of a text; it returns the text with "‹" in place of each sign that begins what
        looks like one of the tags.
    """
    wanted = tuple("".join(map(_looks, name)).replace("-", "") for name in names)
    longest = max(map(len, wanted))

    def begins(text: str, at: int) -> bool:
        """Tell whether a tag's name follows a sign that opens a tag."""
        seen = ""
        for place in range(at, len(text)):
            for one in _looks(text[place]):
                if one == "-" or (one in " /" and not seen):
                    continue  # a name may be written with another dash, or with none
                seen += one
                if seen in wanted:
                    return True
                if len(seen) >= longest or not any(name.startswith(seen) for name in wanted):
                    return False
        return False

    def guarded(text: str) -> str:
        opens = _ASCII_OPEN if text.isascii() else _OPEN
        found = [one.start() for one in opens.finditer(text) if begins(text, one.end())]
        if not found:
            return text
        parts: list[str] = []
        last = 0
        for at in found:
            parts += (text[last:at], SHOWN)
            last = at + 1
        return "".join([*parts, text[last:]])

    return guarded
