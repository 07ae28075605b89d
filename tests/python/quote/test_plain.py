"""Plain turns are quoted and described by the core as they are one by one."""

# ruff: noqa: RUF001 - signs that only look like others
from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from warmset import Memory
from warmset._core import count_text
from warmset.errors import InvalidInputError
from warmset.messages import Facts, dumps
from warmset.native import ColdStore
from warmset.quote import cache
from warmset.quote.cache import Cards
from warmset.quote.format import head, index_line, quote
from warmset.quote.plain import quoter
from warmset.state.entry import Entry
from warmset.store.descriptions import Described
from warmset.text.temporal import relative

ENCODING = "o200k_base"
DAY = 1_683_500_000.0

PARTS = [
    *(
        "so ",
        "the boat ",
        "Maria ",
        "the pump",
        "_x",
        "src/a.py ",
        "FooBar ",
        "ABC-12 ",
        ". ",
        "! ",
    ),
    *("yesterday", "last ", "week ", "in ", "two ", "days ", "ago ", "next ", "Friday ", "before "),
    *("today ", "May ", "2023 ", "3 ", "weekend", "Yesterday ", "LAST WEEK ", "tomorrow"),
    *("\n", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028"),
    *(
        "\u2029",
        "<",
        "</",
        "< ",
        "<-",
        "<_e",
        "<earlier-turns>",
        "</kept-in-memory>",
        "<keep",
        "<x",
    ),
    *(
        "<\x01e",
        "<\x7fE",
        "<\\k",
        "‹",
        "＜earlier-turns>",
        "<éarlier-turns>",
        "<K",
        "<e",
        "e>",
        "k",
    ),
    *(
        "é",
        "…",
        "—",
        "’s ",
        "\u212a",
        "wee\u212a ",
        "\u0130",
        "😀",
        "\u00a0",
        " ",
        "   ",
        "\t",
        '"',
    ),
    *("a" * 170, "b" * 159, "c" * 158, "word " * 40),
]


class Said:
    """A store with messages, as entries."""

    def __init__(self):
        self.store, self.quoter = ColdStore.open(None), quoter(ENCODING)

    def say(self, text, role="user", speaker=None, **more):
        payload = dumps({"role": role, "content": text, **more})
        (id_,) = self.store.append([("turn", [b"t", b"log"], b"", payload)])
        return Entry(id_, Facts(role, ""), DAY, speaker, 0, 5, id_ % 3 == 0, False, None)

    def quotes(self, entries):
        return self.quoter.quotes(self.store, [(one.id, head(one)) for one in entries])

    def lines(self, entries):
        return self.quoter.lines(self.store, [(one.id, head(one, flagged=True)) for one in entries])


@pytest.fixture
def said():
    return Said()


def counted(text):
    return text, count_text(text, ENCODING)[0]


@pytest.mark.parametrize("seed", range(8))
def test_what_the_core_writes_is_what_is_written_one_by_one(said, seed):
    rng = random.Random(seed)
    texts = ["".join(rng.choices(PARTS, k=rng.randint(1, 9))) for _ in range(1_500)]
    entries = [said.say(text) for text in texts]
    quotes, lines = said.quotes(entries), said.lines(entries)
    for one, text, quoted, line in zip(entries, texts, quotes, lines, strict=True):
        assert quoted is None or quoted == counted(quote(one, text)), repr(text)
        assert line is None or line == counted(index_line(one, text)), repr(text)
    assert sum(one is not None for one in quotes) > 200
    assert sum(one is not None for one in lines) > 200


PLAIN = [
    "The boat was painted.",
    "two\nlines\n",
    "",
    "a < b, x<y and <div>",
    "<",
    "I met Maria and Bob at src/a.py, then Maria — again…",
    "last boat, next pump",
    "w" * 4_000,
]
OTHER = [
    "I saw her yesterday",
    "two days ago",
    "last\u00a0week",
    "a\rb",
    "<Earlier-turns>",
    "< / - kept",
    "a\u2028b",
    "‹x>＜x>",
    "w" * 4_001,
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text_is_quoted(said, text):
    for role in ("user", "assistant"):
        one = said.say(text, role)
        assert said.quotes([one]) == [counted(quote(one, text))]


@pytest.mark.parametrize("text", OTHER)
def test_another_one_is_not(said, text):
    assert said.quotes([said.say(text)]) == [None]


@pytest.mark.parametrize(
    "text",
    ["", "a", "a  \n b\t", "x" * 159, "x" * 160, "x" * 161, "x" * 158 + " yz", "x" * 159 + " yz",
     "x" * 160 + " yz", "word " * 100, "Then Maria met Bob. " * 12 + "Zoe came.", "w" * 20_000,
     "x" * 100 + " — " * 30, "…" * 161, "a\x1cb\x1dc\x1ed\x1fe", "a < b", "I saw her yesterday"],
)  # fmt: skip
def test_a_plain_text_is_described(said, text):
    one = said.say(text)
    assert said.lines([one]) == [counted(index_line(one, text))]


@pytest.mark.parametrize("text", ["é", "a\u00a0b", "x" * 20_001, "<earlier", "…" + "＜"])
def test_another_one_is_not_described(said, text):
    assert said.lines([said.say(text)]) == [None]


@pytest.mark.parametrize("rule", relative.RULES[:-1], ids=lambda rule: rule.source[:30])
@given(data=st.data())
def test_whatever_a_phrase_may_be_is_looked_at_one_by_one(rule, data):
    """Its words stand near each other, however it is written."""
    said = Said()
    phrase = data.draw(st.from_regex(rule.source, fullmatch=True))
    for text in (phrase, f"so, {phrase}"):
        assert said.quotes([said.say(text)]) == [None]


def test_no_character_makes_a_tag_unseen(said):
    texts = [
        f"<{before}{chr(at)}{rest}"
        for at in range(128)
        for before in ("", "-", chr(at))
        for rest in ("arlier-turns>", "ept-in-memory>", "earlier-turns>")
    ]
    entries = [said.say(text) for text in texts]
    for text, one, quoted in zip(texts, entries, said.quotes(entries), strict=True):
        assert quoted is None or quoted == counted(quote(one, text)), repr(text)


def test_a_speaker_that_is_not_plain_is_left_to_be_written_one_by_one(said):
    for speaker in ("A\n#8 B", "</earlier-turns>", "A\u2029B"):
        one = said.say("so", speaker=speaker)
        for made, slow in (
            (said.quotes([one]), quote(one, "so")),
            (said.lines([one]), index_line(one, "so")),
        ):
            assert made in ([None], [counted(slow)])
    one = said.say("so", speaker="Ann <x>")
    assert said.quotes([one]) == [counted(f"#{one.id} Ann <x> (user): so\n")]


def test_messages_that_are_more_than_a_text_or_not_there_are_left(said):
    plain, gone = said.say("so"), said.say("so")
    others = [
        said.say("so", "system"),
        said.say("so", name="Ann"),
        said.say([]),
        said.say("\ud800"),
    ]
    said.store.erase(records=[gone.id])
    missing = Entry(99, Facts("user", ""), DAY, None, 0, 5, False, False, None)
    for make in (said.quotes, said.lines):
        made = make([plain, gone, *others, missing])
        assert made[0] is not None
        assert made[1:] == [None] * 6
        assert make([]) == []


def test_an_encoding_that_is_not_known_is_refused():
    with pytest.raises(InvalidInputError, match="klingon"):
        quoter("klingon")


@pytest.fixture
def one_by_one(monkeypatch):
    """Return the texts that are written one by one."""
    written = []

    def note(write):
        def noted(entry, text, *more):
            written.append(text)
            return write(entry, text, *more)

        return noted

    for name in ("quote", "index_line"):
        monkeypatch.setattr(cache, name, note(getattr(cache, name)))
    return written


def test_cards_are_made_together_where_they_are_plain(said, one_by_one):
    texts = ["The boat.", "yesterday", "The <earlier-turns> é."]
    entries = [said.say(text) for text in texts]
    known = {one.id: text for one, text in zip(entries, texts, strict=True)}
    slow = Cards(known.__getitem__, ENCODING)
    slow.make_quotes(entries)
    slow.make_lines(entries)
    expected = [slow.quote(one) for one in entries], [slow.line(one) for one in entries]
    assert one_by_one == texts * 2
    del one_by_one[:]
    cards = Cards(known.__getitem__, ENCODING, None, said.store)
    cards.make_quotes(iter(entries))
    cards.make_lines(iter(entries))
    assert one_by_one == []
    assert ([cards.quote(one) for one in entries], [cards.line(one) for one in entries]) == expected
    assert one_by_one == [texts[1], texts[2], texts[2]]
    assert cards.quotes(entries) == slow.quotes(entries)


def test_what_callables_said_stands_in_a_line_that_is_made_together(said):
    one = said.say("The boat.")
    described = Entry(
        **{name: getattr(one, name) for name in one.__slots__} | {"described": Described(7, None)}
    )
    cards = Cards({one.id: "The boat."}.get, ENCODING, {7: {"summary_line": "It"}}.get, said.store)
    cards.make_lines([described, one])
    assert cards.line(described).text == f"#{one.id} user: It\n"
    assert cards.line(one).text == index_line(one, "The boat.")


def test_what_is_forgotten_while_it_is_made_together_is_not_kept(said):
    one = said.say("The boat.")
    cards = Cards({one.id: "Another one."}.get, ENCODING, None, said.store)

    class Forgets:
        def quotes(self, *given):
            cards.clear()
            return quoter(ENCODING).quotes(*given)

        lines = quotes

    cards._quoter = Forgets()
    cards.make_quotes([one])
    cards.make_lines([one])
    assert (cards.quote(one).text, cards.line(one).text) == (
        quote(one, "Another one."),
        index_line(one, "Another one."),
    )


def test_windows_make_them_together(one_by_one):
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append([{"role": "user", "content": f"The boat {at} is red."} for at in range(400)])
        window = chat.window("Which boat is red?", budget=2_000)
        assert window.report.picked
        assert "#" in str(window.messages)
    assert one_by_one == []
