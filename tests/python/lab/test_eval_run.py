"""The harness as a whole, on question sets that are known by heart."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from eval_material import LONGMEMEVAL, conversation, locomo, quiet

from warmset.conversation import Conversation
from warmset.errors import InvalidInputError
from warmset.lab.corpus import models, rows, stage as staging
from warmset.lab.corpus.locomo import read_all
from warmset.lab.eval import run
from warmset.lab.eval.options import Options
from warmset.lab.eval.quoting import Quoting
from warmset.lab.eval.run import measure
from warmset.lab.eval.ways import ABLATIONS
from warmset.options import Weights

ROOT = Path(__file__).parents[3]
REAL = ROOT.parent / "shared" / "data" / "locomo_half_a.json"
CONTROLS = ["full", "oracle", "recency", "random", "bm25", "dense"]
KEYS = ["k6", "k12", "k20", "t1", "t2", "t5", "t10", "t15", "t50"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return locomo(tmp_path_factory.mktemp("eval"))


@pytest.fixture(scope="module")
def words(file):
    return measure(Options(dataset="locomo", path=file, words_only=True), quiet)


@pytest.fixture
def with_bag(monkeypatch, bag):
    monkeypatch.setattr(models, "named", lambda *_, **__: bag)


def timeless(value):
    """Leave out what a clock said."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name != "latency_ms"}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def test_the_schema(words):
    assert words["dataset"] == "locomo"
    assert words["questions"] == 6
    assert words["left_out"] == {"without_evidence": 2, "not_scored": 2, "malformed": 0}
    assert words["evidence"] == {"mended": 2, "unknown": 2}
    assert list(words["retrievers"]) == ["default", *CONTROLS[:-1]]
    for one in words["retrievers"].values():
        assert list(one["recall"]) == ["fraction", "all", "any"]
        for measured in (*one["recall"].values(), one["gac"]):
            assert list(measured) == KEYS
        for category in one["by_category"].values():
            assert list(category["recall"]["all"]) == KEYS
        assert list(one["window_tokens"]) == KEYS[3:]
        assert {"p50", "p95"} <= one["latency_ms"].keys()
        assert list(one["by_category"]) == ["multi-hop", "single-hop", "temporal"]
    assert json.loads(json.dumps(words)) == words


def test_the_default_window_is_measured_at_every_budget(words):
    usual = words["retrievers"]["default"]["default_window"]
    assert list(usual["by_budget"]) == KEYS[3:]
    assert usual["by_budget"]["t5"] == usual["recall"]["fraction"]
    assert usual["by_budget"]["t50"] >= usual["by_budget"]["t1"]
    for one in usual["by_category"].values():
        assert list(one) == KEYS[3:]
    assert "default_window" not in words["retrievers"]["bm25"]


def test_with_vectors_plain_dense_is_a_control(file, with_bag):  # noqa: ARG001
    found = measure(Options(dataset="locomo", path=file, limit=2), quiet)
    assert list(found["retrievers"]) == ["default", *CONTROLS]
    assert found["settings"]["embedder"].startswith("bag of words")


def test_controls_are_bounds(words):
    found = words["retrievers"]
    for name in ("full", "oracle"):
        assert set(found[name]["recall"]["all"].values()) == {1.0}
        assert set(found[name]["gac"].values()) == {1.0}
    for name, one in found.items():
        for key in KEYS:
            fraction, every, some = (one["recall"][m][key] for m in ("fraction", "all", "any"))
            assert every <= fraction <= some, (name, key)
    assert found["default"]["recall"]["fraction"]["k6"] == 1.0  # the words of these are unique
    assert found["random"]["recall"]["fraction"]["k6"] < 0.5
    assert found["recency"]["recall"]["fraction"]["t1"] == 0.0
    least = found["oracle"]["window_tokens"]["t1"]
    assert 30 < least < found["full"]["window_tokens"]["t1"] / 5


def test_nothing_is_over_its_budget(words):
    whole = sum(c["tokens"] * c["questions"] for c in words["conversations"]) / words["questions"]
    for name in ("default", "recency", "random", "bm25"):
        for key, tokens in words["retrievers"][name]["window_tokens"].items():
            assert tokens <= whole * float(key[1:]) / 100, (name, key)
    assert words["retrievers"]["random"]["window_tokens"]["t50"] > 0.45 * whole
    assert words["retrievers"]["full"]["window_tokens"]["t1"] == pytest.approx(whole, abs=2)


