"""Which of some words a text has."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from warmset._core import KnownWords

WORDS = ["yesterday", "may", "5", "05", "/", "#year", "maybe"]
RUN = re.compile(r"[a-z]+|[0-9]+|/")
PIECES = st.sampled_from([*WORDS, "Y", "é", "\ud83d", "٣", " ", ".", "x", "0", "-"]) | st.text(
    max_size=3
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_runs_of_letters_and_of_digits_and_strokes_are_words(text):
    found = KnownWords(WORDS).among(text)
    assert found == [run for run in RUN.findall(text) if run in WORDS]


def test_words_end_where_others_begin():
    known = KnownWords(WORDS)
    assert known.among("may5maybe 055//yesterdays 5 may") == [
        "may",
        "5",
        "maybe",
        "/",
        "/",
        "5",
        "may",
    ]
    assert known.among("") == []
    assert KnownWords([]).among("may / 5") == []
