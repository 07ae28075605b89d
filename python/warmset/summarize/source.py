"""The turns that a summary stands for, as they are read for facts and sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warmset.messages import LANGUAGES, facts
from warmset.text.markup import without_markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Dialect, Facts, Message


@dataclass(frozen=True, slots=True)
class Source:
    """A message, read for what it states.

    Args:
        facts: Its facts; the text is without what warmset wrote into it.
        output: The end of the text if that is the output of tools. It has numbers, paths and names,
            and nobody's constraints, decisions or tasks.
    """

    facts: Facts
    output: str = ""

    @property
    def said(self) -> str:
        """The text that somebody said."""
        text = self.facts.text
        return text.removesuffix(self.output)


def sources(messages: Sequence[Message], dialect: Dialect) -> list[Source]:
    """Read messages for what they state.

    Args:
        messages: Well-formed messages.
        dialect: Their dialect.
    """
    return [_read(message, dialect) for message in messages]


def _read(message: Message, dialect: Dialect) -> Source:
    found = facts(message, dialect)
    plain = replace(found, text=without_markup(found.text))
    if plain.role == "tool":
        return Source(plain, plain.text)
    if not plain.results:
        return Source(plain)
    answers = [without_markup(one.text) for one in LANGUAGES[dialect].tools.answers(message)]
    said = plain.text
    for text in filter(None, answers):  # one message has both words and results
        said = said.replace(text, " ", 1)
    output = "\n".join(answers)
    return Source(replace(plain, text=f"{said}\n{output}"), output)
