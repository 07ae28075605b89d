"""What came of payloads that a policy had a hand in: decisions with their chances, and rewards.

Each is a cell of the space "outcomes", under its task and the id of its decision, and has nothing
but columns: no text, neither of the request nor of an item.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from warmset._core import content_hash
from warmset.compact.weights import is_number
from warmset.errors import Erased, InvalidInputError, NotFound
from warmset.items.cells import OUTCOMES
from warmset.items.new import as_json
from warmset.store.rows import Put, Remove

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset._core import Listed
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.route.need import Need
    from warmset.route.spec import TaskSpec

MOST: Final = 2_000
"""The most outcomes of a task that are kept: the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Which needs of a specification a payload was made for.

    Args:
        id: Its own id.
        needs: The needs, each by a name that stays while the need stays as it is; see `need_names`.
        kept: For each need whether it was kept; one that was not is left out of the payload.
        propensities: For each need how probable that was: of keeping it if it was kept, else of
            leaving it out; over 0 to 1. That of an essential need is 1.

    Raises:
        InvalidInputError: The fields do not go together, or a number is out of its range.
    """

    id: str
    needs: tuple[str, ...]
    kept: tuple[bool, ...]
    propensities: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.needs) == len(self.kept) == len(self.propensities):
            raise InvalidInputError("kept: expected one for each need, as of propensities")
        if not all(isinstance(one, bool) for one in self.kept):
            raise InvalidInputError(f"kept: expected True or False each, found {self.kept!r:.80}")
        if len(set(self.needs)) < len(self.needs):
            raise InvalidInputError("needs: expected each name once")
        for given in self.propensities:
            if not is_number(given) or not 0 < given <= 1:
                raise InvalidInputError(f"propensities: expected over 0 to 1, found {given!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecord:
    """A decision and what came of it.

    Args:
        task: The name of the task.
        decision: The decision.
        reward: How well the call went, 0 to 1.
        at: When that was reported, UTC.
        conversation: The conversation that the call belonged to, with which this is erased.

    Raises:
        InvalidInputError: The reward is out of its range.
    """

    task: str
    decision: Decision
    reward: float
    at: datetime
    conversation: str | None = None

    def __post_init__(self) -> None:
        if not is_number(self.reward) or not 0 <= self.reward <= 1:
            raise InvalidInputError(f"reward: expected 0 to 1, found {self.reward!r:.80}")


class Outcomes:
    """The outcomes of a tenant's payloads, in the store.

    Args:
        handle: The open store.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._made: Mapping[str, Mapping[int, OutcomeRecord]] = {}  # replaced, never changed

    def add(
        self,
        task: str,
        decision: Decision,
        reward: float,
        conversation: str | None,
        *,
        trace: int | None = None,
    ) -> None:
        """Store an outcome, unless there is one of that decision; the oldest make room.

        Args:
            task: The name of the task.
            decision: Which needs the payload was made for.
            reward: How well the call went, 0 to 1.
            conversation: The conversation of the call.
            trace: The id of a record that is erased with the conversation; if it was, nothing is
                stored.

        Raises:
            ReadOnly: The store is open for reading only.
            StoreError: It could not be written.
        """
        engine = self._handle.live()
        engine.must_write()
        prefix = self._prefix(task)
        spare = engine.log.count(prefix) + 1 - MOST
        old = engine.log.scan(prefix, order="born", limit=spare) if spare > 0 else []
        columns: dict[str, Any] = {
            "needs": list(decision.needs),
            "kept": list(decision.kept),
            "propensities": [float(one) for one in decision.propensities],
            "reward": reward,
        }
        if conversation is not None:
            columns["conversation"] = conversation
        key = (*prefix, decision.id)
        new = Put(key, b"", columns=columns, if_present="skip")
        with engine.lock:  # nothing is erased between the look and the writing
            if conversation is not None and trace is not None and is_erased(engine, trace):
                return
            engine.log.write([*(Remove(one.key) for one in old), new])

    def of(self, task: str) -> list[OutcomeRecord]:
        """Return the outcomes of a task that are kept, the oldest first.

        Raises:
            StoreError: They could not be read.
        """
        log = self._handle.live().log
        listed = log.scan(self._prefix(task), order="born", limit=None)
        before = self._made.get(task, {})
        made = {one.version: before.get(one.version) or _record(task, one) for one in listed}
        self._made = {**self._made, task: made}
        return list(made.values())

    def _prefix(self, task: str) -> tuple[bytes, bytes, bytes]:
        tenant = self._handle.tenant.encode("utf-8", "surrogatepass")
        return tenant, OUTCOMES, task.encode()


def is_erased(engine: Engine, id_: int) -> bool:
    """Return whether a record was erased; one that expired or was replaced was not."""
    try:
        engine.store.get(id_)
    except Erased:
        return True
    except NotFound:
        pass
    return False


def _record(task: str, listed: Listed) -> OutcomeRecord:
    columns: dict[str, Any] = dict(listed.columns)
    return OutcomeRecord(
        task=task,
        decision=Decision(
            id=listed.key[-1].decode(),
            needs=tuple(columns["needs"]),
            kept=tuple(columns["kept"]),
            propensities=tuple(columns["propensities"]),
        ),
        reward=float(columns["reward"]),
        at=datetime.fromtimestamp(listed.born_at / 1_000_000, UTC),
        conversation=columns.get("conversation"),
    )


def need_names(spec: TaskSpec) -> tuple[str, ...]:
    """Return a name for each need of a specification, by what it says.

    So what was learnt of a need holds in another specification that has the same one.
    """
    seen: dict[str, int] = {}
    found: list[str] = []
    for need in spec.required_memory:
        name = _name_of(need)
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(found)


def _name_of(need: Need) -> str:
    said = {**need.to_json(), "priority": None}  # the same items, however much they count
    return f"{need.type[:40]}:{content_hash(as_json(said).encode()).hex()[:12]}"


def essential(spec: TaskSpec) -> Sequence[bool]:
    """Return for each need of a specification whether it is essential."""
    return [need.priority == "essential" for need in spec.required_memory]