def test_scored_windows_have_neither_recent_turns_nor_index(file, monkeypatch):
    made, kept = [], Conversation.window

    def watching(self, query, **options):
        window = kept(self, query, **options)
        made.append((options, {part.name for part in window.parts}, len(window.report.recent)))
        return window

    monkeypatch.setattr(Conversation, "window", watching)
    given = Options(dataset="locomo", path=file, words_only=True, limit=1, budgets=(20.0,))
    measure(given, quiet)
    scored = [one for one in made if {"recent", "index_share"} <= one[0].keys()]
    usual = [one for one in made if one not in scored]
    assert (len(scored), len(usual)) == (2, 2)
    assert all(not parts & {"recent", "index"} and not recent for _, parts, recent in scored)
    assert usual[1][1] & {"recent", "index"}


def test_controls_fill_what_they_may(file, bag):
    (transcript, _) = run.datasets.read(Options(dataset="locomo", path=file))
    with staging.stage(transcript, store=None, model=bag, progress=quiet) as on:
        quoting = Quoting(on.conversation)
        each = [quoting.all([id_]).tokens for id_ in on.ids]
        spare = max(each) - quoting.all([]).tokens
        for budget in (0, min(each) - 1, max(each) + 2, 200, 1_000, 1 << 30):
            made = quoting.within(on.ids[::-1], budget)
            assert made.tokens == quoting.all(made.ids).tokens <= budget
            assert bool(made.ids) == (budget > max(each))
            assert made.tokens >= min(budget, quoting.all(on.ids).tokens) - spare
        assert quoting.within(on.ids, max(each) + 2).ids == {on.ids[0]}


def test_more_room_never_loses_what_was_found(words):
    for one in words["retrievers"].values():
        for keys in (KEYS[:3], KEYS[3:]):
            values = [one["recall"]["fraction"][key] for key in keys]
            assert values == sorted(values)


def test_two_runs_are_the_same_apart_from_times(file, words, with_bag):  # noqa: ARG001
    again = measure(Options(dataset="locomo", path=file, words_only=True), quiet)
    assert timeless(again) == timeless(words)
    fused = [measure(Options(dataset="locomo", path=file), quiet) for _ in range(2)]
    assert timeless(fused[0]) == timeless(fused[1])
    assert timeless(fused[0]) != timeless(words)


def test_a_limit_asks_the_first_questions(file):
    found = measure(Options(dataset="locomo", path=file, words_only=True, limit=4), quiet)
    assert [(c["name"], c["questions"]) for c in found["conversations"]] == [
        ("isle", 3),
        ("coast", 1),
    ]
    one = measure(Options(dataset="locomo", path=file, words_only=True, limit=1), quiet)
    assert one["retrievers"]["default"]["interval"]["fraction"]["t5"] is None


def test_budgets_and_cuts_are_the_callers(file):
    options = Options(dataset="locomo", path=file, words_only=True, budgets=(3.0,), cuts=(2,))
    found = measure(options, quiet)["retrievers"]["default"]
    assert list(found["recall"]["fraction"]) == ["k2", "t3"]
    assert found["area"] is None


def test_roles_only_takes_the_names_off(file, monkeypatch):
    seen = []
    kept = run.stage

    def watching(transcript, **options):
        seen.extend(line.speaker for line in transcript.lines)
        return kept(transcript, **options)

    monkeypatch.setattr(run, "stage", watching)
    options = Options(dataset="locomo", path=file, words_only=True, roles=True, limit=3)
    found = measure(options, quiet)
    assert set(seen) == {None}
    assert found["settings"]["roles"] is True
    assert found["conversations"][0]["tokens"] > found["conversations"][0]["bare_tokens"]


def test_a_store_is_taken_up_again(file, tmp_path, bag, with_bag):  # noqa: ARG001
    options = Options(dataset="locomo", path=file, limit=1, store=tmp_path / "kept")
    first = measure(options, quiet)
    assert (tmp_path / "kept" / "isle").is_dir()
    bag.texts.clear()
    assert timeless(measure(options, quiet)) == timeless(first)


