"""The demo's figures: what each method finds at equal tokens, on data that we know."""

from __future__ import annotations

import json

import numpy as np
import pytest
from eval_material import locomo

from warmset.lab.corpus.plain import PlainDense
from warmset.lab.corpus.remembering import Remembering
from warmset.lab.corpus.shown import shown
from warmset.lab.corpus.stage import stage
from warmset.lab.demo import transcripts
from warmset.lab.demo.compare import Method, Outcome, _fill, compare
from warmset.lab.demo.figures import Figures
from warmset.lab.demo.run import Options, _telling, measure
from warmset.options import Weights

LONG = "The tide came in at six and the boats lay still in the harbour. " * 12


def quiet(stage, done, total):
    assert done >= 0
    assert total is None or 0 <= done <= total, stage


@pytest.fixture(scope="module")
def words():
    return measure(Options(words_only=True), quiet)


@pytest.fixture(scope="module")
def fused(weights):  # noqa: ARG001 - needed to be there
    return measure(Options(), quiet)


def found(figures):
    return {method.name: method.found for method in figures.methods}


# --- the conversation that ships with warmset ----------------------------------------------------


def test_words_alone(words):
    assert words.embedder == "lexical"
    assert [method.name for method in words.methods] == ["full", "recency", "plain BM25", "jit"]
    assert found(words)["full"] == 10
    assert found(words)["recency"] == 0
    assert 3 <= 10 - found(words)["plain BM25"] <= 6
    assert found(words)["jit"] >= 4


def test_with_vectors(fused):
    assert fused.embedder.startswith("all-MiniLM-L6-v2")
    got = found(fused)
    assert list(got) == ["full", "recency", "plain BM25", "plain dense", "jit"]
    assert got["full"] == 10
    assert got["recency"] == 0
    assert got["plain BM25"] <= 7
    assert got["jit"] >= 8
    assert got["jit"] > max(got["plain BM25"], got["plain dense"])


def test_tokens_are_equal_and_within_the_budget(words, fused):
    for figures in (words, fused):
        assert figures.budget == round(0.05 * figures.tokens)
        for method in figures.methods[1:]:
            assert all(outcome.tokens <= figures.budget for outcome in method.outcomes)
    for method in fused.methods[1:]:
        assert method.tokens >= 0.85 * fused.budget, method.name
        assert 0.04 < fused.share(method) <= 0.05


def test_the_window_that_is_shown_has_its_evidence(fused):
    (picture,) = fused.pictures
    assert picture.found
    assert sum(part.tokens for part in picture.parts) == pytest.approx(picture.tokens, abs=10)
    assert [part.name for part in picture.parts][:2] == ["system", "anchor"]
    assert picture.parts[-1].name == "request"
    assert picture.parts[-1].head == picture.query
    named = [pick for pick in picture.picks if pick.evidence]
    assert named
    best = picture.picks[0]
    weighed = sum(getattr(Weights(), name) * value for name, value in best.terms.items())
    assert best.score == pytest.approx(weighed, abs=0.02)


def test_a_limit_asks_the_first_questions():
    figures = measure(Options(words_only=True, limit=2), quiet)
    assert [question.text for question in figures.questions] == [
        question.text for question in transcripts.sample().questions[:2]
    ]
    assert len(figures.methods[0].outcomes) == 2


@pytest.mark.parametrize("words_only", [True, False])
def test_one_question_is_judged_as_among_many(bag, words_only):
    """No method takes over what another one chose for the same question."""
    asked = transcripts.sample().questions[:3]
    with stage(
        transcripts.sample(), store=None, model=None if words_only else bag, progress=quiet
    ) as on:
        among = compare(on, asked, budget=2_000, progress=quiet)
        alone = compare(on, asked[1:2], budget=2_000, progress=quiet)
    assert len(alone) == (4 if words_only else 5)
    assert [m.outcomes[0] for m in alone] == [m.outcomes[1] for m in among]


