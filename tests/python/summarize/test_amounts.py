"""Numbers with units, in one spelling; which of them a summary has."""

from __future__ import annotations

import pytest

from warmset.summarize.sought import Sought
from warmset.summarize.spelling import amount, with_digits


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["$5", "5 USD", "5$", "5.00 dollars"], "5 usd"),
        (["€5", "5€", "5 €", "5 EUR"], "5 eur"),
        (["£1,000", "1,000£", "1000 GBP"], "1000 gbp"),
        (["¥20", "20¥", "20 JPY"], "20 jpy"),
        (["15%", "15 percent", "15 per cent"], "15 %"),
        (["-3 €", "-3€"], "-3 eur"),
    ],
)
def test_an_amount_has_one_spelling(texts, one):
    assert {text: amount(text) for text in texts} == dict.fromkeys(texts, one)


def test_numbers_in_words_are_written_as_digits():
    words = "ten, twenty, thirty-one, forty, fifty two, sixty, seventy, eighty and ninety-nine"
    assert with_digits(words) == "10, 20, 31, 40, 52, 60, 70, 80 and 99"
    assert with_digits("Two hundred berths") == "200 berths"


def test_a_day_in_the_name_of_a_file_is_no_day_that_a_summary_states():
    assert Sought("it was on 2023-05-08").has("number", "?-05-08", "8 May")
    assert not Sought("see /var/log/2023-05-08 now").has("number", "?-05-08", "8 May")
