"""What routes share: where items come from, who judges them, and their quotes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from warmset.store.forgetting import when_erased

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.items.items import Sources
    from warmset.route.candidates import Candidate
    from warmset.route.gather import Gatherer
    from warmset.route.plans import Plans
    from warmset.route.quoted import Line, Lines
    from warmset.route.triage import Triage


_KEEPERS: Final[WeakSet[Lines | Plans]] = WeakSet()
"""What keeps texts, to use them again."""


@when_erased
def forget_quotes() -> None:
    """Drop the texts that routers of this process keep."""
    for keeper in list(_KEEPERS):
        keeper.forget()


@dataclass(frozen=True, slots=True)
class Desk:
    """What every route of a router uses.

    Args:
        sources: The items, memories and messages of a tenant.
        gatherer: Finds candidates.
        triage: Judges them.
        kept: Quotes that were made before.
        plans: Plans that were made before.
    """

    sources: Sources
    gatherer: Gatherer
    triage: Triage
    kept: Lines
    plans: Plans

    @property
    def encoding(self) -> str:
        """The vocabulary that tokens are counted with."""
        return self.sources.handle.engine.encoding

    def forget_when_erased(self) -> None:
        """Have all texts dropped that are kept whenever something is erased from any store."""
        _KEEPERS.update((self.kept, self.plans))

    def forget(self) -> None:
        """Drop all texts that are kept, because some may be of what is gone."""
        self.kept.forget()
        self.plans.forget()

    def lines(self, some: Sequence[Candidate]) -> dict[int, Line]:
        """Return items as they may stand in a payload, by id, without those that are gone."""
        shelf = self.sources.shelf()
        return self.kept.of(some, self._read, lambda id_: id_ in shelf)

    def _read(self, some: Sequence[Candidate]) -> dict[int, str]:
        shelf = self.sources.shelf()
        put = [held for one in some if (held := shelf.get(one.id)) is not None]
        texts = {item.id: item.text for item in shelf.items(put) if item is not None}
        for one in some:
            if one.id not in texts:
                found = self.sources.existing.get(one.memory_id)
                if found is not None and found.id == one.id:
                    texts[one.id] = found.text
        return texts
