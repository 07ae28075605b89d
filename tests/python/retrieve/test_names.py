"""Which speakers a question names: whole names, parts, short forms, handles, letters wrong."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.retrieve.cues import read
from warmset.retrieve.names import Roster, parts
from warmset.text.nicknames import ORDINARY, formal, short_forms

KHAN = ("Fahim Khan", "Mary O'Hara")
ORDINARY_NAMES = ("Will Brown", "June King")
HANDLES = ("fahim_khan92", "@MelanieOkafor")
GLUED = ("carolinesmith", "fkhan@corp.example")
SMITHS = ("John Smith", "John Doe", "Anna Doe")
JOHNS = ("John", "John Smith")
ACCENTS = ("José Álvarez", "Zoë Ćosić")
LIKE_WORDS = ("Brian", "Steven")


@pytest.mark.parametrize(
    ("names", "query", "words", "found"),
    [
        # parts of two letters only where they are written as names
        (("Eva Hill", "Jo Day"), "What did eva eat?", "What did eat?", ["eva hill"]),
        (("Eva Hill", "Jo Day"), "What did jo eat?", "What did jo eat?", []),
        (("Eva Hill", "Jo Day"), "What did Jo eat?", "What did eat?", ["jo day"]),
        # a part of a name: case, apostrophes, and a possessive folded
        (KHAN, "What did Fahim's dog eat?", "What did dog eat?", ["fahim khan"]),
        (KHAN, "what did fahim eat", "what did eat", ["fahim khan"]),
        (KHAN, "What did O’Hara say to Khan?", "What did say to ?", ["mary o'hara", "fahim khan"]),
        (KHAN, "Fahim Khan's dog", "dog", ["fahim khan"]),
        (KHAN, "What did FAHIM’S dog eat?", "What did dog eat?", ["fahim khan"]),
        (KHAN, "Khan?", "Khan?", ["fahim khan"]),
        (KHAN, "What did F.Khan eat?", "What did eat?", ["fahim khan"]),
        (KHAN, "Did Fahim eat as Khan?", "Did eat as ?", ["fahim khan"]),
        (KHAN, "Fahim Khan or Fahim?", "or ?", ["fahim khan"]),
        (KHAN, "Was it @fahim or (Mary)?", "Was it or ( )?", ["fahim khan", "mary o'hara"]),
        (ACCENTS, "What did Jose and ZOE eat?", "What did and eat?", ["josé álvarez", "zoë ćosić"]),
        # several that fit: nobody, unless the whole name is written
        (SMITHS, "What did John eat?", "What did John eat?", []),
        (SMITHS, "What did Jonh eat?", "What did Jonh eat?", []),
        (LIKE_WORDS, "What did Birax eat?", "What did Birax eat?", []),
        (SMITHS, "What did Smith eat?", "What did eat?", ["john smith"]),
        (SMITHS, "What did John Doe eat?", "What did eat?", ["john doe"]),
        (JOHNS, "What did John Smith eat?", "What did eat?", ["john smith"]),
        (JOHNS, "What did John eat?", "What did eat?", ["john"]),
        # short forms, both ways
        (("Robert Hale",), "What did Bob eat?", "What did eat?", ["robert hale"]),
        (("Liz",), "What did Elizabeth eat?", "What did eat?", ["liz"]),
        (("Bobby",), "What did Rob eat?", "What did eat?", ["bobby"]),
        (("Samuel", "Samantha"), "What did Sam eat?", "What did Sam eat?", []),
        (("Sam", "Samantha"), "What did Sam eat?", "What did eat?", ["sam"]),
        # words that are names, too, in small letters and at the beginning
        (ORDINARY_NAMES, "When will the brown dog go?", "When will the brown dog go?", []),
        (ORDINARY_NAMES, "Will the king go in june?", "Will the king go in june?", []),
        (ORDINARY_NAMES, "What did Will eat?", "What did eat?", ["will brown"]),
        (ORDINARY_NAMES, "Will's dog?", "dog?", ["will brown"]),
        (ORDINARY_NAMES, "King's dog? Will he eat?", "dog? Will he eat?", ["june king"]),
        (("Will", "Ann"), "When will he go? Will he?", "When will he go? Will he?", []),
        (("Rose", "Ann"), "Rose ate what?", "ate what?", ["rose"]),
        (("Rose", "Ann"), "What rose with Ann?", "What rose with ?", ["ann"]),
        (("Rose", "Ann"), "what did rose eat", "what did eat", ["rose"]),
        (("Jo Li", "Ann"), "was it li or jo", "was it li or jo", []),
        (("Jo Li", "Ann"), "Was it Li?", "Was it ?", ["jo li"]),
        # handles and e-mail addresses
        (
            HANDLES,
            "What did Fahim eat with Melanie?",
            "What did eat with ?",
            [*map(str.lower, HANDLES)],
        ),
        (HANDLES, "What did fahim_khan92's dog eat?", "What did dog eat?", ["fahim_khan92"]),
        (HANDLES, "What did Mel eat?", "What did eat?", ["@melanieokafor"]),
        (HANDLES, "What did khan92 eat?", "What did eat?", ["fahim_khan92"]),
        (GLUED, "What did Caroline eat?", "What did eat?", ["carolinesmith"]),
        (GLUED, "what did caroline eat", "what did eat", ["carolinesmith"]),
        (GLUED, "What did Khan eat?", "What did eat?", ["fkhan@corp.example"]),
        (GLUED, "what smith lives in corp", "what smith lives in corp", []),
        (("therealanna",), "What did Anna eat?", "What did eat?", ["therealanna"]),
        (("savannah",), "What did Anna eat?", "What did Anna eat?", []),
        (("ann.lee@corp.example",), "Ann's dog", "dog", ["ann.lee@corp.example"]),
        (("ann.lee@corp.example",), "What is Corp?", "What is Corp?", []),
        (
            ("ann.lee@corp.example",),
            "Write to ann@home.example",
            "Write to",
            ["ann.lee@corp.example"],
        ),
        (("ann.lee",), "Was it bob-ann or non-Ann?", "Was it bob-ann or non-Ann?", []),
        # one letter wrong, missing, too many, swapped
        (LIKE_WORDS, "What did Bryan eat?", "What did eat?", ["brian"]),
        (LIKE_WORDS, "What did Stevn eat?", "What did eat?", ["steven"]),
        (LIKE_WORDS, "What did Stevven eat?", "What did eat?", ["steven"]),
        (LIKE_WORDS, "What did Brain eat?", "What did eat?", ["brian"]),
        (LIKE_WORDS, "Is the brain seven years old?", "Is the brain seven years old?", []),
        (LIKE_WORDS, "Brain or no brain?", "Brain or no brain?", []),
        (LIKE_WORDS, "What did Btyen eat?", "What did Btyen eat?", []),
        (LIKE_WORDS, "What did Drian eat?", "What did Drian eat?", []),
        (("Anna", "Bert"), "What did Annx eat?", "What did Annx eat?", []),
        (("Marla", "Maria"), "What did Marsa eat?", "What did Marsa eat?", []),
        # nobody
        (("Not Sure",), "Who is not there, and why?", "Who is not there, and why?", []),
        (("Dr. Lee",), "Which dr was it?", "Which dr was it?", []),
        ((), "What did Ann eat?", "What did Ann eat?", []),
    ],
)
def test_who_is_named(names, query, words, found):
    assert Roster(names).find(query) == (words, found)


def test_the_order_of_speakers_does_not_matter():
    query = "What did John Smith, Anna and Doe eat?"
    said, found = Roster(SMITHS).find(query)
    back, again = Roster(SMITHS[::-1]).find(query)
    assert (said, sorted(found)) == (back, sorted(again))
    assert sorted(found) == ["anna doe", "john smith"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Fahim Khan", ["fahim", "khan"]),
        ("Dr. Mary-Ann van der Berg III", ["mary", "ann", "berg"]),
        ("d'Arcy", ["darcy", "arcy"]),
        ("JohnDoe_92", ["johndoe", "john", "doe"]),
        ("j.doe@mail.example", ["doe"]),
        ("user", ["user"]),
        ("J. K.", []),
        ("李明", ["李明"]),
    ],
)
def test_parts_of_a_name(name, found):
    assert parts(name) == found


def test_the_table_of_short_forms_is_sound():
    assert formal("bob") == {"robert"}
    assert formal("robert") == {"robert"}
    assert formal("alex") == {"alexander", "alexandra"}
    assert not formal("xerxes")
    assert short_forms("robert")[0] == "rob" or "bob" in short_forms("robert")
    assert short_forms("bob") == ("robert",)
    assert not short_forms("xerxes")
    for word in ORDINARY:
        assert word == word.casefold()
        assert word.isalpha()


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "store", embedder="lexical") as opened:
        yield opened


def talk(memory, speakers):
    one = memory.conversation("talk")
    for n in range(12):
        for role, speaker in zip(("user", "assistant"), speakers, strict=True):
            text = f"Thanks, {'Maria' if role == 'user' else 'John'}! The boat was mended, {n}."
            one.append({"role": role, "content": text}, speaker=speaker)
    return one


def test_a_part_of_a_name_finds_the_speakers_turns(memory):
    one = talk(memory, ("John Whitlock", "Maria Okonjo"))
    for query in (
        "Who mended John's boat?",
        "Who mended whitlock's boat?",
        "Johnny: who mended it?",
    ):
        found = one.search(query, k=12)
        assert {hit.speaker for hit in found} == {"John Whitlock"}, query
        assert all(hit.terms["speaker"] == 1 for hit in found)


def test_where_nobody_has_a_name_only_whole_names_count(memory):
    """The names are guessed there from who is addressed: nothing else is guessed from a guess."""
    talk(memory, (None, None))
    ledger = memory._engine.ledgers[memory.tenant, "talk"]
    numbers = memory._engine.numbers
    assert read("Where is Maria's boat?", numbers, ledger)[1].roles
    for query in ("Where is Mia's boat?", "Where is Mary's boat?", "So where is Marai now?"):
        words, cue = read(query, numbers, ledger)
        assert words == query
        assert not cue.roles
