"""The harness on sessions of agents: splits, kinds, tool turns, and questions without an answer."""

from __future__ import annotations

import io
import json

import pytest
from agents_material import session, write
from eval_material import quiet
from rich.console import Console

from warmset.cli import app
from warmset.errors import InvalidInputError
from warmset.lab.corpus import agents
from warmset.lab.corpus.stage import stage
from warmset.lab.eval import table
from warmset.lab.eval.declining import Declining
from warmset.lab.eval.options import AGENTS_BUDGETS, Options
from warmset.lab.eval.run import measure

KEYS = ["k6", "k12", "k20", "t1", "t2", "t5", "t10", "t15"]


def asking(path, **rest):
    return Options(dataset="agents", path=path, budgets=AGENTS_BUDGETS, words_only=True, **rest)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("agents")
    last = session("alone", "held_out")
    last["turns"][-1]["content"] = "something else altogether, for once"
    return write(made, session("early"), last)


@pytest.fixture(scope="module")
def both(directory):
    steps = []
    found = measure(asking(directory), lambda *step: steps.append(step) or quiet(*step))
    assert steps[-1] == ("ask", 80, 80)
    return found


def test_the_schema(both):
    assert (both["dataset"], both["questions"], both["settings"]["split"]) == ("agents", 70, "all")
    assert list(both["splits"]) == ["fit", "held_out"]
    for split, name in (("fit", "early"), ("held_out", "alone")):
        part = both["splits"][split]
        assert (part["conversations"], part["questions"]) == ([name], 35)
        assert list(part["retrievers"]) == list(both["retrievers"])
        assert part["declining"]["unanswerable"]["questions"] == 5
        assert part["declining"]["answerable"]["questions"] == 35
    for one in both["retrievers"].values():
        assert list(one["recall"]["fraction"]) == KEYS
        assert {name: one["by_category"][name]["questions"] for name in one["by_category"]} == {
            kind: 2 * count for kind, count in agents.KINDS.items() if kind != "unanswerable"
        }
    assert "default_window" in both["retrievers"]["default"]
    assert json.loads(json.dumps(both)) == both


def test_the_whole_is_the_mean_of_its_splits(both):
    for name, one in both["retrievers"].items():
        for measured in ("fraction", "all", "any"):
            each = [
                part["retrievers"][name]["recall"][measured]["t5"]
                for part in both["splits"].values()
            ]
            assert one["recall"][measured]["t5"] == pytest.approx(sum(each) / 2, abs=1e-3)


def test_controls_are_bounds(both):
    found = both["retrievers"]
    for name in ("full", "oracle"):
        assert set(found[name]["recall"]["all"].values()) == {1.0}
    assert found["bm25"]["recall"]["fraction"]["k20"] >= 0.48  # those with a word of the turn
    assert found["random"]["recall"]["fraction"]["k6"] < 0.2


def test_one_split(directory, both):
    found = measure(asking(directory, split="held_out"), quiet)
    assert [one["name"] for one in found["conversations"]] == ["alone"]
    assert list(found["splits"]) == ["held_out"]
    part = both["splits"]["held_out"]["retrievers"]
    for name, one in found["retrievers"].items():
        assert one["recall"] == part[name]["recall"]


def test_turns_of_tools_are_in_the_store_with_their_calls(directory):
    transcript = next(agents.read_all(directory, "all"))
    place = next(at for at, line in enumerate(transcript.lines) if line.message["role"] == "tool")
    with stage(transcript, store=None, model=None, progress=quiet) as on:
        assert len(on.ids) == len(transcript.lines)
        call, answer = on.conversation.fetch(on.ids[place - 1 : place + 1])
        assert call["tool_calls"][0]["id"] == answer["tool_call_id"]
        word = answer["content"].split()[2]
        window = on.conversation.window(word, budget=2_000, recent=0, index_share=0)
        (quoted,) = (part.ids for part in window.parts if part.name == "retrieved")
        assert {on.ids[place - 1], on.ids[place]} <= set(quoted)


