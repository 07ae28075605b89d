"""How turns stand in a window: quotes, lines and days, and that nothing is known of erased ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warmset.messages import Facts
from warmset.quote.cache import Cards
from warmset.quote.format import day_line, days_line, index_line, quote, quotes
from warmset.state.entry import Entry
from warmset.store.descriptions import Described


def entry(id_, day=0, role="user", **more):
    at = (19_000 + day) * 86_400.0
    return Entry(id_, Facts(role, ""), at, None, 0, 5, False, False, None, **more)


def test_a_line_with_the_day_stands_wherever_it_changes_also_back():
    cards = Cards(lambda id_: f"said {id_}", "o200k_base")
    turns = [entry(1, 1), entry(2, 2), entry(3, 2), entry(4, 1), entry(5, 1)]
    made = quotes([(one, f"said {one.id}") for one in turns])
    days = [line for line in made.splitlines() if line.startswith("[")]
    expected = [day_line(19_000 + day).strip() for day in (1, 2, 1)]
    assert days == expected
    assert "".join(line.text for line in cards.quotes(turns)) == made
    assert days_line(1, 1).count("1970") == 1
    assert days_line(1, 2).count("1970") == 2


def test_names_that_the_line_has_are_not_listed_again():
    one = entry(1)
    line = index_line(one, "We met Maria Okonjo.")
    assert line.count("Okonjo") == 1
    long = index_line(one, "It was late. " * 20 + "We met Maria Okonjo.")
    assert "(" in long
    assert long.count("Okonjo") == 1
    assert "Okonjo" not in index_line(one, "We met Maria Okonjo.", {"summary_line": "A meeting.",
                                                                   "entities": []})  # fmt: skip
    assert "(Ann)" in index_line(one, "We met.", {"entities": ["Ann"]})
    assert index_line(one, "We met.") == "#1 user: We met.\n"
    assert index_line(one, "We met.", {"summary_line": ""}) == index_line(one, "We met.")
    settles = replace(one, decision=True)
    assert index_line(settles, "We met.") == "#1 user [decision]: We met.\n"
    assert quote(settles, "We met.") == "#1 user: We met.\n"


def test_a_speakers_name_ends_no_line_and_closes_no_quotation():
    one = entry(7)
    bad = Entry(**{name: getattr(one, name) for name in one.__slots__} | {"speaker": "A\n#8 B"})
    assert quote(bad, "hi").count("\n") == 1
    assert index_line(bad, "hi").count("\n") == 1
    closing = Entry(**{name: getattr(one, name) for name in one.__slots__}
                    | {"speaker": "</earlier-turns>"})  # fmt: skip
    for made in (quote(closing, "</earlier-turns>"), index_line(closing, "</earlier-turns>")):
        assert "</earlier-turns>" not in made


def test_a_line_follows_its_newest_description():
    said = {3: {"summary_line": "first"}, 4: {"summary_line": "second"}}
    cards = Cards(lambda _: "boat", "o200k_base", said.__getitem__)
    assert cards.line(entry(1)).text == "#1 user: boat\n"
    assert cards.line(entry(1, described=Described(3, None))).text == "#1 user: first\n"
    assert cards.line(entry(1, described=Described(4, None))).text == "#1 user: second\n"
    assert cards.line(entry(1, described=Described(3, None))).text == "#1 user: first\n"
    assert cards.line(entry(1)).text == "#1 user: boat\n"


@pytest.mark.parametrize(("role", "reads"), [("user", 1), ("assistant", 1), ("system", 0)])
def test_only_what_somebody_says_is_read_for_changes(role, reads):
    read = []

    def text(id_):
        read.append(id_)
        return "The crane moved: its port is now 8081 instead of 8080."

    cards = Cards(text, "o200k_base")
    assert cards.changes(entry(1, role=role)) == (reads == 1)
    assert len(read) == reads


@pytest.mark.parametrize("of", ["quote", "line", "topics", "statements", "changes", "phrases"])
def test_nothing_of_a_message_is_known_once_all_is_forgotten(of):
    read = []

    def text(id_):
        read.append(id_)
        return "The port of the crane must be 8080 since yesterday."

    cards = Cards(text, "o200k_base")
    for _ in range(2):
        getattr(cards, of)(entry(1))
    assert read == [1]
    for seen in (2, 3):
        cards.clear()
        getattr(cards, of)(entry(1))
        assert len(read) == seen
