"""The log through Python: rows, conditions, pages, what comes back, what is refused."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest

from warmset.errors import Conflict, InvalidInputError, NotFound, NotPortable
from warmset.native import (
    Add,
    Cell,
    ColdStore,
    Cut,
    Entry,
    Listed,
    Log,
    Outcome,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
    Tail,
    Version,
    space,
)

SPACE = ("t", space("s"))
A, B, C = ((*SPACE, name) for name in "abc")
LIST = ("t", space("l"), "list")
TALK = ("t", "conversation")


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


def names(listed):
    return "".join(one.key[-1].decode() for one in listed)


def conflict(call):
    with pytest.raises(Conflict) as caught:
        call()
    return caught.value


# --- cells ----------------------------------------------------------------------------------------


def test_the_newest_version_wins_and_says_since_when_it_is(log):
    [first] = ids(log.write([Put(A, b"1", codec="one", own=b"beside")], now=5))
    assert log.version(A) == first
    [second] = ids(log.write([Put(A, b"2", columns={"n": 2}, expires=99)], now=7))
    cell = log.get(A, now=98)
    assert cell.key == (b"t", b"\xffs", b"a")
    assert (cell.version, cell.at, cell.born, cell.born_at) == (second, 7, first, 5)
    assert (cell.payload, cell.codec, cell.own, cell.columns) == (b"2", None, b"", {"n": 2})
    assert cell.expires == 99
    assert log.version(A, now=98) == second
    assert log.get(A, now=99) is None
    assert log.version(A, now=99) == 0


def test_what_lies_beside_a_payload_comes_back(log):
    log.write([Put(A, b"", codec="one", own=b"\0beside")])
    cell = log.get(A)
    assert (cell.codec, cell.own, cell.payload, cell.columns) == ("one", b"\0beside", b"", {})
    assert cell.expires is None


def test_rows_apply_in_order(log):
    log.write([Remove(A), Put(A, b"put")])
    assert payload(log, A) == b"put"
    log.write([Put(A, b"gone"), Remove(A)])
    assert payload(log, A) is None
    log.write([Put(A, b"patched"), Patch(A, {"n": 1}, expires=9)], now=0)
    cell = log.get(A, now=8)
    assert (cell.payload, cell.columns, cell.expires) == (b"patched", {"n": 1}, 9)


def test_a_patch_states_all_columns_and_names_a_version(log):
    [first] = ids(log.write([Put(A, b"kept", columns={"a": 1, "b": 2}, expires=9)], now=0))
    log.write([Patch(A, {"b": 3}, version=first)], now=0)
    cell = log.get(A, now=100)
    assert (cell.payload, cell.columns, cell.expires, cell.version) == (
        b"kept",
        {"b": 3},
        None,
        first,
    )
    error = conflict(lambda: log.write([Put(B, b"x"), Patch(A, {}, version=first + 77)]))
    assert (error.row, error.reason, error.current) == (1, "version", first)
    assert log.get(B) is None


def test_a_patch_of_what_is_absent_is_refused_with_all_of_its_batch(log):
    log.write([Put(A, b"x", expires=5)], now=0)
    for key in (A, B):
        with pytest.raises(NotFound, match="a Patch names a cell that is not there"):
            log.write([Put(C, b"no"), Patch(key, {})], now=5)
    assert log.get(C) is None


def test_if_present_says_what_a_put_does(log):
    [first] = ids(log.write([Put(A, b"1", if_present="fail")]))
    [outcome] = log.write([Put(A, b"2", if_present="skip")])
    assert outcome == Outcome("present", first)
    error = conflict(lambda: log.write([Add(LIST, b"x"), Put(A, b"2", if_present="fail")]))
    assert (error.row, error.key, error.reason, error.current) == (
        1,
        (b"t", b"\xffs", b"a"),
        "present",
        first,
    )
    assert "rows[1]" in str(error)
    assert payloads(log) == []
    assert payload(log, A) == b"1"
    log.write([Put(A, b"3", if_present="replace")])
    assert payload(log, A) == b"3"


def test_a_prefix_is_removed_with_its_cells_and_lists(log):
    log.write([Put(A, b"1"), Add((*SPACE, "list"), b"2"), Put(("t", space("other")), b"3")])
    log.write([RemoveBelow(SPACE)])
    assert log.get(A) is None
    assert log.tail((*SPACE, "list")) == 0
    assert payload(log, ("t", space("other"))) == b"3"


# --- conditions -----------------------------------------------------------------------------------


def test_a_condition_holds_or_nothing_is_written(log):
    [first] = ids(log.write([Put(A, b"1")], expect=[Version(A, 0), Tail(LIST, 0)]))
    [entry] = ids(log.write([Add(LIST, b"1")], expect=(Version(A, first), Tail(LIST, 0))))
    error = conflict(lambda: log.write([Put(A, b"2")], expect=[Version(A, entry)]))
    assert (error.row, error.reason, error.current) == (None, "version", first)
    assert "expect" in str(error)
    error = conflict(lambda: log.write([Put(A, b"2")], expect=[Tail(LIST, first)]))
    assert (error.row, error.key, error.reason, error.current) == (
        None,
        (b"t", b"\xffl", b"list"),
        "tail",
        entry,
    )
    error = conflict(lambda: log.write([], expect=[Version(B, 1)]))
    assert error.current is None
    assert payload(log, A) == b"1"
    log.write([Put(A, b"2")], expect=iter([Version(A, first), Tail(LIST, entry)]))
    assert payload(log, A) == b"2"


def test_conditions_and_skips_count_what_has_expired_as_absent(log):
    log.write([Put(A, b"1", ttl=timedelta(microseconds=10))], now=100)
    conflict(lambda: log.write([], expect=[Version(A, 0)], now=109))
    log.write([Put(A, b"2", if_present="fail")], expect=[Version(A, 0)], now=110)
    assert payload(log, A) == b"2"


# --- lists ----------------------------------------------------------------------------------------


def test_entries_come_in_order_a_page_at_a_time(log):
    all_ids = ids(log.write([Add(LIST, b"%d" % n) for n in range(5)]))
    assert payloads(log) == [b"0", b"1", b"2", b"3", b"4"]
    assert payloads(log, limit=2) == [b"0", b"1"]
    assert payloads(log, after=all_ids[1], limit=2) == [b"2", b"3"]
    assert payloads(log, reverse=True, limit=2) == [b"4", b"3"]
    assert payloads(log, reverse=True, after=all_ids[3]) == [b"2", b"1", b"0"]
    assert payloads(log, limit=0) == []
    assert log.tail(LIST) == all_ids[-1]
    assert log.tail(TALK) == 0


def test_a_page_has_a_thousand_rows_unless_another_limit_is_given(log):
    log.write(
        [Add(LIST, b"") for _ in range(1_001)] + [Put((*A, str(n)), b"") for n in range(1_001)]
    )
    assert len(log.entries(LIST)) == len(log.scan()) == len(log.spaces(depth=4)) == 1_000
    assert len(log.entries(LIST, limit=None)) == len(log.scan(limit=None)) == 1_001
    assert len(log.spaces(depth=4, limit=None)) == 1_001


def test_an_entry_has_what_it_was_given(log):
    [first, second] = ids(
        log.write(
            [
                Add(LIST, b"1"),
                Add(LIST, b"2", uid="ü", codec="c", columns={"n": None}, own=b"o", expires=9),
            ],
            now=3,
        )
    )
    one, two = log.entries(LIST, now=8)
    assert (one.id, one.parent, one.uid, one.codec, one.columns) == (first, 0, None, None, {})
    assert (two.id, two.parent, two.uid, two.at) == (second, first, "ü".encode(), 3)
    assert (two.codec, two.columns, two.own, two.expires) == ("c", {"n": None}, b"o", 9)
    assert payloads(log, now=9) == [b"1"]


@pytest.mark.parametrize("uid", ["name", b"name"])
def test_if_present_says_what_an_addition_does(log, uid):
    [first, _] = ids(log.write([Add(LIST, b"1", uid="name"), Add(LIST, b"2")]))
    assert log.write([Add(LIST, b"3", uid=uid, if_present="skip")]) == [Outcome("present", first)]
    error = conflict(lambda: log.write([Add(LIST, b"3", uid=uid, if_present="fail")]))
    assert (error.reason, error.current) == ("present", first)
    log.write([Add(LIST, b"3", uid=uid)])
    assert payloads(log) == [b"2", b"3"]


def test_a_list_is_cut_and_goes_on(log):
    first, second, third = ids(log.write([Add(LIST, b"%d" % n) for n in range(3)]))
    log.write([Cut(LIST, second), Add(LIST, b"other")], expect=[Tail(LIST, third)])
    assert payloads(log) == [b"0", b"1", b"other"]
    assert log.write([Cut(LIST, log.tail(LIST))]) == [Outcome("nothing")]
    error = conflict(lambda: log.write([Cut(LIST, third)]))
    assert (error.reason, error.current) == ("tail", log.tail(LIST))
    log.write([RemoveEntries(LIST, [first, second])])
    assert payloads(log) == [b"other"]
    log.write([Cut(LIST, 0)])
    assert payloads(log) == []


# --- scans ----------------------------------------------------------------------------------------


def test_cells_are_listed_in_three_orders(log):
    log.write([Put(B, b"1"), Put(A, b"1"), Put(C, b"1")])
    log.write([Put(B, b"2")])
    orders = {"key": "abc", "born": "bac", "changed": "acb"}
    for order, expected in orders.items():
        assert names(log.scan(SPACE, order=order)) == expected
        assert names(log.scan(SPACE, order=order, reverse=True)) == expected[::-1]
        for reverse in (False, True):
            rest = expected[::-1] if reverse else expected
            page = log.scan(SPACE, order=order, reverse=reverse, limit=1)
            assert names(page) == rest[:1]
            after = log.scan(SPACE, order=order, reverse=reverse, after=page[-1])
            assert names(after) == rest[1:]


def test_a_scan_is_of_what_lies_below_a_prefix_and_has_not_expired(log):
    log.write(
        [Put(A, b"", ttl=1), Put(B, b""), Put(("t", space("t"), "a"), b""), Add(LIST, b"")], now=0
    )
    assert names(log.scan(SPACE, now=999_999)) == "ab"
    assert names(log.scan(SPACE, now=1_000_000)) == "b"
    assert names(log.scan(now=0)) == "aba"
    assert names(log.scan(["t", b"\xffs", b"a"], now=0)) == "a"
    assert log.count(SPACE, now=999_999) == 2
    assert log.count(SPACE, now=1_000_000) == 1
    assert log.count(now=0) == 3


def test_a_row_of_a_scan_has_all_but_the_payload(log):
    [first] = ids(log.write([Put(A, b"1")], now=1))
    [second] = ids(log.write([Put(A, b"2", columns={"n": 1}, expires=100)], now=2))
    [one] = log.scan(now=3)
    assert (one.key, one.version, one.at, one.born, one.born_at, one.expires, one.columns) == (
        (b"t", b"\xffs", b"a"),
        second,
        2,
        first,
        1,
        100,
        {"n": 1},
    )


def test_spaces_are_the_beginnings_of_keys_of_cells_and_lists(log):
    log.write([Put(A, b""), Put(B, b""), Add(LIST, b""), Put(("u", space("s"), "x"), b"")])
    assert log.spaces(depth=1) == [(b"t",), (b"u",)]
    both = [(b"t", b"\xffl"), (b"t", b"\xffs")]
    assert log.spaces(("t",), depth=2) == both
    assert log.spaces(depth=2, limit=1) == both[:1]
    assert log.spaces(depth=2, after=both[0], limit=1) == both[1:]
    assert log.spaces(("t",), depth=2, after=both[1]) == []
    assert log.spaces(SPACE, depth=3) == [(*both[1], b"a"), (*both[1], b"b")]


# --- keys, times, codecs --------------------------------------------------------------------------


def test_a_text_in_a_key_counts_as_its_utf_8(log):
    log.write([Put(("t", space("ü"), "é"), b"x")])
    assert payload(log, [b"t", b"\xff\xc3\xbc", b"\xc3\xa9"]) == b"x"
    assert space("ü") == b"\xff\xc3\xbc"


def test_parts_of_keys_are_apart(log):
    keys = [(b"a", b"b"), (b"ab", b""), (b"a", b"", b"b"), (b"a\0", b"b"), (b"a", b"\0b")]
    keys += [("a ", "b"), ("A", "b"), (" a", "b")]
    log.write([Put(key, b"%d" % at) for at, key in enumerate(keys)])
    assert [payload(log, key) for key in keys] == [b"%d" % at for at in range(len(keys))]
    assert len({listed.key for listed in log.scan()}) == len(keys)


MOMENT = datetime(2026, 11, 23, 12, 0, 0, 123_457, tzinfo=timezone(timedelta(hours=5, minutes=30)))
MICROS = 1_795_415_400_123_457


def test_moments_are_microseconds_or_datetimes_with_a_zone(log):
    log.write([Put(A, b"", expires=MOMENT)], now=MOMENT - timedelta(microseconds=1))
    cell = log.get(A, now=MICROS - 1)
    assert (cell.at, cell.expires) == (MICROS - 1, MICROS)
    assert log.get(A, now=MOMENT) is None
    assert log.version(A, now=MOMENT) == log.count(now=MOMENT) == len(log.scan(now=MOMENT)) == 0
    assert log.version(A, now=MICROS - 1) == cell.version


@pytest.mark.parametrize(
    "moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)]
)
def test_the_first_and_the_last_datetime_come_back(log, moment):
    log.write([Put(A, b"", columns={"at": moment})])
    assert log.get(A).columns == {"at": moment}


@pytest.mark.parametrize(
    ("ttl", "micros"),
    [(3, 3_000_000), (0.5, 500_000), (timedelta(days=2, microseconds=1), 172_800_000_001)],
)
def test_a_time_to_live_counts_from_the_batch_s_clock(log, ttl, micros):
    log.write([Put(A, b"", ttl=ttl), Add(LIST, b"", ttl=ttl)], now=-7)
    assert log.get(A, now=0).expires == log.entries(LIST, now=0)[0].expires == micros - 7
    log.write([Patch(A, {}, ttl=ttl)], now=0)
    assert log.get(A, now=0).expires == micros


def test_the_clock_is_the_wall_clock(log):
    before = datetime.now(UTC)
    log.write([Put(A, b"", ttl=3600), Put(B, b"", expires=before)])
    after = datetime.now(UTC)
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=log.get(A).at)
    assert before <= at <= after
    assert log.get(B) is None
    assert names(log.scan()) == "a"


# --- objects --------------------------------------------------------------------------------------


def some(log):
    """One object of each class, and what its repr is."""
    columns = {"n": 1, "at": MOMENT, "l": ["x", None, 2.5]}
    log.write([Put(A, b"abc", columns=columns, codec="c", own=b"o", expires=2**60)], now=5)
    log.write([Add(LIST, b"abcd", columns=columns, uid=b"u", expires=2**60)], now=5)
    key = r"(b't', b'\xffs', b'a')"
    return {
        f"Cell({key}, version=1, 3 bytes)": log.get(A, now=5),
        f"Listed({key}, version=1)": log.scan(now=5)[0],
        "Entry(2, 4 bytes)": log.entries(LIST, now=5)[0],
        "Outcome('written', 7)": Outcome("written", 7),
        "Outcome('nothing')": Outcome("nothing"),
        "Outcome('present', 7)": Outcome("present", 7),
    }


def test_what_comes_back_is_compared_shown_pickled_and_hashed(log):
    found = some(log)
    again = some(log)  # a new version, so other cells and entries
    for shown, one in found.items():
        assert repr(one) == shown
        for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):  # noqa: S301 - ours
            assert type(same) is type(one)
            assert same == one
            assert hash(same) == hash(one)
        assert (one == again.get(shown)) is isinstance(one, Outcome)
        assert one != shown
    assert len({*found.values(), *found.values()}) == len(found)
    kinds = {type(one) for one in found.values()}
    assert kinds == {Cell, Listed, Entry, Outcome}


def test_a_long_key_is_shown_short(log):
    log.write([Put((*A, "x" * 5_000), b"")])
    [one] = log.scan()
    assert len(repr(one)) < 120
    assert len(repr(log.get(one.key))) < 120


def test_an_outcome_is_matched_by_its_status(log):
    match log.write([Put(A, b"")])[0]:
        case Outcome("written", id_):
            assert id_ == log.version(A)
        case _:
            pytest.fail("no match")


def test_what_comes_back_cannot_be_changed(log):
    for one in some(log).values():
        for name in ("id", "version", "payload", "status"):
            if hasattr(one, name):
                with pytest.raises(AttributeError):
                    setattr(one, name, 1)
    cell = log.get(A, now=5)
    cell.columns["n"] = 2
    assert cell.columns["n"] == 1


def test_rows_are_values():
    assert Put(A, b"1") == Put(A, b"1") != Put(A, b"2")
    assert hash(Version(A, 1)) == hash(Version(A, 1))
    for row in (Put(A, b"", ttl=3), Add(LIST, b""), Patch(A, {}), Cut(LIST, 3), Tail(LIST, 0)):
        assert pickle.loads(pickle.dumps(row)) == row  # noqa: S301 - ours
    with pytest.raises(AttributeError):
        Put(A, b"").payload = b"x"
    with pytest.raises(TypeError):
        Put(A, b"", "codec")


def test_a_subclass_of_a_row_is_one(log):
    class Note(Put):
        pass

    log.write([Note(A, b"x")])
    assert payload(log, A) == b"x"


def test_a_log_pickles_with_its_store(tmp_path, log):
    with ColdStore.open(tmp_path) as store:
        one = Log(store)
        assert one.store is store
        assert repr(one) == f"Log({store!r})"
        one.write([Put(A, b"x")])
        again = pickle.loads(pickle.dumps(one))  # noqa: S301 - ours
        assert payload(again, A) == b"x"
        again.store.close()
    with pytest.raises(NotPortable):
        pickle.dumps(log)


def test_a_store_is_open_as_long_as_its_log(tmp_path):
    log = Log(ColdStore.open(tmp_path))
    log.write([Put(A, b"x")])
    assert payload(log, A) == b"x"


def test_what_was_made_from_an_erased_record_is_erased(log):
    [source] = log.store.append([("turn", [b"t", b"conversation"], b"", b"said")])
    log.write([Put(A, b"of it", sources=[source]), Add(LIST, b"of it", sources=(source,))])
    assert log.store.erase(records=[source]).derived == 2
    assert log.get(A) is None
    assert payloads(log) == []


def test_limits_of_the_core_are_errors_of_input(log):
    for rows in (
        [Put((), b"")],
        [Put(("t",) * 33, b"")],
        [Put(("t", "x" * (16 << 10)), b"")],
        [Put(A, b"", codec="x" * 256)],
        [Put(A, b"", own=bytes((1 << 20) + 1))],
        [Add(LIST, b"", uid=bytes(1025))],
    ):
        with pytest.raises(InvalidInputError):
            log.write(rows)
    with pytest.raises(InvalidInputError, match="depth"):
        log.write([Put(A, b"")], depth=16)
    assert log.store.stats()["records"] == 0


def test_a_batch_waits_for_the_disk_unless_it_need_not(tmp_path):
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        [first] = ids(log.write([Put(A, b"1")]))
        assert store.durable_seq() == first
        [second] = ids(log.write([Put(A, b"2")], sync=False))
        assert store.durable_seq() == first
        [third] = ids(log.write([Put(A, b"3")], sync=True))
        assert store.durable_seq() == third > second
