"""``warmset demo --compact``: two runs of one agent, what they waited for, sent and can reach."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from warmset.cli import app
from warmset.lab.demo import show_crossing, transcripts
from warmset.lab.demo.run_crossing import BUDGET, LATENCY, PACE, CrossingOptions, crossing
from warmset.lab.demo.simulated import SimulatedTime

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def measured(**options):
    return crossing(CrossingOptions(**options), lambda *_: None)


@pytest.fixture(scope="module")
def found():
    return measured()


def test_time_passes_only_when_it_is_told_to():
    clock, done = SimulatedTime(5.0), []
    first = clock.start(lambda: done.append(clock()))
    clock.pass_to(2.0)
    second = clock.start(lambda: done.append(clock()))
    assert (first.wait(1.0), clock()) == (False, 3.0)
    assert (first.wait(9.0), clock(), done) == (True, 5.0, [5.0])
    assert (first.wait(9.0), clock()) == (True, 5.0)
    clock.pass_to(8.0)
    assert (second.ended, clock(), done) == (True, 8.0, [5.0, 7.0])


def test_the_wall_is_waited_for_and_the_prepared_summary_is_not(found):
    wall, prepared = found.runs
    assert (wall.name, prepared.name) == ("at the wall", "prepared")
    assert len(wall.steps) == len(prepared.steps) > 100
    assert wall.longest == LATENCY / 1000
    assert wall.waited == wall.applied * LATENCY / 1000 > 0
    assert (prepared.waited, prepared.left_out) == (0, 0)
    assert wall.left_out == 0
    assert prepared.applied > 0
    for run in found.runs:
        assert max(step.tokens for step in run.steps) <= BUDGET
        assert all(step.cached <= step.tokens for step in run.steps)
        swaps = [at for at, step in enumerate(run.steps) if step.tokens_saved]
        assert len(swaps) == run.applied
        for at in swaps:
            less = run.steps[at - 1].tokens - run.steps[at].tokens
            assert 0 < less < run.steps[at].tokens_saved < BUDGET, "new messages came in as well"
    first = next(at for at, step in enumerate(wall.steps) if step.waited)
    assert wall.steps[:first] != prepared.steps[:first], "one of them prepares"
    sent = [[step.tokens for step in run.steps[:first]] for run in found.runs]
    assert sent[0] == sent[1], "nothing else differs before the wall"
    assert prepared.steps[first].tokens_saved


def test_what_left_is_reached_by_its_handle(found):
    wall, prepared = (run.reach for run in found.runs)
    for one in (wall, prepared):
        assert 0 <= one.window < one.evicted <= 10
    assert prepared.handle == prepared.evicted > prepared.search > prepared.window
    assert (wall.search, wall.handle) == (None, None), "a list alone keeps nothing"


def test_a_summariser_that_is_too_late_is_not_waited_for_longer_than_the_deadline():
    wall, prepared = measured(latency=500_000, pace=100).runs
    assert wall.longest == 500
    assert prepared.longest == 2.0
    assert prepared.left_out > 0


def test_a_budget_that_holds_everything_needs_no_summary():
    for run in measured(budget=100_000).runs:
        assert (run.waited, run.written, run.applied) == (0, 0, 0)
        assert run.reach.evicted == 0


def test_the_keys_are_words_of_the_evidence():
    sample, keys = transcripts.sample(), transcripts.sample_keys()
    assert len(keys) == len(sample.questions) == 10
    for question, key in zip(sample.questions, keys, strict=True):
        said = " ".join(str(sample.lines[at].message["content"]) for at in question.evidence)
        assert key in said


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_is_plain_and_within_its_columns(found, width, encoding):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    noted = replace(found, notes=("a note",))
    show_crossing.show(noted, Console(file=file, width=width, highlight=False))
    file.flush()
    text = raw.getvalue().decode(encoding)
    assert not CONTROL.search(text)
    assert max(map(cell_len, text.splitlines())) <= width
    said = " ".join(text.replace("|", " ").split())  # the ruled lines of plain ASCII
    assert "Simulated summariser, 8,000 ms" in said
    assert "note: a note" in said
    assert re.search(r"longest wait of a call, simulated +8,000 ms +0 ms", said)
    assert re.search(rf"\b8,000 ms {found.runs[0].steps[48].tokens:,}", said)
    assert re.search(rf"by handle, as they were +- +{found.runs[1].reach.handle}\b", said)


def test_json_has_every_call(capsys):
    line = "demo --compact --json --budget 16000 --latency 3000 --pace 500"
    assert app.run(line.split()) == 0
    out, err = capsys.readouterr()
    assert err == ""
    got = json.loads(out)
    assert list(got) == [
        *("conversation", "budget", "trigger_tokens", "simulated", "runs", "notes"),
    ]
    assert (got["budget"], got["simulated"]) == (16000, {"latency": 3000, "pace": 500})
    wall, prepared = got["runs"]
    assert wall["longest_wait"] == 3000
    assert prepared["longest_wait"] == 0
    assert len(wall["steps"]) == wall["calls"] == prepared["calls"]
    assert wall["waited"] == sum(step["waited"] for step in wall["steps"])
    assert set(wall["reach"]) == {"evicted", "window", "search", "handle"}


def test_an_own_file_has_no_answers(tmp_path, capsys):
    lines = [{"role": "user", "content": "The task is to count the crates of harbour 7."}]
    for at in range(60):
        lines.append({"role": "assistant", "content": f"I counted {at} crates at the pier. " * 5})
        lines.append({"role": "user", "content": f"Go on with crate {at}, please. " * 5})
    (tmp_path / "run.json").write_text(json.dumps(lines))
    line = ["demo", "--compact", "--file", str(tmp_path / "run.json"), "--budget", "1500"]
    assert app.run(line) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "8,000 ms" in out
    assert "evicted" not in out


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (["--latency", "-1"], "latency: expected milliseconds"),
        (["--pace", "nan"], "pace: expected milliseconds"),
        (["--budget", "0"], "budget: expected at least 1"),
        (["--budget", "9"], "what must stay needs"),
        (["--query", "x"], "query: means nothing"),
        (["--picker", "openai:x"], "picker: means nothing"),
        (["--words-only"], "words_only: means nothing"),
        (["--conversation", "x"], "give the file as well"),
    ],
)
def test_options_that_are_no_use_are_told(capsys, tokens, told):
    assert app.run(["demo", "--compact", *tokens]) == 1
    assert told in capsys.readouterr().err


def test_its_options_are_of_no_use_without_it(capsys):
    assert app.run(["demo", "--latency", str(PACE)]) == 1
    assert "work with --compact only" in capsys.readouterr().err
