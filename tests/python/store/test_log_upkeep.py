"""Erasing from a log, what expires, compaction, and batches that are written once."""

from __future__ import annotations

import pytest
from cold_rows import segments

from warmset.errors import Conflict
from warmset.native import (
    Add,
    ColdStore,
    Log,
    Outcome,
    Patch,
    Put,
    Remove,
    RemoveExpired,
    Tail,
    Version,
    space,
)
from warmset.receipts import ErasureResult, RewriteResult

SPACE = ("t", space("s"))
A, B, C = ((*SPACE, name) for name in "abc")
OTHER = ("u", space("s"), "a")
LIST = ("t", space("l"), "list")


@pytest.fixture
def log():
    with ColdStore.open(None) as store:
        yield Log(store)


def ids(outcomes):
    assert {outcome.status for outcome in outcomes} == {"written"}
    return [outcome.id for outcome in outcomes]


def payload(log, key, **options):
    cell = log.get(key, **options)
    return None if cell is None else cell.payload


def payloads(log, list_=LIST, **options):
    return [entry.payload for entry in log.entries(list_, **options)]


# --- erasing --------------------------------------------------------------------------------------


def test_a_prefix_is_erased_with_what_was_made_from_it(log):
    [source, entry, _] = ids(
        log.write([Put(A, b"said"), Add((*SPACE, "l"), b"said"), Put(B, b"said, too")])
    )
    [first] = ids(log.write([Put(OTHER, b"of it", sources=[source])]))
    log.write([Put(C, b"x"), Add(LIST, b"of that", sources=[first]), Add(LIST, b"kept")])
    log.write([Add(LIST, b"of an entry", sources=(entry,))])
    assert log.erase(prefix=["t", b"\xffs"]) == ErasureResult(4, 3, 0)
    assert [log.get(key) for key in (A, B, C, OTHER)] == [None] * 4
    assert payloads(log) == [b"kept"]
    assert log.erase(prefix=SPACE).records == 0


def test_a_version_is_erased_with_all_older_ones(log):
    [first] = ids(log.write([Put(A, b"1")]))
    [second] = ids(log.write([Put(A, b"2")]))
    log.write([Put(B, b"of the first", sources=[first])])
    assert log.erase(ids=[second]) == ErasureResult(1, 2, 0)
    assert log.get(A) is None
    assert log.get(B) is None
    [third] = ids(log.write([Put(A, b"3", if_present="fail")], expect=[Version(A, 0)]))
    assert log.get(A).born == third


def test_erasing_an_older_version_leaves_the_newest(log):
    [first] = ids(log.write([Put(A, b"1")]))
    log.write([Put(A, b"2")])
    assert log.erase(ids=[first]).records == 1
    assert payload(log, A) == b"2"


def test_an_erased_entry_leaves_those_beside_it(log):
    first, second, third = ids(log.write([Add(LIST, b"%d" % n) for n in range(3)]))
    assert log.erase(ids=(second,)) == ErasureResult(1, 0, 0)
    assert [(one.id, one.parent) for one in log.entries(LIST)] == [(first, 0), (third, first)]
    assert log.tail(LIST) == third
    log.write([Add(LIST, b"more")], expect=[Tail(LIST, third)])


def test_an_id_that_was_not_given_yet_is_not_erased_beforehand(log):
    [first] = ids(log.write([Put(A, b"1")]))
    assert log.erase(ids=[first + 2, first + 9]) == ErasureResult(0, 0, 0)
    later = ids(log.write([Put((*SPACE, str(n)), b"2") for n in range(9)]))
    assert later[-1] >= first + 9
    assert log.count(SPACE) == 10


def test_an_encryption_key_goes_with_its_prefix(tmp_path):
    with ColdStore.open(tmp_path, encryption="keys") as store:
        log = Log(store)
        log.write([Put(A, b"1"), Put(OTHER, b"2")])
        assert log.erase(prefix=SPACE) == ErasureResult(1, 0, 1)
        assert payload(log, OTHER) == b"2"
        log.write([Put((*SPACE, "one", "x"), b"1"), Put((*SPACE, "two", "x"), b"2")], depth=3)
        assert log.erase(prefix=(*SPACE, "one")).keys == 1
        assert payload(log, (*SPACE, "two", "x")) == b"2"


# --- what expires ---------------------------------------------------------------------------------


def test_what_has_expired_is_removed_by_a_row(log):
    log.write([Put(A, b"", expires=10), Add(LIST, b"1", expires=10), Add(LIST, b"2")], now=0)
    rows = [RemoveExpired(A), RemoveExpired(LIST), RemoveExpired(B)]
    assert log.write(rows, now=9) == [Outcome("nothing")] * 3
    cell, entries, nothing = log.write(rows, now=10)
    assert (cell.status, entries.status, nothing.status) == ("written", "written", "nothing")
    # A clock that goes back brings nothing back.
    assert log.get(A, now=0) is None
    assert payloads(log, now=0) == [b"2"]


