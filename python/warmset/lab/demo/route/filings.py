"""Annual reports of a made-up company, cut into chunks by section.

```text
books ─▶ sentences with figures ┐
phrases.toml ─▶ other sentences ┴▶ chunks of the sections of sections.toml
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, Final

from warmset.lab.demo.route.books import FIGURES, YEARS
from warmset.lab.demo.route.material import material

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warmset.lab.demo.route.books import Books

SENTENCES: Final = 12
"""Sentences of a chunk beside those that state figures."""

_VERBS: Final = ("were", "amounted to", "came to", "reached", "stood at")
_TRIES: Final = 20
_SLOT: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a section of a filing.

    Args:
        name: What it is called among the items.
        company: Whose filing it is from.
        year: The fiscal year of the filing.
        item: The item of the form that the section belongs to.
        section: The section.
        text: Its text.
        states: Names of the figures that its sentences state for the year of the filing.
    """

    name: str
    company: str
    year: int
    item: str
    section: str
    text: str
    states: tuple[str, ...] = ()


def filing(books: Books, year: int, seed: int) -> list[Chunk]:
    """Write an annual report.

    Args:
        books: The figures of the company.
        year: The fiscal year.
        seed: The same seed gives the same words.

    Returns:
        Its chunks, in their order.
    """
    talk = _Talk(rng := Random(f"{seed}/{books.company}/{year}"))  # noqa: S311 - no secret
    short = _plain(books.company.split(maxsplit=1)[0])
    chunks: list[Chunk] = []
    for section in material("sections.toml")["section"]:
        for name in section.get("names") or (section["name"],):
            head = f"{books.company}, annual report for fiscal {year}. {section['item']}, {name}."
            parts = _parts(section, books, year, rng, talk)
            for number, (states, body) in enumerate(parts, 1):
                chunks.append(
                    Chunk(
                        name=f"{short}/{year}/{_plain(name)}/{number}",
                        company=books.company,
                        year=year,
                        item=section["item"],
                        section=name,
                        text=f"{head}\n{body}",
                        states=states,
                    )
                )
    return chunks


def _parts(
    section: Mapping[str, Any], books: Books, year: int, rng: Random, talk: _Talk
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return the chunks of a section, each with the figures that it states."""
    if "table" in section:
        yield (), _table(section["table"], books, year)
        return
    for states in section.get("states", ()):
        said = [_statement(name, books, year, rng) for name in states]
        yield tuple(states), " ".join([*said, *talk(section["kind"], SENTENCES - 3)])
    for _ in range(section.get("talk", 0)):
        yield (), " ".join(talk(section["kind"], SENTENCES))


def _statement(name: str, books: Books, year: int, rng: Random) -> str:
    label, verb = FIGURES[name].label, rng.choice(_VERBS)
    before = ""
    if year > YEARS[0]:
        before = f", after {books.written(name, year - 1)} a year earlier"
    return f"{label} {verb} {books.written(name, year)} in fiscal {year}{before}."


def stated(text: str) -> dict[tuple[str, int], float]:
    """Return the figures that sentences state, by name and year."""
    found: dict[tuple[str, int], float] = {}
    for name, pattern in _patterns().items():
        for value, year in pattern.findall(text):
            found[name, int(year)] = float(value.replace(",", ""))
    return found


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    verbs = "|".join(_VERBS)
    after = r"\$?([\d,]+(?:\.\d)?)(?: million shares| million| percent)? in fiscal (\d{4})"
    return {
        name: re.compile(rf"(?<![^.\n] ){re.escape(figure.label)} (?:{verbs}) {after}")
        for name, figure in FIGURES.items()
    }


def _table(names: Sequence[str], books: Books, year: int) -> str:
    years = [one for one in YEARS if one <= year]
    lines = [" | ".join(("In millions of dollars", *map(str, reversed(years))))]
    for name in names:
        cells = (f"{books[name, one]:,.0f}" for one in reversed(years))
        lines.append(" | ".join((FIGURES[name].label, *cells)))
    return "\n".join(lines)


class _Talk:
    """Writes sentences without figures that anybody needs, hardly any of them twice.

    Args:
        rng: Draws the words.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._written: set[str] = set()

    def __call__(self, kind: str, count: int) -> list[str]:
        """Return so many sentences of a kind."""
        patterns: Sequence[str] = material("phrases.toml")["sentences"][kind]
        drawn: list[str] = []
        while len(drawn) < count:
            drawn += self._rng.sample(patterns, min(len(patterns), count - len(drawn)))
        return [self._sentence(pattern) for pattern in drawn]

    def _sentence(self, pattern: str) -> str:
        made = _filled(pattern, self._rng)
        for _ in range(_TRIES):
            if made not in self._written:
                break
            made = _filled(pattern, self._rng)
        self._written.add(made)
        return made


def _filled(pattern: str, rng: Random) -> str:
    slots: Mapping[str, Sequence[str]] = material("phrases.toml")["slots"]
    used: set[str] = set()

    def word(slot: re.Match[str]) -> str:
        name = slot[1].lower()
        if name in _NUMBERS:
            low, high = _NUMBERS[name]
            return str(rng.randrange(low, high))
        chosen = rng.choice([one for one in slots[name] if one not in used])
        used.add(chosen)
        return chosen[0].upper() + chosen[1:] if slot[1][0].isupper() else chosen

    return _SLOT.sub(word, pattern)


_NUMBERS: Final = {"pct": (4, 38), "small": (2, 6), "few": (3, 10), "count": (24, 480)}
"""The range of the numbers in each slot for them, without the last."""


def _plain(name: str) -> str:
    return re.sub(r"\W+", "-", name.casefold())
