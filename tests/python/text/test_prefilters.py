"""A look at the words of a text first changes nothing of what the patterns find."""

from __future__ import annotations

import random

import pytest

from warmset.text import decisions, features
from warmset.text.features import Addressed

PARTS = [
    *(form for word in features._BEFORE_NAMES for form in (word, word.capitalize())),
    *features._NUMBER_WORDS,
    *decisions.DECISIONS,
    *(
        "Maria",
        "Bob",
        "é",
        "\u017fhould",
        "f\u0131nal",
        "F\u0130NAL",
        "decided1",
        "_must",
        "x7",
        "²",
    ),
    *("٣", "[a photo]", "[", "]", "\n", "thankyou", "Let's go with", "LET'S  GO\nWITH", "don’t"),
    *("x7", "²", "DECIDED", "\u212a", "7", "17th", "!"),
]
JOINTS = ["", " ", ", ", "! ", "'", "\n"]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_what_the_patterns_alone_find(seed):
    rng = random.Random(seed)
    found = 0
    for _ in range(1_500):
        text = "".join(rng.choice(PARTS) + rng.choice(JOINTS) for _ in range(rng.randint(1, 6)))
        straight = text.replace("’", "'")
        decided = decisions._DECISION.search(straight) is not None
        assert decisions.is_decision(text) is decided, text
        number = features._NUMBER.search(text.lower()) is not None
        assert features.read(text, "user", 0.0).tells_number is number, text
        said = features._REMARK.sub("", text)
        assert features.read(text, "user", 0.0).ends_asking is said.rstrip().endswith("?"), text
        called = Addressed()
        called.hear("user", text)
        names = [
            name for name in features._CALL.findall(text) if name.lower() not in features._NO_NAMES
        ]
        assert sum(called.heard().get("user", {}).values()) == len(names), text
        found += decided + number + len(names)
    assert found > 1_000


@pytest.mark.parametrize(
    "text", ["Where? [a photo]", "Where? [a photo] \n", "Where? [a", "Where?]"]
)
def test_a_remark_at_the_end_is_left_out(text):
    said = features._REMARK.sub("", text)
    assert features.read(text, "user", 0.0).ends_asking is said.rstrip().endswith("?")
