"""Choosing and evicting under a budget, against oracles that walk the definition."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from fitting import cases

from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.native import keep_newest, pack, pack_batch

# --- oracles -------------------------------------------------------------------------------------


def pack_oracle(costs, values, budget, groups=None, must=()):
    """Return the chosen, or need and have where what must be in does not fit."""
    home = list(groups) if groups is not None else [("own", at) for at in range(len(costs))]
    members = {name: [at for at in range(len(home)) if home[at] == name] for name in home}
    left, chosen = budget, set()
    for name in {home[at] for at in must}:
        chosen.update(members[name])
        left -= sum(costs[at] for at in members[name])
    if left < 0:
        return (budget - left, budget)
    names = sorted(members, key=lambda n: (-max(values[at] for at in members[n]), members[n][0]))
    for name in names:
        cost = sum(costs[at] for at in members[name])
        if members[name][0] not in chosen and cost <= left:
            left -= cost
            chosen.update(members[name])
    return sorted(chosen)


def keep_oracle(costs, protected, budget):
    """Return what stays; a longer suffix of the rest is tried until one does not fit."""
    held = [at for at in range(len(costs)) if protected[at]]
    need = sum(costs[at] for at in held)
    if need > budget:
        return (need, budget)
    rest = [at for at in range(len(costs)) if not protected[at]]
    for start in range(len(rest) + 1):
        if need + sum(costs[at] for at in rest[start:]) <= budget:
            return sorted(held + rest[start:])
    raise AssertionError


def outcome(call, *args, **kwargs):
    try:
        found = call(*args, **kwargs)
    except BudgetTooSmall as error:
        return (error.need, error.have)
    assert found.dtype == np.int64
    return found.tolist()


# --- random cases --------------------------------------------------------------------------------


def random_items(rng):
    n = int(rng.integers(0, 14))
    costs = rng.integers(0, [2, 10, 1000][rng.integers(3)], n).tolist()
    match rng.integers(4):
        case 0:
            values = rng.integers(-2, 3, n).astype(float).tolist()  # ties
        case 1:
            values = rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-320, 1.0], n).tolist()
        case _:
            values = rng.standard_normal(n).tolist()
    budget = int(rng.integers(0, sum(costs) + 2))
    return costs, values, budget


FORMS = [
    list,
    tuple,
    np.array,
    lambda x: np.array(x, np.int32 if all(isinstance(v, int) for v in x) else np.float64),
    lambda x: np.array(x, object),
]


def test_pack_equals_the_oracle():
    rng = np.random.default_rng(1)
    refused, count = 0, cases(10_000, 100_000)
    for case in range(count):
        costs, values, budget = random_items(rng)
        n, form = len(costs), FORMS[case % len(FORMS)]
        groups = rng.integers(-2, 4, n).tolist() if case % 2 else None
        must = rng.integers(0, n, int(rng.integers(0, 4))).tolist() if n and case % 3 else []
        found = outcome(
            pack,
            form(costs),
            form(values),
            budget,
            groups=None if groups is None else form(groups),
            must=form(must) if must else (None, [], ())[case % 3],
        )
        expected = pack_oracle(costs, values, budget, groups, must)
        assert found == expected, (costs, values, budget, groups, must)
        refused += isinstance(expected, tuple)
    assert count // 100 < refused < count * 9 // 10


def test_pack_batch_equals_pack_list_by_list():
    rng = np.random.default_rng(2)
    lists = 0
    while lists < cases(10_000, 100_000):
        items = [random_items(rng) for _ in range(int(rng.integers(0, 60)))]
        form = FORMS[len(items) % 4]
        offsets = np.cumsum([0, *(len(costs) for costs, _, _ in items)]).tolist()
        chosen, ends = pack_batch(
            form(offsets),
            form([cost for costs, _, _ in items for cost in costs]),
            form([value for _, values, _ in items for value in values]),
            form([budget for _, _, budget in items]),
        )
        assert chosen.dtype == ends.dtype == np.int64
        assert len(ends) == len(items) + 1
        for at, (costs, values, budget) in enumerate(items):
            part = chosen[ends[at] : ends[at + 1]] - offsets[at]
            assert part.tolist() == pack_oracle(costs, values, budget)
        assert ends[-1] == len(chosen)
        lists += len(items)


def test_keep_newest_equals_the_oracle_on_ten_thousand_cases():
    rng = np.random.default_rng(3)
    refused = 0
    for case in range(10_000):
        costs, _, budget = random_items(rng)
        protected = (rng.random(len(costs)) < rng.choice([0, 0.2, 0.6])).tolist()
        given = np.array(protected, bool) if case % 2 else protected
        found = outcome(keep_newest, FORMS[case % len(FORMS)](costs), given, budget)
        expected = keep_oracle(costs, protected, budget)
        assert found == expected, (costs, protected, budget)
        refused += isinstance(expected, tuple)
    assert 50 < refused < 9_000


def test_the_order_of_the_input_does_not_change_the_answer():
    rng = np.random.default_rng(4)
    for _ in range(500):
        n = int(rng.integers(1, 12))
        costs, values = rng.integers(0, 30, n), rng.permutation(n) / 7
        groups, must = rng.integers(0, 5, n), rng.integers(0, n, 1)
        budget = int(rng.integers(0, costs.sum() + 1))
        order = rng.permutation(n)
        first = outcome(pack, costs, values, budget, groups=groups, must=must)
        second = outcome(
            pack, costs[order], values[order], budget,
            groups=groups[order], must=np.flatnonzero(order == must[0]),
        )  # fmt: skip
        if isinstance(second, list):
            second = sorted(order[second].tolist())
        assert first == second


# --- by hand -------------------------------------------------------------------------------------


def test_a_misfit_is_skipped_and_the_walk_goes_on():
    assert pack([5, 9, 4], [3.0, 2.0, 1.0], 9).tolist() == [0, 2]


def test_ties_go_to_the_lower_index():
    assert pack([4, 4, 4], [1.0, 1.0, 1.0], 8).tolist() == [0, 1]
    assert pack([4, 4], [0.0, -0.0], 4).tolist() == [0]


def test_a_group_is_worth_its_best_and_comes_whole():
    chosen = pack([1, 5, 1], [0.1, 5.0, 9.0], 6, groups=[7, 8, 7])
    assert chosen.tolist() == [0, 2]
    assert pack([1, 5, 1], [0.1, 5.0, 9.0], 7, groups=[7, 8, 7]).tolist() == [0, 1, 2]


def test_what_must_be_in_brings_its_group_and_goes_first():
    assert pack([3, 3, 3], [0, 9, 1], 6, groups=[1, 2, 1], must=[0]).tolist() == [0, 2]
    with pytest.raises(BudgetTooSmall):
        pack([3, 3, 3], [0, 9, 1], 5, groups=[1, 2, 1], must=[0])


def test_what_stays_is_a_suffix_without_holes():
    assert keep_newest([1, 9, 1], [False] * 3, 5).tolist() == [2]
    assert keep_newest([1, 9, 1], [True, False, False], 5).tolist() == [0, 2]


def test_nothing_to_choose_from():
    assert pack([], [], 0).tolist() == []
    assert keep_newest([], [], 0).tolist() == []
    assert [x.tolist() for x in pack_batch([0], [], [], [])] == [[], [0]]
    assert [x.tolist() for x in pack_batch([0, 0, 0], [], [], [1, 2])] == [[], [0, 0, 0]]


def test_what_costs_nothing_fits_into_nothing():
    assert pack([0, 1, 0], [-1.0, 5.0, -np.inf], 0).tolist() == [0, 2]
    assert keep_newest([0, 0], [False, True], 0).tolist() == [0, 1]


def test_the_largest_numbers():
    most = 2**64 - 1
    assert pack(np.array([most, 1], np.uint64), [1.0, 0.0], most).tolist() == [0]
    with pytest.raises(BudgetTooSmall) as caught:
        keep_newest(np.array([most, most], np.uint64), [True, True], 5)
    assert caught.value.need == most


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda: pack([30, 12, 1], [1.0, 2.0, 3.0], 41, must=[0, 1, 0]),
        lambda: pack([20, 12, 22], [1.0, 2.0, 3.0], 41, groups=[1, 2, 1], must=[2]),
        lambda: keep_newest([30, 5, 12], [True, False, True], 41),
    ],
)
def test_too_small_a_budget_says_need_and_have(use):
    with pytest.raises(BudgetTooSmall, match="needs 42 tokens, the budget has 41") as caught:
        use()
    assert (caught.value.need, caught.value.have) == (42, 41)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert (again.need, again.have) == (42, 41)


PLAIN = {"costs": [3, 4], "values": [1.0, 2.0], "budget": 5}
STRIDED = np.array([3, 0, 4, 0])[::2]
BAD_PACK = {
    "costs": [[-1, 4], [1.5, 4], ["3", "4"], [[3, 4]], [None, 4], [True, False], [2**64, 4], [3],
              [[3], [4]]],
    "values": [[1.0, np.nan], [np.nan, 1.0], [1.0], [1.0, 2.0, 3.0], [], [[1.0, 2.0]], 1.0,
               [1.0, None]],
    "budget": [-1, 1.5, "5", None, True, 2**64, [], np.nan],
    "groups": [[1], [1, 2, 3], [1.5, 2], ["a", "b"], [None, 1], [2**64, 1], [[1, 2]]],
    "must": [[2], [-1], [1.0], ["0"], [True], [2**70], [None], 5],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PACK.items() for value in values]
)
def test_pack_refuses_what_is_no_item(name, value):
    given = {**PLAIN, name: value}
    words = "values|costs|groups" if name == "costs" else name
    with pytest.raises(InvalidInputError, match=words):
        pack(given.pop("costs"), given.pop("values"), given.pop("budget"), **given)


@pytest.mark.parametrize(
    "values",
    [["x", "y"], [1j, 2.0], [object(), 1.0], np.array(["1970"] * 2, "M8[D]"), [[1], [2, 3]]],
    ids=["text", "complex", "object", "dates", "ragged"],
)  # fmt: skip
def test_values_are_numbers(values):
    with pytest.raises(InvalidInputError, match="values"):
        pack([1, 2], values, 5)


def test_a_budget_is_one_number():
    with pytest.raises(InvalidInputError, match="budget"):
        pack([1], [1.0], [5, 6])


def test_columns_may_be_strided():
    assert pack(STRIDED, [1.0, 2.0], 4).tolist() == [1]


def test_a_list_of_small_and_huge_costs():
    assert pack([2**63, 1], [1.0, 2.0], 5).tolist() == [1]


def test_a_sum_that_no_number_holds_does_not_fit():
    most = 2**64 - 1
    chosen = pack(np.array([most, most], np.uint64), [1.0, 0.0], most, groups=[1, 1])
    assert chosen.tolist() == []


BAD_BATCH = {
    "no offsets": ([], [1], [1.0], []),
    "not from 0": ([1, 1], [1], [1.0], [1]),
    "not to the end": ([0, 1], [1, 1], [1.0, 1.0], [1]),
    "beyond the end": ([0, 2], [1], [1.0], [1]),
    "not ascending": ([0, 1, 0, 1], [1], [1.0], [1, 1, 1]),
    "negative offset": ([0, -1], [1], [1.0], [1]),
    "fraction": ([0, 1.0], [1], [1.0], [1]),
    "too few budgets": ([0, 1], [1], [1.0], []),
    "too many budgets": ([0, 1], [1], [1.0], [1, 2]),
    "negative budget": ([0, 1], [1], [1.0], [-1]),
    "negative cost": ([0, 1], [-1], [1.0], [1]),
    "too few values": ([0, 1], [1], [], [1]),
    "NaN": ([0, 1, 2], [1, 1], [1.0, np.nan], [1, 1]),
}


@pytest.mark.parametrize("given", BAD_BATCH.values(), ids=BAD_BATCH)
def test_pack_batch_refuses_what_does_not_fit(given):
    with pytest.raises(InvalidInputError, match=r"offsets|costs|values|budgets"):
        pack_batch(*given)


@pytest.mark.parametrize(
    ("costs", "protected", "budget"),
    [
        ([1, 2], [True], 3),
        ([1], [True, False], 3),
        ([-1], [True], 3),
        ([1.5], [True], 3),
        ([1], [True], -1),
        ([1], [True], 1.5),
        ([1], [True], None),
    ],
)
def test_keep_newest_refuses_what_does_not_fit(costs, protected, budget):
    with pytest.raises(InvalidInputError, match=r"costs|protected|budget"):
        keep_newest(costs, protected, budget)


@pytest.mark.parametrize("protected", [[1, 0], [None, True], "ab", [0.0, 1.0]], ids=repr)
def test_protected_is_made_of_bools(protected):
    with pytest.raises((InvalidInputError, TypeError)):
        keep_newest([1, 2], protected, 3)
