"""Phrases of time and the days that they mean, said on Wednesday, 10 May 2023."""

from __future__ import annotations

import random
import sys
from datetime import date

import pytest
from hypothesis import given, strategies as st

from warmset.text.features import days
from warmset.text.resolved_dates import resolved
from warmset.text.temporal import mentions, phrases
from warmset.text.temporal.phrases import MOST

DAY = date(2023, 5, 10)

KNOWN = [
    ("8 May 2023", "2023-05-08", "2023-05-08"),
    ("8th May 2023", "2023-05-08", "2023-05-08"),
    ("8th of May, 2023", "2023-05-08", "2023-05-08"),
    ("the 8th of May 2023", "2023-05-08", "2023-05-08"),
    ("May 8, 2023", "2023-05-08", "2023-05-08"),
    ("May 8th, 2023", "2023-05-08", "2023-05-08"),
    ("May 8 2023", "2023-05-08", "2023-05-08"),
    ("May the 8th", "2023-05-08", "2023-05-08"),
    ("8 May", "2023-05-08", "2023-05-08"),
    ("May 8", "2023-05-08", "2023-05-08"),
    ("on 3 September", "2023-09-03", "2023-09-03"),
    ("Sept 3, 2022", "2022-09-03", "2022-09-03"),
    ("3 Sep 2022", "2022-09-03", "2022-09-03"),
    ("Dec. 24, 2021", "2021-12-24", "2021-12-24"),
    ("2023-05-08", "2023-05-08", "2023-05-08"),
    ("2023/05/08", "2023-05-08", "2023-05-08"),
    ("2023-05-08T10:15:00Z", "2023-05-08", "2023-05-08"),
    ("25/12/2022", "2022-12-25", "2022-12-25"),
    ("12/25/2022", "2022-12-25", "2022-12-25"),
    ("7/7/2022", "2022-07-07", "2022-07-07"),
    ("3-5 May 2023", "2023-05-03", "2023-05-05"),
    ("May 3-5, 2023", "2023-05-03", "2023-05-05"),
    ("from 3 to 5 May 2023", "2023-05-03", "2023-05-05"),
    ("May 3rd to 5th", "2023-05-03", "2023-05-05"),
    ("2\u20134 June 2022", "2022-06-02", "2022-06-04"),
    ("in March", "2023-03-01", "2023-03-31"),
    ("in March 2022", "2022-03-01", "2022-03-31"),
    ("March 2022", "2022-03-01", "2022-03-31"),
    ("in March of 2022", "2022-03-01", "2022-03-31"),
    ("Mar 2022", "2022-03-01", "2022-03-31"),
    ("since March", "2023-03-01", "2023-05-10"),
    ("early June 2023", "2023-06-01", "2023-06-10"),
    ("late 2021", "2021-09-02", "2021-12-31"),
    ("the end of 2021", "2021-09-02", "2021-12-31"),
    ("the beginning of April", "2023-04-01", "2023-04-10"),
    ("mid-July", "2023-07-11", "2023-07-21"),
    ("mid 2022", "2022-05-02", "2022-09-01"),
    ("the middle of March 2023", "2023-03-11", "2023-03-21"),
    ("start of 2020", "2020-01-01", "2020-05-01"),
    ("in early 2022", "2022-01-01", "2022-05-01"),
    ("in 2022", "2022-01-01", "2022-12-31"),
    ("since 2019", "2019-01-01", "2023-05-10"),
    ("during 2020", "2020-01-01", "2020-12-31"),
    ("in the year 2018", "2018-01-01", "2018-12-31"),
    ("the 1990s", "1990-01-01", "1999-12-31"),
    ("the 90s", "1990-01-01", "1999-12-31"),
    ("in the 80s", "1980-01-01", "1989-12-31"),
    ("Q3 2022", "2022-07-01", "2022-09-30"),
    ("Q1 of 2023", "2023-01-01", "2023-03-31"),
    ("spring 2022", "2022-03-01", "2022-05-31"),
    ("the summer of 2022", "2022-06-01", "2022-08-31"),
    ("in the summer of 2021", "2021-06-01", "2021-08-31"),
    ("in the winter", "2022-12-01", "2023-02-28"),
    ("winter 2021", "2021-12-01", "2022-02-28"),
    ("in the fall", "2023-09-01", "2023-11-30"),
    ("late summer 2022", "2022-08-02", "2022-08-31"),
    ("between May and July 2022", "2022-05-01", "2022-07-31"),
    ("March to May 2022", "2022-03-01", "2022-05-31"),
    ("from January through March 2023", "2023-01-01", "2023-03-31"),
    ("June-August 2022", "2022-06-01", "2022-08-31"),
    ("the first weekend of August 2023", "2023-08-05", "2023-08-06"),
    ("the last week of April", "2023-04-24", "2023-04-30"),
    ("the first Monday of June 2023", "2023-06-05", "2023-06-05"),
    ("the second Friday of March 2023", "2023-03-10", "2023-03-10"),
    ("the third week in January 2022", "2022-01-15", "2022-01-21"),
    ("the last Sunday of October 2022", "2022-10-30", "2022-10-30"),
    ("the week of May 1", "2023-05-01", "2023-05-07"),
    ("the week of 24 April 2023", "2023-04-24", "2023-04-30"),
    ("Christmas", "2022-12-25", "2022-12-25"),
    ("Christmas 2021", "2021-12-25", "2021-12-25"),
    ("Christmas Eve", "2022-12-24", "2022-12-24"),
    ("New Year's Eve", "2022-12-31", "2022-12-31"),
    ("Halloween 2022", "2022-10-31", "2022-10-31"),
    ("Thanksgiving 2022", "2022-11-24", "2022-11-24"),
    ("Valentine's Day", "2023-02-14", "2023-02-14"),
    ("the fourth of July 2021", "2021-07-04", "2021-07-04"),
    ("Independence Day", "2023-07-04", "2023-07-04"),
    ("today", "2023-05-10", "2023-05-10"),
    ("tonight", "2023-05-10", "2023-05-10"),
    ("this morning", "2023-05-10", "2023-05-10"),
    ("earlier this afternoon", "2023-05-10", "2023-05-10"),
    ("yesterday", "2023-05-09", "2023-05-09"),
    ("yesterday evening", "2023-05-09", "2023-05-09"),
    ("last night", "2023-05-09", "2023-05-09"),
    ("the day before yesterday", "2023-05-08", "2023-05-08"),
    ("tomorrow", "2023-05-11", "2023-05-11"),
    ("tomorrow morning", "2023-05-11", "2023-05-11"),
    ("the day after tomorrow", "2023-05-12", "2023-05-12"),
    ("three days ago", "2023-05-07", "2023-05-07"),
    ("a day ago", "2023-05-09", "2023-05-09"),
    ("two weeks ago", "2023-04-24", "2023-04-30"),
    ("a couple of weeks ago", "2023-04-24", "2023-04-30"),
    ("a couple weeks ago", "2023-04-24", "2023-04-30"),
    ("a few days ago", "2023-05-05", "2023-05-08"),
    ("several days ago", "2023-05-02", "2023-05-07"),
    ("a month ago", "2023-04-01", "2023-04-30"),
    ("six months ago", "2022-11-01", "2022-11-30"),
    ("10 months back", "2022-07-01", "2022-07-31"),
    ("a year ago", "2022-01-01", "2022-12-31"),
    ("an year ago", "2022-01-01", "2022-12-31"),
    ("3 years ago", "2020-01-01", "2020-12-31"),
    ("two decades ago", "2003-01-01", "2003-12-31"),
    ("a few years ago", "2018-01-01", "2021-12-31"),
    ("a few decades ago", "1973-01-01", "2003-12-31"),
    ("two decades before 2020", "2000-01-01", "2000-12-31"),
    ("a few weeks ago", "2023-04-03", "2023-04-30"),
    ("one week ago", "2023-05-01", "2023-05-07"),
    ("a weekend ago", "2023-05-06", "2023-05-07"),
    ("in two days", "2023-05-12", "2023-05-12"),
    ("in three weeks", "2023-05-29", "2023-06-04"),
    ("in a month", "2023-06-01", "2023-06-30"),
    ("in a few weeks", "2023-05-22", "2023-06-18"),
    ("in two weeks' time", "2023-05-22", "2023-05-28"),
    ("within 5 days", "2023-05-10", "2023-05-15"),
    ("two weeks from now", "2023-05-22", "2023-05-28"),
    ("a year from today", "2024-01-01", "2024-12-31"),
    ("the last two weeks", "2023-04-26", "2023-05-10"),
    ("over the past three months", "2023-02-10", "2023-05-10"),
    ("in the last few days", "2023-05-05", "2023-05-10"),
    ("in the past year", "2022-05-10", "2023-05-10"),
    ("during the last month", "2023-04-10", "2023-05-10"),
    ("the past couple of days", "2023-05-08", "2023-05-10"),
    ("for the past 6 months", "2022-11-10", "2023-05-10"),
    ("in the last decade", "2013-05-10", "2023-05-10"),
    ("last week", "2023-05-01", "2023-05-07"),
    ("this week", "2023-05-08", "2023-05-14"),
    ("next week", "2023-05-15", "2023-05-21"),
    ("the coming week", "2023-05-15", "2023-05-21"),
    ("last weekend", "2023-05-06", "2023-05-07"),
    ("this weekend", "2023-05-13", "2023-05-14"),
    ("this past weekend", "2023-05-06", "2023-05-07"),
    ("next weekend", "2023-05-20", "2023-05-21"),
    ("last month", "2023-04-01", "2023-04-30"),
    ("this month", "2023-05-01", "2023-05-31"),
    ("next month", "2023-06-01", "2023-06-30"),
    ("earlier this month", "2023-05-01", "2023-05-31"),
    ("last year", "2022-01-01", "2022-12-31"),
    ("this year", "2023-01-01", "2023-12-31"),
    ("next year", "2024-01-01", "2024-12-31"),
    ("the previous year", "2022-01-01", "2022-12-31"),
    ("later this year", "2023-01-01", "2023-12-31"),
    ("last Friday", "2023-05-05", "2023-05-05"),
    ("last Wednesday", "2023-05-03", "2023-05-03"),
    ("next Friday", "2023-05-12", "2023-05-12"),
    ("this Friday", "2023-05-12", "2023-05-12"),
    ("this coming Tuesday", "2023-05-16", "2023-05-16"),
    ("this past Monday", "2023-05-08", "2023-05-08"),
    ("on Friday", "2023-05-12", "2023-05-12"),
    ("on Monday", "2023-05-08", "2023-05-08"),
    ("Tuesday night", "2023-05-09", "2023-05-09"),
    ("last Tuesday evening", "2023-05-09", "2023-05-09"),
    ("Friday of last week", "2023-05-05", "2023-05-05"),
    ("Monday next week", "2023-05-15", "2023-05-15"),
    ("last Sat", "2023-05-06", "2023-05-06"),
    ("next Thurs", "2023-05-11", "2023-05-11"),
    ("last March", "2023-03-01", "2023-03-31"),
    ("next March", "2024-03-01", "2024-03-31"),
    ("last June", "2022-06-01", "2022-06-30"),
    ("this May", "2023-05-01", "2023-05-31"),
    ("last summer", "2022-06-01", "2022-08-31"),
    ("next summer", "2023-06-01", "2023-08-31"),
    ("this summer", "2023-06-01", "2023-08-31"),
    ("last winter", "2022-12-01", "2023-02-28"),
    ("last spring", "2022-03-01", "2022-05-31"),
    ("this fall", "2023-09-01", "2023-11-30"),
    ("two days before 5 May 2023", "2023-05-03", "2023-05-03"),
    ("the week before 9 June 2023", "2023-05-29", "2023-06-04"),
    ("the weekend before 7 July 2022", "2022-07-02", "2022-07-03"),
    ("the Friday before 15 July 2022", "2022-07-08", "2022-07-08"),
    ("the day after Christmas 2022", "2022-12-26", "2022-12-26"),
    ("a week after 1 March 2023", "2023-03-06", "2023-03-12"),
    ("three weeks before Christmas", "2022-11-28", "2022-12-04"),
    ("the month before May 2022", "2022-04-01", "2022-04-30"),
    ("a year before 2020", "2019-01-01", "2019-12-31"),
    ("the Sunday after 25 May 2023", "2023-05-28", "2023-05-28"),
    ("two months after 31 December 2022", "2023-02-01", "2023-02-28"),
    ("the day before yesterday's", "2023-05-08", "2023-05-08"),
    ("the day before 4 May 2023", "2023-05-03", "2023-05-03"),
    ("the year after 2019", "2020-01-01", "2020-12-31"),
    ("a few days after 1 May 2023", "2023-05-03", "2023-05-06"),
    ("the weekend after 4 May 2023", "2023-05-06", "2023-05-07"),
    ("since May 2022", "2022-05-01", "2023-05-10"),
    ("since last week", "2023-05-01", "2023-05-10"),
    ("since yesterday", "2023-05-09", "2023-05-10"),
    ("after May 2022", "2022-06-01", "2023-05-10"),
    ("after last Friday", "2023-05-06", "2023-05-10"),
    ("between 3 May and 8 May 2023", "2023-05-03", "2023-05-08"),
    ("from Monday to Wednesday", "2023-05-08", "2023-05-10"),
    ("between 2019 and 2021", "2019-01-01", "2021-12-31"),
    ("from 2019 to 2021", "2019-01-01", "2021-12-31"),
    ("from June 2021 until August 2021", "2021-06-01", "2021-08-31"),
]

