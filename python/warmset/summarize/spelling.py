"""One spelling for numbers, dates, clock times and units, however they were written."""

from __future__ import annotations

import re
from typing import Final

from warmset.text.hard_facts import plain_number

_UNITS: Final = """
    % percent | per cent
    ms milliseconds | millisecond | msec | millis
    s seconds | second | secs | sec
    min minutes | minute | mins
    h hours | hour | hrs | hr
    day days
    week weeks | wk | wks
    month months
    year years | yr | yrs
    byte bytes
    kb kilobytes | kilobyte
    mb megabytes | megabyte
    gb gigabytes | gigabyte | gigs
    tb terabytes | terabyte
    kib kibibytes
    mib mebibytes
    gib gibibytes
    token tokens
    hz hertz
    khz kilohertz
    mhz megahertz
    ghz gigahertz
    rps requests per second | req/s
    mm millimetres | millimeters
    cm centimetres | centimeters
    m metres | meters | metre | meter
    km kilometres | kilometers | kilometre | kilometer
    mi miles | mile
    ft feet
    mg milligrams
    g grams | gram
    kg kilograms | kilogram | kilos
    lb pounds | lbs
    l litres | liters | litre | liter
    ml millilitres | milliliters
    v volts | volt
    kw kilowatts
    °c celsius
    °f fahrenheit
    usd dollars | dollar | bucks | us dollars
    eur euros | euro
    gbp quid
    jpy yen
    """

UNITS: Final[dict[str, str]] = {}
"""Units in lower case, each with the one that stands for it."""
for _line in _UNITS.strip().splitlines():
    _unit, _, _rest = _line.strip().partition(" ")
    UNITS[_unit] = _unit
    UNITS.update((_name.strip(), _unit) for _name in _rest.split("|"))

_SIGNS: Final = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
_MANY: Final = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_MONTHS: Final = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())  # noqa: SIM905
_ONES: Final = tuple(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
    """.split()  # noqa: SIM905 - a table to be read
)
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(),  # noqa: SIM905
        2,
    )
}
_WORDS: Final = {word: number for number, word in enumerate(_ONES)} | _TENS
_tens, _ones = "|".join(_TENS), "|".join(_ONES[1:10])
_SPELLED: Final = re.compile(
    rf"\b(?:(?P<tens>{_tens})(?:[\s-](?P<one>{_ones}))?|(?P<small>{'|'.join(_ONES)}))\b"
    r"(?P<hundred>[\s-]hundred)?",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(
    r"(?P<sign>[$€£¥])?\s?(?P<minus>[-−])?(?P<digits>\d[\d,_]*(?:\.\d+)?)(?P<rest>.*)",  # noqa: RUF001
    re.DOTALL,
)
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s?(?:([ap])\.?m\.?)?", re.IGNORECASE)
_PIECES: Final = re.compile(r"\d+|[^\W\d_]+")

MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
UNIT: Final = "|".join(
    re.escape(name).replace(r"\ ", r"\s") for name in sorted(UNITS, key=len, reverse=True)
)
_YEAR: Final = 31
_NOON: Final = 12


def amount(text: str) -> str:
    """Return a number with its unit in one spelling.

    Args:
        text: `1,000`, `$1.5M`, `15 percent`, `12-mile`, `3rd`.

    Returns:
        `1000`, `1500000 usd`, `15 %`, `12 mi`, `3`: the number, and its unit if it has one.
    """
    match = _AMOUNT.match(text.strip())
    if match is None:
        return text.casefold()
    value, rest = match["digits"], match["rest"].casefold().strip(" -")
    for many, zeros in _MANY.items():
        if rest.startswith(many):
            value, rest = _shifted(value, zeros), rest[len(many) :].strip(" -")
            break
    else:
        if rest[:1] in {"k", "m", "b"} and (rest[1:] in {"", "n"} or rest[1:2] == " "):
            metres = rest == "m" and not match["sign"] and text[-2:-1].isspace()
            if not metres and (rest != "m" or match["sign"] or text.strip().endswith("M")):
                value, rest = value + rest[0], rest[1:].lstrip("n").strip()
    number = plain_number(value) or value
    unit = _SIGNS.get(match["sign"] or rest[:1], "") or UNITS.get(" ".join(rest.split()), "")
    signed = f"-{number}" if match["minus"] else number
    return f"{signed} {unit}" if unit else signed


def day(text: str) -> str:
    """Return a date in one spelling.

    Args:
        text: `2023-05-08`, `8 May 2023`, `May 8th, 2023`, `8 May`, `May 2023`.

    Returns:
        `2023-05-08`, or with `?` for what it does not tell: `?-05-08`, `2023-05-?`.
    """
    year = month = number = "?"
    for piece in _PIECES.findall(text.casefold()):
        if piece.isdigit():
            if len(piece) > 2 or int(piece) > _YEAR:  # noqa: PLR2004 - digits of a day
                year = piece
            else:
                number = piece.zfill(2)
        elif len(piece) > 2:  # noqa: PLR2004 - endings of ordinals, and "of"
            month = next(
                (f"{at:02}" for at, name in enumerate(_MONTHS, 1) if name == piece[:3]),
                month,
            )
    return f"{year}-{month}-{number}"


def clock(text: str) -> str:
    """Return a time of day as `14:30`, or `14:30:05`."""
    match = _CLOCK.match(text)
    if match is None:
        return text.casefold()
    hour, half = int(match[1]), (match[4] or "").lower()
    if half:
        hour = hour % _NOON + (_NOON if half == "p" else 0)
    second = f":{match[3]}" if match[3] else ""
    return f"{hour:02}:{match[2] or '00'}{second}"


def with_digits(text: str) -> str:
    """Write the numbers below a thousand that are spelled out in words as digits."""
    return _SPELLED.sub(_digits, text)


def _digits(match: re.Match[str]) -> str:
    word = match["small"]
    number = (
        _WORDS[word.lower()]
        if word
        else _TENS[match["tens"].lower()] + (_WORDS[match["one"].lower()] if match["one"] else 0)
    )
    return str(number * 100 if match["hundred"] else number)


def _shifted(value: str, zeros: int) -> str:
    whole, _, part = value.replace(",", "").replace("_", "").partition(".")
    moved = whole + part[:zeros].ljust(zeros, "0")
    return f"{moved}.{part[zeros:]}" if part[zeros:] else moved
