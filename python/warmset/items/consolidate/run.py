"""Makes a plan of what to archive and merge, and does it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset.compact.passages import whole_text
from warmset.errors import Conflict, InvalidInputError
from warmset.items.cells import key_of_item
from warmset.items.consolidate.merging import SCOPE, Read, merged
from warmset.items.consolidate.needed import Needs
from warmset.items.consolidate.plan import Consolidation
from warmset.items.consolidate.policy import ConsolidationPolicy, micros, uses_of
from warmset.items.marks import mark_of
from warmset.store.conditions import Version
from warmset.store.records import Job
from warmset.store.rows import Patch, Put
from warmset.text.said import Said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from warmset._core import Held
    from warmset.embed import Vectors
    from warmset.engine.engine import Engine
    from warmset.items.consolidate.policy import Used
    from warmset.items.shelf import Shelf
    from warmset.store.rows import Row

_STEP: Final = 1_000
"""Items that are changed in one batch, and cells that are read at once."""

_TRIES: Final = 8
"""How often a batch is tried while other processes change its items."""

_DAY: Final = 86_400_000_000
_LEAST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class _Step:
    """One change of a plan."""

    one: Held
    reason: str
    into: Held | None = None


def consolidate(
    engine: Engine,
    shelf: Shelf,
    policy: ConsolidationPolicy,
    *,
    is_elsewhere: Callable[[str], bool],
    used: Used | None,
    now: datetime | None,
    dry_run: bool,
) -> Consolidation:
    """Archive and merge items; see `Items.consolidate`."""
    if not isinstance(policy, ConsolidationPolicy):
        raise InvalidInputError(f"policy: expected a ConsolidationPolicy, found {policy!r:.80}")
    if not dry_run:
        engine.must_write()
    at = micros("now", datetime.now(UTC) if now is None else now)
    uses = uses_of(used)
    some = shelf.everything()
    looked_at = {
        one.memory_id: one
        for one in sorted(some, key=lambda one: (one.at, one.memory_id))
        if not one.archived and policy.reaches(one.names("type")[0])
    }
    heirs = shelf.heirs()
    needs = Needs(some, heirs, is_elsewhere)
    old = _old(looked_at.values(), policy, uses, at)
    may_go = needs.without(old)
    going = needs.first([name for name in looked_at if name in may_go], policy.limit)
    steps = [_Step(looked_at[name], old[name]) for name in going]
    left = len(may_go) - len(going)
    if policy.similarity is not None:
        gone = frozenset(going)
        stay = [
            one
            for name, one in looked_at.items()
            if name not in gone and heirs.get(name, 0) <= one.id
        ]
        fixed = needs.needed(gone) | frozenset(policy.keep)
        merges = _merges(engine, shelf, stay, fixed, uses, policy.similarity)
        room = policy.limit - len(steps)
        steps += merges[:room]
        left += len(merges[room:])
    skipped = {} if dry_run else _apply(engine, shelf, steps, is_elsewhere)
    went = [step for step in steps if step.one.memory_id not in skipped]
    return Consolidation(
        archived=tuple((step.one.memory_id, step.reason) for step in went if step.into is None),
        merged=tuple(
            (step.one.memory_id, step.into.memory_id, step.reason)
            for step in went
            if step.into is not None
        ),
        skipped=tuple(skipped.items()),
        kept=len(looked_at) - len(went),
        left=left,
        tokens=sum(step.one.tokens for step in went),
        applied=not dry_run,
    )


def _old(
    some: Iterable[Held], policy: ConsolidationPolicy, uses: Mapping[str, int], now: int
) -> dict[str, str]:
    """Return the items that may be archived for their age, with the reason, by their names."""
    age, idle = policy.microseconds("archive_after"), policy.microseconds("unused_for")
    if age is None:
        return {}
    found: dict[str, str] = {}
    keep = frozenset(policy.keep)
    for one in some:
        use = uses.get(one.memory_id)
        is_used = use is not None and (idle is None or now - use < idle)
        is_good = one.reward is not None and (
            policy.least_reward is None or one.reward >= policy.least_reward
        )
        if now - one.at < age or is_used or is_good or one.memory_id in keep:
            continue
        last = "never used" if use is None else f"last used {(now - use) // _DAY:,} days ago"
        low = "" if one.reward is None else f", reward {one.reward:g}"
        found[one.memory_id] = f"{(now - one.at) // _DAY:,} days old, {last}{low}"
    return found


def _merges(
    engine: Engine,
    shelf: Shelf,
    some: Sequence[Held],
    fixed: frozenset[str],
    uses: Mapping[str, int],
    similarity: float,
) -> list[_Step]:
    """Return what can be merged, scope by scope."""
    scopes: dict[tuple[object, ...], list[Held]] = defaultdict(list)
    for one in some:
        scopes[tuple(one.names(column) for column in SCOPE)].append(one)
    steps: list[_Step] = []
    for listed in scopes.values():
        if len(listed) > 1:
            read = list(_read(engine, shelf, listed, fixed, uses))
            steps += [
                _Step(one.held, reason, other.held)
                for one, other, reason in merged(read, similarity)
            ]
    return steps


def _read(
    engine: Engine,
    shelf: Shelf,
    some: Sequence[Held],
    fixed: frozenset[str],
    uses: Mapping[str, int],
) -> Iterator[Read]:
    """Read items; those that are gone are left out."""
    for start in range(0, len(some), _STEP):
        batch = some[start : start + _STEP]
        for one, cell in zip(batch, shelf.cells(batch), strict=True):
            if cell is None or cell.version != one.id:
                continue
            yield Read(
                one,
                Said(cell.payload.decode("utf-8", "surrogatepass")),
                _vector(engine, one.id),
                uses.get(one.memory_id),
                one.memory_id not in fixed,
            )


def _vector(engine: Engine, id_: int) -> Vectors | None:
    """Return the vector of an item, of length 1; None if there is none."""
    indexer = engine.indexer
    if indexer is None or indexer.vectorizer.mismatch() is not None:
        return None
    rows = indexer.book.read(Job(id_, "item"))
    if rows is None or not len(rows):
        return None
    vector = whole_text(np.asarray(rows, np.float32))
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > _LEAST else None


def _apply(
    engine: Engine,
    shelf: Shelf,
    steps: Sequence[_Step],
    is_elsewhere: Callable[[str], bool],
) -> dict[str, str]:
    """Do what is planned, and return what was not, with the reason, by name."""
    skipped: dict[str, str] = {}
    left = list(steps)
    for _ in range(_TRIES):
        with shelf.lock:
            shelf.refresh()
            left = _unchanged(shelf, left, skipped)
            left = _not_needed(
                Needs(shelf.everything(), shelf.heirs(), is_elsewhere), left, skipped
            )
            try:
                while left:
                    _write(engine, shelf, left[:_STEP])
                    left = left[_STEP:]
            except Conflict:  # another process changed one just now
                continue
        return skipped
    return skipped | {step.one.memory_id: "others keep changing it" for step in left}


def _not_needed(needs: Needs, steps: Sequence[_Step], skipped: dict[str, str]) -> list[_Step]:
    """Return the steps whose items nothing needs that stays, and note the others."""
    may_go = needs.without(step.one.memory_id for step in steps)
    lost = [step for step in steps if step.one.memory_id not in may_go]
    skipped |= {step.one.memory_id: "another item needs it meanwhile" for step in lost}
    return [step for step in steps if step.one.memory_id in may_go]


def _unchanged(shelf: Shelf, batch: Sequence[_Step], skipped: dict[str, str]) -> list[_Step]:
    """Return the steps whose items are as they were planned with, and note the others."""
    found: list[_Step] = []
    for step in batch:
        reason = _change(shelf, step.one, "it")
        if reason is None and step.into is not None:
            reason = _change(shelf, step.into, f"{step.into.memory_id}, which says the same,")
        if reason is None:
            found.append(step)
        else:
            skipped[step.one.memory_id] = reason
    return found


def _change(shelf: Shelf, one: Held, what: str) -> str | None:
    """Return what happened to an item since it was read; None if nothing did."""
    now = shelf.named(one.memory_id)
    if now is None:
        return f"{what} was erased meanwhile"
    if now.id != one.id:
        return f"{what} was put anew meanwhile"
    return f"{what} was archived meanwhile" if now.archived else None


def _write(engine: Engine, shelf: Shelf, batch: Sequence[_Step]) -> None:
    """Archive items, all of them if none of them, nor what they are merged into, was changed."""
    mark = mark_of(shelf.tenant)
    keys = [key_of_item(shelf.tenant, step.one.name) for step in batch]
    before, *cells = engine.log.view(cells=[mark, *keys]).cells
    rows: list[Row] = [Put(mark, b"")]
    expect: dict[tuple[bytes, ...], Version] = {
        mark: Version(mark, 0 if before is None else before.version)
    }
    for step, cell in zip(batch, cells, strict=True):
        for held in (step.one, step.into):
            if held is not None:
                key = key_of_item(shelf.tenant, held.name)
                expect[key] = Version(key, held.id)
        if cell is None:
            continue  # the condition fails
        columns = {**cell.columns, "archived": True}
        if step.into is not None:
            columns["merged_into"] = step.into.memory_id
        rows.append(Patch(cell.key, columns, version=step.one.id))
    engine.log.write(rows, expect=list(expect.values()))