def test_a_sweep_removes_what_has_expired_and_counts_keys(log):
    log.write([Put(A, b"", expires=10), Put(B, b"", expires=11), Put(C, b"")], now=0)
    log.write([Add(LIST, b"1", expires=10), Add(LIST, b"2", expires=10)], now=0)
    log.write([Put(OTHER, b"", sources=[log.version(A, now=0)])], now=0)
    assert log.sweep(now=9) == 0
    assert log.sweep(now=10) == 2
    assert log.sweep(now=10) == 0
    assert [log.version(key, now=0) > 0 for key in (A, B, C, OTHER)] == [False, True, True, False]
    assert log.tail(LIST) == 0
    assert log.sweep() == 1


def test_a_renewed_cell_survives_a_sweep(log):
    log.write([Put(A, b"", expires=10), Put(B, b"", expires=10)], now=0)
    log.write([Patch(A, {}, expires=20), Put(B, b"")], now=0)
    assert log.sweep(now=10) == 0
    assert log.sweep(now=20) == 1
    assert log.get(B) is not None


# --- compaction -----------------------------------------------------------------------------------


def test_a_compaction_leaves_what_is_shown(tmp_path):
    with ColdStore.open(tmp_path, segment_bytes=4096, durability="os") as store:
        log = Log(store)
        for n in range(200):
            log.write([Put(A, b"superseded %3d" % n), Add(LIST, b"%d" % n)])
        log.write([Put(B, b"expired", expires=10), Put(C, b"removed")], now=0)
        log.write([Remove(C)])
        for n in range(40):
            log.write([Put((*SPACE, str(n)), bytes(100))])
        before = sum(path.stat().st_size for path in segments(tmp_path))
        found = log.compact(now=10)
        assert type(found) is RewriteResult
        assert found.segments > 0
        assert found.records > 150
        assert found.bytes > 4096
        assert sum(path.stat().st_size for path in segments(tmp_path)) < before
        held = b"".join(path.read_bytes() for path in segments(tmp_path))
        assert b"superseded   1" not in held
        assert b"expired" not in held
        assert payload(log, A) == b"superseded 199"
        assert payloads(log) == [b"%d" % n for n in range(200)]
        assert store.verify()["damages"] == []
        again = log.compact()
        assert again.records == 0


def test_a_compaction_takes_the_bytes_of_what_was_erased(tmp_path):
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        log.write([Put(A, b"a secret")])
        log.erase(prefix=A)
        log.compact()
        assert not any(b"a secret" in path.read_bytes() for path in segments(tmp_path))


# --- named batches --------------------------------------------------------------------------------


@pytest.mark.parametrize("again", ["name", b"name"])
def test_a_named_batch_is_written_once(log, again):
    rows = [Put(A, b"1"), Add(LIST, b"1"), Put(B, b"1", if_present="skip"), Remove(C)]
    first = log.write(rows, once="name")
    log.write([Put(A, b"2")])
    assert log.write(rows, once=again, expect=[Version(A, 0)]) == first
    assert payload(log, A) == b"2"
    assert payloads(log) == [b"1"]
    assert [one.status for one in first] == ["written", "written", "written", "nothing"]


def test_other_rows_by_the_same_name_are_a_conflict(log):
    log.write([Put(A, b"1")], once="name")
    with pytest.raises(Conflict) as caught:
        log.write([Put(A, b"2")], once="name")
    assert (caught.value.row, caught.value.reason) == (None, "once")
    assert payload(log, A) == b"1"
    # It is a name of those whose the first row is.
    log.write([Put(OTHER, b"2")], once="name")
    log.write([Put((*SPACE, "x", "y"), b"2")], once="name", depth=3)


def test_a_name_is_known_for_a_day(log):
    day = 24 * 60 * 60 * 1_000_000
    log.write([Add(LIST, b"1")], once="name", now=0)
    log.write([Add(LIST, b"1")], once="name", now=day - 1)
    assert payloads(log) == [b"1"]
    log.write([Add(LIST, b"1")], once="name", now=day)
    assert payloads(log) == [b"1", b"1"]


def test_a_name_is_known_to_other_handles(tmp_path):
    with ColdStore.open(tmp_path) as one, ColdStore.open(tmp_path) as other:
        first = Log(one).write([Add(LIST, b"1")], once="name")
        assert Log(other).write([Add(LIST, b"1")], once="name") == first
