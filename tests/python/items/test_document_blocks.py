"""Documents as blocks: what Markdown, HTML and plain text are read as."""

from __future__ import annotations

import re

import pytest

from warmset.items.documents.html import html_blocks
from warmset.items.documents.labels import labels_of, numbered_rank
from warmset.items.documents.markdown import markdown_blocks
from warmset.items.documents.plain import plain_blocks


def kinds(blocks):
    return [one.kind for one in blocks]


def titles(blocks):
    return [(one.title, one.rank) for one in blocks if one.kind == "heading"]


def texts(blocks):
    return [one.text.strip("\n") for one in blocks]


# --- headings of reports --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("Item 7", ("Item 7",)),
        ("ITEM 7.", ("Item 7", "ITEM 7", "ITEM 7.")),
        ("Item 7A. Quantitative Disclosures", ("Item 7A", "Item 7A. Quantitative Disclosures")),
        ("PART II", ("Part II", "PART II")),
        ("Part II: Other Information", ("Part II", "Part II: Other Information")),
        ("Item 2.02 Results", ("Item 2.02", "Item 2.02 Results")),
        ("**Item 1.** Business", ("Item 1", "Item 1. Business")),
        ("Liquidity  and\ncapital", ("Liquidity and capital",)),
        ("half \ud800 a character", ("half a character",)),
        ("   ", ()),
        ("x" * 301, ("x" * 300,)),
    ],
)
def test_a_heading_gives_labels(line, labels):
    assert labels_of(line.replace("**", "")) == labels


@pytest.mark.parametrize(
    "line",
    [
        "Item 7 of this report says more",
        "Item 7. Management's Discussion ........ 31",
        "Item 7. Management's Discussion   31",
        "Item 7. Management's Discussion\t31",
        "Items 7 and 8",
        "Item 7B3",
        "See Item 7",
        "item 7",
        "Part of it",
        "Item 7. " + "We say more about it in the long text that follows " * 2 + "here.",
        "Item 7. " + "x" * 300,
    ],
)
def test_what_only_begins_like_a_heading_is_none(line):
    assert numbered_rank(line) is None


def test_a_part_is_above_its_items():
    assert numbered_rank("PART II") < numbered_rank("Item 7. Title ends with a sign.")


# --- plain text -----------------------------------------------------------------------------------

REPORT = """\
ACME CORPORATION

Item 1. Business
Item 7. Discussion
Item 8. Statements

PART II
Item 7. Management's Discussion and Analysis of Financial
Condition

LIQUIDITY

Cash and Debt

We had cash of 5 million dollars.

Item 8. Statements
Net income was 3.
"""


def test_a_report_in_plain_text_has_its_headings():
    found = plain_blocks(REPORT)
    assert titles(found) == [
        ("ACME CORPORATION", 6.0),
        ("PART II", 1.25),
        ("Item 7. Management's Discussion and Analysis of Financial Condition", 1.5),
        ("LIQUIDITY", 6.0),
        ("Cash and Debt", 8.0),
        ("Item 8. Statements", 1.5),
    ]
    assert "".join(one.text for one in found) == REPORT


def test_a_heading_may_have_two_lines():
    found = plain_blocks(
        "Item 7. Management's Discussion of\nFinancial Condition\n\nWe had cash.\n"
    )
    assert titles(found) == [("Item 7. Management's Discussion of Financial Condition", 1.5)]


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Overview\n========\nx", None),
        ("Overview\n===\n\nx", 1.0),
        ("Overview\n---\n\nx", 2.0),
        ("RISKS\n\nThere are some of them.", 6.0),
        ("RISKS\n\nOTHER RISKS\n", None),
        ("RISKS\n\nWEATHER\n\nIt rains often.", "WEATHER"),
        ("RISKS\n\nThe Weather\n\nIt rains often.", 6.0),
        ("2 Results\n\nThey are good.", 7.0),
        ("2.1.1. Results of 2020\n\nThey are good.", 7.2),
        ("2. buy some milk\n\nThey are good.", None),
        ("The Weather\n\nIt rains often.", 8.0),
        ("The weather\n\nIt rains often.", None),
        ("The Weather.\n\nIt rains often.", None),
        ("The Weather\n\nAda Byron\n\nAlan Turing", None),
        ("THE CATS\n\n" + "no stop " * 12, 6.0),
        ("Net   Sales\n\nThey are good.", None),
        ("T" + "HE LONG LINE" * 7 + "\n\nThey are good.", None),
        ("ON IT\n\nThey are good.", None),
    ],
)
def test_a_line_is_a_heading_only_above_prose(text, heading):
    found = plain_blocks(text)
    assert heading in ((titles(found) or [(None, None)])[0])
    assert "".join(one.text for one in found) == text


def test_lists_and_columns_are_told_from_prose():
    found = plain_blocks(
        "- a\n- b\n\nYear   Sales\n----   -----\n2020   5\n\none line\n- two\n\na\tb\nc\td\n"
    )
    assert kinds(found) == ["list", "table", "text", "table"]
    assert found[1].head == "Year   Sales\n----   -----\n"
    assert found[3].head == "a\tb\n"


# --- Markdown -------------------------------------------------------------------------------------


