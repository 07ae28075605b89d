"""The measures against cases worked by hand, and against the plainest way to say them."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import numpy as np
import pytest

from warmset.errors import InvalidInputError
from warmset.lab.eval.bootstrap import interval
from warmset.lab.eval.measures import Coverage, area, recall
from warmset.lab.eval.options import middle, numbers, percentages


@pytest.mark.parametrize(
    ("evidence", "there", "wanted"),
    [
        ({3}, {3, 9}, (1.0, 1.0, 1.0)),
        ({3}, {9}, (0.0, 0.0, 0.0)),
        ({1, 2, 3, 4}, {4}, (0.25, 0.0, 1.0)),
        ({1, 2, 3, 4}, set(range(9)), (1.0, 1.0, 1.0)),
        ({1, 2}, set(), (0.0, 0.0, 0.0)),
    ],
)
def test_recall_three_ways(evidence, there, wanted):
    assert recall(evidence, there) == wanted


def test_recall_is_that_of_sets():
    drawn = random.Random(5)
    for _ in range(300):
        evidence = set(drawn.sample(range(12), drawn.randint(1, 5)))
        there = set(drawn.sample(range(12), drawn.randint(0, 12)))
        both = evidence & there
        assert recall(evidence, there) == (
            len(both) / len(evidence),
            float(both == evidence),
            float(bool(both)),
        )


TEXTS = ("a heron at the pond", "rye bread in the oven", "the pond is frozen", "bread again")


def weight(df):
    return math.log(1 + len(TEXTS) / (df + 0.5))


def test_coverage_by_hand():
    coverage = Coverage(TEXTS)
    # heron stands in one turn, pond in two; "frozen" is in the evidence, "violet" nowhere.
    got = coverage.of("Which bird?", "heron, pond, frozen, violet", [0, 2], {0})
    assert got == pytest.approx((weight(1) + weight(2)) / (2 * weight(1) + weight(2)))
    assert coverage.of("Which bird?", "heron", [0, 2], {2}) == 0.0
    assert coverage.of("Which bird?", "heron", [0, 2], {0, 1, 2, 3}) == 1.0


def test_what_the_question_says_already_does_not_count():
    coverage = Coverage(TEXTS)
    assert coverage.of("Was it at the pond?", "a heron at the pond", [0, 2], {2}) == 0.0
    assert coverage.of("Was it at the pond?", "the pond", [0, 2], {2}) == 1.0  # nothing is left


def test_turns_that_are_no_evidence_deliver_nothing():
    assert Coverage(TEXTS).of("What did I bake?", "bread", [1], {3}) == 0.0


@pytest.mark.parametrize("answer", ["violet", "", "the", "42"])
def test_coverage_is_undefined_where_the_evidence_says_nothing_of_it(answer):
    assert Coverage(TEXTS).of("Which bird?", answer, [0], {0}) is None


def test_area_by_hand():
    assert area([(1, 1.0), (10, 1.0), (100, 1.0)]) == pytest.approx(1.0)
    assert area([(1, 0.0), (10, 0.0)]) == 0.0
    assert area([(100, 1.0), (1, 0.0)]) == pytest.approx(0.5)
    assert area([(1, 0.0), (10, 1.0), (100, 1.0)]) == pytest.approx(0.75)
    assert area([(10, 1.0), (1, 0.0), (100, 1.0)]) == pytest.approx(0.75)
    assert area([(1, 0.5), (2, 0.5), (1024, 0.5)]) == pytest.approx(0.5)
    assert area([(5, 0.9)]) is None


def test_an_interval_draws_whole_conversations():
    values = {"a": [1.0, 1.0, 1.0], "b": [0.0]}
    # Two draws out of two: both a (1), one of each (3/4), both b (0), with 1/4, 1/2, 1/4.
    assert interval(values) == (0.0, 1.0)
    assert interval({"a": [0.5, 0.5], "b": [0.5]}) == (0.5, 0.5)
    assert interval({"a": [0.0, 1.0]}) is None
    assert interval({"a": [0.0, 1.0], "b": []}) is None


def test_an_interval_is_that_of_all_draws():
    values = {"a": [0.9, 0.8], "b": [0.2], "c": [0.5, 0.6, 0.7], "d": [0.3, 0.4], "e": [0.65]}
    means = [
        statistics.fmean(v for name in draw for v in values[name])
        for draw in itertools.product(values, repeat=5)
    ]
    wanted = np.quantile(means, [0.025, 0.975])
    assert interval(values) == pytest.approx(tuple(wanted), abs=0.015)
    assert interval(values) == interval(values)


def test_budgets_and_cuts_are_read():
    assert percentages("5,1, 2.5,5") == (1.0, 2.5, 5.0)
    assert percentages("100,0.01") == (0.01, 100.0)
    assert numbers("20,6") == (6, 20)


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "100.01", "101", "nan", "inf", "1,,2"])
def test_what_is_no_percentage_is_refused(text):
    with pytest.raises(InvalidInputError, match="budgets"):
        percentages(text)


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "1.5", "nan", "inf"])
def test_what_is_no_number_of_hits_is_refused(text):
    with pytest.raises(InvalidInputError, match="whole numbers"):
        numbers(text)


def test_single_figures_stand_at_five_percent_or_the_largest():
    assert middle(["k6", "k20", "t1", "t5", "t50"]) == ("k20", "t5")
    assert middle(["k6", "t1", "t2"]) == ("k6", "t2")