@pytest.mark.parametrize("name", ["no-lexical", "no-speaker", "no-session", "no-dense"])
def test_parts_of_the_retriever_can_be_left_out(file, with_bag, name):  # noqa: ARG001
    options = Options(dataset="locomo", path=file, limit=3, retrievers=(name, name, "default"))
    found = measure(options, quiet)["retrievers"]
    assert list(found) == ["default", name, *CONTROLS]


def test_each_part_that_is_left_out_has_no_weight_and_the_others_have_theirs():
    default = asdict(Weights())
    gone = []
    for weights in ABLATIONS.values():
        changed = {name: one for name, one in asdict(weights).items() if one != default[name]}
        assert set(changed.values()) == {0.0}
        gone += changed
    assert sorted(gone) == sorted(default.keys() - {"decision"})


def test_no_lexical_is_another_retriever(file, with_bag):  # noqa: ARG001
    options = Options(dataset="locomo", path=file, retrievers=("no-lexical", "no-dense"))
    found = measure(options, quiet)["retrievers"]
    assert found["no-lexical"]["window_tokens"] != found["default"]["window_tokens"]
    assert found["no-dense"]["window_tokens"] != found["no-lexical"]["window_tokens"]


def test_a_retriever_of_ones_own(file, tmp_path, monkeypatch):
    (tmp_path / "own_rank.py").write_text(
        "def first(conversation, question, k):\n    return conversation.ids[:k]\n"
        "def wrong(conversation, question, k):\n    return [10**9]\n"
    )
    monkeypatch.chdir(tmp_path)
    options = Options(
        dataset="locomo", path=file, words_only=True, limit=3, retrievers=("own_rank:first",)
    )
    found = measure(options, quiet)["retrievers"]["own_rank:first"]
    assert found["recall"]["any"]["k6"] == 0.0
    assert found["recall"]["any"]["k20"] == pytest.approx(1 / 3, abs=1e-4)
    bad = Options(dataset="locomo", path=file, words_only=True, retrievers=("own_rank:wrong",))
    with pytest.raises(InvalidInputError, match="ids of the conversation"):
        measure(bad, quiet)


@pytest.mark.parametrize("name", ["nothing", "json:nothing", "no.such:thing", ":", "json:__doc__"])
def test_an_unknown_retriever_is_refused_before_anything_is_read(name):
    with pytest.raises(InvalidInputError):
        measure(Options(dataset="locomo", path=Path("none"), retrievers=(name,)), quiet)


# --- the data ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "places"),
    [
        (["D1:1"], (0,)),
        (["D1:1; D1:4"], (0, 3)),
        (["D1:1, D1:4 D1:3"], (0, 2, 3)),
        ([" D:1:03 "], (2,)),
        ("D1:2", (1,)),
        (["D1:2", "D1:2"], (1,)),
        (["D1:2", "D99:1"], (1,)),
    ],
)
def test_evidence_however_it_is_written(given, places):
    sample = conversation("isle", sessions=1)
    sample["qa"] = [{"question": "?", "answer": 7, "evidence": given, "category": 2}]
    (read,) = read_all([sample])
    assert read.questions[0].evidence == places
    assert read.questions[0].answer == "7"
    assert read.questions[0].category == "temporal"
    assert read.counts["evidence_mended"] == (given not in (["D1:1"], ["D1:2"] * 2, "D1:2")) - (
        given == ["D1:2", "D99:1"]
    )


@pytest.mark.parametrize("given", [[], None, ["D"], ["D99:1"], "", [None]])
def test_a_question_without_evidence_is_left_out_and_counted(given):
    sample = conversation("isle", sessions=1)
    sample["qa"] = [{"question": "?", "answer": "x", "evidence": given, "category": 1}]
    (read,) = read_all([sample])
    assert read.questions == []
    assert read.counts["without_evidence"] == 1


