"""What the demo prints: plain where nobody watches, within its columns, and one JSON object."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from warmset.embed.bars import Bars
from warmset.lab.demo import show
from warmset.lab.demo.marks import Marks, shares
from warmset.lab.demo.run import Options, measure, run

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def figures():
    return measure(Options(words_only=True), lambda *_: None)


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def printed(figures, *, width=100, terminal=False, encoding="utf-8"):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    out = Console(
        file=file, width=width, force_terminal=terminal, color_system="256" if terminal else None
    )
    show.show(figures, out)
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_is_wider_than_the_terminal(figures, width):
    lines = printed(figures, width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert max(map(cell_len, lines)) == width  # the bar of the window's parts is full


def test_the_bar_of_a_window_is_one_line_from_edge_to_edge(figures):
    lines = printed(figures, width=90).splitlines()
    assert [line for line in lines if set(line) == {"█"}] == ["█" * 90]


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("200", 100)])
def test_wide_terminals_are_not_filled(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert show.console(io.StringIO()).width == width


def test_no_control_codes_without_a_terminal(figures):
    text = printed(figures)
    assert not CONTROL.search(text)
    assert "\x1b[" in printed(figures, terminal=True)


def test_it_says_what_was_measured(figures):
    text = printed(figures)
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert re.search(r"42,\d{3} +100\.0%.*10 of 10", rows["full"])
    assert re.search(r"0 of 10  ○{10}", rows["recency"])
    assert "plain BM25" in rows
    assert "plain dense" not in rows
    assert figures.questions[7].text in text
    assert "searched by words alone" in text
    assert re.search(r"■ system +128 +\d+%  #1 You are the engineering agent", text)
    assert re.search(r"#\d+ +2026-03-\d\d \d\d:\d\d +0\.\d\d █+ +lexical \.\d\d", text)
    assert "✓ evidence" in text


def test_another_alphabet_than_unicode_will_do(figures):
    ascii_only = replace(figures, pictures=(), questions=figures.questions, notes=("a note",))
    text = printed(ascii_only, encoding="ascii")
    assert "o...o" in text or ".o." in text
    assert "note: a note" in text


@pytest.mark.parametrize(
    ("times", "width", "dots"), [(1, 80, True), (3, 80, False), (3, 100, True), (4, 100, False)]
)
def test_questions_have_a_dot_each_where_there_is_room(figures, times, width, dots):
    many = replace(
        figures,
        questions=list(figures.questions) * times,
        evidence=list(figures.evidence) * times,
        methods=[replace(one, outcomes=list(one.outcomes) * times) for one in figures.methods],
    )
    text = printed(many, width=width)
    row = next(line for line in text.splitlines() if line.startswith("plain BM25"))
    assert f"{5 * times:>2} of {10 * times}" in row
    assert len(re.findall("[●○]", row)) == 10 * times * dots
    assert "…" not in row


def test_markup_in_a_question_is_text(figures):
    question = replace(figures.questions[0], text="[red]what[/red] :smile: [/]?")
    text = printed(replace(figures, questions=[question, *figures.questions[1:]]))
    assert "[red]what[/red] :smile: [/]?" in text


def test_json_is_all_that_is_printed(capsys):
    run(Options(words_only=True, limit=2, as_json=True))
    out, err = capsys.readouterr()
    got = json.loads(out)
    assert out.startswith("{\n")
    assert out.endswith("}\n")
    assert err == ""
    assert list(got) == [
        "conversation",
        "embedder",
        "budget",
        "methods",
        "questions",
        "windows",
        "seconds",
        "notes",
    ]
    assert got["conversation"]["messages"] == 467
    assert got["embedder"] == "lexical"
    assert [set(method) for method in got["methods"]] == [
        {"name", "tokens", "share", "found", "asked", "recall"}
    ] * 4
    assert got["methods"][0]["share"] == 1.0
    assert got["methods"][0]["found"] == got["methods"][0]["asked"] == 2
    assert set(got["questions"][0]) == {"question", "evidence", "methods"}
    assert set(got["questions"][0]["methods"]["jit"]) == {"tokens", "found", "recall"}
    (window,) = got["windows"]
    assert set(window) == {
        *("query", "tokens", "budget", "full", "found", "parts", "picked", "notes"),
        *("picker", "net_saved"),
    }
    assert set(window["parts"][0]) == {"name", "tokens", "ids", "head"}
    assert set(window["picked"][0]) == {"id", "at", "who", "score", "terms", "head", "evidence"}
    assert set(got["seconds"]) == {"keep", "embed", "ask"}


def test_the_demo_prints_no_bars_and_no_codes_without_a_terminal(capsys):
    run(Options(words_only=True, limit=1))
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("\nwarmset demo  sample")
    assert not CONTROL.search(out)


def test_bars_tell_each_stage_on_a_terminal():
    file = io.StringIO()
    with Bars(Console(file=file, force_terminal=True, width=100)) as bars:
        bars("keep", 5, 10)
        bars("keep", 10, 10)
        bars("embed", 1, None)
    assert "keep the messages" in file.getvalue()
    assert "embed the messages" in file.getvalue()


@pytest.mark.parametrize(
    ("parts", "width", "expected"),
    [
        ([1, 1], 10, [5, 5]),
        ([1000, 1, 0], 10, [9, 1, 0]),
        ([1, 1, 1], 10, [4, 3, 3]),
        ([0, 0], 10, [0, 0]),
    ],
)
def test_shares_add_up(parts, width, expected):
    assert shares([float(part) for part in parts], width) == expected


def test_a_bar_shows_the_least_part():
    marks = Marks.of(Console(file=io.StringIO()))
    assert marks.bar(0.0001, 10) == "█"
    assert marks.bar(0.0, 10) == ""
    assert marks.bar(1.0, 10) == "█" * 10
