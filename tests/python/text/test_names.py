"""The names that the core finds in a text are those that the patterns find."""

from __future__ import annotations

import random

import pytest

from warmset.text import decisions
from warmset.text.stopwords import STARTERS

LONG = [
    count * sign
    for sign in ("a", "B", "7", "~", ".", "x_")
    for count in (2, 39, 40, 79, 80, 81, 82)
]
PARTS = [
    *"aAbB07_-./~:'’!?*#>,;)]\"<( \t\n\r\x0b\x1c\x1f\x00—…",
    *("https://", "http://", "https:/", "http://.", "src/", "~/", "a.b/", "AB-12", "A-1", "ABC-1x"),
    *("fooBar", "foo_bar", "_x", "x_", "Maria", "Maria's", "maria", "O'Neil", "The", "the", "IT'S"),
    *(". ", "! ", ":     ", "?\n", "\n- ", "\n  * ", "\n-*# ", "\n-*#> ", "\n" + 9 * " ", "x' "),
    *("\n" + 16 * " ", "\n" + 17 * " ", "\n        -        ", "\n         - ", "\n-         "),
    *LONG,
    201 * "u",
    41 * "d/",
]


def assert_same(text):
    found = decisions._NAMES.names(text)
    assert found is not None
    assert tuple(found) == decisions._names_by_patterns(text), repr(text)


@pytest.mark.parametrize("seed", range(6))
def test_random_texts(seed):
    rng = random.Random(seed)
    named = 0
    for _ in range(2_000):
        text = "".join(rng.choices(PARTS, k=rng.randint(1, 12)))
        assert_same(text)
        named += bool(decisions.entities(text))
    assert named > 1_000


@pytest.mark.parametrize("seed", range(2))
def test_sentences(seed):
    rng = random.Random(seed)
    words = [*sorted(STARTERS)[:20], "Paris", "paris", "Ana", "API", "x", "We", "see"]
    forms = [form for word in words for form in (word, word.capitalize(), word.upper())]
    for _ in range(1_500):
        text = "".join(
            rng.choice(forms) + rng.choice([" ", " ", ". ", "\n", "\n- ", ", ", "'s "])
            for _ in range(rng.randint(1, 14))
        )
        assert_same(text)


def test_ends_of_a_text():
    for end in PARTS:
        for begin in PARTS:
            assert_same(begin + end)
            assert_same(f"{begin} Zoe {end}")


@pytest.mark.parametrize("text", ["Zoë", "Łódź", "x²", "٣", "a\u00a0B", "Ⅷ", "中文", "A\ud800"])
def test_other_scripts_are_left_to_the_patterns(text):
    assert decisions._NAMES.names(text) is None
    assert decisions.entities(text) == decisions._names_by_patterns(text)


def test_only_so_many_are_told():
    text = " ".join(f"Name{letter}" for letter in "abcdefghij")
    assert len(decisions.entities(f"see {text}")) == decisions.MAX_ENTITIES
    assert decisions.entities("x" * decisions.READ + " Zoe") == ()
    assert decisions.entities("x " * (decisions.READ // 2 - 2) + "Zoe") == ("Zoe",)
