"""What the routes of a router share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from warmset.route.candidates import of_item

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from warmset.items.items import Sources
    from warmset.items.shelf import Shelf
    from warmset.route.candidates import Candidate
    from warmset.route.gather import Gatherer
    from warmset.route.quoted import Line, Lines
    from warmset.route.triage import Triage


class Reader(Protocol):
    """Reads what stands in payloads."""

    def texts(self, some: Sequence[Candidate], /) -> Mapping[int, str]:
        """Return the texts of items by id, without those that are gone."""
        ...

    def named(self, name: str, /) -> Candidate | None:
        """Return the item that another one depends on; None if there is none of that name."""
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
        triage: Judges them.
        kept: Quotes that were made before.
        reader: Reads items.
        encoding: The vocabulary that tokens are counted with.
    """

    sources: Sources
    gatherer: Gatherer
    triage: Triage
    kept: Lines
    reader: Reader
    encoding: str

    def lines(self, some: Sequence[Candidate]) -> dict[int, Line]:
        """Return items as they may stand in a payload, by id, without those that are gone."""
        return self.kept.of(some, self.reader.texts, self.reader.lasting())


class Present:
    """Reads items as they are now.

    Args:
        sources: The items, memories and messages of a tenant.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def texts(self, some: Sequence[Candidate], /) -> dict[int, str]:
        """Return the texts of items by id, without those that are gone."""
        shelf = self._sources.shelf()
        put = [held for one in some if (held := shelf.get(one.id)) is not None]
        texts = {item.id: item.text for item in shelf.items(put) if item is not None}
        for one in some:
            if one.id not in texts:
                found = self._sources.existing.get(one.memory_id)
                if found is not None and found.id == one.id:
                    texts[one.id] = found.text
        return texts

    def named(self, name: str, /) -> Candidate | None:
        """Return the item that another one depends on; None if there is none of that name."""
        shelf = self._sources.shelf()
        held = shelf.named(name)
        if held is None:
            found = self._sources.existing.get(name)
        else:
            [found] = shelf.items([held])
        if found is None:
            return None
        return of_item(found, priority="supplementary", needs=(), similarity=None, relevance=0.0)

    def name_of(self, id_: int, /) -> str:
        """Return the name of an item that replaces another one."""
        held = self._sources.shelf().get(id_)
        return f"item {id_}" if held is None else held.memory_id

    def lasting(self) -> Shelf:
        """Return the ids of items whose texts may be kept to be used again."""
        return self._sources.shelf()
