"""What a question asks for besides its words, as the retriever takes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """The cues of a question, which the retriever gets besides its words and its vector.

    Args:
        speakers: Numbers of the speakers that it names; empty if it names none, or all.
        roles: Numbers of the roles that it names, if messages have no speakers.
        days: The ranges of days that it mentions, counted from 1970.
        when: Whether it asks for a time.
        number: Whether it asks for a number.
    """

    speakers: tuple[int, ...] = ()
    roles: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    when: bool = False
    number: bool = False