def test_markdown_is_read_by_its_marks():
    text = (
        "---\ntitle: a\n---\n\n# One *b* `c`\nwords\n\n* x\n  * y\n\n| a |\n|--|\n| 1 |\n"
        "[r]: http://x\n\nTwo\n---\n```py\n# no heading\n```\n\n    code\n\n> # quoted\n\nend"
    )
    found = markdown_blocks(text)
    assert titles(found) == [("One b c", 1.0), ("Two", 2.0)]
    assert "".join(one.text for one in found) == text
    shown = [one.kind for one in found if one.text.strip()]
    assert shown[:5] == ["text", "heading", "text", "list", "table"]
    code = [one for one in found if one.kind == "code"]
    assert [(one.head, one.tail) for one in code] == [("```py\n", "```\n\n"), ("", "")]
    [table] = [one for one in found if one.kind == "table"]
    assert table.head == "| a |\n|--|\n"


def test_code_that_is_not_closed_has_no_end():
    [code] = markdown_blocks("~~~\nx = 1\n")
    assert (code.head, code.tail) == ("~~~\n", "")


def test_definitions_of_links_are_text():
    text = "[a]: http://x\n# A\n[b]: http://y\n\nz\n\n[c]: http://z\n"
    found = markdown_blocks(text)
    assert "".join(one.text for one in found) == text
    assert kinds(found) == ["text", "heading", "text", "text", "text"]


def test_paragraphs_of_reports_are_headings_if_there_are_no_better_ones():
    assert titles(markdown_blocks("# ACME\n\n**Item 7. Discussion**\n\n## Cash\n\nx")) == [
        ("ACME", 1.0),
        ("Item 7. Discussion", 1.5),
        ("Cash", 2.0),
    ]
    assert titles(markdown_blocks("## Item 7. Discussion\n\nItem 8\n")) == [
        ("Item 7. Discussion", 2.0)
    ]


# --- HTML -----------------------------------------------------------------------------------------


def test_html_is_read_as_browsers_show_it():
    found = html_blocks(
        "<!DOCTYPE html><html><head><title>no</title><style>p {}</style></head><body>"
        "<script>var no;</script><style>no {}</style>"
        "<h2>One&nbsp;<i>b</i></h2><p>a &lt;b&gt; &amp; c<br>next"
        "<br><br>other<p hidden>hidden <span style='display:none'>too</span>"
        "<div>x<b>y</b>z 10<sup>6</sup> <img alt='a chart'></div><template>no</template>"
        "<pre>\n  a\n\n  b ```\n</pre>end</body></html>"
    )
    assert texts(found) == [
        "## One b",
        "a <b> & c\nnext",
        "other",
        "hidden too",
        "xyz 10^6 a chart",
        "````\n  a\n\n  b ```\n````",
        "end",
    ]
    assert titles(found) == [("One b", 2)]
    assert found[5].head == "````\n"
    assert found[5].tail == "````\n\n"


def test_lists_keep_their_numbers_and_depth():
    found = html_blocks(
        "<ul><li>a<ul><li>b<p>more</ul><li>c</ul><ol start=3><li>d<li>e</ol>"
        "<ol start=x><li>f</ol><li>g"
    )
    assert "".join(one.text for one in found) == (
        "- a\n  - b\n    more\n- c\n3. d\n4. e\n1. f\n\ng\n\n"
    )


def test_a_table_becomes_rows():
    [table, after] = html_blocks(
        "<table><tr><th>Year<th colspan=2>Sales<th></tr>"
        "<tr><td rowspan=2>2020<td>$<td>5 | 6<tr><td>€<td>7</tr>"
        "<tr><td>2021<td>£<td>8</tr><tr><td></tr></table>x"
    )
    assert table.text == (
        "| Year | Sales |  |\n| --- | --- | --- |\n| 2020 | $ | 5 \\| 6 |\n"
        "|  | € | 7 |\n| 2021 | £ | 8 |\n\n"
    )
    assert table.head == "| Year | Sales |  |\n| --- | --- | --- |\n"
    assert after.text == "x\n\n"


def test_a_table_that_only_arranges_is_no_table():
    found = html_blocks(
        "first<table><tr><td><h1>Left</h1><td>a<table><tr><td>b<td>c<tr><td>d<td>e</table>f"
        "<table><tr><td>g<td>h</table><tr><td>last</table>"
    )
    assert kinds(found) == ["text", "heading", "text", "table", "text", "table", "text"]
    words = re.findall(r"\w+", " ".join(texts(found)))
    assert words == ["first", "Left", "a", "b", "c", "d", "e", "f", "g", "h", "last"]
    assert kinds(html_blocks("<table><tr><td>a<tr><td>b</table>")) == ["text", "text"]


def test_a_heading_in_a_row_of_its_own_is_found():
    found = html_blocks("<table><tr><td>Item 7.<td><td>Discussion</table><p>x")
    assert titles(found) == [("Item 7. Discussion", 1.5)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<p>a<b>b</p>c</b></div></table>d", "ab cd"),
        ("<td>a</td></tr><li>b</ul><table>c<tr>d<td>e<td>f</table>", "a b c d | e | f |"),
        ("<h1>a<p>b</h1>", "# a b"),
        ("<table><td>a</td><td colspan=-1 rowspan=z>b", "| a | b |"),
        ("<table><td colspan=9999999999>a<td rowspan=9999999>b<tr><td>c", "| a | b | | c |"),
        ("<!-- no --><?no?>a<![CDATA[no]]>", "a"),
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a?b"),
        ("\u202eאב <b>ג", "\u202eאב ג"),
        ("<ix:nonfraction>5</ix:nonfraction>0", "50"),
        ("<pre>a<p>b</pre>c", "``` ab ``` c"),
    ],
)
def test_broken_html_is_read(text, words):
    found = html_blocks(text)
    said = " ".join("".join(one.text for one in found).replace("| --- | --- |", "").split())
    assert said == words


def test_html_without_a_body_has_no_blocks():
    assert html_blocks("") == html_blocks("<script>x</script>") == []
