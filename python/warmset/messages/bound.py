"""The thinking of a list that is changed: which of it still fits the new list."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING

from warmset.messages.dialects import facts
from warmset.messages.sent import read_sent, witness_of
from warmset.messages.thinking import (
    THOUGHTS,
    Judged,
    Thinking,
    judge,
    thinks,
)
from warmset.messages.units import loop_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages.model import Dialect, Message
    from warmset.messages.sent import Beside
    from warmset.messages.thinking import Witness


class BoundThinking:
    """The thinking of a list, by what it was made behind.

    Args:
        plain: The list as it was given.
        dialect: Its dialect.
        beside: What is sent with it.
        sent: What was sent last; see `witness_of`.

    Attributes:
        loop: The position of the reply whose thinking begins an unfinished tool loop, if the model
            refuses the loop once something before it changed.
    """

    def __init__(
        self, plain: Sequence[Message], dialect: Dialect, beside: Beside, sent: object = None
    ) -> None:
        self._plain = plain
        self._dialect: Dialect = dialect
        self._beside = beside
        self._sent = sent
        if sent is not None:
            read_sent(sent, beside, dialect)  # refuse what cannot be read, with thinking or without
        self._any = thinks(plain, dialect)
        self.loop = None
        if self._any and THOUGHTS[dialect].severity(beside.model) == "refused":
            self.loop = loop_start([facts(message, dialect) for message in plain])

    def judge(self, made: Sequence[Message], origins: Sequence[int | None] | None = None) -> Judged:
        """Leave out of a new list the thinking before which something changed.

        Args:
            made: The new list.
            origins: Where each of its messages was in the list that was given; None for a new one.
                If not given, they are found by their thinking.

        Returns:
            The list; what was removed is numbered by the list that was given.
        """
        if not self._any:
            return Judged(list(made), Thinking())
        if self._sent is None and _same(made, self._plain):
            return Judged(list(made), Thinking(sum(map(THOUGHTS[self._dialect].count, made))))
        homes = self._origins(made) if origins is None else origins
        loop = -1 if self.loop is None else self.loop
        judged = judge(
            made,
            self._dialect,
            self._witness,
            self._beside.front(),
            model=self._beside.model,
            loop=next((at for at, home in enumerate(homes) if home == loop), None),
        )
        places = [len(self._plain) - 1 if home is None else home for home in homes]
        found = replace(
            judged.thinking,
            removed=tuple(replace(one, index=places[one.index]) for one in judged.thinking.removed),
            changed=tuple(places[at] for at in judged.thinking.changed if homes[at] is not None),
        )
        return replace(judged, thinking=found)

    @cached_property
    def _witness(self) -> Witness:
        return witness_of(self._plain, self._dialect, self._beside, self._sent)

    def _origins(self, made: Sequence[Message]) -> list[int | None]:
        ours = THOUGHTS[self._dialect]
        places = {
            key: at
            for at, one in enumerate(self._plain)
            if ours.count(one)
            for key in ours.keys(one)
        }
        own = {id(one): at for at, one in enumerate(self._plain)}
        return [places.get(ours.key(one)) if ours.count(one) else own.get(id(one)) for one in made]


def _same(made: Sequence[Message], plain: Sequence[Message]) -> bool:
    return len(made) == len(plain) and all(map(is_, made, plain))
