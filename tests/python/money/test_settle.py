"""Windows name what they are expected to cost, and what they cost once they are settled."""

import json
import pickle
import threading
from dataclasses import astuple

import pytest

from warmset import Memory
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.money import PRICES, Prices, Spending, Totals, expected_money, price

FLAT = Prices(fresh=10, cache_read=1, cache_write=12, output=50, ttl=300, cache_min=100)
TEXT = "The harbour is shut from nine in the evening until five in the morning. " * 12


@pytest.fixture
def log():
    with Memory.open(None, embedder="lexical") as memory:
        made = memory.conversation("log")
        made.append([{"role": "user", "content": TEXT}, {"role": "assistant", "content": "Noted."}])
        made.append({"role": "user", "content": "And the bridge?"})
        yield made


def window(log, **options):
    return log.window(budget=30_000, mode="full", **options)


def anthropic(fresh, cached, written, output, **more):
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
        **more,
    }


def test_a_first_list_is_written_and_its_front_read_later(log):
    first = window(log, prices=FLAT)
    money = first.report.money
    assert (money.fresh, money.cached, money.written) == (0, 0, first.tokens)
    assert money.price == pytest.approx(first.tokens * 12 / 1e6)
    log.append([{"role": "assistant", "content": "Open."}, {"role": "user", "content": "Thanks."}])
    second = window(log, prices=FLAT)
    money = second.report.money
    assert money.cached == second.report.cached > 100
    assert money.fresh == 0
    assert money.written == second.tokens - money.cached
    assert money.price == pytest.approx((money.cached + money.written * 12) / 1e6)


def test_the_table_gives_the_prices_of_a_model(log):
    short = window(log, model="us.anthropic.claude-opus-5")
    money = short.report.money
    assert (money.fresh, money.cached, money.written) == (short.tokens, 0, 0)  # too short to cache
    assert money.price == price(PRICES["claude-opus-5"], short.tokens, 0, 0, 0)
    mine = window(log, model="claude-opus-5", prices=FLAT).report.money
    assert mine.price == pytest.approx((mine.cached + mine.written * 12) / 1e6)


def test_an_unknown_model_has_tokens_and_no_price(log):
    for options in ({}, {"model": "a-model-of-my-own"}):
        found = window(log, **options)
        money = found.report.money
        assert money.price is None
        assert (money.cached, money.written) == (found.report.cached, 0)
        assert money.fresh == found.tokens - found.report.cached
    assert money.cached > 0


def test_the_cache_forgets_after_its_lifetime(log):
    now = [0.0]
    log._ledger.spending.clock = lambda: now[0]
    cached = []
    for at in (0, 300, 601, 601):
        now[0] = at
        cached.append(window(log, prices=FLAT).report.money.cached > 0)
    assert cached == [False, True, False, True]


@pytest.mark.parametrize("mode", ["jit", "full", "recency"])
def test_only_a_window_that_was_made_was_sent(log, mode):
    read = []
    log._ledger.spending.clock = lambda: read.append(mode) or 0.0
    with pytest.raises(BudgetTooSmall):
        log.window(budget=5, mode=mode, prices=FLAT)
    assert read == []
    assert log.window(budget=30_000, mode=mode, prices=FLAT).report.money.cached == 0
    assert read == [mode]
    assert log.window(budget=30_000, mode=mode, prices=FLAT).report.money.cached > 0


