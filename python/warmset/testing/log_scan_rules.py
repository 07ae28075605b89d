"""The rules of keys, scans and conditions on columns."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from warmset.store.rows import Add, Patch, Put, RemoveBelow
from warmset.testing.log_stage import ids, last_parts, payload, same

if TYPE_CHECKING:
    from warmset.testing.log_stage import Stage

SPACE = ("t", b"\xffs")
NOON = datetime(2026, 11, 23, 12, 0, 0, 123_457, tzinfo=UTC)

VALUES: dict[str, Any] = {
    "null": None,
    "false": False,
    "true": True,
    "one": 1,
    "1.0": 1.0,
    "two": 2,
    "2.5": 2.5,
    "-inf": -math.inf,
    "big": 2**53 + 1,
    "big.0": float(2**53),
    "most": 2**63 - 1,
    "'1'": "1",
    "b": "b",
    "ü": "ü",
    "noon": NOON,
    "later": NOON + timedelta(microseconds=1),
    "[]": [],
    "[1]": [1],
    "[1, null]": [1, None],
    "['b', 1]": ["b", 1],
}
"""Values of a column, by the names of cells."""


def parts_of_keys_are_apart(stage: Stage) -> None:
    """Keys are equal if all parts are; a text is its UTF-8."""
    log = stage.log()
    keys = [("a", "b"), ("ab", ""), ("ab",), ("a", "", "b"), ("a\0", "b"), ("a", "\0b"), ("A", "b")]
    ids(log.write([Put(key, b"%d" % at) for at, key in enumerate(keys)], now=0))
    found = [payload(log, key, now=0) for key in keys]
    same(found, [b"%d" % at for at in range(len(keys))], "payloads by key")
    ids(log.write([Put(("ü", b"x"), b"text")], now=0))
    same(payload(log, [b"\xc3\xbc", "x"], now=0), b"text", "a key in bytes and in text")


def keys_are_in_the_order_of_their_parts(stage: Stage) -> None:
    """Keys compare part by part, bytewise; a shorter one comes first."""
    log = stage.log()
    keys = sorted(
        [
            (b"t",),
            (b"t", b""),
            (b"t", b"", b"z"),
            (b"t", b"\0"),
            (b"t", b"\0\xff"),
            (b"t", b"\1"),
            (b"t", b"a", b"z"),
            (b"t", b"a\0"),
            (b"t", b"a\0", b"b"),
            (b"t", b"a\1"),
            (b"t", b"aa"),
            (b"t", b"\xff"),
            (b"t", b"\xff", b"a"),
            (b"t", b"\xff\xff"),
            (b"t\0", b"a"),
            (b"u",),
        ]
    )
    shuffled = [*keys[1::2], *reversed(keys[::2])]
    ids(log.write([Put(key, b"") for key in shuffled], now=0))
    same([one.key for one in log.scan(now=0)], keys, "keys of a scan")
    same([one.key for one in log.scan(now=0, reverse=True)], keys[::-1], "keys of a reverse scan")
    below = [key for key in keys if key[:2] == (b"t", b"a\0")]
    same([one.key for one in log.scan(("t", "a\0"), now=0)], below, "keys below a prefix")
    same(log.count((b"t", b"\xff"), now=0), 2, "cells below a prefix")
    same(log.count(("t", "nothing"), now=0), 0, "cells below a prefix without any")


def a_scan_has_three_orders_and_pages(stage: Stage) -> None:
    """Cells come by key, by birth and by change, both ways, page after page."""
    log = stage.log()
    ids(log.write([Put((*SPACE, name), b"1") for name in "dbca"], now=9))
    ids(log.write([Put((*SPACE, name), b"2") for name in "bd"], now=5))
    ids(log.write([Patch((*SPACE, "c"), {})], now=7))
    orders = {"key": b"abcd", "born": b"dbca", "changed": b"cabd"}
    for order, text in orders.items():
        for reverse in (False, True):
            wanted = [bytes([one]) for one in (text[::-1] if reverse else text)]
            for limit in (1, 2, 3, None):
                seen: list[Any] = []
                while len(seen) <= len(wanted):
                    after = seen[-1] if seen else None
                    options = {"order": order, "reverse": reverse, "limit": limit}
                    page = log.scan(SPACE, after=after, now=9, **options)
                    if not page:
                        break
                    seen += page[: limit if limit is not None else None]
                same(last_parts(seen), wanted, f"order={order!r}, reverse={reverse}, limit={limit}")
    same(list(log.scan(SPACE, limit=0, now=9)), [], "a page of none")
    same(last_parts(log.scan(SPACE, limit=2, now=9)), [b"a", b"b"], "the first page")


def columns_come_back_with_their_types(stage: Stage) -> None:
    """A value comes back as it was given: a float is no int, a bool no number."""
    log = stage.log()
    ids(log.write([Put((*SPACE, "x"), b"", columns=VALUES)], now=0))
    for found in (log.get((*SPACE, "x"), now=0).columns, log.scan(now=0)[0].columns):
        same(sorted(found), sorted(VALUES), "names of columns")
        for name, value in VALUES.items():
            same(found[name], value, f"the column {name!r}")
            if isinstance(value, list):
                same([type(one) for one in found[name]], [type(one) for one in value], name)
    zone = timezone(timedelta(hours=5, minutes=30))
    ids(log.write([Patch((*SPACE, "x"), {"at": NOON.astimezone(zone), "l": (1, 2)})], now=0))
    same(log.scan(now=0)[0].columns, {"at": NOON, "l": [1, 2]}, "a time of another zone, a tuple")


def null_equals_null_and_is_not_ordered(stage: Stage) -> None:
    """A column that is missing is None; None is neither less nor greater than anything."""
    _judged(
        stage,
        {
            "eq": (None, {"null"}),
            "ne": (None, {*VALUES} - {"null"}),
            "exists": (False, {"null"}),
            "in": ([None, 2], {"null", "two"}),
            "nin": ([None, 2], {*VALUES} - {"null", "two"}),
            "lt": (None, set()),
            "lte": (None, set()),
            "gt": (None, set()),
            "gte": (None, set()),
        },
    )
    log = stage.log()
    ids(log.write([Put((*SPACE, "x"), b"")], now=0))
    for where, wanted in (
        ({"v": None}, 1),
        ({"v": {"exists": False}}, 1),
        ({"v": {"exists": True}}, 0),
        ({"v": {"ne": 1}}, 1),
        ({"v": {"nin": [1]}}, 1),
        ({"v": {"lt": 1}}, 0),
        ({"not": {"v": {"lt": 1}}}, 1),
        ({"v": {"contains": None}}, 0),
    ):
        same(log.count(where=where, now=0), wanted, f"cells without a column by {where}")


def numbers_compare_exactly(stage: Stage) -> None:
    """Int and float compare by their values, without rounding; a bool is no number."""
    _judged(
        stage,
        {
            "eq": (1, {"one", "1.0"}),
            "ne": (1.0, {*VALUES} - {"one", "1.0"}),
            "lt": (2, {"one", "1.0", "-inf"}),
            "lte": (2, {"one", "1.0", "two", "-inf"}),
            "gt": (float(2**53), {"big", "most"}),
            "gte": (2**53 + 1, {"big", "most"}),
            "in": ([2.5, 2**53], {"2.5", "big.0"}),
            "nin": ([2.5, 2**53], {*VALUES} - {"2.5", "big.0"}),
        },
    )
    _judged(stage, {"gt": (float(2**63), set()), "lt": (float(2**63), _numbers())})
    _judged(stage, {"eq": (True, {"true"}), "gt": (False, {"true"}), "lte": (False, {"false"})})


def values_of_two_types_are_never_equal_nor_ordered(stage: Stage) -> None:
    """A text compares with texts, bytewise, a time with times."""
    _judged(stage, {"eq": ("1", {"'1'"}), "lt": ("c", {"'1'", "b"}), "gte": ("b", {"b", "ü"})})
    _judged(stage, {"lt": ("", set()), "gt": ("", {"'1'", "b", "ü"})})
    _judged(stage, {"lte": (NOON, {"noon"}), "gt": (NOON, {"later"}), "eq": (NOON, {"noon"})})


def a_list_is_compared_as_a_whole(stage: Stage) -> None:
    """`eq` is about all elements, in order; `contains` about one."""
    _judged(
        stage,
        {
            "eq": ([1.0], {"[1]"}),
            "in": ([[], [1, None]], {"[]", "[1, null]"}),
            "contains": (1, {"[1]", "[1, null]", "['b', 1]"}),
            "ne": ([], {*VALUES} - {"[]"}),
        },
    )
    _judged(
        stage, {"contains": (None, {"[1, null]"}), "gt": ([], {"[1]", "[1, null]", "['b', 1]"})}
    )
    _judged(stage, {"contains": ("b", {"['b', 1]"}), "lt": ([1, None], {"[]", "[1]"})})


def conditions_are_joined(stage: Stage) -> None:
    """`and`, `or` and `not` join conditions; several in one mapping must all be true."""
    log = stage.log()
    rows = [
        Put((*SPACE, f"{a}{b}"), b"", columns={"a": a, "b": b, "$c": 1})
        for a in range(3)
        for b in range(3)
    ]
    ids(log.write(rows, now=0))
    for where, wanted in (
        ({}, [b"00", b"01", b"02", b"10", b"11", b"12", b"20", b"21", b"22"]),
        ({"a": 1, "b": {"gte": 1}}, [b"11", b"12"]),
        ({"a": {"gt": 0, "lt": 2}, "b": 0}, [b"10"]),
        ({"and": [{"a": 1}, {"b": 2}]}, [b"12"]),
        ({"and": []}, [b"00", b"01", b"02", b"10", b"11", b"12", b"20", b"21", b"22"]),
        ({"or": []}, []),
        ({"or": [{"a": 0, "b": 0}, {"a": 2, "b": 2}]}, [b"00", b"22"]),
        ({"not": {"a": {"gte": 1}}}, [b"00", b"01", b"02"]),
        ({"not": {"or": [{"a": {"ne": 1}}, {"b": 0}]}}, [b"11", b"12"]),
        ({"$and": [{"a": {"$eq": 2}}, {"$not": {"b": {"$in": [0, 1]}}}]}, [b"22"]),
        ({"a": 0, "or": [{"b": 0}, {"b": 2}]}, [b"00", b"02"]),
    ):
        found = last_parts(log.scan(SPACE, where=where, now=0))
        same(found, wanted, f"cells by {where}")
        same(log.count(SPACE, where=where, now=0), len(wanted), f"their number by {where}")
        page = log.scan(SPACE, where=where, limit=1, reverse=True, now=0)
        same(last_parts(page), wanted[-1:], f"the last cell by {where}")


def spaces_are_the_beginnings_of_keys(stage: Stage) -> None:
    """`spaces` lists the beginnings of keys of cells and lists, each once, in order."""
    log = stage.log()
    rows = [Put(("t", b"\xffs", name), b"") for name in ("b", "a")]
    lists = [Add(("t", b"\xffl", "x", "y"), b""), Add(("u", "talk"), b"")]
    ids(log.write([*rows, *lists, Put(("t",), b"")], now=0))
    same(list(log.spaces(depth=1)), [(b"t",), (b"u",)], "beginnings of one part")
    two = [(b"t", b"\xffl"), (b"t", b"\xffs"), (b"u", b"talk")]
    same(list(log.spaces(depth=2)), two, "beginnings of two parts")
    same(list(log.spaces(("t",), depth=2)), two[:2], "those below a prefix")
    same(list(log.spaces(depth=2, limit=2)), two[:2], "a first page")
    same(list(log.spaces(depth=2, after=two[0], limit=1)), two[1:2], "a second page")
    same(list(log.spaces(depth=2, after=two[2])), [], "what comes after the last one")
    three = [(*two[1], b"a"), (*two[1], b"b")]
    same(list(log.spaces(SPACE, depth=3)), three, "beginnings of three parts")
    ids(log.write([RemoveBelow(SPACE)], now=0))
    same(list(log.spaces(("t",), depth=2)), two[:1], "those that are left after a removal")


def _numbers() -> set[str]:
    return {name for name, value in VALUES.items() if type(value) in {int, float}}


def _judged(stage: Stage, wanted: dict[str, tuple[Any, set[str]]]) -> None:
    """Check which of `VALUES` pass each operator with an operand."""
    log = stage.log()
    rows = [Put((*SPACE, name), b"", columns={"v": value}) for name, value in VALUES.items()]
    ids(log.write(rows, now=0))
    for operator, (operand, names) in wanted.items():
        for word in (operator, f"${operator}"):
            where = {"v": {word: operand}}
            found = {part.decode() for part in last_parts(log.scan(SPACE, where=where, now=0))}
            same(sorted(found), sorted(names), f"values by {where}")
        rest = log.count(SPACE, where={"not": {"v": {operator: operand}}}, now=0)
        same(rest, len(VALUES) - len(names), f"values by not {operator} {operand!r}")


SCAN_RULES = (
    parts_of_keys_are_apart,
    keys_are_in_the_order_of_their_parts,
    a_scan_has_three_orders_and_pages,
    columns_come_back_with_their_types,
    null_equals_null_and_is_not_ordered,
    numbers_compare_exactly,
    values_of_two_types_are_never_equal_nor_ordered,
    a_list_is_compared_as_a_whole,
    conditions_are_joined,
    spaces_are_the_beginnings_of_keys,
)
"""Rules about looking for cells."""
