"""`check_log` passes every log that keeps the rules, and names the rule that another breaks."""

# ruff: noqa: ARG002 - what a mistake does not look at

from __future__ import annotations

import itertools
import pickle
import threading
import time
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from random import Random

import pytest

from warmset.errors import Conflict, InvalidInputError, NotFound
from warmset.native import Add, ColdStore, Cut, Log, Outcome, Patch, Put, RemoveBelow, Tail
from warmset.testing import LogError, LogFailure, MemoryLog, check_log
from warmset.testing.check_log import AS_THE_MODEL
from warmset.testing.log_filter import compare, passes
from warmset.testing.log_histories import check_steps, random_steps
from warmset.testing.log_rules import LIST, SPACE, A
from warmset.testing.log_stage import Stage

KEYS = {
    "plain": {},
    "small segments": {"segment_bytes": 4096},
    "encrypted": {"encryption": "keys"},
    "encrypted with a master key": {"encryption": bytes(range(32))},
}


@pytest.fixture
def stores(tmp_path):
    """Logs in directories of their own, and other handles on them; closed at the end."""
    with ExitStack() as opened:
        numbers = itertools.count()

        def opener(**options):
            def again(log):
                path = tmp_path / str(next(numbers)) if log is None else log.store.path
                store = ColdStore.open(path, durability="os", lock_wait=30.0, **options)
                return Log(opened.enter_context(store))

            return lambda: again(None), again

        yield opener


# --- logs that keep the rules ---------------------------------------------------------------------


def test_the_model_passes():
    check_log(MemoryLog, again=MemoryLog, examples=100)
    check_log(MemoryLog, examples=20, seed=1_000)


@pytest.mark.parametrize("options", KEYS.values(), ids=KEYS)
def test_the_log_of_a_store_passes(options, stores):
    make, again = stores(**options)
    is_portable = not isinstance(options.get("encryption"), bytes)
    check_log(make, again=again, processes=is_portable, examples=15)


def test_a_log_in_memory_alone_passes():
    check_log(lambda: Log(ColdStore.open(None)), examples=30, seed=500)


def test_histories_have_rows_that_are_made_from_others():
    made = []

    class Sees(MemoryLog):
        def write(self, rows, **options):
            made.extend(row.sources for row in rows if isinstance(row, Put | Add))
            return super().write(rows, **options)

    for seed in range(20):
        check_steps(Stage(Sees, None), random_steps(Random(seed), 40))
    assert any(made)


# --- logs that break one --------------------------------------------------------------------------


class DropsConditions(MemoryLog):
    def _judge(self, state, condition, now):
        pass


class DropsTails(MemoryLog):
    def _judge(self, state, condition, now):
        if not isinstance(condition, Tail):
            super()._judge(state, condition, now)


class JudgesConditionsLast(MemoryLog):
    def write(self, rows, *, expect=(), **options):
        with self._held.lock:
            found = super().write(rows, **options)
            for condition in expect:
                self._judge(self._state, condition, options.get("now", 0))
        return found


class ConflictWithoutCurrent(MemoryLog):
    def write(self, *args, **options):
        try:
            return super().write(*args, **options)
        except Conflict as error:
            raise Conflict(error.row, error.key, error.reason, None) from None


class ConflictOfTheFirstRow(MemoryLog):
    def write(self, *args, **options):
        try:
            return super().write(*args, **options)
        except Conflict as error:
            raise Conflict(error.row and 0, error.key, error.reason, error.current) from None


class ExpiresTooLate(MemoryLog):
    def _is_live(self, one, now):
        return one.expires is None or one.expires >= now


class NeverExpiresInLists(MemoryLog):
    def entries(self, list, *, now=None, **options):  # noqa: A002
        return super().entries(list, now=-1, **options)


class ForgetsSkip(MemoryLog):
    def _put(self, state, at, row, now):
        how = "replace" if row.if_present == "skip" else row.if_present
        return super()._put(state, at, replace(row, if_present=how), now)


class FailsBySkipping(MemoryLog):
    def _add(self, state, at, row, now):
        how = "skip" if row.if_present == "fail" else row.if_present
        return super()._add(state, at, replace(row, if_present=how), now)


class ReordersRows(MemoryLog):
    def write(self, rows, **options):
        return super().write(list(rows)[::-1], **options)[::-1]


class WritesRowByRow(MemoryLog):
    def write(self, rows, *, expect=(), once=None, **options):
        if once is not None:
            return super().write(rows, expect=expect, once=once, **options)
        found = super().write([], expect=expect, **options)
        for at, row in enumerate(rows):
            try:
                found += super().write([row], **options)
            except Conflict as error:
                raise Conflict(at, error.key, error.reason, error.current) from None
        return found


