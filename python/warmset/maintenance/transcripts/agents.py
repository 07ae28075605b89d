"""Which conversations of agents there were: what tells that an agent's session was erased.

The conversation of an agent is `SESSION/AGENT`. An agent of its own may say no more than that it is
of AGENT, whose conversation was erased with its session. So of what an import stores of an agent,
or refuses, it is noted which conversation that is:

```text
(tenant, 0xFF "import", hash of AGENT)   a list: the hash of each name SESSION/AGENT, 16 bytes
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.items.side_chains import conversations
from warmset.store.conditions import Tail
from warmset.store.known import SPACE, hash_of
from warmset.store.records import key_of
from warmset.store.rows import Add

if TYPE_CHECKING:
    from warmset.store.log import Log

_AGENT: Final = b"agent"


class Agents:
    """The agents of one tenant.

    Args:
        log: The store's log; None for a store that does not exist yet.
        tenant: Whose the conversations are.
        secret: The key of the hashes.
    """

    def __init__(self, log: Log | None, tenant: str, secret: bytes) -> None:
        self._log = log
        self._tenant = tenant
        self._secret = secret
        self._places: dict[str, list[bytes]] = {}  # agent ─▶ the key of its conversation
        self._erased: set[str] = set()
        self._refused: dict[str, str] = {}  # agent ─▶ its conversation

    def look(self, agent: str) -> tuple[Tail | None, bool]:
        """Return where the conversation of an agent ends, if it has one, and whether it was erased.

        It was erased if something was noted of it, and nothing is left.
        """
        if agent in self._erased:
            return None, True
        noted = self._noted(agent)
        if not noted or self._log is None:
            return None, False
        place = self._places.get(agent)
        if place is None or not self._log.tail(place):
            place = self._found(self._log, agent, noted)
        if place is None:
            self._erased.add(agent)
            return None, True
        self._places[agent] = place
        return Tail(place, self._log.tail(place)), False

    def refuse(self, agent: str, conversation: str) -> None:
        """Take note that an agent is not imported: then its own agents are not, either."""
        if agent not in self._erased:
            self._erased.add(agent)
            self._refused[agent] = conversation

    def refused(self) -> list[Add]:
        """Return the rows that record what was refused since the last call."""
        found, self._refused = self._refused, {}
        return [row for one in found.items() for row in self.rows(*one)]

    def rows(self, agent: str, conversation: str) -> list[Add]:
        """Return the row that records the conversation of an agent; none if that was done."""
        name = self._hash(conversation)
        return [] if name in self._noted(agent) else [Add(self._list(agent), name)]

    def _noted(self, agent: str) -> set[bytes]:
        if self._log is None:
            return set()
        return {entry.payload for entry in self._log.entries(self._list(agent), limit=None)}

    def _found(self, log: Log, agent: str, noted: set[bytes]) -> list[bytes] | None:
        """Return the key of the conversation that an agent has; None if nothing is left of it."""
        for name in conversations(log, self._tenant):
            if name.endswith(f"/{agent}") and self._hash(name) in noted:
                key = key_of(self._tenant, name)
                if log.tail(key):
                    return key
        return None

    def _list(self, agent: str) -> list[bytes]:
        return [key_of(self._tenant, agent)[0], SPACE, self._hash(agent)]

    def _hash(self, name: str) -> bytes:
        return hash_of(name.encode("utf-8", "surrogatepass"), self._secret, _AGENT)
