"""What is no argument of a log's call is refused by name, and nothing is written."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from warmset.errors import InvalidInputError
from warmset.native import (
    Add,
    ColdStore,
    Cut,
    Log,
    Outcome,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
    RemoveExpired,
    Tail,
    Version,
    space,
)

KEY = ("t", space("s"), "a")
LONE = "\ud800"
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - on purpose
NO_KEYS = [
    "ta",
    b"ta",
    None,
    5,
    {"t"},
    {"t": 1},
    ("t", None),
    ("t", 3),
    ("t", LONE),
    (bytearray(),),
]
NO_IDS = [-1, 2**64, 1.0, True, "1", b"1"]
NO_MOMENTS = [NAIVE, 2**63, 1.0, True, "now", timedelta(1)]
NO_DURATIONS = [0, -1, 0.0, True, "3", float("nan"), float("inf"), 1e300, timedelta(0), NAIVE]


@pytest.fixture
def log():
    with ColdStore.open(None) as store:
        yield Log(store)


def refused(call, name):
    """The call is refused with that name at the beginning of the message."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(name)}: expected ") as caught:
        call()
    return str(caught.value)


def not_written(log, row, field):
    good = Put(KEY, b"good")
    refused(lambda: log.write([good, row]), f"rows[1].{field}")
    assert log.get(KEY) is None


@pytest.mark.parametrize("store", [None, "path", b"", ...], ids=repr)
def test_a_log_is_of_a_store(store):
    assert "found" in refused(lambda: Log(store), "store")


@pytest.mark.parametrize("rows", [None, 5, "ab", ...], ids=repr)
def test_rows_are_a_sequence(rows, log):
    refused(lambda: log.write(rows), "rows")
    refused(lambda: log.write([], expect=rows), "expect")


@pytest.mark.parametrize("row", [None, (), "a", b"a", {}, Put, Version(KEY, 1)], ids=repr)
def test_a_row_is_of_one_of_the_classes(row, log):
    found = refused(lambda: log.write([Put(KEY, b""), row]), "rows[1]")
    assert "Put, Add, Patch, Cut, Remove, RemoveBelow, RemoveExpired, RemoveEntries" in found
    assert log.get(KEY) is None


@pytest.mark.parametrize("one", [None, (), KEY, Put(KEY, b""), Version], ids=repr)
def test_a_condition_is_of_one_of_the_classes(one, log):
    refused(lambda: log.write([], expect=[Version(KEY, 0), one]), "expect[1]")


@pytest.mark.parametrize("key", NO_KEYS, ids=ascii)
def test_a_key_is_a_sequence_of_parts(key, log):
    fields = {
        "key": [Put(key, b""), Patch(key, {}), Remove(key), RemoveExpired(key)],
        "list": [Add(key, b""), Cut(key, 0), RemoveEntries(key, [])],
        "prefix": [RemoveBelow(key)],
    }
    for field, rows in fields.items():
        for row in rows:
            not_written(log, row, field)
    refused(lambda: log.write([], expect=[Version(key, 0)]), "expect[0].key")
    refused(lambda: log.write([], expect=[Tail(key, 0)]), "expect[0].list")
    refused(lambda: log.get(key), "key")
    refused(lambda: log.version(key), "key")
    refused(lambda: log.tail(key), "list")
    refused(lambda: log.entries(key), "list")
    refused(lambda: log.scan(key), "prefix")
    refused(lambda: log.count(key), "prefix")
    refused(lambda: log.spaces(key, depth=2), "prefix")
    refused(lambda: log.follow(prefix=key), "prefix")
    if key is not None:
        refused(lambda: log.spaces(depth=2, after=key), "after")
        refused(lambda: log.erase(prefix=key), "prefix")


@pytest.mark.parametrize(
    "given", ["text", None, bytearray(b"x"), pytest.param(memoryview(b"x"), id="view"), 5], ids=repr
)
def test_payloads_and_bytes_beside_them_are_bytes(given, log):
    for row in (Put(KEY, given), Add(KEY, given)):
        not_written(log, row, "payload")
    for row in (Put(KEY, b"", own=given), Add(KEY, b"", own=given)):
        not_written(log, row, "own")