class NullIsNothing(MemoryLog):
    def _passes(self, where, columns):
        found = {key for key, value in where.items() if value is None or "not" in key}
        return not found and super()._passes(where, columns)


class NullIsLeast(MemoryLog):
    def _passes(self, where, columns):
        [value] = [*columns.values()][:1] or [None]
        if value is None and any("lt" in str(one) for one in where.values()):
            return True
        return super()._passes(where, columns)


class TruthIsANumber(MemoryLog):
    def _passes(self, where, columns):
        columns = {name: int(v) if isinstance(v, bool) else v for name, v in columns.items()}
        return super()._passes(where, columns)


class RoundsNumbers(MemoryLog):
    def _passes(self, where, columns):
        numbers = {n: float(v) if type(v) is int else v for n, v in columns.items()}
        return super()._passes(where, numbers)


class ForgetsOr(MemoryLog):
    def _passes(self, where, columns):
        return super()._passes({n: v for n, v in where.items() if n != "or"}, columns)


class StaleTail(MemoryLog):
    def tail(self, list):  # noqa: A002
        known = self.__dict__.setdefault("known", {})
        return known.setdefault(tuple(list), super().tail(list))


class HandlesOfTheirOwn(MemoryLog):
    def __init__(self, like=None):
        super().__init__()


class UniqueForEver(MemoryLog):
    def _named(self, path, uid):
        used = self._held.lock.__dict__ if hasattr(self._held.lock, "__dict__") else self.__dict__
        seen = used.setdefault("seen", {})
        found = super()._named(path, uid) or seen.get(uid)
        if found is None and uid is not None:
            seen[uid] = replace(EMPTY, id=self._state.last + 1, uid=uid)
        return found


class ExpiredUidIsFree(MemoryLog):
    def _add(self, state, at, row, now):
        self._clock = now
        return super()._add(state, at, row, now)

    def _named(self, path, uid):
        found = super()._named(path, uid)
        return found if found is not None and self._is_live(found, self._clock) else None


class ErasesWithoutWhatWasMade(MemoryLog):
    def _erased_with(self, state, start):
        return set(start)


class ErasesOneVersion(MemoryLog):
    def _erased_with(self, state, start):
        return set(start) | self._made_from(state, set(start))


class RemovesWithoutWhatWasMade(MemoryLog):
    def _remove(self, state, gone):
        kept = dict(state.sources)
        state.sources.clear()
        found = super()._remove(state, gone)
        state.sources.update({id_: by for id_, by in kept.items() if id_ not in gone})
        return found


class RemovesByBytes(MemoryLog):
    def _records_below(self, state, prefix):
        keys = {**state.cells, **state.paths}
        near = {key for key in keys if b"".join(key).startswith(b"".join(prefix))}
        return set().union(*(super(RemovesByBytes, self)._records_below(state, k) for k in near))


class MergesPatches(MemoryLog):
    def _patch(self, state, at, row, now):
        there = state.cells.get(tuple(p.encode() if isinstance(p, str) else p for p in row.key))
        columns = {**(there.columns if there else {}), **row.columns}
        return super()._patch(state, at, replace(row, columns=columns), now)


class PatchesNothing(MemoryLog):
    def _patch(self, state, at, row, now):
        try:
            return super()._patch(state, at, row, now)
        except NotFound:
            return None


class PatchesAnyVersion(MemoryLog):
    def _patch(self, state, at, row, now):
        return super()._patch(state, at, replace(row, version=None), now)


class BornWithEachVersion(MemoryLog):
    def _put(self, state, at, row, now):
        status, id_ = super()._put(state, at, row, now)
        for key, cell in state.cells.items():
            if cell.version == id_:
                state.cells[key] = replace(cell, born=id_, born_at=now)
        return status, id_


class NeverBornAnew(MemoryLog):
    def _put(self, state, at, row, now):
        there = dict(state.cells)
        status, id_ = super()._put(state, at, row, now)
        for key, cell in state.cells.items():
            if cell.version == id_ and key in there:
                old = there[key]
                state.cells[key] = replace(cell, born=old.born, born_at=old.born_at)
        return status, id_


class OrdersByText(MemoryLog):
    def scan(self, prefix=(), *, order="key", reverse=False, after=None, limit=1_000, **options):
        found = super().scan(
            prefix, order=order, reverse=reverse, after=after, limit=limit, **options
        )
        if order != "key":
            return found
        return sorted(found, key=lambda one: b"/".join(one.key), reverse=reverse)


