"""Columns come back as they were given, and `where` is true where a plain model says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from warmset.native import Add, ColdStore, Log, Patch, Put, space

NUMBERS = count()
STORE = ColdStore.open(None)
LOG = Log(STORE)
ZONES = st.builds(
    timezone, st.builds(timedelta, minutes=st.integers(min_value=-840, max_value=840))
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
INTS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
FLOATS = st.floats(allow_nan=False)
TIMES = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=ZONES)  # noqa: DTZ001 - the zone comes from `timezones`
SINGLE = st.one_of(st.none(), st.booleans(), INTS, FLOATS, TEXTS, TIMES)
NAMES = TEXTS.filter(bool)


def fresh():
    """A space of its own for each example."""
    return ("t", space(str(next(NUMBERS))))


def typed(value):
    """A value with its type, so that 1, 1.0 and True differ; -0.0 differs from 0.0."""
    if isinstance(value, (list, tuple)):
        return ["list", *map(typed, value)]
    return type(value).__name__, repr(value) if isinstance(value, float) else value


@given(st.dictionaries(NAMES, SINGLE | st.lists(SINGLE, max_size=3), max_size=4))
def test_columns_come_back_as_they_were_given(columns):
    place = fresh()
    key, patched, list_ = (*place, "put"), (*place, "patched"), (*place, "list")
    rows = [Put(key, b"", columns=columns), Put(patched, b""), Patch(patched, columns)]
    LOG.write([*rows, Add(list_, b"", columns=MappingProxyType(columns))])
    expected = {name: typed(value) for name, value in columns.items()}
    [entry] = LOG.entries(list_)
    listed = [one.columns for one in LOG.scan(place)]
    assert len(listed) == 2
    for found in (LOG.get(key).columns, LOG.get(patched).columns, entry.columns, *listed):
        assert {name: typed(value) for name, value in found.items()} == expected


def test_a_tuple_comes_back_as_a_list_and_a_moment_in_utc():
    place = fresh()
    moment = datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    LOG.write([Put(place, b"", columns={"t": (1, moment)})])
    found = LOG.get(place).columns["t"]
    assert found == [1, moment]
    assert found[1].tzinfo is UTC


def test_numbers_of_numpy_are_numbers():
    place = fresh()
    LOG.write([Put(place, b"", columns={"i": np.int64(3), "u": np.uint8(4), "f": np.float64(0.5)})])
    found = LOG.get(place).columns
    assert {name: typed(value) for name, value in found.items()} == {
        "i": ("int", 3),
        "u": ("int", 4),
        "f": ("float", "0.5"),
    }


# --- where, against a model -----------------------------------------------------------------------


def kind(value):
    if isinstance(value, bool) or value is None:
        return type(value)
    if isinstance(value, (int, float)):
        return "number"
    return list if isinstance(value, (list, tuple)) else type(value)


def equal(one, other):
    if kind(one) != kind(other):
        return False
    if kind(one) is list:
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def compared(one, other):
    """-1, 0 or 1; None for what does not compare."""
    if kind(one) != kind(other) or one is None:
        return None
    if kind(one) is list:
        for a, b in zip(one, other, strict=False):
            if not equal(a, b):
                return compared(a, b)
        one, other = len(one), len(other)
    return (one > other) - (one < other)


OPERATORS = {
    "eq": equal,
    "ne": lambda one, other: not equal(one, other),
    "lt": lambda one, other: compared(one, other) == -1,
    "lte": lambda one, other: compared(one, other) in {-1, 0},
    "gt": lambda one, other: compared(one, other) == 1,
    "gte": lambda one, other: compared(one, other) in {1, 0},
    "in": lambda one, others: any(equal(one, other) for other in others),
    "nin": lambda one, others: not any(equal(one, other) for other in others),
    "exists": lambda one, there: (one is not None) is there,
    "contains": lambda one, other: isinstance(one, list) and any(equal(x, other) for x in one),
}


def passes(where, columns):
    """What `where` means, said once more without a thought of speed."""
    found = []
    for name, condition in where.items():
        match name.removeprefix("$"), condition:
            case "and", several:
                found.append(all(passes(one, columns) for one in several))
            case "or", several:
                found.append(any(passes(one, columns) for one in several))
            case "not", one:
                found.append(not passes(one, columns))
            case column, dict():
                found += [
                    OPERATORS[operator.removeprefix("$")](columns.get(column), operand)
                    for operator, operand in condition.items()
                ]
            case column, value:
                found.append(equal(columns.get(column), value))
    return all(found)


NUMERIC = [0, 1, 1.0, 0.5, -1, 2**53, float(2**53), 2**53 + 1, float("inf"), True, False]
OTHERS = ["", "a", "b", "ab", "1", None, *(datetime(y, 1, 1, tzinfo=UTC) for y in (2026, 2027))]
SMALL = st.sampled_from([*NUMERIC, *OTHERS])
VALUES = SMALL | st.lists(SMALL, max_size=2)
COLUMNS = st.sampled_from(["x", "y", "z"])


def dollar(names):
    return st.tuples(st.sampled_from(["", "$"]), st.sampled_from(names)).map("".join)


ONE = dollar(["eq", "ne", "lt", "lte", "gt", "gte"])
OPERATED = st.one_of(
    st.tuples(ONE, VALUES),
    st.tuples(dollar(["in", "nin"]), st.lists(VALUES, max_size=3)),
    st.tuples(dollar(["exists"]), st.booleans()),
    st.tuples(dollar(["contains"]), SMALL),
)
CONDITIONS = st.one_of(VALUES, st.lists(OPERATED, min_size=1, max_size=2).map(dict))
WHERE = st.recursive(
    st.dictionaries(COLUMNS, CONDITIONS, min_size=1, max_size=2),
    lambda inner: st.one_of(
        st.dictionaries(dollar(["and", "or"]), st.lists(inner, max_size=3), max_size=2),
        st.dictionaries(dollar(["not"]), inner, max_size=1),
        st.builds(lambda a, b: {**a, **b}, inner, inner),
    ),
    max_leaves=4,
)


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(st.dictionaries(COLUMNS, VALUES), min_size=1, max_size=6), WHERE)
def test_where_is_true_where_the_model_says(rows, where):
    place = fresh()
    LOG.write([Put((*place, str(at)), b"", columns=row) for at, row in enumerate(rows)])
    expected = [at for at, row in enumerate(rows) if passes(where, row)]
    assert [int(one.key[-1]) for one in LOG.scan(place, where=where)] == expected
    assert LOG.count(place, where=where) == len(expected)
    born = LOG.scan(place, where=MappingProxyType(where), order="born", limit=1)
    assert [int(one.key[-1]) for one in born] == expected[:1]


def test_every_operator_is_right_for_every_two_values():
    place, values = fresh(), [*NUMERIC, *OTHERS, [], [1], [1, "a"], [1, None], [1.0, "b"], ["a", 1]]
    for at, value in enumerate(values):
        LOG.write([Put((*place, f"{at:03}"), b"", columns={"x": value})], sync=False)
    operands = dict.fromkeys(OPERATORS, values)
    operands["exists"] = [True, False]
    operands["contains"] = [value for value in values if not isinstance(value, list)]
    operands["in"] = operands["nin"] = [[], values, *([value, "no"] for value in values)]
    for operator, several in operands.items():
        for operand in several:
            where = {"x": {operator: operand}}
            found = [int(one.key[-1]) for one in LOG.scan(place, where=where)]
            expected = [at for at, value in enumerate(values) if passes(where, {"x": value})]
            assert found == expected, where


@pytest.fixture
def animals():
    place = fresh()
    columns = {
        "cat": {"legs": 4, "says": "meow", "tags": ["pet"]},
        "hen": {"legs": 2, "says": "cluck", "tags": ["farm", "egg"]},
        "eel": {"legs": None, "wet": True},
    }
    LOG.write([Put((*place, name), b"", columns=one) for name, one in columns.items()])
    return place


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, "cat eel hen"),
        ({}, "cat eel hen"),
        ({"legs": 4}, "cat"),
        ({"legs": None}, "eel"),
        ({"says": {"exists": False}}, "eel"),
        ({"legs": {"gte": 2, "lt": 4.0}}, "hen"),
        ({"legs": {"$gt": 2}}, "cat"),
        ({"legs": {"ne": 4}}, "eel hen"),
        ({"tags": {"contains": "egg"}}, "hen"),
        ({"tags": ["farm", "egg"]}, "hen"),
        ({"says": {"in": ("meow", "moo")}}, "cat"),
        ({"says": {"nin": {"meow"}}}, "eel hen"),
        ({"wet": True, "legs": {"exists": True}}, ""),
        ({"wet": 1}, ""),
        ({"and": []}, "cat eel hen"),
        ({"or": []}, ""),
        ({"or": [{"legs": 4}, {"wet": True}], "not": {"says": "meow"}}, "eel"),
        ({"$and": [{"legs": {"$lte": 4}}, {"$not": {"tags": {"$contains": "pet"}}}]}, "hen"),
    ],
    ids=str,
)
def test_where_by_example(where, expected, animals):
    found = [one.key[-1].decode() for one in LOG.scan(animals, where=where)]
    assert " ".join(found) == expected


def test_conditions_may_be_many(animals):
    many = [{"legs": n} for n in range(100)]
    assert LOG.count(animals, where={"or": many, "not": {"or": many[:4]}}) == 1
    assert LOG.count(animals, where={"legs": {"in": list(range(3, 1_000))}}) == 1
    assert LOG.count(animals, where={f"c{n}": None for n in range(100)}) == 3
