"""Random histories of a log, which is compared with the model step by step, and shortened."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from warmset.errors import Conflict, NotFound
from warmset.store.conditions import Condition, Tail, Version
from warmset.store.rows import (
    Add,
    Cut,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
    RemoveExpired,
    Row,
)
from warmset.testing.log_stage import Broken, shown
from warmset.testing.memory_log import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from warmset.testing.log_like import LogLike, OutcomeLike
    from warmset.testing.log_stage import Stage

TENANT = ("t",)
SPACE = ("t", b"\xffs")
KEYS = [*((*SPACE, name) for name in ("a", "b", "c")), (*SPACE, "a", "x"), ("t", b"\xffr", "a")]
LISTS = [("t", b"\xffl", "1"), (*SPACE, "a"), ("t", "conversation")]
PREFIXES: list[tuple[str | bytes, ...]] = [SPACE, (*SPACE, "a"), ("t", b"\xffl"), LISTS[2], TENANT]
ONCE = ("o", b"\xffs", "x")
"""A named batch begins here, out of the way: where a log keeps the names is its own affair."""
VALUES: tuple[Any, ...] = (None, False, True, 0, 1, 1.0, 2.5, "a", "b", [1], [1, "a"])
UNKNOWN = 2**48
"""An id that nothing has."""
ROWS = 10
"""A row is named by the number of its step times this, and its own number."""
TRIES = 300
"""Shorter histories that are tried at most."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call; ids in it are names of rows, see `ROWS`.

    Args:
        number: Its number, which it keeps when others are left out.
        call: The method.
        now: The clock.
        rows: The rows of a batch, by their numbers.
        expect: The conditions of a batch.
        once: The name of a batch.
        prefix: What is erased.
        ids: What is erased, instead of a prefix.
        look: Options of a scan that is made afterwards.
    """

    number: int
    call: str
    now: int
    rows: dict[int, Row] = field(default_factory=dict)
    expect: tuple[Condition, ...] = ()
    once: str | None = None
    prefix: tuple[str | bytes, ...] = ()
    ids: tuple[int, ...] = ()
    look: dict[str, Any] = field(default_factory=dict)


class Names:
    """The ids of one log, by the names of the rows that they were given for."""

    def __init__(self) -> None:
        self._ids: dict[int, int] = {0: 0}
        self._names: dict[int, int] = {0: 0}

    def give(self, name: int, id_: int) -> None:
        """Name an id; one that has a name keeps it, as those of a repeated batch do."""
        if id_ not in self._names:
            self._ids[name] = id_
            self._names[id_] = name

    def id(self, name: int) -> int:
        """Return the id of a name."""
        return self._ids.get(name, UNKNOWN)

    def name(self, id_: int | None) -> str | None:
        """Return the name of an id, as a text."""
        if id_ is None:
            return None
        found = self._names.get(id_)
        return "an unknown id" if found is None else f"row {found}"

    def row(self, row: Row) -> Row:
        """Return a row with ids in place of names."""
        match row:
            case Put() | Add():
                return replace(row, sources=[self.id(name) for name in row.sources])
            case Patch() if row.version is not None:
                return replace(row, version=self.id(row.version))
            case Cut():
                return replace(row, after=self.id(row.after))
            case RemoveEntries():
                return replace(row, ids=[self.id(name) for name in row.ids])
            case _:
                return row

    def condition(self, one: Condition) -> Condition:
        """Return a condition with an id in place of a name."""
        return replace(one, id=self.id(one.id))


def random_steps(random: Random, length: int) -> list[Step]:
    """Generate a history; what it names is there when it is named."""
    return list(_Writer(random).steps(length))


class _Writer:
    """Generates steps, and takes each of them on a log of its own to know what is there."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._log, self._names = MemoryLog(), Names()
        self._reverse: dict[int, int] = {}
        self._now = 100
        self._made = 0
        self._batches: list[Step] = []

    def steps(self, length: int) -> Iterator[Step]:
        for number in range(1, length + 1):
            self._now += self._random.choice((0, 0, 1, 2, 5, -2))
            step = replace(self._step(number), look=self._look())
            try:
                outcomes = _take(self._log, self._names, step)
            except (Conflict, NotFound):
                outcomes = {}
            for row, outcome in outcomes.items():
                if outcome.status == "written" and outcome.id is not None:
                    self._reverse[outcome.id] = number * ROWS + row
            yield step

    def _step(self, number: int) -> Step:
        pick = self._random.choice
        call = self._random.choices(("write", "erase", "sweep", "compact"), (14, 2, 1, 1))[0]
        step = Step(number, call, self._now)
        if call == "erase" and pick((True, False)):
            return replace(step, prefix=pick(PREFIXES))
        if call == "erase":
            return replace(step, ids=tuple(self._some()))
        if call != "write":
            return step
        if self._batches and self._random.random() < 0.1:  # noqa: PLR2004
            return replace(pick(self._batches), number=number, now=self._now)
        if self._random.random() < 0.07:  # noqa: PLR2004
            return replace(step, rows={0: RemoveExpired(pick([*KEYS, *LISTS]))})
        rows = {at: self._row(number * ROWS + at) for at in range(pick((1, 1, 1, 2, 3)))}
        expect = tuple(self._condition() for _ in range(pick((0, 0, 0, 1, 2))))
        once = pick(("1", "2")) if self._random.random() < 0.08 else None  # noqa: PLR2004
        if once:
            rows = {0: Put(ONCE, b"once"), **{at + 1: row for at, row in rows.items()}}
        step = replace(step, rows=rows, expect=expect, once=once)
        if once:
            self._batches.append(step)
        return step

    def _row(self, name: int) -> Row:  # noqa: PLR0911 - one for each kind
        random, pick = self._random, self._random.choice
        kinds = ("put", "add", "made", "patch", "cut", "remove", "below", "entries")
        kind = random.choices(kinds, (8, 8, 3, 3, 2, 2, 1, 2))[0]
        key, list_, data = pick(KEYS), pick(LISTS), b"%d" % name
        how: Any = pick(("replace", "replace", "skip", "fail"))
        expires = pick((None, None, None, self._now + pick((1, 2, 4, 8)), self._now))
        columns = {name: pick(VALUES) for name in ("m", "n") if pick((True, False))}
        if kind == "put":
            return Put(key, data, if_present=how, expires=expires, columns=columns)
        if kind == "add":
            uid = pick((None, "u", "v"))
            return Add(list_, data, uid=uid, if_present=how, expires=expires, columns=columns)
        if kind == "made":
            # Keys and entries of their own: what becomes of versions that stand in one chain with
            # what was made from something is left open.
            self._made += 1
            sources = self._some()
            if pick((True, False)):
                return Put((*SPACE, f"made {self._made}"), data, sources=sources)
            return Add(list_, data, sources=sources)
        if kind == "patch":
            version = self._name(self._log.version(key, now=self._now))
            return Patch(key, columns, version=pick((None, version or 1)), expires=expires)
        if kind == "cut":
            path = self._log.entries(list_, now=0)
            return Cut(list_, pick([0, 1, *(self._name(one.id) for one in path)]))
        if kind == "remove":
            return Remove(key)
        if kind == "below":
            return RemoveBelow(pick(PREFIXES))
        path = self._log.entries(list_, now=0)
        return RemoveEntries(list_, [self._name(one.id) for one in path if pick((True, False))])

    def _condition(self) -> Condition:
        pick = self._random.choice
        if pick((True, False)):
            key = pick(KEYS)
            version = self._name(self._log.version(key, now=self._now))
            return Version(key, pick((version, version, version, 0)))
        list_ = pick(LISTS)
        tail = self._name(self._log.tail(list_))
        return Tail(list_, pick((tail, tail, tail, 0)))

    def _look(self) -> dict[str, Any]:
        pick = self._random.choice
        operator = pick(("eq", "ne", "lt", "lte", "gt", "gte", "contains"))
        operand = pick(VALUES[:-2] if operator == "contains" else VALUES)
        condition: Any = {operator: operand}
        if pick((True, False, False)):
            condition = {pick(("in", "nin")): [pick(VALUES), pick(VALUES)]}
        where: Any = {pick(("m", "n")): condition}
        if pick((True, False, False)):
            where = {pick(("and", "or")): [where, {"not": {"m": {"exists": pick((True, False))}}}]}
        return {
            "where": where,
            "order": pick(("key", "born", "changed")),
            "reverse": pick((True, False)),
            "limit": pick((1, 2, 3, None)),
        }

    def _name(self, id_: int) -> int:
        return self._reverse.get(id_, 0)

    def _some(self) -> list[int]:
        """Return names of one or two records that are there."""
        cells = [one.version for one in self._log.scan(TENANT, now=0)]
        entries = [one.id for list_ in LISTS for one in self._log.entries(list_, now=0)]
        known = [self._name(id_) for id_ in (*cells, *entries) if self._name(id_)]
        return self._random.sample(known, min(len(known), self._random.choice((1, 1, 2))))


