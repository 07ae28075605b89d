"""Prices: exact at the surcharge's boundary, found by every spelling of a model's name."""

import math
from datetime import date

import pytest

from warmset.errors import InvalidInputError
from warmset.money import PRICES, Prices, Surcharge, price, prices_of


def usd(value):
    return pytest.approx(value, rel=1e-12)


def test_each_kind_of_token_has_its_price():
    sol = prices_of("gpt-6.2-sol")
    assert price(sol, 1_000_000, 0, 0, 0) == usd(4)  # above 272,000, and so twice as much
    assert price(sol, 100_000, 0, 0, 0) == usd(0.2)
    assert price(sol, 0, 100_000, 0, 0) == usd(0.01)
    assert price(sol, 0, 0, 100_000, 0) == usd(0.25)
    assert price(sol, 0, 0, 0, 100_000) == usd(1.0)
    assert price(sol, 0, 0, 0, 0, written_long=100_000) == usd(0.5)
    assert price(sol, 0, 0, 0, 0) == 0


@pytest.mark.parametrize(
    ("fresh", "cached", "written"), [(272_000, 0, 0), (2_000, 270_000, 0), (0, 0, 272_000)]
)
def test_openai_surcharge_begins_one_token_above_272_thousand(fresh, cached, written):
    sol = prices_of("gpt-6.2-sol")
    below = (fresh * 2 + cached * 0.1 + written * 2.5 + 1_000 * 10) / 1e6
    assert price(sol, fresh, cached, written, 1_000) == usd(below)
    above = ((fresh + 1) * 4 + cached * 0.2 + written * 5 + 1_000 * 15) / 1e6
    assert price(sol, fresh + 1, cached, written, 1_000) == usd(above)


def test_output_does_not_count_towards_the_surcharge():
    sol = prices_of("gpt-6.2-sol")
    assert price(sol, 272_000, 0, 0, 9_000) == usd((272_000 * 2 + 9_000 * 10) / 1e6)


def test_tokens_written_for_longer_count_towards_the_surcharge():
    sol = prices_of("gpt-6.2-sol")
    assert price(sol, 0, 0, 0, 0, written_long=272_001) == usd(272_001 * 10 / 1e6)


def test_haiku_has_other_prices_above_100_thousand_for_the_whole_request():
    haiku = prices_of("claude-haiku-5-5")
    assert price(haiku, 0, 90_000, 10_000, 500) == usd(
        (90_000 * 0.01 + 10_000 * 0.125 + 500 * 0.5) / 1e6
    )
    assert price(haiku, 1, 90_000, 10_000, 500, written_long=0) == usd(
        (1 * 0.5 + 90_000 * 0.05 + 10_000 * 0.625 + 500 * 2.5) / 1e6
    )
    long = haiku.at(100_001)
    assert [long.fresh, long.cache_read, long.cache_write, long.long_cache_write, long.output] == [
        usd(0.5),
        usd(0.05),
        usd(0.625),
        usd(1.0),
        usd(2.5),
    ]
    assert haiku.at(100_000) is haiku


def test_the_surcharge_is_added_once():
    haiku = prices_of("claude-haiku-5-5")
    assert haiku.at(200_000).at(200_000) == haiku.at(200_000)


@pytest.mark.parametrize(
    ("model", "fresh", "read", "write", "long", "output"),
    [
        ("claude-fable-5-2", 8, 0.20, 10, 16, 40),
        ("claude-fable-5-1", 10, 0.25, 12.5, 20, 50),
        ("claude-opus-5-5", 4, 0.20, 5, 8, 20),
        ("claude-sonnet-5-5", 2, 0.10, 2.5, 4, 10),
        ("claude-haiku-5-5", 0.10, 0.01, 0.125, 0.20, 0.50),
        ("gpt-6.2-sol", 2, 0.10, 2.5, 5, 10),
        ("gpt-6-sol", 2, 0.20, 2.5, None, 10),
        ("gpt-6-luna", 0.10, 0.01, 0.125, None, 0.50),
        ("gpt-6.2-astra", 8, 0.40, 10, None, 40),
        ("gemini-3.1-pro-preview", 2, 0.20, None, None, 12),
    ],
)
def test_rows_of_the_table(model, fresh, read, write, long, output):
    found = prices_of(model)
    assert (found.fresh, found.output) == (fresh, output)
    assert found.cache_read == usd(read)
    assert found.cache_write == (None if write is None else usd(write))
    assert found.long_cache_write == (None if long is None else usd(long))


def test_every_row_is_dated_has_a_source_and_known_lifetimes():
    for name, row in PRICES.items():
        assert date.fromisoformat(row.as_of) <= date(2026, 11, 22), name
        assert len(row.source) > 10, name
        assert (row.ttl, row.long_ttl) in {
            (300.0, 3_600.0),
            (1_800.0, None),
            (1_800.0, 43_200.0),
            (300.0, None),
        }, name
        assert row.cache_read < row.fresh <= row.written, name
        assert prices_of(name) is row


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("Claude-Opus-5-5", "claude-opus-5-5"),
        ("claude-opus-5-5-20260922", "claude-opus-5-5"),
        ("claude-opus-5-5@20260922", "claude-opus-5-5"),
        ("claude-opus-5-5@default", "claude-opus-5-5"),
        ("claude-opus-5-5-latest", "claude-opus-5-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        (
            "arn:aws:bedrock:us-east-1:1234:inference-profile/eu.anthropic.claude-opus-5-5",
            "claude-opus-5-5",
        ),
        ("publishers/anthropic/models/claude-sonnet-5-5@20260901", "claude-sonnet-5-5"),
        ("anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("claude-opus-5", "claude-opus-5"),
        ("claude-opus-5-20260724", "claude-opus-5"),
        ("openai/gpt-6.2-sol", "gpt-6.2-sol"),
        ("GPT-6.2-Sol-2026-11-17", "gpt-6.2-sol"),
        ("openai.gpt-6-luna", "gpt-6-luna"),
        ("models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("gemini-3.5-flash-lite", "gemini-3.5-flash-lite"),
    ],
)
def test_a_model_is_found_by_all_spellings_of_its_name(name, row):
    assert prices_of(name) is PRICES[row]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "claude",
        "claude-opus",
        "claude-opus-5-50",
        "claude-opus-5-5-mini",
        "claude-opus-5-5-fast",
        "my-claude-opus-5-5",
        "gpt-6",
        "gpt-6-sol-mini",
        "gpt-6.20-sol",
        "gpt-6-2-sol",
        "gpt-6.2-sol-2026",
        "gpt-4o",
        "gemini-3.5-flash-lite-image",
        "gemini-3-8-flash",
    ],
)
def test_other_models_have_no_price(name):
    assert prices_of(name) is None