@pytest.mark.parametrize("codec", [b"json", 5, LONE, ("json",)], ids=ascii)
def test_a_codec_is_a_text(codec, log):
    for row in (Put(KEY, b"", codec=codec), Add(KEY, b"", codec=codec)):
        not_written(log, row, "codec")


@pytest.mark.parametrize("uid", [5, LONE, ("a",), bytearray(b"x")], ids=ascii)
def test_a_uid_is_bytes_or_a_text(uid, log):
    not_written(log, Add(KEY, b"", uid=uid), "uid")


@pytest.mark.parametrize("word", ["Replace", "", None, 1, b"skip", True], ids=repr)
def test_if_present_is_one_of_three_words(word, log):
    for row in (Put(KEY, b"", if_present=word), Add(KEY, b"", if_present=word)):
        not_written(log, row, "if_present")


@pytest.mark.parametrize("moment", NO_MOMENTS, ids=repr)
def test_a_moment_has_a_zone_or_is_a_number(moment, log):
    for row in (Put(KEY, b"", expires=moment), Add(KEY, b"", expires=moment)):
        not_written(log, row, "expires")
    not_written(log, Patch(KEY, {}, expires=moment), "expires")
    for call in (
        lambda: log.write([], now=moment),
        lambda: log.get(KEY, now=moment),
        lambda: log.version(KEY, now=moment),
        lambda: log.entries(KEY, now=moment),
        lambda: log.scan(now=moment),
        lambda: log.count(now=moment),
        lambda: log.sweep(now=moment),
        lambda: log.compact(now=moment),
    ):
        refused(call, "now")


@pytest.mark.parametrize("ttl", NO_DURATIONS, ids=repr)
def test_a_time_to_live_is_more_than_nothing(ttl, log):
    for row in (Put(KEY, b"", ttl=ttl), Add(KEY, b"", ttl=ttl), Patch(KEY, {}, ttl=ttl)):
        not_written(log, row, "ttl")


def test_a_row_expires_in_one_way_only(log):
    for row in (Put(KEY, b"", ttl=1, expires=1), Patch(KEY, {}, ttl=1, expires=1)):
        not_written(log, row, "ttl")


@pytest.mark.parametrize("id_", NO_IDS, ids=repr)
def test_ids_are_integers(id_, log):
    not_written(log, Cut(KEY, id_), "after")
    not_written(log, RemoveEntries(KEY, [1, id_]), "ids")
    not_written(log, Patch(KEY, {}, version=id_), "version")
    not_written(log, Put(KEY, b"", sources=[id_]), "sources")
    not_written(log, Add(KEY, b"", sources=[id_]), "sources")
    refused(lambda: log.write([], expect=[Version(KEY, id_)]), "expect[0].id")
    refused(lambda: log.write([], expect=[Tail(KEY, id_)]), "expect[0].id")
    refused(lambda: log.entries(KEY, after=id_), "after")
    refused(lambda: log.erase(ids=[id_]), "ids")


@pytest.mark.parametrize("id_", [None, [1]], ids=repr)
def test_a_condition_has_an_id(id_, log):
    refused(lambda: log.write([], expect=[Version(KEY, id_)]), "expect[0].id")
    not_written(log, Cut(KEY, id_), "after")


