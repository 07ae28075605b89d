"""The words of picking: candidates, who picks, and what was picked."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, Self

from warmset.options import SUMMARY_CHARS, Weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.usage import Usage

_PLAIN_NAME: Final = re.compile(r"[\w .'’()-]{1,64}")
_ENDS: Final = re.compile("[\x7f-\x9f\u2028\u2029]")
"""What JSON leaves as it is although it may end a line."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a picker sees of a turn.

    Args:
        id: The turn's id.
        role: Who wrote it, or the speaker's name.
        summary: Its first 160 characters.
        decision: Whether it settles something.
        score: The retriever's score.
    """

    id: int
    role: str
    summary: str
    decision: bool
    score: float

    def line(self) -> str:
        """Return the candidate in one line that no text in it can leave or pass for another's.

        The summary is a JSON string, and so is a name with signs in it that a line has a use for.
        """
        who = self.role if _PLAIN_NAME.fullmatch(self.role) else quoted(self.role[:64])
        flag = " [decision]" if self.decision else ""
        return f"#{self.id} {who}{flag}: {quoted(self.summary[:SUMMARY_CHARS])}"


def quoted(text: str) -> str:
    """Write a text as a JSON string in one line."""
    valid = text.encode("utf-8", "replace").decode()
    return _ENDS.sub(" ", json.dumps(valid, ensure_ascii=False))


class Picker(Protocol):
    """Chooses among candidates."""

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Sequence[int]:
        """Choose.

        Args:
            request: What is asked of the model.
            candidates: The shortlist, best first.
            limit: The most ids to return.

        Returns:
            Ids of candidates, the most needed first; none is an answer too. A picker that knows
            what its model took returns `Picks`.

        Raises:
            PickerError: No answer could be had; the score decides then.
        """
        ...


class Picks(tuple[int, ...]):  # noqa: SLOT001 - a tuple's subclass can have none but empty ones
    """Ids, with what it took to pick them.

    Args:
        ids: Ids, the most needed first.
        usage: What the picker's model took.
    """

    usage: Usage

    def __new__(cls, ids: Iterable[int], usage: Usage) -> Self:
        """Put the two together."""
        made = super().__new__(cls, ids)
        made.usage = usage
        return made


@dataclass(frozen=True, slots=True)
class Picked:
    """What was chosen, and by what.

    Args:
        ids: Ids, the most needed first.
        by: "score" or "picker".
        why: Why the score decided although there is a picker, else None.
        usage: What the picker took; None where none was asked.
    """

    ids: tuple[int, ...]
    by: str
    why: str | None = None
    usage: Usage | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ScorePicker:
    """The score decides, as it does without a picker: for a window of a memory that has one.

    A turn that settles something counts `Weights.decision` more, 0.05 by default. In a window the
    token budget is filled: neither the shortlist nor `max_picked` binds.
    """

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Sequence[int]:
        """Return the best candidates; see `Picker.pick`."""
        del request
        bonus = Weights().decision
        order = sorted(candidates, key=lambda one: (-one.score - bonus * one.decision, one.id))
        return [candidate.id for candidate in order[:limit]]