UNKNOWN = [
    "every Friday",
    "on Fridays",
    "each Monday",
    "I may go",
    "may I",
    "we march on",
    "march with them",
    "05/06/2023",
    "31 June 2023",
    "30 February 2023",
    "two weeks",
    "for three years",
    "a 5 year plan",
    "before May 2023",
    "until 2024",
    "by March 2024",
    "by Friday",
    "recently",
    "soon",
    "the other day",
    "some day",
    "one day",
    "ages ago",
    "weeks ago",
    "sun and sat there",
    "a second first",
    "the spring in her step",
    "a fall down the stairs",
    "a summer dress",
    "room 2023",
    "2023 people",
    "version 20.10",
    "chapter 5 may help",
    "mon ami",
    "the last of us",
    "next door",
    "last but not least",
    "this is it",
    "in a minute",
    "half past ten",
    "three cups",
    "once a week",
    "a year and a half ago",
    "May",
    "March",
    "April is kind",
    "by December",
    "until June",
]


def spans(text, day=DAY, **options):
    return [(str(one.span.first), str(one.span.last)) for one in mentions(text, day, **options)]


def test_the_table_is_long_enough():
    assert len({phrase for phrase, _, _ in KNOWN}) >= 150


@pytest.mark.parametrize(("phrase", "first", "last"), KNOWN)
def test_a_phrase_means_its_days(phrase, first, last):
    assert spans(phrase) == [(first, last)]
    assert spans(f"So {phrase}, as I told you.") == [(first, last)]