def test_your_own_prices_come_first(monkeypatch):
    mine = Prices(fresh=1, cache_read=0.5, output=2)
    monkeypatch.setitem(PRICES, "ft:gpt-6-sol/Mine", mine)
    monkeypatch.setitem(PRICES, "gpt-6-sol", mine)
    assert prices_of("ft:gpt-6-sol/Mine") is mine
    assert prices_of("gpt-6-sol-2026-09-22") is mine


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(InvalidInputError, match="model"):
        prices_of(None)


def test_written_tokens_cost_as_fresh_ones_where_writing_is_free():
    pro = prices_of("gemini-3.1-pro-preview")
    assert price(pro, 0, 0, 200_000, 0) == price(pro, 200_000, 0, 0, 0) == usd(0.4)
    assert price(pro, 0, 0, 200_001, 0) == usd(200_001 * 4 / 1e6)
    assert price(pro, 0, 0, 0, 0, written_long=1_000) == usd(0.002)


def test_what_the_cache_takes():
    one = Prices(fresh=1, cache_read=0.1, output=5, cache_min=1_024, cache_block=128)
    assert [one.cacheable(n) for n in (0, 1_023, 1_024, 1_151, 1_152)] == [
        0,
        0,
        1_024,
        1_024,
        1_152,
    ]
    assert prices_of("claude-opus-5").cacheable(511) == 0
    assert prices_of("claude-opus-5").cacheable(513) == 513


def test_longer_lifetimes():
    hour = prices_of("claude-opus-5-5").long_lived()
    assert (hour.ttl, hour.cache_write) == (3_600, 8)
    assert price(hour, 0, 0, 1_000, 0) == usd(0.008)
    with pytest.raises(InvalidInputError, match="long_cache_write"):
        prices_of("gpt-6-sol").long_lived()


def test_a_shorter_list_pays_where_reading_it_often_costs_more_than_writing_it_once():
    relative = Prices(fresh=1, cache_read=0.1, cache_write=1.25, output=5)
    assert relative.pays(1_000, 100, 10)
    assert not relative.pays(100, 1_000, 10)
    assert not relative.pays(1_000, 1, 0)
    halves = Prices(fresh=1, cache_read=0.5, cache_write=1.5, output=5)
    assert not halves.pays(200, 100, 1)  # 100 saved, 100 for writing
    assert halves.pays(201, 100, 1)
    opus = prices_of("claude-opus-5-5")  # the same relations, in USD
    assert opus.pays(1_000, 100, 10) == relative.pays(500, 100, 10)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fresh", {"fresh": -1}),
        ("fresh", {"fresh": "2"}),
        ("fresh", {"fresh": True}),
        ("output", {"output": math.nan}),
        ("cache_read", {"cache_read": 1.5}),
        ("cache_read", {"cache_read": None}),
        ("cache_write", {"cache_write": math.inf}),
        ("cache_read", {"cache_write": 0.05}),
        ("ttl", {"ttl": -1}),
        ("long_ttl", {"long_ttl": 60}),
        ("long_cache_write", {"long_cache_write": 2}),
        ("cache_min", {"cache_min": 0.5}),
        ("cache_min", {"cache_min": -1}),
        ("cache_block", {"cache_block": 0}),
        ("surcharge", {"surcharge": 2.0}),
    ],
)
def test_prices_out_of_range_are_refused(name, options):
    with pytest.raises(InvalidInputError, match=name):
        Prices(**{"fresh": 1, "cache_read": 0.1, "output": 5, **options})


@pytest.mark.parametrize("options", [{"cache_read": 1}, {"cache_read": 0.5, "cache_write": 0.5}])
def test_reading_from_the_cache_costs_at_most_as_much_as_writing(options):
    one = Prices(**{"fresh": 1, "output": 5, **options})
    assert one.cache_read == one.written
    with pytest.raises(InvalidInputError, match="cache_read"):
        Prices(**{"fresh": 1, "output": 5, **options, "cache_read": one.written + 0.001})


@pytest.mark.parametrize("options", [{"above": -1}, {"input": -2}, {"output": "1"}])
def test_surcharges_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        Surcharge(**{"above": 1, "input": 1, "output": 1, **options})


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("wrong", [-1, 1.0, True, None])
def test_numbers_of_tokens_out_of_range_are_refused(at, wrong):
    tokens = [1, 1, 1, 1]
    tokens[at] = wrong
    with pytest.raises(InvalidInputError, match=("fresh", "cached", "written", "output")[at]):
        price(PRICES["gpt-6-sol"], *tokens)
