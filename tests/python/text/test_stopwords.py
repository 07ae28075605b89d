"""What the tables of common words have in common, and what not."""

from __future__ import annotations

from warmset.text.stopwords import EMPTY, NO_NAMES, OPENERS, STARTERS


def test_a_word_names_nothing_anywhere_or_at_a_beginning_and_not_both():
    assert not NO_NAMES & OPENERS


def test_what_an_index_line_leaves_out_names_nothing_in_a_summary_either():
    assert STARTERS < NO_NAMES | OPENERS


def test_names_that_begin_sentences_are_left_to_an_index_line():
    assert {"mark", "hope", "may"} <= (NO_NAMES | OPENERS) - STARTERS


def test_what_says_nothing_names_nothing_but_for_verbs_and_scraps():
    assert {"the", "must", "never"} <= EMPTY & NO_NAMES
    assert len(EMPTY - NO_NAMES) == 16
