"""With a reader: the official F1, answers that are kept, verdicts, and models that fail."""

from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace

import pytest
from eval_material import LONGMEMEVAL, locomo, quiet

from warmset.errors import InvalidInputError, MissingExtraError, ReaderError
from warmset.lab.corpus.stage import stage
from warmset.lab.eval import datasets, prompts
from warmset.lab.eval.answers import Answers
from warmset.lab.eval.contexts import MODES, Contexts
from warmset.lab.eval.f1 import F1
from warmset.lab.eval.llm import completer
from warmset.lab.eval.options import Options
from warmset.lab.eval.page import page
from warmset.lab.eval.quoting import Quoting
from warmset.lab.eval.run import measure
from warmset.lab.eval.ways import cost_of
from warmset.tokens import PER_REPLY, count_tokens

F = F1()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return locomo(tmp_path_factory.mktemp("eval"))


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A reader that finds what a thing lies behind, a judge, and others; they count their calls."""
    (tmp_path / "made_up.py").write_text(
        "import re\n"
        "calls = []\n"
        "fail_after = [10**9]\n"
        "def read(prompt):\n"
        "    calls.append(prompt)\n"
        "    if len(calls) > fail_after[0]: raise OSError('the line is dead')\n"
        "    if prompt.startswith('You choose'): return 'no JSON'\n"
        "    asked = re.findall(r'[a-z]+\\d+x\\d+', prompt.rpartition('Question:')[2])\n"
        "    found = [re.search(thing + r' behind the old (\\w+)', prompt) for thing in asked]\n"
        "    return ', '.join('behind the ' + one[1] for one in found if one) or 'nowhere'\n"
        "def judge(prompt):\n"
        "    calls.append(prompt)\n"
        "    gold = prompt.partition('Gold answer: ')[2].partition('\\n')[0]\n"
        "    said = prompt.partition('\\nAnswer: ')[2].partition('\\n')[0]\n"
        "    places = re.findall(r'[a-z]{4,}', gold.replace('behind', ''))\n"
        "    return 'RIGHT' if places and all(one in said for one in places) else 'WRONG.'\n"
        "def number(prompt): return 7\n"
        "def strict(prompt): return 'WRONG'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_up", raising=False)
    yield tmp_path
    sys.modules.pop("made_up", None)


def options(file, **more):
    return Options(
        dataset="locomo", path=file, words_only=True, limit=3, reader="made_up:read", **more
    )


# --- F1 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "gold", "category", "wanted"),
    [
        ("The painted boats", "a painting of boat", "single-hop", 2 * 1.0 * (2 / 3) / (5 / 3)),
        ("7 May 2023", "7 May, 2023.", "temporal", 1.0),
        ("May", "7 May 2023", "temporal", 2 * 1.0 * (1 / 3) / (4 / 3)),
        ("red red", "red", "single-hop", 2 * 0.5 * 1.0 / 1.5),
        ("", "red", "single-hop", 0.0),
        ("the", "an", "single-hop", 0.0),
        ("Yes", "Yes; she said so twice", "open-domain", 1.0),
        ("Yes", "Yes; she said so twice", "temporal", 2 * (1 / 5) / (6 / 5)),
        ("mill, pond", "pond, mill", "multi-hop", 1.0),
        ("pond", "pond, mill", "multi-hop", 0.5),
        ("pond, barn, shed", "pond", "multi-hop", 1.0),
        ("", "pond, mill", "multi-hop", 0.0),
    ],
)
def test_f1_by_hand(answer, gold, category, wanted):
    assert F.score(answer, gold, category) == pytest.approx(wanted)


def test_f1_is_symmetric_outside_of_lists():
    pairs = [("a red boat", "boats are red"), ("x", "y"), ("one two three", "three four")]
    for one, other in pairs:
        assert F.score(one, other, "temporal") == F.score(other, one, "temporal")


# --- answers -------------------------------------------------------------------------------------


def test_answers_are_asked_for_once_and_by_whom(tmp_path):
    path, asked = tmp_path / "a.jsonl", []

    def complete(prompt):
        asked.append(prompt)
        return prompt.upper()

    kept = Answers(path)
    assert kept.of("m", complete)("why?") == "WHY?"
    assert kept.of("m", complete)("why?") == "WHY?"
    assert kept.of("n", complete)("why?") == "WHY?"
    assert asked == ["why?", "why?"]
    again = Answers(path)
    assert again.of("m", complete)("why?") == "WHY?"
    assert again.of("m", complete)("who?\ud800") == "WHO?\ud800"
    assert asked[2:] == ["who?\ud800"]
    assert (kept.asked, again.asked) == (2, 1)


def test_a_line_that_was_broken_off_is_dropped(tmp_path):
    path = tmp_path / "a.jsonl"
    Answers(path).of("m", str.upper)("why?")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    kept = Answers(path)
    kept.of("m", str.upper)("who?")
    assert path.read_bytes().startswith(whole)
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2
    assert Answers(path).of("m", str.lower)("who?") == "WHO?"


@pytest.mark.parametrize("text", ["x\n", "[]\n", '{"key": "a"}\n'])
def test_a_file_that_is_not_of_answers_is_left_alone(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=r"a\.jsonl, line 1"):
        Answers(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("RIGHT", True),
        ("wrong.", False),
        ("It is **Right**", True),
        ("not right, WRONG", None),
        ("", None),
        ("Alright", None),
    ],
)
def test_a_judges_word(said, wanted):
    assert prompts.verdict(said) is wanted


# --- the whole -----------------------------------------------------------------------------------


def test_what_a_reader_makes_of_each_context(file, models):
    found = measure(options(file, judge="made_up:judge"), quiet)["reader"]
    assert list(found["modes"]) == list(MODES)
    for name in ("full", "oracle"):
        one = found["modes"][name]
        assert one["recall"] == 1.0
        assert one["by_category"]["single-hop"]["f1"] == 1.0
        assert one["by_category"]["multi-hop"]["judge"] == 1.0
        assert one["verdicts"] == {"right": 2, "retrieved but wrong": 1, "missed": 0}
    assert found["modes"]["full"]["share"] == 1.0
    recent = found["modes"]["recency-4"]
    assert recent["verdicts"] == {"right": 0, "retrieved but wrong": 0, "missed": 3}
    assert recent["recall"] == 0.0
    for name in ("recency", "jit", "jit-picker"):
        assert 0.01 < found["modes"][name]["share"] <= 0.05, name
    assert found["modes"]["jit"]["recall"] > 0.5 > found["modes"]["recency"]["recall"]
    assert found["modes"]["jit-picker"]["fell_back"] == 3  # it answered no JSON
    assert found["modes"]["jit"]["fell_back"] == 0
    assert found["modes"]["jit-picker"]["picker_tokens"] > 100
    assert found["modes"]["jit"]["picker_tokens"] == 0
    assert [one["category"] for one in found["questions"]] == [
        "single-hop",
        "multi-hop",
        "temporal",
    ]
    temporal = found["questions"][2]["modes"]
    assert temporal["oracle"]["verdict"] == "retrieved but wrong"
    assert temporal["recency"]["verdict"] == "missed"
    assert found["reported"]["label"] == "reported, not directly comparable"
    assert (models / "made_up.py").exists()


def test_the_tokens_of_a_window_are_those_of_what_it_shows_without_the_question(file):
    (transcript, _) = datasets.read(Options(dataset="locomo", path=file))
    question = transcript.questions[0]
    with stage(transcript, store=None, model=None, progress=quiet) as on:
        contexts = Contexts(on, Quoting(on.conversation), 50, str)
        [made] = [one for one in contexts.of(question) if one.mode == "jit"]
        budget = contexts.whole // 2 + cost_of(question.text)
        *above, asked = on.conversation.window(question.text, budget=budget).messages
        assert asked["content"] == question.text
        assert made.shown.tokens == count_tokens(above) - PER_REPLY > 100


def test_a_judge_overrules_f1(file, models):  # noqa: ARG001
    found = measure(options(file, judge="made_up:strict"), quiet)["reader"]["modes"]["oracle"]
    assert found["by_category"]["single-hop"]["f1"] == 1.0
    assert found["verdicts"] == {"right": 0, "retrieved but wrong": 3, "missed": 0}


def test_without_a_judge_f1_decides(file, models):  # noqa: ARG001
    found = measure(options(file), quiet)["reader"]
    assert found["judge"] is None
    assert found["modes"]["oracle"]["judge"] is None
    assert found["modes"]["oracle"]["verdicts"]["right"] == 2


def test_a_run_that_broke_off_goes_on_and_asks_nothing_twice(file, models):
    out = models / "a.json"
    given = options(file, judge="made_up:judge", json=out)
    import made_up  # noqa: PLC0415 - made a moment ago

    made_up.fail_after[0] = 5
    with pytest.raises(ReaderError, match="the line is dead"):
        measure(given, quiet)
    kept = (models / "a.answers.jsonl").read_text().splitlines()
    first = list(made_up.calls[:5])
    assert 0 < len(kept) <= 5
    made_up.fail_after[0] = 10**9
    made_up.calls.clear()
    whole = measure(given, quiet)["reader"]
    assert not set(first) & set(made_up.calls)
    assert len(made_up.calls) == len(set(made_up.calls))
    made_up.calls.clear()
    assert measure(given, quiet)["reader"] == whole
    assert made_up.calls == []
    beside = options(file, judge="made_up:judge", html=models / "a.html")
    assert measure(beside, quiet)["reader"] == whole
    assert made_up.calls == []  # what is kept lies beside the report, too


def test_the_page_has_the_reader(file, models):  # noqa: ARG001
    said = page(measure(options(file), quiet))
    assert "With a reader" in said
    assert "Reported, not directly comparable" in said
    assert "retrieved but wrong" in said
    assert "jit-picker: the picker took " in said
    assert "jit: the picker took " not in said
    assert "With a reader" not in page(
        measure(Options(dataset="locomo", path=file, words_only=True, limit=1), quiet)
    )


def test_others_figures_stand_beside_their_own_data_only(models):  # noqa: ARG001
    given = Options(dataset="longmemeval", path=LONGMEMEVAL, words_only=True, reader="made_up:read")
    assert "reported" not in measure(given, quiet)["reader"]


# --- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["", "gpt", "openai:", "no.such:thing", "json:nothing"])
def test_an_unknown_model_is_refused(spec):
    with pytest.raises(InvalidInputError):
        completer(spec)


def test_an_answer_that_is_no_text_is_an_error(models):  # noqa: ARG001
    with pytest.raises(ReaderError, match="expected a text, found int"):
        completer("made_up:number")("x")


def test_openai_by_its_own_sdk(httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    message = {"role": "assistant", "content": " a heron "}
    made = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
    httpserver.expect_ordered_request(
        "/v1/chat/completions",
        method="POST",
        json={"model": "m", "messages": [{"role": "user", "content": "Which bird?"}]},
    ).respond_with_json(made)
    ask = completer("openai:m")
    assert ask("Which bird?") == "a heron"
    httpserver.expect_ordered_request("/v1/chat/completions").respond_with_json({}, status=401)
    with pytest.raises(ReaderError, match="openai:m failed"):
        ask("Which bird?")


def test_without_a_key_it_says_so(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ReaderError, match=re.escape("openai:m cannot be used")):
        completer("openai:m")


def test_anthropic_by_its_own_client(monkeypatch):
    asked = []

    def create(**request):
        asked.append(request)
        blocks = [("thinking", "hm"), ("text", "a "), ("text", "heron")]
        return SimpleNamespace(content=[SimpleNamespace(type=t, text=x) for t, x in blocks])

    client = SimpleNamespace(messages=SimpleNamespace(create=create))
    sdk = SimpleNamespace(Anthropic=lambda: client)
    monkeypatch.setitem(sys.modules, "anthropic", sdk)
    assert completer("anthropic:m")("Which bird?") == "a heron"
    assert asked[0]["model"] == "m"
    assert asked[0]["messages"] == [{"role": "user", "content": "Which bird?"}]


@pytest.mark.parametrize(
    ("module", "spec", "name"),
    [
        ("anthropic", "anthropic:m", "anthropic"),
        ("openai", "openai:m", "openai"),
        ("openai", "openai-responses:m", "openai"),
    ],
)
def test_an_absent_sdk_names_its_extra(monkeypatch, module, spec, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=re.escape(f"warmset[{name}]")):
        completer(spec)


def test_an_absent_stemmer_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingExtraError, match=re.escape("warmset[eval]")):
        F1()
