"""What the scoped index says of a turn: tables of texts and what is read off them."""

from __future__ import annotations

import pytest

from warmset.text.decisions import DECISIONS, entities, is_decision, summarise

DECIDED = [
    "We decided to go.",
    "AGREED",
    "they chose blue",
    "the chosen one",
    "I will use tabs",
    "let's go with Rust",
    "Let’s go with Rust",
    "we settled on Friday",
    "This is final.",
    "in conclusion: no",
    "it must, of course",
    "you should",
    "don't",
    "Don’t do it",
    "(final)",
    "final\n",
    "must-have",
    "we will\nuse it",
    "**decided**",
]
UNDECIDED = [
    "",
    "undecided",
    "finally",
    "finals",
    "mustard",
    "shoulder",
    "shoulda",
    "conclusions",
    "the choser",
    "disagreed",
    "agreement",
    "will be used",
    "I will not use",
    "dont",
    "musty",
    "final_report",
    "let us go with it",
]


@pytest.mark.parametrize("text", DECIDED)
def test_what_settles_something(text):
    assert is_decision(text)


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_does_not(text):
    assert not is_decision(text)


def test_every_flag_counts():
    assert len(DECISIONS) == 12
    for flag in DECISIONS:
        assert is_decision(f"and {flag.upper()} it is")
        assert not is_decision(f"x{flag}")
        assert not is_decision(f"{flag}x")


SUMMARIES = [
    ("", ""),
    (" \n\t ", ""),
    ("  a \n\n b\t c  ", "a b c"),
    ("a\u00a0b\u2028c", "a b c"),
    ("x" * 200, "x" * 160),
    ("ab " * 100, ("ab " * 54)[:160].rstrip()),
    ("x" * 159 + " yz", "x" * 159),
    ("\U0001f600" * 200, "\U0001f600" * 160),
    (" " * 5_000 + "late", "late"),
    ("| a" + " " * 400 + "| b" + " " * 1_200 + "| c", "| a | b | c"),
]


@pytest.mark.parametrize(("text", "summary"), SUMMARIES)
def test_a_summary_is_the_first_160_characters_with_white_space_collapsed(text, summary):
    assert summarise(text) == summary


ENTITIES = [
    ("", ()),
    ("nothing here at all", ()),
    ("we met Zoë in Lisbon", ("Zoë", "Lisbon")),
    ("The plan. the rest", ()),
    ("we saw the Lake. Lake again", ("Lake",)),
    ("Berlin is large", ("Berlin",)),
    ("the cat. The dog", ()),
    ("we asked Will, who will come", ("Will",)),
    ("Paris, Paris and Paris", ("Paris",)),
    ("we wrote src/main.rs and ~/notes/a.txt", ("src/main.rs", "~/notes/a.txt")),
    ("see https://a.b/c?d=1.", ("https://a.b/c?d=1",)),
    ("call read_file and getName on PROJ-12", ("read_file", "getName", "PROJ-12")),
    ("so Ada’s engine and Ada's notes", ("Ada",)),
    ("and A and B", ()),
    (
        "so One, Two, Six, Ten, Ann, Bob, Cy, Dan, Eve",
        ("One", "Two", "Six", "Ten", "Ann", "Bob", "Cy", "Dan"),
    ),
]


@pytest.mark.parametrize(("text", "names"), ENTITIES)
def test_entities(text, names):
    assert entities(text) == names


@pytest.mark.parametrize(
    "text", ["a/" * 200_000, "x_" * 200_000, "A" * 400_000, "https://" * 9_999]
)
def test_a_long_text_is_no_trap(text):
    """A quadratic walk would take hours."""
    assert len(entities(text)) <= 8
    assert len(summarise(text)) <= 160
    assert not is_decision(text)
