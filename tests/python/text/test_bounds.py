"""Tables and rules of texts at their exact limits."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from warmset.options import SUMMARY_CHARS
from warmset.text.clauses import Clauses, sets
from warmset.text.decisions import MAX_ENTITIES, entities, summarise
from warmset.text.features import CALLS, Addressed, read
from warmset.text.private import PRIVATE, without_private
from warmset.text.superseding import SENTENCES, Open, topics_of
from warmset.text.tags import tag_guard
from warmset.text.timestamps import seconds

AT = 1_700_000_000.0


def test_private_parts_nest_and_an_open_one_reaches_the_end():
    inner = "<private>a<private>b</private>c</private>"
    assert without_private(f"x {inner} y") == f"x {PRIVATE} y"
    assert without_private("x <private>a") == f"x {PRIVATE}"
    alone = "x </private> y <private>a</private> z"
    assert without_private(alone) == f"x </private> y {PRIVATE} z"
    assert without_private("x <private>a</private> y <private>b") == f"x {PRIVATE} y {PRIVATE}"


def gone(*said):
    open_ = Open()
    for number, (text, asked) in enumerate(said):
        open_.add(number, topics_of(text), asked=asked)
    return open_.gone


def test_a_model_changes_what_it_decided_and_not_what_a_person_did():
    early, late = "The search timeout must be 30 s.", "The search timeout must be 60 s."
    assert gone((early, True), (late, False)) == set()
    assert gone((early, False), (late, False)) == {0}
    assert gone((early, False), (late, True)) == {0}


def test_a_decision_of_two_sentences_stays_until_both_are_changed():
    early = "The search timeout must be 30 s. The index size must be 40 mb."
    late = "The search timeout must be 60 s."
    other = "The index size must be 50 mb."
    assert gone((early, True), (late, True)) == set()
    assert gone((early, True), (late, True), (other, True)) == {
        0,
    }


def test_as_many_sentences_of_a_message_are_looked_at_and_no_more():
    said = " ".join(
        f"The size of index {chr(97 + n)}x must be {n} mb." for n in range(SENTENCES + 1)
    )
    assert len(topics_of(said)) == SENTENCES == 16


def test_a_subject_of_one_word_needs_a_number():
    assert gone(("We must encrypt.", True), ("We should encrypt.", True)) == set()
    assert gone(("We must encrypt backups.", True), ("We should encrypt backups.", True)) == {0}


def test_half_of_the_words_are_enough_where_the_replaced_is_named():
    earlier, later = (
        topics_of("We must use Postgres database.")[0],
        topics_of("We will use MySQL instead of Postgres.")[0],
    )
    assert len(earlier.words & later.words) * 2 == len(earlier.words)
    assert later.supersedes(earlier)


def test_entities_and_summaries_end_at_their_limits():
    names = [f"Name{chr(97 + n)}" for n in range(MAX_ENTITIES + 1)]
    assert entities("we met " + " and ".join(names)) == tuple(names[:MAX_ENTITIES])
    assert entities("Monkeys climb. I like monkeys and Berta.") == ("Berta",)
    text = "a" * (SUMMARY_CHARS - 1) + " bcd"
    assert summarise(text) == "a" * (SUMMARY_CHARS - 1)
    assert len(summarise("a" * (SUMMARY_CHARS + 1))) == SUMMARY_CHARS


@pytest.mark.parametrize(("mine", "others", "named"), [(3, 0, 1), (2, 0, 0), (4, 1, 1), (3, 3, 0)])
def test_a_name_counts_from_the_third_call_on_if_the_other_side_hardly_calls_it(
    mine, others, named
):
    heard = Addressed()
    assert CALLS == 3
    for _ in range(mine):
        heard.hear("user", "Thanks, Maria!")
    for _ in range(others):
        heard.hear("assistant", "Thanks, Maria!")
    assert len(heard.names()) == named


def test_a_caption_at_the_end_asks_nothing_and_a_long_range_is_no_hint():
    found = read("Is it you? [a photo of a dog]", "user", AT)
    assert (found.asking, found.ends_asking) == (1.0, True)
    assert read("It was in the 1990s.", "user", AT).days == ()
    assert read("It was in 2019.", "user", AT).days != ()


@pytest.mark.parametrize("tag", ["</ earlier-turns>", "< earlier-turns>", "<\t/\tearlierturns>"])
def test_a_tag_is_known_with_white_space_before_its_name(tag):
    assert tag_guard(["earlier-turns"])(tag) == "‹" + tag[1:]
    assert tag_guard(["earlier-turns"])(f"a{tag} < b{tag}") == f"a‹{tag[1:]} < b‹{tag[1:]}"


def test_a_question_sets_nothing_and_words_behind_a_value_count():
    assert not sets("The limit is 30 s?")
    assert sets("The limit is 30 s.")
    (stated,) = Clauses("Use 30 s as the search timeout.").stated(0)
    assert {"search", "timeout"} <= stated.words
    read = Clauses("It is about the search. Use 30 s. Not the index. Nor that.")
    (stated,) = read.stated(1)
    assert {"search", "index"} <= stated.around


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the process cannot be set")
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_a_time_without_a_zone_is_in_utc_wherever_the_machine_stands(zone, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for given in ("1970-01-02T00:00:00", datetime(1970, 1, 2)):  # noqa: DTZ001 - without one
            assert seconds(given) == 86_400
        assert seconds("1970-01-02T00:00:00+01:00") == 86_400 - 3_600
    finally:
        monkeypatch.undo()
        time.tzset()
