"""Logs on trial: what was called is written down, so that a failure can show it."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from warmset.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warmset.store.conditions import Condition
    from warmset.store.rows import Key, Row
    from warmset.testing.log_like import LogLike, OutcomeLike

E = TypeVar("E", bound=Exception)

_WIDTH = 160


class Broken(Exception):  # noqa: N818 - a finding on its way up
    """A rule that does not hold.

    Args:
        why: What is wrong.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Stage:
    """Makes logs for a rule and writes down what is called.

    Args:
        make: Returns a fresh, empty log.
        again: Returns another handle on the storage of a log; None if there is no such thing.
    """

    def __init__(self, make: Callable[[], LogLike], again: Callable[[Any], LogLike] | None) -> None:
        self._make, self._again = make, again
        self.history: list[str] = []

    @property
    def shared(self) -> bool:
        """Whether there may be two handles."""
        return self._again is not None

    def log(self) -> Watched:
        """Return a fresh log."""
        self.history.clear()
        return Watched(self._make(), "log", self.history)

    def pair(self) -> tuple[Watched, Watched]:
        """Return two handles on a fresh log."""
        one, other = self.raw_pair()
        return Watched(one, "one", self.history), Watched(other, "other", self.history)

    def raw_pair(self) -> tuple[LogLike, LogLike]:
        """Return two handles on a fresh log, whose calls are not written down."""
        self.history.clear()
        log = self._make()
        return log, self._again(log) if self._again is not None else log


class Watched:
    """A log whose calls are written down.

    Args:
        log: The log.
        name: What it is called.
        history: Where to write.
    """

    def __init__(self, log: LogLike, name: str, history: list[str]) -> None:
        self.inner = log
        self._name, self._history = name, history

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*args: Any, **options: Any) -> Any:
            said = [shown(one) for one in args]
            said += [f"{key}={shown(value)}" for key, value in options.items()]
            line = f"{self._name}.{name}({', '.join(said)})"
            self._history.append(line)
            try:
                found = method(*args, **options)
            except Exception as error:
                self._history[-1] = f"{line}  # {type(error).__name__}: {error}"[:_WIDTH]
                raise
            self._history[-1] = f"{line}  # {shown(found)}"[:_WIDTH]
            return found

        return call


def shown(value: Any) -> str:
    """Return a value as short Python: a row without the fields that have their usual value."""
    if isinstance(value, list | tuple):
        inside = ", ".join(shown(one) for one in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if hasattr(value, "status") and hasattr(value, "id"):
        return str(value.status) if value.id is None else f"{value.status} {value.id}"
    if hasattr(value, "payload") and hasattr(value, "own") and not hasattr(value, "if_present"):
        id_ = value.version if hasattr(value, "version") else value.id
        return f"<{id_}: {value.payload!r:.20}>"
    if is_dataclass(value) and not isinstance(value, type):
        said = []
        for one in fields(value):
            given = getattr(value, one.name)
            usual = one.default if one.default_factory is MISSING else one.default_factory()
            if usual is MISSING:
                said.append(shown(given))
            elif given != usual:
                said.append(f"{one.name}={shown(given)}")
        return f"{type(value).__name__}({', '.join(said)})"
    return repr(value)


# --- what rules ask ------------------------------------------------------------------------------


def same(found: object, wanted: object, what: str) -> None:
    """Raise `Broken` unless something is as it must be."""
    if found != wanted or type(found) is not type(wanted):
        raise Broken(f"{what}: expected {shown(wanted)}, found {shown(found)}")


def ids(outcomes: Sequence[OutcomeLike]) -> list[int]:
    """Return the ids of rows that must have been written, ascending."""
    found = [outcome.id for outcome in outcomes if outcome.id is not None]
    if len(found) < len(outcomes) or any(one.status != "written" for one in outcomes):
        raise Broken(f"a row was not written: {shown(list(outcomes))}")
    if sorted(set(found)) != found or found[0] <= 0:
        raise Broken(f"ids must be greater than 0 and ascend: {found}")
    return found


def outcomes_are(found: Sequence[OutcomeLike], *wanted: tuple[str, int | None]) -> None:
    """Raise `Broken` unless rows became what they must."""
    same([(one.status, one.id) for one in found], list(wanted), "outcomes")


def payload(log: Any, key: Key, **options: Any) -> bytes | None:
    """Return the payload of a cell."""
    cell = log.get(key, **options)
    return None if cell is None else cell.payload


def payloads(log: Any, list_: Key, **options: Any) -> list[bytes]:
    """Return the payloads of a list."""
    return [entry.payload for entry in log.entries(list_, **options)]


def last_parts(listed: Iterable[Any]) -> list[bytes]:
    """Return the last parts of keys."""
    return [one.key[-1] for one in listed]


def refused(kind: type[E], call: Callable[..., object], *args: object, **options: object) -> E:
    """Return the error of a type that a call must raise."""
    try:
        found = call(*args, **options)
    except kind as error:
        return error
    raise Broken(f"the last call: expected {kind.__name__}, found {shown(found)}")


def conflict(
    log: Any,
    rows: Sequence[Row],
    *,
    now: int,
    row: int | None,
    key: Key,
    reason: str,
    current: int | None,
    expect: Sequence[Condition] = (),
) -> None:
    """Raise `Broken` unless a batch is refused by a conflict of this description."""
    error = refused(Conflict, log.write, rows, expect=expect, now=now)
    parts = tuple(part.encode() if isinstance(part, str) else part for part in key)
    found = (error.row, tuple(error.key), error.reason, error.current)
    same(found, (row, parts, reason, current), "row, key, reason and current id of the conflict")