class PagesBegunAnew(MemoryLog):
    def scan(self, prefix=(), *, after=None, **options):
        return super().scan(prefix, after=None if options.get("reverse") else after, **options)


class NoReversePages(MemoryLog):
    def entries(self, list, *, after=None, reverse=False, **options):  # noqa: A002
        if reverse and after is not None:
            return ()
        return super().entries(list, after=after, reverse=reverse, **options)


class ParentsAsShown(MemoryLog):
    def entries(self, list, *, after=None, limit=None, reverse=False, now=None):  # noqa: A002
        found = super().entries(list, now=now, limit=None)
        parents = {one.id: before.id for before, one in itertools.pairwise(found)}
        page = super().entries(list, after=after, limit=limit, reverse=reverse, now=now)
        return tuple(replace(one, parent=parents.get(one.id, 0)) for one in page)


class RepeatsNamedBatches(MemoryLog):
    def _known(self, state, name, now):
        return None


class ForgetsContent(MemoryLog):
    def write(self, rows, *, once=None, **options):
        rows = list(rows)
        try:
            return super().write(rows, once=once, **options)
        except Conflict as error:
            if error.reason != "once":
                raise
            return [Outcome("nothing") for _ in rows]


class CutsOneEntry(MemoryLog):
    def _cut(self, state, at, row):
        key = tuple(part.encode() if isinstance(part, str) else part for part in row.list)
        path = state.paths.get(key, ())
        behind = [one.id for one in path if one.id > row.after]
        found = super()._cut(state, at, row)
        if len(behind) > 1:
            state.paths[key] = path[:-1]
        return found


class RemovesFromConversations(MemoryLog):
    def _cut(self, state, at, row):
        before = dict(state.aside)
        found = super()._cut(state, at, row)
        for key, path in state.aside.items():
            gone = {one.id for one in path} - {one.id for one in before.get(key, ())}
            if gone:
                self._drop(state, gone | self._made_from(state, gone))
                break
        return found


class ClocksOfItsOwn(MemoryLog):
    def write(self, rows, **options):
        late = [replace(r, ttl=None, expires=10**15) if getattr(r, "ttl", 0) else r for r in rows]
        return super().write(late, **options)


class NeverSweeps(MemoryLog):
    def sweep(self, *, now=None):
        return 0


class SweepsWhatWasRenewed(MemoryLog):
    def _patch(self, state, at, row, now):
        there = state.cells.get(tuple(p.encode() if isinstance(p, str) else p for p in row.key))
        found = super()._patch(state, at, row, now)
        self.__dict__.setdefault("due", {})[there.version] = there.expires
        return found

    def _expire(self, state, key, now):
        cell = state.cells.get(key)
        due = self.__dict__.get("due", {}).get(cell.version) if cell else None
        if due is not None and due <= now:
            return self._remove(state, {cell.version, *cell.older})
        return super()._expire(state, key, now)


class CompactsPatchesAway(MemoryLog):
    def compact(self, *, now=None):
        for key, cell in list(self._state.cells.items()):
            self._state.cells[key] = replace(cell, columns={})
        return super().compact(now=now)


class CellsAloneHaveSpaces(MemoryLog):
    def spaces(self, prefix=(), *, depth, after=None, limit=1_000):
        lists = {key[:depth] for key in self._state.paths}
        found = super().spaces(prefix, depth=depth, after=after, limit=None)
        return [one for one in found if one not in lists][:limit]


class WholeFloatsBecomeInts(MemoryLog):
    def get(self, key, *, now=None):
        cell = super().get(key, now=now)
        if cell is None:
            return None
        whole = lambda v: int(v) if isinstance(v, float) and v == 1.0 else v  # noqa: E731
        return replace(cell, columns={name: whole(v) for name, v in cell.columns.items()})


class TextIsNoKey(MemoryLog):
    def get(self, key, *, now=None):
        return super().get([p.upper() if isinstance(p, str) else p for p in key], now=now)


class ForgetsWhatLiesBeside(MemoryLog):
    def _put(self, state, at, row, now):
        return super()._put(state, at, replace(row, own=b""), now)


class TakesAnything(MemoryLog):
    def _check(self, row, now):
        try:
            super()._check(row, now)
        except Exception:  # noqa: BLE001
            row = Put(A, b"anything")


class TakesItLightly(MemoryLog):
    """Reads, waits, and writes without a look at what others wrote meanwhile."""

    def write(self, rows, **options):
        lock, self._held.lock = self._held.lock, nullcontext()
        try:
            return super().write(rows, **options)
        finally:
            self._held.lock = lock

    def _commit(self, state):
        time.sleep(0.0005)
        super()._commit(state)