def test_longmemeval():
    found = measure(Options(dataset="longmemeval", path=LONGMEMEVAL, words_only=True), quiet)
    assert found["questions"] == 2
    assert found["left_out"] == {"without_evidence": 1, "not_scored": 1, "malformed": 0}
    one = found["retrievers"]["default"]
    assert list(one["by_category"]) == ["multi-session", "single-session-user"]
    assert one["recall"]["fraction"]["k6"] == 1.0


def test_longmemeval_sessions_come_by_date_and_evidence_by_turn_or_session():
    transcripts = list(run.datasets.read(Options(dataset="longmemeval", path=LONGMEMEVAL)))
    heron, bread = transcripts[:2]
    assert [line.session for line in heron.lines] == ["bread"] * 4 + ["walk"] * 2
    assert heron.questions[0].evidence == (4,)
    assert bread.questions[0].evidence == (0, 1, 2, 3)
    assert heron.lines[0].at == 1_684_549_260.0  # 20 May 2023, 02:21 UTC


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"haystack_dates": ["yesterday", "2023/05/20 (Sat) 02:21"]}, "expected a date"),
        ({"haystack_dates": ["2023/05/20 (Sat) 02:21"]}, "expected 2 of them, found 1"),
        ({"haystack_sessions": ["x", []]}, "expected a list of turns"),
        ({"haystack_sessions": [[{"role": "king", "content": "x"}], []]}, "role and a content"),
        ({"haystack_sessions": [[7], []]}, "expected a JSON object"),
        ({"haystack_sessions": 7}, "haystack_sessions: expected a list"),
        ({"answer_session_ids": "walk"}, "answer_session_ids: expected a list"),
    ],
)
def test_malformed_instances_are_told(tmp_path, change, told):
    item = rows.whole(LONGMEMEVAL)[0] | change
    file = tmp_path / "a.json"
    file.write_text(json.dumps([item]))
    with pytest.raises(InvalidInputError, match=told) as caught:
        measure(Options(dataset="longmemeval", path=file, words_only=True), quiet)
    assert "instance 'pond-1'" in str(caught.value)


# --- the real thing ------------------------------------------------------------------------------


def test_locomo(weights):  # noqa: ARG001 - needed to be there
    if not REAL.exists():
        pytest.skip("LoCoMo is not on this machine, and may not be shipped (CC BY-NC)")
    options = Options(
        dataset="locomo", path=REAL, limit=25, budgets=(5.0, 10.0), retrievers=("no-dense",)
    )
    found = measure(options, quiet)
    got = {name: one["recall"]["fraction"]["t5"] for name, one in found["retrievers"].items()}
    assert found["left_out"]["without_evidence"] == 2
    assert got["full"] == got["oracle"] == 1.0
    assert got["default"] >= 0.7
    assert got["default"] > max(got["bm25"], got["dense"], got["random"], got["recency"])
    assert found["retrievers"]["oracle"]["window_tokens"]["t5"] < 300


def test_the_embedder_is_taken_by_its_name(file, monkeypatch, bag):
    asked = []
    monkeypatch.setattr(models, "named", lambda name, **_: asked.append(name) or bag)
    for name in (None, "static"):
        found = measure(Options(dataset="locomo", path=file, embedder=name, limit=1), quiet)
        assert found["settings"]["embedder"] == bag.name
    assert asked == ["minilm", "static"]
    with pytest.raises(InvalidInputError, match="embedder"):
        Options(dataset="locomo", path=file, embedder="static", words_only=True)


def test_turns_may_be_embedded_alone(file, with_bag):  # noqa: ARG001
    alone = measure(Options(dataset="locomo", path=file, views="turn"), quiet)
    both = measure(Options(dataset="locomo", path=file), quiet)
    assert (alone["settings"]["views"], both["settings"]["views"]) == ("turn", "both")
    assert timeless(alone)["retrievers"]["default"] != timeless(both)["retrievers"]["default"]
    assert timeless(alone)["retrievers"]["dense"] == timeless(both)["retrievers"]["dense"]


def test_ids_do_not_depend_on_how_fast_the_model_is(file, bag):
    transcript = next(run.datasets.read(Options(dataset="locomo", path=file)))
    with staging.stage(transcript, store=None, model=bag, progress=quiet) as on:
        assert on.ids == list(range(1, len(transcript.lines) + 1))