@pytest.mark.parametrize("phrase", UNKNOWN)
def test_what_is_not_known_gives_nothing(phrase):
    assert spans(phrase) == []
    assert spans(f"So {phrase}, as I told you.") == []


def test_phrases_come_in_order_with_their_places():
    text = "Yesterday we met; since March, and until 2025, we wait for next week."
    found = mentions(text, DAY)
    assert [text[one.start : one.end] for one in found] == ["Yesterday", "since March", "next week"]


@pytest.mark.parametrize(
    ("phrase", "nearest", "last"),
    [
        ("in August", "2023-08-01", "2022-08-01"),
        ("in April", "2023-04-01", "2023-04-01"),
        ("on Friday", "2023-05-12", "2023-05-05"),
        ("on 1 July", "2023-07-01", "2022-07-01"),
        ("on 29 February", "2024-02-29", "2024-02-29"),
        ("at Christmas", "2022-12-25", "2022-12-25"),
    ],
)
def test_a_part_of_the_year_is_the_nearest_or_the_last_one(phrase, nearest, last):
    assert [first for first, _ in spans(phrase)] == [nearest]
    assert [first for first, _ in spans(phrase, past=True)] == [last]


def test_quotes_and_capitals_do_not_matter():
    assert spans("NEW YEAR’S EVE 2021") == [("2021-12-31", "2021-12-31")]
    # The letter grows when it is lowered, so places are taken from the text as it is.
    assert spans("İzmir, last week") == [("2023-05-01", "2023-05-07")]