def test_expected_money_at_the_edges():
    def tokens(total, same, idle, **changes):
        prices = Prices(**{"fresh": 10, "cache_read": 1, "output": 50, "ttl": 60, **changes})
        made = expected_money(prices, tokens=total, same=same, idle=idle)
        return made.fresh, made.cached, made.written

    writes = {"cache_write": 12, "cache_min": 100, "cache_block": 64}
    assert tokens(500, 320, 60, **writes) == (0, 320, 180)
    assert tokens(500, 319, 60, **writes) == (0, 256, 244)
    assert tokens(500, 320, 60.1, **writes) == (0, 0, 500)
    assert tokens(500, 320, None, **writes) == (0, 0, 500)
    assert tokens(500, 99, 1, **writes) == (0, 0, 500)
    assert tokens(99, 99, 1, **writes) == (99, 0, 0)
    assert tokens(500, 900, 1, **writes) == (0, 448, 52)  # never more than the list has
    assert tokens(500, 320, 1, cache_min=100) == (180, 320, 0)  # writing costs nothing more


def test_a_surcharge_counts_the_whole_input():
    haiku = PRICES["claude-haiku-5-5"]
    found = [expected_money(haiku, tokens=n, same=90_000, idle=1).price for n in (100_000, 100_001)]
    assert found[0] == pytest.approx((90_000 * 0.01 + 10_000 * 0.125) / 1e6)
    assert found[1] == pytest.approx((90_000 * 0.05 + 10_001 * 0.625) / 1e6)


def test_settling_compares_with_what_was_expected(log):
    window(log, prices=FLAT)
    found = window(log, prices=FLAT)
    money = found.report.money
    assert money.actual is None
    bill = found.settle(anthropic(4, money.cached - 30, 50, 9))
    assert money.actual is bill is found.report.money.actual
    assert (bill.fresh, bill.cached, bill.written, bill.output) == (4, money.cached - 30, 50, 9)
    given = (4 * 10 + (money.cached - 30) + 50 * 12) / 1e6
    assert bill.price == pytest.approx(given + 9 * 50 / 1e6)
    assert bill.missed == 30
    assert bill.difference == pytest.approx(given - money.price)
    assert bill.transformations == bill.dropped == ()


def test_a_response_names_its_model_and_what_was_dropped(log):
    found = window(log)
    gone = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix"}
    seen = {**gone, "type": "thinking_mismatch_allowed"}
    bill = found.settle(
        {
            "model": "claude-opus-5-5-20260922",
            "usage": anthropic(1_000, 0, 0, 100),
            "input_transformations": [gone, seen],
        }
    )
    assert bill.price == pytest.approx((1_000 * 4 + 100 * 20) / 1e6)
    assert bill.difference is None
    assert [one.place for one in bill.dropped] == ["messages.1.content.0"]
    assert len(bill.transformations) == 2
    assert found.settle(anthropic(1_000, 0, 0, 100)).price is None
    assert log.spent.dropped == 1


def test_requests_of_other_models_have_their_own_prices(log):
    found = window(log, model="claude-opus-5-5")
    advisor = {"type": "advisor_message", "model": "claude-fable-5-2", **anthropic(500, 0, 0, 50)}
    own = {"type": "compaction", **anthropic(0, 30, 0, 70)}
    bill = found.settle(anthropic(1_000, 0, 0, 100, iterations=[advisor, own]))
    opus, fable = PRICES["claude-opus-5-5"], PRICES["claude-fable-5-2"]
    each = [price(opus, 1_000, 0, 0, 100), price(fable, 500, 0, 0, 50), price(opus, 0, 30, 0, 70)]
    assert bill.price == pytest.approx(sum(each))
    assert (bill.fresh, bill.cached, bill.output) == (1_500, 30, 220)
    assert bill.missed == 0  # of the request itself
    assert bill.difference == pytest.approx(price(opus, 1_000, 0, 0, 0) - found.report.money.price)
    named = anthropic(1_000, 0, 0, 100, iterations=[advisor])
    again = found.settle({"model": "claude-opus-5-5", "usage": named})
    assert again.price == pytest.approx(sum(each[:2])), "whether the response names its own or not"
    unknown = {**advisor, "model": "somebody-else"}
    assert found.settle(anthropic(1_000, 0, 0, 100, iterations=[unknown])).price is None