def test_vectors_are_made_once_and_ranked_by_the_best_passage(bag):
    once = Remembering(bag)
    turns = [(7, "a car at the quay"), (3, ""), (9, "the tide " * 200 + "a vehicle"), (4, "rain")]
    passages = [passage for _, text in turns if text for passage in once.split(text)]
    once.embed(passages)
    made = len(bag.texts)
    plain = PlainDense(once, turns)
    assert len(bag.texts) == made
    assert len(passages) > 3
    assert plain.rank("rain")[0] == 4
    assert plain.rank("the tide")[0] == 9
    assert sorted(plain.rank("automobile")) == [4, 7, 9]
    assert PlainDense(once, []).rank("rain") == []
    assert np.array_equal(once.embed(["rain", "rain"]), bag.embed(["rain", "rain"]))


# --- evidence ------------------------------------------------------------------------------------


def test_a_line_of_the_index_is_no_evidence():
    with stage(transcripts.sample(), store=None, model=None, progress=quiet) as on:
        window = on.conversation.window("What about SLB-231?", budget=1_200, index_share=0.5)
        listed = {id_ for part in window.parts if part.name == "index" for id_ in part.ids}
        assert listed
        assert not listed & shown(on.conversation, window)
        assert shown(on.conversation, window) >= set(window.report.picked)


def test_a_task_that_was_shortened_is_no_evidence(tmp_path):
    rows = [{"role": "user", "content": LONG}]
    rows += [{"role": ("assistant", "user")[n % 2], "content": f"{n}: {LONG}"} for n in range(40)]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(rows))
    with stage(transcripts.read(file), store=None, model=None, progress=quiet) as on:
        for budget, there in ((120, False), (1_000, True)):
            window = on.conversation.window("What is next?", budget=budget, recent=0)
            assert "anchor" in {part.name for part in window.parts}
            assert (on.ids[0] in shown(on.conversation, window)) is there


def test_figures_are_json(words):
    assert isinstance(words, Figures)
    assert json.loads(json.dumps(words.as_json(), allow_nan=False)) == words.as_json()


# --- LoCoMo --------------------------------------------------------------------------------------


def test_a_file_in_the_form_of_locomo_is_compared_at_equal_tokens(tmp_path):
    figures = measure(Options(file=locomo(tmp_path), words_only=True, budget=500), quiet)
    by_name = {method.name: method for method in figures.methods}
    assert list(by_name) == ["full", "recency", "plain BM25", "jit"]
    assert len(figures.questions) == 3, "those without evidence, and those of category 5, are not"
    assert figures.several
    assert by_name["full"].recall == 1.0
    assert by_name["recency"].found == 0
    for name in ("plain BM25", "jit"):
        assert by_name[name].found >= 2
        assert all(outcome.tokens <= 500 for outcome in by_name[name].outcomes)


def test_a_question_is_found_with_all_of_its_evidence_alone():
    method = Method("some", [Outcome(1, 1.0), Outcome(3, 0.5), Outcome(5, 0.0)])
    assert (method.tokens, method.found, method.recall) == (3, 1, 0.5)
    assert [one.found for one in method.outcomes] == [True, False, False]


def test_questions_come_first_that_jit_answers_and_the_fewest_others_do():
    found = {
        "full": "1111",
        "recency": "0100",
        "plain BM25": "0101",
        "jit": "1101",
    }
    methods = [
        Method(name, [Outcome(1, recall) for recall in map(float, row)])
        for name, row in found.items()
    ]
    assert _telling(methods) == [0, 3, 1, 2]


def test_a_plain_ranking_fills_the_window_with_as_many_as_fit(words):
    (plain,) = [method for method in words.methods if method.name == "plain BM25"]
    assert max(one.tokens for one in plain.outcomes) >= 0.95 * words.budget
    with stage(transcripts.sample(), store=None, model=None, progress=quiet) as on:
        made = _fill(on, words.questions[0].text, 6_000, list(reversed(on.ids)))
    assert len(made.report.picked) > 12, "not as many as a picker may pick otherwise"
    assert made.tokens >= 0.9 * 6_000