class Raises(MemoryLog):
    def spaces(self, *args, **options):
        raise OSError("the disk is gone")


EMPTY = MemoryLog()
EMPTY.write([Add(("t", "x"), b"")], now=0)
[EMPTY] = EMPTY.entries(("t", "x"), now=0)

BROKEN = {
    DropsConditions: "a_version_is_expected",
    DropsTails: "a_tail_is_expected",
    JudgesConditionsLast: "conditions_are_judged_before_the_first_row",
    ConflictWithoutCurrent: "a_version_is_expected",
    ConflictOfTheFirstRow: "if_present_decides_about_a_cell",
    ExpiresTooLate: "what_expires_is_absent_from_that_moment_on",
    NeverExpiresInLists: "what_expires_is_absent_from_that_moment_on",
    ForgetsSkip: "if_present_decides_about_a_cell",
    FailsBySkipping: "if_present_decides_about_an_entry",
    ReordersRows: "rows_apply_in_order",
    WritesRowByRow: "a_batch_is_written_whole_or_not_at_all",
    NullIsNothing: "null_equals_null_and_is_not_ordered",
    NullIsLeast: "null_equals_null_and_is_not_ordered",
    TruthIsANumber: "numbers_compare_exactly",
    RoundsNumbers: "numbers_compare_exactly",
    ForgetsOr: "conditions_are_joined",
    StaleTail: "handles_see_each_other",
    HandlesOfTheirOwn: "no_update_is_lost",
    UniqueForEver: "a_uid_is_free_again_once_its_entry_is_gone",
    ExpiredUidIsFree: "an_expired_entry_keeps_its_place",
    ErasesWithoutWhatWasMade: "a_prefix_is_erased_with_what_was_made_from_it",
    ErasesOneVersion: "an_erased_version_goes_with_all_older_ones",
    RemovesWithoutWhatWasMade: "what_was_made_from_something_is_removed_with_it",
    RemovesByBytes: "a_prefix_is_removed_by_parts",
    MergesPatches: "a_patch_states_all_columns_and_expiry",
    PatchesNothing: "a_patch_needs_its_cell",
    PatchesAnyVersion: "a_patch_needs_its_cell",
    BornWithEachVersion: "the_newest_version_wins",
    NeverBornAnew: "conditions_count_what_has_expired_as_absent",
    OrdersByText: "keys_are_in_the_order_of_their_parts",
    PagesBegunAnew: "a_scan_has_three_orders_and_pages",
    NoReversePages: "entries_come_in_order_by_pages",
    ParentsAsShown: "an_expired_entry_keeps_its_place",
    RepeatsNamedBatches: "a_named_batch_is_written_once",
    ForgetsContent: "other_rows_by_a_known_name_are_a_conflict",
    CutsOneEntry: "a_cut_ends_a_list",
    RemovesFromConversations: "a_conversation_goes_on_elsewhere",
    ClocksOfItsOwn: "a_time_to_live_counts_from_the_batch_s_clock",
    NeverSweeps: "what_has_expired_is_removed_for_good",
    SweepsWhatWasRenewed: "what_has_expired_is_removed_for_good",
    CompactsPatchesAway: "compaction_changes_nothing_that_is_shown",
    CellsAloneHaveSpaces: "spaces_are_the_beginnings_of_keys",
    WholeFloatsBecomeInts: "columns_come_back_with_their_types",
    TextIsNoKey: "parts_of_keys_are_apart",
    ForgetsWhatLiesBeside: "a_cell_comes_back_as_it_was_put",
    TakesAnything: "what_is_no_input_is_refused",
    TakesItLightly: "threads_lose_no_update",
    Raises: "spaces_are_the_beginnings_of_keys",
}


@pytest.mark.parametrize(
    ("broken", "rule"), BROKEN.items(), ids=lambda one: getattr(one, "__name__", "")
)
def test_a_broken_log_is_caught_by_the_rule_that_it_breaks(broken, rule):
    with pytest.raises(LogError) as caught:
        check_log(broken, again=broken, examples=0)
    found = {failure.rule: failure for failure in caught.value.failures}
    assert rule in found
    assert f"{rule}: " in str(caught.value)


