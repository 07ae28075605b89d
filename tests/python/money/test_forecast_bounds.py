"""The expected money of the next calls against a naive simulation, with ties at every boundary."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from warmset.money import Prices, Spending, Surcharge, expected_money, price, read_usage
from warmset.money.forecast import (
    CALLS,
    EPOCH,
    Rhythm,
    anew_tokens,
    epoch_cost,
    growing_cost,
    renewed_cost,
)

PRICES = Prices(
    fresh=3.0,
    cache_read=0.5,
    output=10.0,
    cache_write=4.0,
    ttl=300.0,
    long_cache_write=7.0,
    long_ttl=3_600.0,
    cache_min=1_000,
    surcharge=Surcharge(above=4_000, input=2.0, output=1.5),
)


def call_cost(gap, same, tokens):
    lives = gap is not None and gap <= 300.0
    cached = min(same, tokens) if lives and min(same, tokens) >= 1_000 else 0.0
    factor = 2.0 if int(tokens) > 4_000 else 1.0
    rest = 4.0 if tokens >= 1_000 else 3.0
    return factor * (cached * 0.5 + (tokens - cached) * rest) / 1e6


def naive_epoch(rhythm, start, budget, swap_at):
    """Return what a call of an epoch costs, on average."""
    past = list(zip(rhythm.gaps, rhythm.begins, strict=True)) or [(0.0, False)]
    sizes, costs = [start], [call_cost(None, 0.0, start)]
    while len(costs) <= EPOCH:
        gap, begins = past[(len(costs) - 1) % len(past)]
        sizes.append(sizes[-1] + rhythm.growth)
        if sizes[-1] > budget or (begins and sizes[-1] >= swap_at * budget):
            break
        costs.append(call_cost(gap, sizes[-2], sizes[-1]))
    return sum(costs) / len(costs)


def naive_anew(rhythm, short, budget, swap_at, swap_to):
    if short >= 1_030 or (swap_to + swap_at) / 2 * budget < 1_030:
        return short
    one, other = (naive_epoch(rhythm, start, budget, swap_at) for start in (1_030.0, short))
    return 1_030 if one < other else short


def naive(rhythm, *, tokens, budget, grows, swap_at=0.5, swap_to=0.25):
    past = list(zip(rhythm.gaps, rhythm.begins, strict=True)) or [(0.0, False)]
    spent, before = 0.0, float(tokens) if grows else 0.0
    new = naive_anew(rhythm, swap_to * budget, budget, swap_at, swap_to)
    for number in range(CALLS):
        gap, begins = (rhythm.idle, True) if not number else past[(number - 1) % len(past)]
        if grows:
            size = before + rhythm.growth
            anew = size > budget or (begins and size >= swap_at * budget)
            same, size = (0.0, new) if anew else (before, size)
        else:
            size = min(float(tokens) if begins else before + rhythm.growth, float(budget))
            same = 0.0 if begins else min(before, size)
        spent += call_cost(gap, same, size)
        before = size
    return spent


gaps = st.sampled_from([0.0, 10.0, 299.0, 300.0, 301.0])
past = st.lists(st.tuples(gaps, st.booleans()), max_size=9)
thousands = st.integers(1, 12).map(lambda n: n * 500)


@given(st.none() | gaps, past, thousands.map(float), thousands, thousands)
def test_forecasts_are_those_of_a_naive_simulation(idle, before, growth, tokens, budget):
    rhythm = Rhythm(idle, [gap for gap, _ in before], [begins for _, begins in before], growth)
    size = {"tokens": tokens, "budget": budget}
    found = growing_cost(PRICES, rhythm, **size, swap_at=0.5, swap_to=0.25)
    assert found == pytest.approx(naive(rhythm, **size, grows=True))
    assert renewed_cost(PRICES, rhythm, **size) == pytest.approx(naive(rhythm, **size, grows=False))


steps = st.sampled_from([0.0, 1.0, 30.0, 125.0, 250.0, 500.0])
sizes = st.integers(1, 12).map(lambda n: n * 125.0)
budgets = st.integers(1, 16).map(lambda n: n * 250)


swaps = st.sampled_from([(0.5, 0.25), (0.85, 0.35), (1.0, 0.9)])


@given(st.none() | gaps, past, steps, sizes, budgets, swaps)
def test_a_list_is_made_anew_with_the_tokens_that_cost_less(idle, before, growth, short, most, at):
    rhythm = Rhythm(idle, [gap for gap, _ in before], [begins for _, begins in before], growth)
    swap_at, swap_to = at
    given_ = {"budget": most, "swap_at": swap_at}
    found = epoch_cost(PRICES, rhythm, tokens=short, **given_)
    assert found == pytest.approx(naive_epoch(rhythm, short, most, swap_at))
    found = anew_tokens(PRICES, rhythm, tokens=short, swap_to=swap_to, **given_)
    assert found == naive_anew(rhythm, short, most, swap_at, swap_to)


@pytest.mark.parametrize(
    ("gap", "growth", "short", "budget", "tokens"),
    [
        (10.0, 100.0, 840.0, 2_400, 1_030.0),  # two calls would pay it as fresh
        (301.0, 100.0, 840.0, 2_400, 840.0),  # the cache has nothing of it anyway
        (10.0, 400.0, 600.0, 2_000, 600.0),  # the cache takes the next one anyway
        (10.0, 80.0, 600.0, 2_060, 1_030.0),  # in the middle between the shares
        (10.0, 80.0, 600.0, 2_059, 600.0),  # it would have no room to grow
        (10.0, 100.0, 999.0, 3_000, 1_030.0),
        (10.0, 100.0, 1_030.0, 3_000, 1_030.0),  # the cache takes it as it is
    ],
)
def test_a_list_made_anew_is_long_enough_for_the_cache_where_that_pays(
    gap, growth, short, budget, tokens
):
    rhythm = Rhythm(gap, (gap,) * 9, (False,) * 9, growth)
    shares = {"budget": budget, "swap_at": 0.75, "swap_to": 0.25}
    assert anew_tokens(PRICES, rhythm, tokens=short, **shares) == tokens


@pytest.mark.parametrize(
    ("same", "idle", "cached"),
    [
        (1_000, 300.0, 1_000),
        (999, 300.0, 0),
        (1_000, 300.1, 0),
        (1_000, None, 0),
        (9_000, 0, 2_000),
    ],
)
def test_the_cache_has_a_prefix_of_the_least_length_until_its_last_second(same, idle, cached):
    found = expected_money(PRICES, tokens=2_000, same=same, idle=idle)
    assert (found.cached, found.written, found.fresh) == (cached, 2_000 - cached, 0)


def test_a_list_that_is_too_short_for_the_cache_is_not_written_to_it():
    found = expected_money(PRICES, tokens=999, same=0, idle=0.0)
    assert (found.written, found.fresh) == (0, 999)
    found = expected_money(PRICES, tokens=1_000, same=0, idle=0.0)
    assert (found.written, found.fresh) == (1_000, 0)


def test_a_surcharge_raises_every_price_but_only_above_its_mark():
    assert PRICES.at(4_000) is PRICES
    above = PRICES.at(4_001)
    assert (above.cache_write, above.long_cache_write, above.output) == (8.0, 14.0, 15.0)
    assert (above.long_lived().cache_write, above.long_lived().ttl) == (14.0, 3_600.0)


def test_a_swap_that_costs_as_much_as_it_saves_does_not_pay():
    assert not PRICES.pays(700, 1_000, 10)  # 3,500 a million both
    assert PRICES.pays(701, 1_000, 10)


def test_time_is_counted_from_the_first_window_on():
    times = iter([5.0, 7.0, 10.5])
    spending = Spending(lambda: next(times))
    assert [spending.idle() for _ in range(3)] == [None, 2.0, 3.5]


def test_a_bill_of_several_requests_compares_the_first_and_sums_all():
    iteration = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 50}
    other = {"type": "advisor_message", "model": "nobody-1", "input_tokens": 7, "output_tokens": 3}
    usage = {
        **iteration,
        "iterations": [{"type": "message", **iteration}, other],
    }
    money = expected_money(PRICES, tokens=2_000, same=1_000, idle=0.0)
    bill = money.settle(usage)
    assert (bill.fresh, bill.cached, bill.output, bill.missed) == (107, 50, 13, 950)
    assert bill.price is None  # one of the two has no price
    assert bill.difference == pytest.approx((100 * 3.0 + 50 * 0.5) / 1e6 - money.price)


def test_iterations_that_do_not_make_up_the_top_are_not_taken_for_it():
    usage = {
        "input_tokens": 100,
        "output_tokens": 10,
        "iterations": [{"type": "message", "input_tokens": 40, "output_tokens": 10}],
    }
    assert [one.fresh for one in read_usage(usage).requests] == [100]


def test_what_openai_has_written_is_not_fresh():
    details = {"cached_tokens": 30, "cache_write_tokens": 20}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}
    (one,) = read_usage(usage).requests
    assert (one.fresh, one.cached, one.written, one.output) == (50, 30, 20, 5)


def test_what_is_written_for_longer_costs_as_written_where_it_has_no_price():
    plain = Prices(fresh=3.0, cache_read=0.5, output=10.0, cache_write=4.0)
    assert price(plain, 0, 0, 0, 0, written_long=1_000) == pytest.approx(4_000 / 1e6)
    assert price(PRICES, 0, 0, 0, 0, written_long=1_000) == pytest.approx(7_000 / 1e6)


def test_gemini_reads_no_more_from_the_cache_than_it_was_sent():
    counts = {"prompt_token_count": 10, "cached_content_token_count": 20}
    (one,) = read_usage(counts | {"candidates_token_count": 1}).requests
    assert (one.fresh, one.cached, one.output) == (0, 10, 1)