@pytest.mark.parametrize("ids", [None, 5, "12", b"\1", {1}], ids=repr)
def test_several_ids_are_a_sequence(ids, log):
    not_written(log, RemoveEntries(KEY, ids), "ids")
    not_written(log, Put(KEY, b"", sources=ids), "sources")


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        (5, ""),
        ([("a", 1)], ""),
        ("a", ""),
        ({1: 2}, ""),
        ({b"a": 2}, ""),
        ({LONE: 2}, ""),
        ({"": 2}, ""),
        ({"x" * 256: 2}, ""),
        ({"a": 1, "big": "x" * (64 << 10)}, ""),
        ({"a": b"bytes"}, '["a"]'),
        ({"a": {}}, '["a"]'),
        ({"a": {1}}, '["a"]'),
        ({"a": Decimal(1)}, '["a"]'),
        ({"a": ...}, '["a"]'),
        ({"a": 2**63}, '["a"]'),
        ({"a": -(2**63) - 1}, '["a"]'),
        ({"a": float("nan")}, '["a"]'),
        ({"a": NAIVE}, '["a"]'),
        ({"a": LONE}, '["a"]'),
        ({"a": [1, b""]}, '["a"][1]'),
        ({"a": [1, [2]]}, '["a"][1]'),
        ({"a": (float("nan"),)}, '["a"][0]'),
        ({"a": [NAIVE]}, '["a"][0]'),
    ],
    ids=lambda one: ascii(one)[:40],
)
def test_columns_hold_what_can_be_compared(columns, where, log):
    for row in (Put(KEY, b"", columns=columns), Add(KEY, b"", columns=columns)):
        not_written(log, row, f"columns{where}")
    not_written(log, Patch(KEY, columns), f"columns{where}")


def test_a_patch_has_columns(log):
    not_written(log, Patch(KEY, None), "columns")


DEEP = {"a": 1}
for _ in range(31):
    DEEP = {"not": DEEP}
SELF = {}
SELF["not"] = SELF


@pytest.mark.parametrize(
    ("where", "path"),
    [
        (5, ""),
        ([], ""),
        ("a", ""),
        ({1: 2}, ""),
        ({LONE: 2}, ""),
        ({"$nor": []}, '["$nor"]'),
        ({"$a": 1}, '["$a"]'),
        ({"a": {}}, '["a"]'),
        ({"a": b""}, '["a"]'),
        ({"a": float("nan")}, '["a"]'),
        ({"a": NAIVE}, '["a"]'),
        ({"a": {"gtee": 1}}, '["a"]["gtee"]'),
        ({"a": {"$regex": "x"}}, '["a"]["$regex"]'),
        ({"a": {"not": {"eq": 1}}}, '["a"]["not"]'),
        ({"a": {3: 1}}, '["a"]'),
        ({"a": {"lt": {}}}, '["a"]["lt"]'),
        ({"a": {"gte": 2**63}}, '["a"]["gte"]'),
        ({"a": {"in": 1}}, '["a"]["in"]'),
        ({"a": {"in": "ab"}}, '["a"]["in"]'),
        ({"a": {"nin": {"b": 1}}}, '["a"]["nin"]'),
        ({"a": {"in": [1, b""]}}, '["a"]["in"][1]'),
        ({"a": {"exists": 1}}, '["a"]["exists"]'),
        ({"a": {"exists": None}}, '["a"]["exists"]'),
        ({"a": {"contains": [1]}}, '["a"]["contains"]'),
        ({"a": 1, "and": {"b": 1}}, '["and"]'),
        ({"or": [{"a": 1}, {"b": {"x": 1}}]}, '["or"][1]["b"]["x"]'),
        ({"and": [{"a": 1}, 5]}, '["and"][1]'),
        ({"not": [{"a": 1}]}, '["not"]'),
        ({"not": {"not": {"a": {"x": 1}}}}, '["not"]["not"]["a"]["x"]'),
        ({"not": DEEP}, ""),
        (SELF, ""),
    ],
    ids=lambda one: ascii(one)[:40],
)
def test_an_error_in_where_names_its_place(where, path, log):
    refused(lambda: log.scan(where=where), f"where{path}")
    refused(lambda: log.count(where=where), f"where{path}")


def test_conditions_lie_32_deep_at_most(log):
    log.write([Put(KEY, b"", columns={"a": 1})])
    assert log.count(where=DEEP) == 0
    assert log.count(where=DEEP["not"]) == 1


@pytest.mark.parametrize("limit", [-1, 1.0, "5", True], ids=repr)
def test_a_limit_is_a_number_of_rows(limit, log):
    refused(lambda: log.entries(KEY, limit=limit), "limit")
    refused(lambda: log.scan(limit=limit), "limit")
    refused(lambda: log.spaces(depth=1, limit=limit), "limit")
    refused(lambda: log.follow(limit=limit), "limit")


