"""What could be granted beyond a payload, and why the rest can not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.payload import Missing
    from warmset.route.quoted import Line

THERE: Final = "it is there already"
"""Why what stands in the payload, or was granted, is refused."""


@dataclass(frozen=True, slots=True)
class Found:
    """What could be granted.

    Args:
        candidates: The candidates, those that are to be granted first in front.
        named: Names of those of them that were asked for by name.
        lines: How they would stand in a message, by id, without those that are gone.
        refused: By name, or by the request, why something can not be granted.
        depended: What can be granted with another candidate, which depends on it, by id.
        closures: By the id of a candidate, the ids of all that it depends on, directly or not.
        missing: What candidates depend on and what is not there.
    """

    candidates: Sequence[Candidate]
    named: frozenset[str]
    lines: Mapping[int, Line]
    refused: dict[str, str]
    depended: Mapping[int, Candidate] = field(default_factory=dict)
    closures: Mapping[int, frozenset[int]] = field(default_factory=dict)
    missing: Sequence[Missing] = ()

    def with_dependencies(self, one: Candidate, there: Container[int]) -> list[Candidate]:
        """Return a candidate, and after it what it depends on, without what is there."""
        ids = sorted(self.closures.get(one.id, frozenset()))
        return [one, *(self.depended[id_] for id_ in ids if id_ not in there)]

    def missed_by(self, some: Iterable[Candidate]) -> tuple[Missing, ...]:
        """Return what some of the candidates depend on and what is not there."""
        names = {one.memory_id for one in some}
        return tuple(one for one in self.missing if one.needed_by in names)