def test_a_day_at_the_end_of_time_gives_nothing():
    assert spans("next year", date(9999, 12, 31)) == []
    assert spans("two days ago", date(1, 1, 1)) == []


def test_a_table_of_dates_is_read_up_to_a_point():
    assert MOST <= len(spans("2023-05-08 and " * 500)) <= 2_000
    assert len(spans("2023-05-08, last week, yesterday " * 100)) <= 1_000


def steps(text):
    """How many calls, of Python's functions and of its built-in ones, reading a text takes."""
    counted = 0

    def count(_frame, event, _argument):
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = mentions(text, DAY)
    finally:
        sys.setprofile(before)
    return counted / len(found)


@pytest.mark.parametrize(
    "phrase",
    ["yesterday ", "yesterday to ", "from yesterday to today ", "the friday before 15 july "],
)
def test_a_phrase_costs_the_same_among_many(phrase):
    few, many = (steps(phrase * count) for count in (60, 600))
    assert many < 1.2 * few


def test_each_range_of_days_is_given_once():
    assert days("yesterday " * 2_000, 1e9) == days("yesterday", 1e9)
    assert len(days("yesterday, today, yesterday", 1e9)) == 2


@given(st.text(max_size=60), st.dates())
def test_any_text_is_read_without_an_error(text, day):
    for one in mentions(text, day):
        assert one.span.first <= one.span.last
        assert 0 <= one.start < one.end <= len(text)


