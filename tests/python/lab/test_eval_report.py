"""What the harness writes: page, picture, table, files; and the command around it."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from eval_material import LONGMEMEVAL, locomo, quiet
from rich.console import Console

from warmset.cli import app, evaluate
from warmset.errors import InvalidInputError
from warmset.lab.corpus import models
from warmset.lab.eval import plot, table, write
from warmset.lab.eval.needle import Settings, needle
from warmset.lab.eval.needle_talk import talk
from warmset.lab.eval.options import Options
from warmset.lab.eval.page import page
from warmset.lab.eval.run import measure

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Nesting(HTMLParser):
    """Insists that every element is closed in its place, and gathers what it refers to."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []
        self.links = []
        self.text = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [v for k, v in attrs if k in {"href", "src", "xlink:href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return locomo(tmp_path_factory.mktemp("eval"))


@pytest.fixture(scope="module")
def figures(file):
    return measure(Options(dataset="locomo", path=file, words_only=True), quiet)


def test_the_page_is_well_formed_and_stands_alone(figures):
    made = page(figures)
    read = Nesting()
    read.feed(made)
    read.close()
    assert read.open == []
    assert {"html", "head", "body", "svg", "table", "details"} <= set(read.seen)
    assert read.links == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", made)
    assert "script" not in read.seen


def test_the_page_has_every_figure(figures):
    said = page(figures)
    for name, one in figures["retrievers"].items():
        assert f"<td>{name}</td>" in said
        assert f"{one['recall']['all']['k12']:.3f}" in said
    assert "multi-hop, all" in said


def test_names_cannot_break_out_of_the_page(figures):
    bad = "<script>alert(1)</script>&"
    made = page({**figures, "dataset": bad})
    assert "<script" not in made
    read = Nesting()
    read.feed(made)
    assert bad in "".join(read.text)


def test_the_picture_draws_what_was_measured(figures):
    drawn = plot.curves(figures)
    found = figures["retrievers"]
    whole = found["full"]["window_tokens"]["t5"]
    assert drawn["full"] == [(1.0, 1.0)]
    assert len(drawn["oracle"]) == 1
    wanted = (
        found["random"]["window_tokens"]["t50"] / whole,
        found["random"]["recall"]["fraction"]["t50"],
    )
    assert drawn["random"][-1] == pytest.approx(wanted)
    for points in drawn.values():
        assert points == sorted(points)
        assert all(0 < cost <= 1 and 0 <= recall <= 1 for cost, recall in points)


def test_the_picture_is_svg_within_its_frame(figures):
    svg = ET.fromstring(plot.as_text(plot.draw(figures)))  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    assert svg.tag == f"{space}svg"
    dots = svg.findall(f"{space}circle")
    assert len(dots) == sum(len(points) for points in plot.curves(figures).values())
    for dot in dots:
        assert 0 <= float(dot.get("cx")) <= plot.WIDTH
        assert 0 <= float(dot.get("cy")) <= plot.HEIGHT
    names = [text.text for text in svg.findall(f"{space}text")]
    assert set(figures["retrievers"]) <= set(names)


def test_better_recall_is_higher_and_more_cost_is_further_right(figures):
    svg = plot.draw(figures)
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("circle")]
    said = [c.find("title").text for c in svg.iter("circle")]
    by_name = dict(zip(said, dots, strict=True))
    full = next(dot for text, dot in by_name.items() if text.startswith("full"))
    assert full[0] == max(x for x, _ in dots)
    assert full[1] == min(y for _, y in dots)


def test_the_table_has_a_row_for_each(figures):
    out = Console(width=80, record=True, file=io.StringIO())
    table.show(figures, out)
    said = out.export_text()
    for name in figures["retrievers"]:
        assert re.search(rf"^{name} ", said, re.MULTILINE)
    assert "…" not in said


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "a.json"
    write.figures(file, {"name": "Zoë"})
    assert json.loads(file.read_text("utf-8")) == {"name": "Zoë"}
    with pytest.raises(InvalidInputError, match=r"no/a\.json"):
        write.text(tmp_path / "no" / "a.json", "x")
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


# --- the needle ----------------------------------------------------------------------------------


def test_the_needle_stands_at_its_depth_and_answers_alone():
    for turns in (2, 20, 320):
        for seed in range(6):
            made = talk(turns, depth=0.2, seed=seed)
            (asked,) = made.questions
            (place,) = asked.evidence
            assert len(made.lines) == turns
            assert abs(place - 0.2 * turns) <= 1
            texts = [line.message["content"] for line in made.lines]
            assert asked.answer in texts[place]
            assert sum(asked.answer in text for text in texts) == 1
            assert made.lines[place].message["role"] == "user"


def test_needles_are_the_same_every_time_and_differ_by_seed():
    assert talk(40, depth=0.2, seed=1) == talk(40, depth=0.2, seed=1)
    assert talk(40, depth=0.2, seed=1) != talk(40, depth=0.2, seed=2)


def test_the_needle_table():
    found = needle(Settings(turns=(20, 80), trials=2, words_only=True), quiet)
    assert [row["turns"] for row in found["rows"]] == [20, 80]
    for row in found["rows"]:
        modes = row["modes"]
        assert list(modes) == ["full", "recency", "jit", "full-index"]
        assert modes["full"]["saved"] == 0.0
        assert modes["full"]["accuracy"] == 1.0
        assert modes["full-index"]["saved"] < 0  # it costs more than it saves, and is shown
        assert modes["jit"]["tokens"] <= 800
        assert modes["recency"]["tokens"] <= 800
    long = found["rows"][1]["modes"]
    assert long["recency"]["accuracy"] == 0.0
    assert long["jit"]["accuracy"] == 1.0
    assert long["jit"]["saved"] > 0.5
    assert needle(Settings(turns=(20, 80), trials=2, words_only=True), quiet) == found


def test_a_window_that_is_too_small_is_a_wrong_answer():
    found = needle(Settings(turns=(20,), trials=1, budget=20, words_only=True), quiet)
    assert found["rows"][0]["modes"]["jit"]["accuracy"] == 0.0
    assert found["rows"][0]["modes"]["jit"]["tokens"] <= 20


def test_the_needle_is_embedded_by_whom_is_named(monkeypatch, bag):
    asked = []
    monkeypatch.setattr(models, "named", lambda name, **_: asked.append(name) or bag)
    for name, told in ((None, bag.name), ("static", bag.name), ("lexical", "lexical")):
        found = needle(Settings(turns=(20,), trials=1, embedder=name), quiet)
        assert found["embedder"] == told
    assert asked == ["minilm", "static"]
    with pytest.raises(InvalidInputError, match="embedder"):
        Settings(embedder="static", words_only=True)


# --- the command ---------------------------------------------------------------------------------


def test_the_command_writes_json_and_page(file, tmp_path, capsys):
    out, shown = tmp_path / "a.json", tmp_path / "a.html"
    line = ["eval", "locomo", str(file), "--words-only", "--json", str(out), "--html", str(shown)]
    assert app.run([*line, "--budgets", "5,10", "--k", "6", "--retriever", "no-speaker"]) == 0
    found = json.loads(out.read_text("utf-8"))
    assert list(found["retrievers"])[:2] == ["default", "no-speaker"]
    assert list(found["retrievers"]["default"]["gac"]) == ["k6", "t5", "t10"]
    assert shown.read_text("utf-8").startswith("<!doctype html>")
    said, err = capsys.readouterr()
    assert err == ""
    assert "6 questions" in said
    assert app.run([*line, "--limit", "1", "--svg", str(tmp_path / "a.svg")]) == 0
    assert ET.parse(tmp_path / "a.svg").getroot().tag.endswith("}svg")  # noqa: S314 - our own
    assert json.loads(out.read_text("utf-8"))["questions"] == 1


def test_the_needle_as_a_command(tmp_path, capsys):
    out = tmp_path / "n.json"
    line = "eval needle --turns 12,20 --trials 1 --depth 50 --budget 300 --words-only --json"
    assert app.run([*line.split(), str(out)]) == 0
    found = json.loads(out.read_text("utf-8"))
    assert (found["depth"], found["budget"], len(found["rows"])) == (50, 300, 2)
    assert "full-index" in capsys.readouterr().out


@pytest.mark.parametrize("dataset", ["locomo", "longmemeval", "agents"])
def test_vectors_are_measured_unless_words_alone_are_asked_for(dataset, monkeypatch, tmp_path):
    taken = []
    monkeypatch.setattr(evaluate, "_run", taken.append)
    for flags in ([], ["--words-only"]):
        assert app.run(["eval", dataset, str(tmp_path), *flags]) == 0
    assert [options.words_only for options in taken] == [False, True]


def test_longmemeval_as_a_command(capsys):
    assert app.run(["eval", "longmemeval", str(LONGMEMEVAL), "--words-only"]) == 0
    assert "2 questions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("locomo none.json", 1, "none.json: No such file"),
        ("locomo {long}", 1, "it is not LoCoMo's"),
        ("longmemeval {file}", 1, "it is not LongMemEval's"),
        ("locomo {text}", 1, "expected JSON"),
        ("locomo {empty}", 1, "no question with known evidence"),
        ("locomo {file} --retriever nothing", 1, "retriever: expected one of default"),
        ("locomo {file} --retriever no.such:thing", 1, "cannot be had"),
        ("locomo {file} --budgets 0", 1, "budgets: expected more than 0"),
        ("locomo {file} --budgets much", 1, "budgets: expected percentages"),
        ("locomo {file} --k 0", 1, "expected whole numbers"),
        ("locomo {file} --limit 0", 1, "limit: expected at least 1"),
        ("locomo {file} --limit x", 2, "--limit"),
        ("locomo {file} --json no/such/a.json", 1, "there is no such directory"),
        ("locomo {file} --html no/such/a.html", 1, "there is no such directory"),
        ("locomo {file} --svg no/such/a.svg", 1, "there is no such directory"),
        ("locomo {file} --embedder bert", 1, "leave one of the two out"),
        ("needle --embedder bert", 1, "leave one of the two out"),
        ("locomo {file} --judge openai:x", 1, "nothing to judge"),
        ("locomo", 2, "path"),
        ("needle --turns 1", 1, "turns: expected at least 2"),
        ("needle --depth 101", 1, "depth: expected 0 to 100"),
        ("needle --trials 0", 1, "trials: expected at least 1"),
        ("needle --budget 0", 1, "budget: expected at least 1"),
    ],
)
def test_an_error_is_one_line(file, tmp_path, capsys, monkeypatch, line, code, told):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.json").write_text("words")
    talk = {"conversation": {"session_1": [{"speaker": "a", "text": "b", "dia_id": "D1:1"}]}}
    (tmp_path / "empty.json").write_text(json.dumps([talk]))
    given = {"file": file, "long": LONGMEMEVAL, "text": "text.json", "empty": "empty.json"}
    tokens = [part.format(**given) for part in line.split()]
    assert app.run(["eval", *tokens, *(["--words-only"] if code == 1 else [])]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert told.lower() in err.lower()
    assert err.count("\n") == 1
    assert not Path("a.json").exists()