def check_steps(stage: Stage, steps: Sequence[Step]) -> None:
    """Take steps on a log and on the model, and compare what each answers and shows.

    Raises:
        Broken: They differ; `stage.history` has the calls.
    """
    logs = stage.pair() if stage.shared else (stage.log(),)
    model, mine, own = MemoryLog(), Names(), Names()
    for at, given in enumerate(steps):
        log = logs[at % len(logs)]
        step = _with_present(given, mine, model)
        wanted, found = _answer(model, mine, step), _answer(log, own, step)
        _compare(step, found, wanted)
        reader: Any = logs[(at + 1) % len(logs)].inner
        views = zip(_views(reader, own, step), _views(model, mine, step), strict=True)
        for (what, seen), (_, expected) in views:
            if seen != expected:
                raise Broken(
                    f"after the last call, {what}:\n    expected {shown(expected)}\n"
                    f"    found    {shown(seen)}"
                )


def shortened(stage: Stage, steps: Sequence[Step], broken: Broken) -> tuple[list[Step], Broken]:
    """Return a shorter history that is answered wrongly, and how."""
    best, left = list(steps), TRIES
    progress = True
    while progress and left > 0:
        progress = False
        for fewer in _fewer(best):
            left -= 1
            try:
                check_steps(stage, fewer)
            except Broken as error:
                best, broken, progress = fewer, error, True
                break
            except Exception:  # noqa: BLE001, S112 - another failure than this one
                continue
            if left <= 0:
                break
    return best, broken