def test_a_question_that_is_not_related_is_declined(directory):
    transcript = next(agents.read_all(directory, "fit"))
    word = transcript.lines[100].message["content"].split()[0]
    with stage(transcript, store=None, model=None, progress=quiet) as on:
        declining = Declining((1.0, 5.0, 10.0))
        for text, answerable in ((word, True), ("zzz", True), ("zzz zz", False)):
            declining.ask(on.conversation, 40_000, text, answerable=answerable)
    assert declining.figures(["early"]) == {
        "unanswerable": {"questions": 1, "nothing_quoted": {"t1": 1.0, "t5": 1.0}},
        "answerable": {"questions": 2, "nothing_quoted": {"t1": 0.5, "t5": 0.5}},
    }
    assert declining.figures(["other"])["answerable"] == {"questions": 0, "nothing_quoted": {}}


def test_a_window_without_room_quotes_nothing(directory):
    transcript = next(agents.read_all(directory, "fit"))
    word = transcript.lines[100].message["content"].split()[0]
    with stage(transcript, store=None, model=None, progress=quiet) as on:
        declining = Declining((1.0,))
        declining.ask(on.conversation, 1, word, answerable=True)
    assert declining.figures(["early"])["answerable"]["nothing_quoted"] == {"t1": 1.0}


def printed(figures):
    out = io.StringIO()
    table.show(figures, Console(file=out, width=160))
    return out.getvalue()


def test_the_table_has_both_splits(both, directory):
    said = printed(both)
    assert "agents  2 conversations, 70 questions; 10 unanswerable" in said
    assert "fit  35 questions of early" in said
    assert "held_out  35 questions of alone" in said
    rows = [line.split()[:2] for line in said.splitlines()]
    assert rows.count(["held_out,", "unanswerable"]) == rows.count(["all,", "answerable"]) == 1
    assert rows.index(["all,", "unanswerable"]) < rows.index(["all,", "answerable"])
    assert sum(row[:1] == ["oracle"] for row in rows) == 4
    one = printed(measure(asking(directory, split="fit"), quiet))
    assert "questions of early" not in one
    assert "all, unanswerable" in one
    assert "fit, unanswerable" not in one


def test_a_table_without_small_budgets_leaves_declining_out(directory):
    options = Options(
        dataset="agents", path=directory / "alone.json", budgets=(20.0,), words_only=True
    )
    found = measure(options, quiet)
    assert found["declining"]["unanswerable"] == {"questions": 5, "nothing_quoted": {}}
    assert "nothing is quoted" not in printed(found)


def test_the_command(directory, tmp_path, capsys):
    out = tmp_path / "figures.json"
    given = [str(directory / "early.json"), "--words-only", "--budgets", "5", "--json", str(out)]
    assert app.run(["eval", "agents", *given]) == 0
    assert "35 questions; 5 unanswerable" in capsys.readouterr().out
    assert json.loads(out.read_text())["questions"] == 35


def test_what_is_wrong_is_said(directory, tmp_path, capsys):
    assert app.run(["eval", "agents", str(tmp_path), "--words-only"]) == 1
    assert "there is no session in it" in capsys.readouterr().err
    given = [str(directory / "early.json"), "--split", "held_out", "--words-only"]
    assert app.run(["eval", "agents", *given]) == 1
    assert "no session is of 'held_out'" in capsys.readouterr().err
    with pytest.raises(InvalidInputError, match="locomo does not ship"):
        measure(Options(dataset="locomo", path=None), quiet)


def test_a_session_without_questions_that_have_an_answer(tmp_path):
    one = session()
    one["questions"] = one["questions"][-5:]
    with pytest.raises(InvalidInputError, match=r"plain\.json: it has no question with known"):
        measure(asking(write(tmp_path, one) / "plain.json"), quiet)
