"""What items cannot be understood without: it comes along, or is reported missing.

What a newer item replaces is not shown: the newer one stands for it. What comes along keeps to the
scope of the need that names the item: with an item of the current session nothing of another one
comes along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from warmset.route.candidates import Candidate
from warmset.route.payload import Missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.route.candidates import Gathered
    from warmset.route.desk import Desk
    from warmset.route.request import Request


class Closed(NamedTuple):
    """What a set of candidates depends on.

    Attributes:
        closures: By the id of a candidate, the ids of all that it depends on, directly or not.
        depended: What of that is not among them.
        missing: What is not there.
        named: By the name of what is depended on, the name of what stands for it; what is not
            there is left out.
    """

    closures: dict[int, frozenset[int]]
    depended: list[Candidate]
    missing: list[Missing]
    named: dict[str, str]


class Closures:
    """Finds what candidates depend on.

    Args:
        desk: What routes share.
        request: What the payload is for.
        gathered: All candidates, and the current session.
    """

    def __init__(self, desk: Desk, request: Request, gathered: Gathered) -> None:
        self._desk = desk
        self._request = request
        self._session = gathered.session
        self._candidates = gathered.candidates
        self._known: dict[str, Candidate | str] = {}
        self._scopes = [need.scope for need in gathered.spec.required_memory]

    def of(self, running: Sequence[Candidate]) -> Closed:
        """Return what candidates depend on.

        Raises:
            StoreError: The store could not be read.
        """
        if any(one.dependencies for one in running):
            self._known.update((one.memory_id, one) for one in self._candidates)
        there = {one.id for one in running}
        depended: dict[int, Candidate] = {}
        missing: dict[tuple[str, str], Missing] = {}
        closures: dict[int, frozenset[int]] = {}
        for one in running:
            if not one.dependencies:
                continue
            found: dict[int, Candidate] = {}
            waiting = [(name, one) for name in one.dependencies]
            while waiting:
                name, parent = waiting.pop()
                if name not in self._known:
                    self._known[name] = self._named(name)
                other = self._known[name]
                if isinstance(other, Candidate) and not self._is_within(other, one):
                    other = "it is of another conversation or session"
                if isinstance(other, str):
                    missing[name, parent.memory_id] = Missing(
                        memory_id=name, needed_by=parent.memory_id, reason=other
                    )
                    continue
                if other.id == one.id or other.id in found:
                    continue
                if other.id not in there:
                    depended.setdefault(other.id, other)
                found[other.id] = other
                waiting += [(deeper, other) for deeper in other.dependencies]
            closures[one.id] = frozenset(found)
        named = {
            name: one.memory_id for name, one in self._known.items() if isinstance(one, Candidate)
        }
        return Closed(closures, list(depended.values()), list(missing.values()), named)

    def _named(self, name: str) -> Candidate | str:
        """Return the candidate, or what else stands for a name, or why there is none."""
        found = self._desk.reader.named(name)
        if isinstance(found, str):
            return found
        return self._known.setdefault(found.memory_id, found)

    def _is_within(self, other: Candidate, root: Candidate) -> bool:
        """Return whether something may come along with a candidate."""
        scopes = {self._scopes[number] for number in root.needs}
        if scopes - {"current_session", "prior_sessions"}:
            return True
        conversation, session = other.known.names("conversation"), other.known.names("session")
        if conversation not in ((), (self._request.conversation,)):
            return False
        return "prior_sessions" in scopes or session in ((), (self._session,))


def removed(
    every: Sequence[Candidate], closures: Mapping[int, frozenset[int]], gone: frozenset[int]
) -> list[Missing]:
    """Return what is missing because it was removed before it was read."""
    names = {one.id: one.memory_id for one in every}
    return [
        Missing(memory_id=names[id_], needed_by=one.memory_id, reason="it was removed meanwhile")
        for one in every
        for id_ in sorted(closures.get(one.id, frozenset()) & gone)
    ]
