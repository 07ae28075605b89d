"""Blocks joined to chunks: their sizes, their sections, and what is kept whole."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings, strategies as st

from warmset._core import count_texts
from warmset.items.documents.chunks import chunks_of
from warmset.items.documents.html import html_blocks
from warmset.items.documents.markdown import markdown_blocks
from warmset.items.documents.plain import plain_blocks

READ = {"markdown": markdown_blocks, "html": html_blocks, "text": plain_blocks}


def chunks(text, limit=40, kind="markdown"):
    return chunks_of(READ[kind](text), limit, count_texts)


def texts(text, limit=40, kind="markdown"):
    return [one.text for one in chunks(text, limit, kind)]


def words(n, word="word"):
    return " ".join(f"{word}{at % 10}" for at in range(n))


# --- sections -------------------------------------------------------------------------------------


def test_a_chunk_is_of_one_section_and_has_the_labels_of_those_above():
    found = chunks(
        "# A\n\na\n\n## Item 7. B\n\n### C\n\nb\n\n### D\n\nc\n\n## E\n\nd\n\n# F\n\ne\n"
    )
    assert [(one.text, one.labels, one.parent) for one in found] == [
        ("# A\n\na", ("A",), None),
        ("## Item 7. B\n\n### C\n\nb", ("A", "Item 7", "Item 7. B", "C"), 0),
        ("### D\n\nc", ("A", "Item 7", "Item 7. B", "D"), 1),
        ("## E\n\nd", ("A", "E"), 0),
        ("# F\n\ne", ("F",), None),
    ]
    assert found[1].body == "b\n\n"
    assert found[1].titles == ("A", "Item 7. B", "C")


def test_the_parent_of_what_follows_in_a_section_is_the_chunk_with_its_heading():
    found = chunks(f"# A\n\n## B\n\n{words(20)}\n\n{words(20)}\n\n{words(20)}\n\n## C\n\nc", 50)
    assert [one.parent for one in found] == [None, 0, 0, 0]
    assert {one.labels for one in found[:3]} == {("A", "B")}
    assert found[3].labels == ("A", "C")


def test_only_headings_are_kept_too():
    found = chunks("# A\n## B\n## C\n# D\n### E\n")
    assert [(one.text, one.labels) for one in found] == [
        ("# A\n## B", ("A", "B")),
        ("## C", ("A", "C")),
        ("# D\n### E", ("D", "E")),
    ]
    assert [one.body for one in found] == ["", "", ""]


def test_what_stands_before_the_first_heading_has_no_label():
    assert [one.labels for one in chunks("x\n\n# A\n\ny")] == [(), ("A",)]


def test_a_heading_of_its_own_rank_ends_a_section_in_each_format():
    page = "<h2>A</h2><p>a<h3>B</h3><p>b<h2>C</h2><p>c"
    assert [one.labels for one in chunks(page, kind="html")] == [("A",), ("A", "B"), ("C",)]


# --- sizes ----------------------------------------------------------------------------------------


def test_a_chunk_takes_as_many_blocks_as_fit():
    exact = sum(count_texts(["a b c.\n\n"] * 10))
    text = "a b c.\n\n" * 20
    assert [one.count("c.") for one in texts(text, exact)] == [10, 10]
    assert [one.count("c.") for one in texts(text, exact - 1)] == [9, 9, 2]


def test_prose_is_cut_between_sentences_and_lists_between_items():
    said = texts("One is here now. " * 30, 33)
    assert all(one.endswith("now.") for one in said)
    assert "".join(said).count("One") == 30
    items = texts("- an item of two.\n  Lines it has\n" * 20, 33)
    assert all(one.endswith("has") for one in items) or all(one[0] in "- " for one in items)
    assert all(one.split("\n")[-1] in ("  Lines it has", "- an item of two.") for one in items)


def test_prose_below_a_heading_is_cut_rather_than_parted_from_it():
    found = texts("# A\n\n" + "One is here now. " * 12, 50)
    assert found[0].startswith("# A\n\nOne is here now.")


def test_a_table_that_fits_is_kept_whole():
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3
    size = count_texts([table])[0]
    said = texts(f"{words(16)}\n\n{table}\n{words(5)}\n", size + 2)
    assert table.strip() in said
    both = texts(f"{words(14)}\n\n{table}\nmore\n", size + 8)
    assert both[-1] == f"{table}\nmore"


def test_a_larger_table_is_cut_between_rows_below_its_head():
    head = "| name | value |\n|---|---|\n"
    rows = [f"| row {n} | {n * 7} |" for n in range(40)]
    said = texts(f"# A\n\nbefore\n\n{head}" + "\n".join(rows) + "\n\nafter", 60)
    parts = [one for one in said if one.startswith(head)]
    assert len(parts) > 5
    assert [line for one in parts for line in one.split("\n")[2:]] == rows
    assert said[0] == "# A\n\nbefore"
    assert said[-1] == "after"


def test_a_table_right_below_its_heading_begins_with_it():
    rows = "".join(f"| row {n} | {n * 7} |\n" for n in range(40))
    found = chunks(f"# A\n\n| name | value |\n|---|---|\n{rows}", 60)
    assert found[0].text.startswith("# A\n\n| name")
    assert found[1].text.startswith("| name")
    assert found[1].parent == 0
    assert max(one.tokens for one in found) <= 60


def test_a_head_that_takes_half_of_a_chunk_is_not_repeated():
    table = f"| {words(12)} | b |\n|---|---|\n" + "| 1 | 2 |\n" * 20
    said = texts(table, 40)
    assert "".join(said).count("word0") == table.count("word0")
    rows = html_blocks("<table><tr><td>a<td>b" + f"<tr><td>c<td>{words(60)}" * 2 + "</table>")
    found = chunks_of(rows, 40, count_texts)
    assert all(one.text.startswith("| a | b |\n| --- | --- |\n") for one in found)
    assert sum(one.text.count("word0") for one in found) == 12


def test_code_is_cut_between_lines_and_fenced_again():
    lines = [f"  x{n} = {n}" for n in range(40)]
    said = texts("```py\n" + "\n".join(lines) + "\n```\n", 50)
    assert all(one.startswith("```py\n") and one.endswith("\n```") for one in said)
    assert [line for one in said for line in one.split("\n")[1:-1]] == lines
    page = chunks("<pre>" + "\n".join(lines) + "</pre>", 50, "html")
    assert [line for one in page for line in one.text.split("\n")[1:-1]] == lines
    open_end = texts("```py\n" + "\n".join(lines) + "\n", 50)
    assert [line for one in open_end for line in one.split("\n")[1:]] == lines


def test_a_chunk_is_no_larger_where_tokens_do_not_add_up():
    code = "T...\n/x\n" * 60
    assert sum(count_texts(["T...\n", "/x\n"])) * 60 < count_texts([code])[0]
    parts = chunks(f"```\n{code}```\n", 80)
    assert max(one.tokens for one in parts) <= 80
    assert all(one.text.startswith("```\n") and one.text.endswith("\n```") for one in parts)
    prose = chunks("T...\n\n/x\n\n" * 60, 80, "text")
    assert max(one.tokens for one in prose) <= 80
    assert "".join("".join(one.text for one in prose).split()) == "T.../x" * 60


def test_a_long_line_is_cut_between_words_and_a_long_word_between_characters():
    said = texts(words(200), 32, "text")
    assert " ".join("".join(said).split()) == words(200)
    assert all(re.fullmatch(r"word\d", word) for one in said for word in one.split())
    family = "👩\u200d👩\u200d👧"
    said = texts("é" * 300 + family * 30 + "n\u0303" * 200, 64, "text")
    assert "".join(said) == "é" * 300 + family * 30 + "n\u0303" * 200
    assert not any(unicodedata.combining(one[0]) or one[0] == "\u200d" for one in said)
    assert not any(one[-1] == "\u200d" for one in said)
    assert "".join(texts("\u0303" * 400, 32, "text")) == "\u0303" * 400


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        words(30_000),
        " " * 100_000 + "x",
        "字" * 30_000,
        "\n".join("#" * 6 + f" h{n}" for n in range(800)),
        "".join("  " * min(n, 200) + f"- {n}\n" for n in range(400)),
        "> " * 2_000 + "x",
        "- " * 2_000 + "x",
        "<ul><li>" * 8_000 + "x",
        "<table><tr><td>y" * 8_000 + "x",
        "<h1>" * 5_000 + "x",
        "<b>" * 20_000 + "x",
        "<a " * 8_000,
        "<!--" * 8_000,
        "| a " * 5_000 + "\n" + "|---" * 5_000 + "\n| b |",
        "a" * 50 + "  b\n" + ". " * 30_000,
        "." * 60_000 + "x",
        "\0\ud800\u202eאב \ufeff\r\x85\u2028",
        "[a]: b\n" * 5_000,
        "***" * 8_000,
        "`" * 8_000,
        "---\n" * 5_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_nasty_texts_are_cut_to_size(kind, text):
    found = chunks(text, 200, kind)
    assert all(0 < one.tokens <= 200 for one in found)
    assert [one.tokens for one in found] == count_texts([one.text for one in found])
    assert all(one.parent is None or one.parent < at for at, one in enumerate(found))


# --- properties -----------------------------------------------------------------------------------

LINES = st.one_of(
    st.text(st.characters(codec=None, exclude_characters="\n\r"), max_size=40),
    st.sampled_from(
        [
            "",
            "",
            "  ",
            "Item 7. Discussion",
            "PART II",
            "RISKS",
            "The Weather",
            "=====",
            "- a",
            "1. b",
        ]
    ),
    st.lists(st.sampled_from(["profit", "of", "42", "Ada", "no."]), max_size=60).map(" ".join),
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)


@settings(max_examples=150)
@given(TEXTS, st.integers(32, 90))
@example("Item 7. " + "a" * 400, 32)
@example("a   b\n" * 40, 32)
def test_chunks_of_a_plain_text_have_every_word_in_order(text, limit):
    found = chunks(text, limit, "text")
    blocks = plain_blocks(text)
    assert "".join("".join(one.text for one in blocks).split()) == "".join(text.split())
    said = "".join("".join(one.text for one in found).split())
    if not any(one.head for one in blocks):
        assert said == "".join(text.split())
    else:  # heads are repeated
        rest = iter(said)
        assert all(letter in rest for letter in "".join(text.split()))
    assert all(one.tokens <= limit for one in found)
    assert all(one.text.strip() for one in found)


@settings(max_examples=100)
@given(TEXTS, st.integers(32, 90))
def test_chunks_of_markdown_have_every_letter_in_order(text, limit):
    found = chunks(text, limit)
    rest = iter("".join(one.text for one in found))
    assert all(letter in rest for letter in "".join(text.split()))
    assert all(one.tokens <= limit for one in found)