WORDS = [
    *("last", "next", "5", "may", "2023", "two", "days", "weeks"),
    *("before", "after", "the", "of", "-", "from", "to"),
]


@given(st.lists(st.sampled_from(WORDS), max_size=9), st.dates())
def test_any_order_of_its_words_is_read_without_an_error(words, day):
    for one in mentions(" ".join(words), day):
        assert one.span.first <= one.span.last


@pytest.mark.parametrize(
    ("text", "relative"),
    [
        ("the day before yesterday", True),
        ("yesterday", True),
        ("two weeks ago", True),
        ("last friday", True),
        ("on friday", False),
        ("friday", False),
        ("15 july 2023", False),
        ("in march", False),
    ],
)
def test_a_phrase_is_relative_where_the_day_tells_what_it_means(text, relative):
    [one] = mentions(text, DAY)
    assert one.relative is relative
    assert mentions(text, DAY, relative_only=True) == ([one] if relative else [])


@pytest.mark.parametrize("seed", range(4))
def test_all_phrases_that_depend_on_the_day_are_found_where_no_others_are_asked_for(seed):
    rng = random.Random(seed)
    words = sorted(word for word in phrases._WORDS if word.isalnum())
    found, left = 0, 0
    for _ in range(1_000):
        text = " ".join(rng.choices([*words, "from", "to", "2023", "two", "before"], k=4))
        every = mentions(text, DAY)
        asked = mentions(text, DAY, relative_only=True)
        far = any(one.relative for one in every)
        assert asked == every or (asked == [] and not far), text
        found, left = found + far, left + (asked != every)
    assert found > 50
    assert left > 50


def test_a_year_right_behind_its_month_is_seen_beside_other_words_of_time():
    [month, day] = mentions("may2023 yesterday", DAY)
    assert (month.span.first, month.span.last) == (date(2023, 5, 1), date(2023, 5, 31))
    assert day.span.first == date(2023, 5, 9)


@pytest.mark.parametrize(
    "text",
    ["a week from tomorrow", "three weeks from next Friday", "two weeks on tomorrow"],
)
def test_what_is_counted_from_another_day_is_not_that_day(text):
    at = 1_683_720_000.0  # noon of that Wednesday, UTC
    assert resolved(f"See you {text}.", "user", at) == []
    assert resolved("See you tomorrow.", "user", at) == [("tomorrow", "11 May 2023")]