def test_custom_prices_hold_for_the_iterations_of_the_same_model(log):
    found = window(log, prices=FLAT)
    step = {"type": "message", "model": "claude-opus-5-5", **anthropic(1_000, 0, 0, 100)}
    usage = anthropic(1_000, 0, 0, 100, iterations=[step])
    bill = found.settle({"model": "claude-opus-5-5", "usage": usage})
    assert bill.price == pytest.approx((1_000 * 10 + 100 * 50) / 1e6)


def test_tokens_written_for_an_hour_are_written_tokens(log):
    found = window(log, model="claude-opus-5-5")
    cache = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
    bill = found.settle(anthropic(0, 0, 300, 0, cache_creation=cache))
    assert bill.written == 300
    assert bill.price == pytest.approx((100 * 5 + 200 * 8) / 1e6)


def test_settled_calls_add_up(log):
    assert log.spent == Totals()
    found = window(log, prices=FLAT)
    found.settle(anthropic(1, 2, 3, 4))
    found.settle(anthropic(10, 20, 30, 40))
    window(log).settle(anthropic(100, 200, 300, 400))
    spent = log.spent
    assert (spent.calls, spent.unpriced) == (3, 1)
    assert (spent.fresh, spent.cached, spent.written, spent.output) == (111, 222, 333, 444)
    assert spent.price == pytest.approx((11 * 10 + 22 + 33 * 12 + 44 * 50) / 1e6)


def test_conversations_and_their_handles():
    with Memory.open(None, embedder="lexical") as memory:
        for name in ("a", "b"):
            memory.process(
                [{"role": "user", "content": TEXT}], conversation=name, budget=9_000, prices=FLAT
            ).settle(anthropic(1, 0, 0, 0))
        memory.conversation("a").window(budget=9_000).settle(anthropic(1, 0, 0, 0))
        assert [memory.conversation(name).spent.calls for name in ("a", "b")] == [2, 1]


def test_no_usage_is_not_recorded(log):
    found = window(log, prices=FLAT)
    with pytest.raises(InvalidInputError, match="usage"):
        found.settle({"tokens": 3})
    assert found.report.money.actual is None
    assert log.spent == Totals()


def test_a_report_with_money_is_plain_json_and_pickles(log):
    found = window(log, prices=FLAT)
    found.settle(anthropic(1, 2, 3, 4))
    there = json.loads(json.dumps(found.report.to_dict()))["money"]
    assert set(there) == {"fresh", "cached", "written", "price", "actual"}
    assert there["actual"]["output"] == 4
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert copy.report.money == found.report.money
    assert copy.report.money.actual == found.report.money.actual
    copy.settle(anthropic(1, 2, 3, 4))
    assert log.spent.calls == 1
    assert "USD" in found.report._repr_html_()
    assert "_spending" not in repr(found.report.money)


@pytest.mark.parametrize(
    "options", [{"model": ""}, {"model": " "}, {"model": 4}, {"prices": 2.0}, {"prices": Prices}]
)
def test_options_out_of_range_are_refused(log, options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        window(log, **options)


def test_model_and_prices_change_nothing_else(log):
    log.append({"role": "assistant", "content": TEXT})
    log.append([{"role": "user", "content": f"{TEXT} {n}"} for n in range(40)])
    plain = log.window("the bridge", budget=2_000)
    priced = log.window("the bridge", budget=2_000, model="claude-opus-5-5", prices=FLAT)
    assert priced.messages == plain.messages
    assert priced.report.searched_by == plain.report.searched_by


def test_many_threads_settle_at_once():
    spending = Spending()
    money = expected_money(FLAT, tokens=500, same=0, spending=spending)

    def settle():
        for _ in range(200):
            money.settle({"prompt_tokens": 1, "completion_tokens": 1})

    threads = [threading.Thread(target=settle) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (spending.total.calls, spending.total.fresh) == (1_600, 1_600)


def test_nothing_is_spent_at_first():
    assert set(astuple(Totals())) == {0}
