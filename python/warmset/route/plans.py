"""Plans that were made before, for the same request while nothing changed.

A plan depends on what is stored, and on all of it: each text that comes or goes changes how rare
words are, and with that every similarity. So a change of anything of the store's drops all plans,
which keeps no text of what is erased. Where ages count, a plan is that of one moment.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from warmset._support.locks import guarded, lock

if TYPE_CHECKING:
    from collections.abc import Hashable
    from datetime import datetime

    from warmset.items.items import Sources
    from warmset.route.plan import Plan
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

KEPT: Final = 64
"""How many plans a router keeps."""

Stamp: TypeAlias = "tuple[int, ...]"
"""What the store was like; another one after each change."""


class _Made(NamedTuple):
    plan: Plan
    now: datetime


@guarded("self._lock", fields=("_made", "_stamp"))
class Plans:
    """The plans of a router, those that were not used for longest dropped first.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._lock = lock("plans")
        self._most = most
        self._made: OrderedDict[Hashable, _Made] = OrderedDict()
        self._stamp: Stamp = ()

    def get(self, key: Hashable, stamp: Stamp, now: datetime) -> Plan | None:
        """Return the plan of a request; None if there is none that still holds."""
        with self._lock:
            self._keep_to(stamp)
            made = self._made.get(key)
            if made is None or (not made.plan.gathered.timeless and made.now != now):
                return None
            self._made.move_to_end(key)
            return made.plan

    def keep(self, key: Hashable, stamp: Stamp, now: datetime, plan: Plan) -> None:
        """Keep a plan that was made when the store was like this."""
        with self._lock:
            if stamp != self._stamp:  # something changed while it was made
                return
            self._made[key] = _Made(plan, now)
            self._made.move_to_end(key)
            while len(self._made) > self._most:
                self._made.popitem(last=False)

    def forget(self) -> None:
        """Drop all plans."""
        with self._lock:
            self._made.clear()

    def _keep_to(self, stamp: Stamp) -> None:
        if stamp != self._stamp:
            self._made.clear()
            self._stamp = stamp


def stamp_of(sources: Sources) -> Stamp:
    """Return what the store is like.

    Raises:
        StoreError: It could not be read.
    """
    shelf, engine = sources.shelf(), sources.handle.engine
    memories = engine.derived.version("distilled", sources.handle.tenant)
    return shelf.version, engine.retriever.changes, memories


def key_of(spec: TaskSpec, request: Request, room: int) -> Hashable:
    """Return what a plan depends on apart from the store and the time.

    Args:
        spec: What the task needs.
        request: What the payload is for; its dialect, system prompt and tools count by the room
            that they leave.
        room: The tokens that items may take.
    """
    return (
        spec,
        request.query,
        None if request.vector is None else request.vector.tobytes(),
        request.conversation,
        request.session,
        request.pipeline,
        request.error,
        request.again,
        request.confidence,
        tuple(sorted((name, tuple(tasks)) for name, tasks in request.earlier.items())),
        room,
    )