@pytest.mark.parametrize("word", ["Key", "", None, 1, b"key"], ids=repr)
def test_an_order_is_one_of_three_words(word, log):
    refused(lambda: log.scan(order=word), "order")


@pytest.mark.parametrize("flag", [1, None, "no"], ids=repr)
def test_a_flag_is_a_truth_value(flag, log):
    refused(lambda: log.scan(reverse=flag), "reverse")
    refused(lambda: log.entries(KEY, reverse=flag), "reverse")
    refused(lambda: log.write([Put(KEY, b"")], sync=flag), "sync")
    refused(lambda: log.write([Put(KEY, b"")], spool=flag), "spool")
    assert log.get(KEY) is None


@pytest.mark.parametrize("after", [KEY, 5, Outcome("nothing")], ids=repr)
def test_a_scan_goes_on_after_what_it_listed(after, log):
    refused(lambda: log.scan(after=after), "after")


@pytest.mark.parametrize("depth", [-1, 0, 33, 1.0, "2", None, True], ids=repr)
def test_spaces_have_a_number_of_parts(depth, log):
    refused(lambda: log.spaces(depth=depth), "depth")


def test_spaces_are_no_shorter_than_their_prefix(log):
    log.write([Put(KEY, b"")])
    refused(lambda: log.spaces(KEY, depth=2), "depth")
    assert len(log.spaces(KEY, depth=3)) == 1


@pytest.mark.parametrize("depth", [-1, 16, 256, 1.0, "2", None, True], ids=repr)
def test_the_depth_of_a_batch_is_a_number_of_parts(depth, log):
    refused(lambda: log.write([Put(KEY, b"")], depth=depth), "depth")
    assert log.get(KEY) is None


@pytest.mark.parametrize("name", ["", None, b"x", 5, LONE], ids=ascii)
def test_a_space_has_a_name(name):
    refused(lambda: space(name), "name")


@pytest.mark.parametrize(
    ("status", "id_", "name"),
    [
        ("done", 1, "status"),
        (None, 1, "status"),
        ("written", None, "id"),
        ("written", -1, "id"),
        ("present", "1", "id"),
        ("nothing", 1, "id"),
    ],
)
def test_an_outcome_is_one_of_three(status, id_, name):
    refused(lambda: Outcome(status, id_), name)


@pytest.mark.parametrize("once", ["", b"", "x" * 1025, 5, LONE, ("a",), bytearray(b"x")], ids=ascii)
def test_the_name_of_a_batch_is_bytes_or_a_text(once, log):
    refused(lambda: log.write([Put(KEY, b"")], once=once), "once")
    assert log.get(KEY) is None


def test_a_batch_with_a_name_has_rows(log):
    refused(lambda: log.write([], once="name"), "once")


def test_what_is_erased_is_named_in_one_way(log):
    log.write([Put(KEY, b"")])
    for options in ({}, {"prefix": KEY, "ids": [1]}):
        refused(lambda options=options: log.erase(**options), "erase")
    for options in ({"prefix": ()}, {"ids": []}):
        with pytest.raises(InvalidInputError):
            log.erase(**options)
    assert log.get(KEY) is not None


@pytest.mark.parametrize("ids", [5, "12", b"\1", {1}], ids=repr)
def test_what_is_erased_is_a_sequence_of_ids(ids, log):
    refused(lambda: log.erase(ids=ids), "ids")


@pytest.mark.parametrize("position", [5, "x", (), bytearray(32), b"", bytes(31), bytes(33)])
def test_a_position_is_bytes_that_the_log_gave(position, log):
    refused(lambda: log.follow(position), "position")


@pytest.mark.parametrize("id_", NO_IDS, ids=repr)
def test_what_a_change_covers_has_an_id_and_a_key(id_, log):
    log.write([Put(KEY, b"")])
    [change] = log.follow().changes
    refused(lambda: change.covers(id_, KEY), "id")
    refused(lambda: change.covers(1, "key"), "key")


def test_an_error_of_what_was_given_is_its_own(log):
    def rows():
        yield Put(KEY, b"")
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        log.write(rows())
    assert log.get(KEY) is None
