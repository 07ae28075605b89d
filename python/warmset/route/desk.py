"""What the routes of a router share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

from warmset.route.candidates import Candidate, facts_of
from warmset.route.texts import Texts, stored_summaries
from warmset.store.forgetting import when_erased

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from warmset.items.items import Sources
    from warmset.items.shelf import Shelf
    from warmset.route.candidates import Known
    from warmset.route.gather import Gatherer
    from warmset.route.plans import Plans
    from warmset.route.quoted import Line, Lines
    from warmset.route.triage import RuleTriage, Triage


_KEEPERS: Final[WeakSet[Lines | Plans]] = WeakSet()
"""What keeps texts, to use them again."""


@when_erased
def forget_quotes() -> None:
    """Drop the texts that routers of this process keep."""
    for keeper in list(_KEEPERS):
        keeper.forget()


class Reader(Protocol):
    """Reads what stands in payloads."""

    def texts(self, some: Sequence[Candidate], /) -> Mapping[int, str]:
        """Return the texts of items by id, without those that are gone."""
        ...

    def named(self, name: str, /) -> Candidate | str:
        """Return the item that stands for a name, or why there is none."""
        ...

    def name_of(self, id_: int, /) -> str:
        """Return the name of an item that replaces another one."""
        ...

    def lasting(self) -> Container[int]:
        """Return the ids of items whose texts may be kept to be used again."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What every route of a router uses.

    Args:
        sources: The items, memories and messages of a tenant.
        gatherer: Finds candidates.
        triage: Judges what the rules leave open; None if these alone judge.
        rules: The rules that judge.
        kept: Quotes that were made before.
        plans: Plans that were made before.
        reader: Reads items.
        encoding: The vocabulary that tokens are counted with.
    """

    sources: Sources
    gatherer: Gatherer
    triage: Triage | None
    rules: RuleTriage
    kept: Lines
    plans: Plans
    reader: Reader
    encoding: str

    def forget_when_erased(self) -> None:
        """Have all texts dropped that are kept whenever something is erased from any store."""
        _KEEPERS.update((self.kept, self.plans))

    def lines(self, some: Sequence[Candidate]) -> dict[int, Line]:
        """Return items as they may stand in a payload, by id, without those that are gone."""
        self.kept.follow(self.sources.as_seen().removals)
        return self.kept.of(some, self.reader.texts, self.reader.lasting())

    def texts(self, lines: Mapping[int, Line]) -> Texts:
        """Return what the candidates of these lines say."""
        summaries = partial(stored_summaries, self.sources)
        return Texts(lambda one: lines[one.id].text, summaries, said=lambda one: lines[one.id].said)


class Present:
    """Reads items as they are now.

    Args:
        sources: The items, memories and messages of a tenant.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def texts(self, some: Sequence[Candidate], /) -> dict[int, str]:
        """Return the texts of items by id, without those that are gone."""
        shelf = self._sources.as_seen()
        put = [held for one in some if (held := shelf.get(one.id)) is not None]
        texts = {item.id: item.text for item in shelf.items(put) if item is not None}
        for one in some:
            if one.id not in texts:
                found = self._sources.existing.get(one.memory_id)
                if found is not None and found.id == one.id:
                    texts[one.id] = found.text
        return texts

    def named(self, name: str, /) -> Candidate | str:
        """Return the item that stands for a name, or why there is none."""
        shelf = self._sources.as_seen()
        held = shelf.named(name)
        heir = shelf.heirs().get(name)
        if heir is not None and (held is None or heir > held.id):
            newer = shelf.get(heir)
            if newer is not None and newer.memory_id != name:
                return self.named(newer.memory_id)
        if held is not None:
            return "it is archived" if held.archived else _depended(held.id, held)
        found = self._sources.existing.get(name)
        return "there is no such item" if found is None else _depended(found.id, facts_of(found))

    def name_of(self, id_: int, /) -> str:
        """Return the name of an item that replaces another one."""
        held = self._sources.as_seen().get(id_)
        return f"item {id_}" if held is None else held.memory_id

    def lasting(self) -> Shelf:
        """Return the ids of items whose texts may be kept to be used again."""
        return self._sources.as_seen()


def _depended(id_: int, known: Known) -> Candidate:
    return Candidate(
        id=id_, known=known, priority="supplementary", needs=(), similarity=None, relevance=0.0
    )
