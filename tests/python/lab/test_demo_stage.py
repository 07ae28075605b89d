"""A person's own transcript: kept, taken up again, and shown without anything to compare."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warmset.errors import BudgetTooSmall, InvalidInputError, ModelMissing
from warmset.lab.corpus import models
from warmset.lab.corpus.stage import stage
from warmset.lab.demo import transcripts
from warmset.lab.demo.picture import take
from warmset.lab.demo.run import NO_MODEL, Options, measure, run

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"
LONG = "The tide came in at six and the boats lay still in the harbour. " * 12


def quiet(stage, done, total):
    assert done >= 0
    assert total is None or 0 <= done <= total, stage


def found(figures):
    return {method.name: method.found for method in figures.methods}


def test_without_known_evidence_nothing_is_compared():
    file = FIXTURES / "claude_code.jsonl"
    figures = measure(Options(file=file, words_only=True), quiet)
    assert not figures.methods
    (picture,) = figures.pictures
    assert picture.query is None
    assert picture.found is None
    assert [part.name for part in picture.parts] == ["all"]


def test_the_demo_embeds_with_whom_is_named(monkeypatch, bag):
    asked = []
    monkeypatch.setattr(models, "named", lambda name, **_: asked.append(name) or bag)
    for name, told in ((None, bag.name), ("static", bag.name), ("lexical", "lexical")):
        assert measure(Options(embedder=name, limit=1), quiet).embedder == told
    assert asked == ["minilm", "static"]


def test_queries_replace_the_questions():
    asked = ("Which gauge had rc3?", "What is SLB-231?")
    figures = measure(Options(queries=asked, words_only=True), quiet)
    assert not figures.methods
    assert [picture.query for picture in figures.pictures] == list(asked)
    assert all(picture.picks for picture in figures.pictures)


def test_tool_results_that_come_with_their_call_have_no_score(tmp_path):
    """The call is the best hit; its result has no word of the request, and 300 others have one."""
    use = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    rows = [
        {"role": ("user", "assistant")[n % 2], "content": f"zebra {n} of the zoo"}
        for n in range(301)
    ]
    rows[151:151] = [
        {"role": "assistant", "content": "the zebra sleeps", "tool_calls": [use]},
        {"role": "tool", "tool_call_id": "c", "content": "nothing"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "And?"},
    ]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(rows))
    asked = Options(file=file, queries=("Which zebra sleeps?",), words_only=True, budget=400)
    picks = measure(asked, quiet).pictures[0].picks
    assert picks == sorted(picks, key=lambda pick: (-(pick.score or 0), pick.id))
    assert all((pick.score is None) == (not pick.terms) for pick in picks)
    assert picks[0].head.startswith("the zebra sleeps")
    (result,) = [pick for pick in picks if pick.who == "tool"]
    assert (result.score, result.terms, result.head) == (None, {}, "nothing")
    assert result == picks[-1]


def test_a_default_budget_grows_by_what_must_stay_and_a_given_one_does_not(tmp_path):
    rows = [{"role": "user", "content": LONG * 20}, {"role": "assistant", "content": "ok"}] * 7
    file = tmp_path / "a.json"
    file.write_text(json.dumps([*rows, {"role": "user", "content": LONG * 20}]))
    (picture,) = measure(Options(file=file, words_only=True), quiet).pictures
    assert picture.tokens > 2_000
    with pytest.raises(BudgetTooSmall) as caught:
        measure(Options(file=file, words_only=True, budget=500), quiet)
    with stage(transcripts.read(file), store=None, model=None, progress=quiet) as on:
        grown = take(on.conversation, None, budget=500, stretch=True)
    assert grown.budget == caught.value.need + 500


@pytest.mark.parametrize(("words", "budget"), [(10, 2_000), (300, 4_200), (4_000, 32_000)])
def test_a_window_is_neither_tiny_nor_huge_where_nothing_is_compared(tmp_path, words, budget):
    rows = [{"role": ("user", "assistant")[n % 2], "content": "tide " * words} for n in range(280)]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(rows))
    figures = measure(Options(file=file, words_only=True), quiet)
    assert figures.budget == pytest.approx(budget, rel=0.03)


def test_a_store_is_taken_up_again(tmp_path):
    store = tmp_path / "store"
    first = measure(Options(words_only=True, store=store, limit=3), quiet)
    with stage(transcripts.sample(), store=store, model=None, progress=quiet) as on:
        assert len(on.ids) == 467
        assert on.words.stats()["messages"] == 467
        window = take(on.conversation, "What is SLB-231?", budget=2_000, stretch=False)
        assert window.picks
    again = measure(Options(words_only=True, store=store, limit=3), quiet)
    assert found(again) == found(first)


def test_evidence_is_found_if_the_window_shows_all_of_it():
    with stage(transcripts.sample(), store=None, model=None, progress=quiet) as on:

        def found(*evidence):
            made = take(
                on.conversation,
                "What is SLB-231?",
                budget=2_000,
                stretch=False,
                evidence=evidence,
            )
            return made.found

        made = on.conversation.window("What is SLB-231?", budget=2_000)
        first, second, *_ = made.report.picked
        shown = {id_ for part in made.parts for id_ in part.ids}
        hidden = next(id_ for id_ in on.ids if id_ not in shown)
        assert (found(), found(first, second)) == (None, True)
        assert (found(first, hidden), found(hidden)) == (False, False)


def test_a_store_with_something_else_by_that_name_is_refused(tmp_path):
    store = tmp_path / "store"
    file = tmp_path / "one.jsonl"
    for text, fits in (("first", True), ("second", False)):
        file.write_text(json.dumps({"role": "user", "content": text}))
        options = Options(file=file, store=store, words_only=True)
        if fits:
            measure(options, quiet)
        else:
            with pytest.raises(InvalidInputError, match="another conversation named 'one'"):
                measure(options, quiet)


def test_lines_without_a_time_take_their_neighbours(tmp_path):
    rows = [
        {"message": {"role": "user", "content": "a"}},
        {"message": {"role": "assistant", "content": "b"}, "at": "2020-02-02T02:02:02Z"},
        {"message": {"role": "user", "content": "c"}},
    ]
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with stage(transcripts.read(file), store=None, model=None, progress=quiet) as on:
        times = {turn.at.isoformat() for turn in on.conversation.fetch(on.ids)}
    assert times == {"2020-02-02T02:02:02+00:00"}


def test_a_long_batch_is_kept_in_order(tmp_path):
    rows = [{"role": "user", "content": f"message {n}"} for n in range(2_500)]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(rows))
    with stage(transcripts.read(file), store=None, model=None, progress=quiet) as on:
        assert [dict(turn) for turn in on.conversation.fetch(on.ids)] == rows


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"budget": 0}, "budget: expected at least 1"),
        ({"limit": -1}, "limit: expected at least 1"),
        ({"queries": ("ok", " ")}, "query: expected a question"),
        ({"conversation": "conv-26"}, "give the file as well"),
    ],
)
def test_options_are_checked(wrong, told):
    with pytest.raises(InvalidInputError, match=told):
        Options(**wrong)


def test_without_a_model_and_a_network_the_demo_searches_by_words(monkeypatch, capsys):
    def missing(*_args, **_options):
        raise ModelMissing("it is not here")

    monkeypatch.setattr(models, "named", missing)
    options = Options(limit=1, as_json=True)
    run(options)
    shown = json.loads(capsys.readouterr().out)
    assert NO_MODEL in shown["notes"]
    with pytest.raises(ModelMissing):
        run(replace(options, embedder="minilm"))
    run(replace(options, words_only=True))
    assert NO_MODEL not in json.loads(capsys.readouterr().out)["notes"]