def _fewer(steps: list[Step]) -> Iterator[list[Step]]:
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            yield steps[:start] + steps[start + size :]
        size //= 2
    for at, step in enumerate(steps):
        for row in list(step.rows)[step.once is not None or len(step.rows) == 1 :]:
            rows = {number: one for number, one in step.rows.items() if number != row}
            yield [*steps[:at], replace(step, rows=rows), *steps[at + 1 :]]
        if step.expect:
            yield [*steps[:at], replace(step, expect=()), *steps[at + 1 :]]


Answer = dict[int, "OutcomeLike"]


def _answer(log: Any, names: Names, step: Step) -> tuple[Any, ...]:
    """Take a step, and return what it came to, with names in place of ids."""
    try:
        outcomes = _take(log, names, step)
    except Conflict as error:
        if error.reason == "once":
            return ("Conflict", error.row, error.reason)
        current = names.name(error.current)
        return ("Conflict", error.row, error.key, error.reason, current)
    except NotFound:
        return ("NotFound",)
    said = {at: (one.status, names.name(one.id)) for at, one in outcomes.items()}
    return ("written", said)


def _take(log: Any, names: Names, step: Step) -> Answer:
    """Take a step on a log, and name what it wrote."""
    if step.call == "write":
        rows = [names.row(row) for row in step.rows.values()]
        expect = [names.condition(one) for one in step.expect]
        outcomes = log.write(rows, expect=expect, now=step.now, once=step.once)
        found = dict(zip(step.rows, outcomes, strict=True))
        for at, outcome in found.items():
            if outcome.status == "written" and outcome.id is not None:
                names.give(step.number * ROWS + at, outcome.id)
        return found
    if step.call == "erase" and step.prefix:
        log.erase(prefix=step.prefix)
    elif step.call == "erase":
        if ids := [names.id(name) for name in step.ids if names.id(name) != UNKNOWN]:
            log.erase(ids=ids)
    else:
        getattr(log, step.call)(now=step.now)
    return {}


def _with_present(step: Step, names: Names, model: MemoryLog) -> Step:
    """Return a step without sources that are not there, or may be gone by then.

    What becomes of something that is made from what was removed is left open.
    """
    may_remove = any(not isinstance(row, Put | Add | Patch) for row in step.rows.values())
    rows = dict(step.rows)
    for at, row in rows.items():
        if isinstance(row, Put | Add) and row.sources:
            there = [name for name in row.sources if model.holds(names.id(name))]
            rows[at] = replace(row, sources=[] if may_remove else there)
    return replace(step, rows=rows)


def _compare(step: Step, found: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    if found[0] == wanted[0] == "written":
        for at, said in wanted[1].items():
            if found[1].get(at) != said and not _is_open(step, at):
                raise Broken(f"row {at}: expected {said}, found {found[1].get(at)}")
        return
    if found != wanted:
        raise Broken(f"the last call: expected {shown(wanted)}, found {shown(found)}")


def _is_open(step: Step, at: int) -> bool:
    """Return whether a removal may say that it removed what an earlier row of its batch had."""
    return len(step.rows) > 1 and isinstance(step.rows[at], Remove | RemoveBelow | RemoveEntries)


def _views(log: LogLike, names: Names, step: Step) -> Iterator[tuple[str, Any]]:
    """Yield what a log shows, with names in place of ids."""
    now, name = step.now, names.name
    for key in KEYS:
        cell = log.get(key, now=now)
        yield f"get({shown(key)})", cell and (cell.payload, cell.at, *_listed(cell, names))
        yield f"version({shown(key)})", name(log.version(key, now=now))
    for list_ in LISTS:
        yield f"tail({shown(list_)})", name(log.tail(list_))
        path = log.entries(list_, now=now)
        fields = [(name(one.id), name(one.parent), one.payload, one.uid) for one in path]
        yield f"entries({shown(list_)})", fields
        back = log.entries(list_, reverse=True, limit=2, now=now)
        yield f"entries({shown(list_)}, reverse=True, limit=2)", [name(one.id) for one in back]
    page = log.scan(TENANT, now=now, **step.look)
    yield f"scan(**{step.look})", [_listed(one, names) for one in page]
    if page:
        rest = log.scan(TENANT, now=now, after=page[-1], **step.look)
        yield f"the next page of scan(**{step.look})", [_listed(one, names) for one in rest]
    where = step.look["where"]
    yield f"count(where={where})", log.count(TENANT, where=where, now=now)
    yield "spaces(depth=3)", list(log.spaces(TENANT, depth=3))


def _listed(one: Any, names: Names) -> tuple[Any, ...]:
    columns = sorted((name, repr(value)) for name, value in one.columns.items())
    return (one.key, names.name(one.version), names.name(one.born), one.expires, columns)