def test_a_failure_shows_the_calls():
    with pytest.raises(LogError) as caught:
        check_log(ForgetsWhatLiesBeside, examples=0)
    [failure] = caught.value.failures
    assert "expected (b'\\x00\\x01" in failure.why
    assert failure.history[0].startswith("log.get(('t', b'\\xffs', 'a'), now=0)  # None")
    assert "log.write([Put(('t', b'\\xffs', 'a'), b'\\x00" in failure.history[2]
    assert "  3. log.write(" in str(failure)
    with pytest.raises(LogError, match="OSError was raised: the disk is gone") as caught:
        check_log(Raises, examples=0)
    assert isinstance(caught.value.failures[0].error, OSError)


def test_what_raises_in_a_process_of_its_own_is_a_failure():
    with pytest.raises(LogError, match="processes_put_each_key_once") as caught:
        check_log(MemoryLog, processes=True, examples=0)
    assert len(caught.value.failures) == 1


class ForgetsFifths(MemoryLog):
    """A mistake that no rule is about: the fifth entry of a list that was cut is not there."""

    def _add(self, state, at, row, now):
        found = super()._add(state, at, row, now)
        for key, path in state.paths.items():
            if len(path) == 3 and key[-1] == b"conversation":
                state.paths[key] = path[:2]
        return found


def test_a_random_history_finds_what_no_rule_is_about_and_is_shortened():
    with pytest.raises(LogError) as caught:
        check_log(ForgetsFifths, examples=100)
    [failure] = caught.value.failures
    assert failure.rule.startswith(AS_THE_MODEL)
    assert len(failure.history) <= 3
    assert all(".write(" in line and "Add(" in line for line in failure.history)
    assert "'conversation'" in failure.why
    check_log(ForgetsFifths, examples=0)


def test_histories_are_the_same_for_the_same_seed():
    one, other = (random_steps(Random(7), 25) for _ in range(2))
    assert one == other != random_steps(Random(8), 25)
    calls = {step.call for seed in range(20) for step in random_steps(Random(seed), 25)}
    assert calls == {"write", "erase", "sweep", "compact"}
    rows = [
        row
        for seed in range(40)
        for step in random_steps(Random(seed), 25)
        for row in step.rows.values()
    ]
    kinds = {type(row).__name__ for row in rows}
    assert kinds == {
        "Put",
        "Add",
        "Patch",
        "Cut",
        "Remove",
        "RemoveBelow",
        "RemoveEntries",
        "RemoveExpired",
    }
    assert sum(bool(getattr(row, "sources", ())) for row in rows) > 20


def test_a_failure_is_a_value():
    failure = LogFailure("rule", "why", ("log.get()",))
    assert str(failure) == "rule: why\n  1. log.get()"
    assert pickle.loads(pickle.dumps(failure)) == failure  # noqa: S301 - ours
    assert LogError([failure]).failures == (failure,)


# --- the model by itself --------------------------------------------------------------------------


def test_the_model_is_a_log_for_tests():
    log = MemoryLog()
    before = time.time_ns() // 1_000
    [outcome] = log.write([Put(A, b"x", ttl=3600)], depth=2, sync=False)
    assert before <= log.get(A).at <= time.time_ns() // 1_000
    assert log.version(A) == outcome.id
    assert log.holds(outcome.id)
    assert not log.holds(outcome.id + 1)
    assert log.erase(prefix=SPACE).records == 1
    log.write([Add(LIST, b"1"), Cut(LIST, 0), Patch(A, {}) if log.get(A) else RemoveBelow(SPACE)])
    assert log.entries(LIST) == ()


@pytest.mark.parametrize("make", [MemoryLog, lambda: Log(ColdStore.open(None))])
def test_a_key_has_at_most_32_parts_and_16_kib(make):
    log = make()
    for key in (("k",) * 32, ("k", "x" * (16 * 1_024 - 1))):
        log.write([Put(key, b"x")])
        assert log.get(key).payload == b"x"
    for key in (("k",) * 33, ("k", "x" * 16 * 1_024)):
        with pytest.raises(InvalidInputError, match="32 parts"):
            log.write([Put(key, b"x")])


def test_the_model_is_shared_by_threads_and_handles():
    log = MemoryLog()
    handles = [log, MemoryLog(log)]

    def add(handle):
        for _ in range(100):
            handle.write([Add(LIST, b"")])

    threads = [threading.Thread(target=add, args=(handle,)) for handle in handles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.entries(LIST)) == len(handles[1].entries(LIST)) == 200


def test_the_filter_of_the_model_is_naive():
    assert compare(2**53 + 1, float(2**53)) == 1
    assert compare(True, 1) is None
    assert compare(None, None) is None
    assert passes({"a": None, "not": {"b": {"gt": 1}}}, {})
