"""Pickers: what a model answers, and what happens when it does not."""

from __future__ import annotations

import json
import time

import pytest

from warmset import Candidate, LLMPicker, Memory
from warmset.errors import PickerError
from warmset.pick import Picked, choose, parse

ANSWERS = {
    "plain": ('{"ids": [3, 1]}', [3, 1]),
    "fenced": ('```json\n{"ids": [3, 1]}\n```', [3, 1]),
    "words around": ('Sure! {"ids": [3]} is what I would take.', [3]),
    "other fields": ('{"why": "because", "ids": [3], "n": {"a": 1}}', [3]),
    "marks": ('{"ids": ["#3", "1", "#2"]}', [3, 1, 2]),
    "duplicates": ('{"ids": [3, "3", "#3", 1, 3]}', [3, 1]),
    "none": ('{"ids": []}', []),
    "lines": ('{\n  "ids": [\n    3\n  ]\n}', [3]),
}
NONSENSE = {
    "empty": "",
    "prose": "I would take 3 and 1.",
    "list": "[3, 1]",
    "number": "3",
    "null": "null",
    "no ids": '{"id": [3]}',
    "ids no list": '{"ids": 3}',
    "ids null": '{"ids": null}',
    "cut": '{"ids": [3, 1',
    "float": '{"ids": [3.5]}',
    "bool": '{"ids": [true]}',
    "nested": '{"ids": [[3]]}',
    "object": '{"ids": [{"id": 3}]}',
    "words": '{"ids": ["third", "first"]}',
    "huge": '{"ids": [' + "9" * 5_000 + "]}",
    "deep": '{"ids": ' + "[" * 100_000,
}


def candidates(count=4):
    return [Candidate(n, "user", f"summary {n}", n == 2, 1.0 / n) for n in range(1, count + 1)]


class Model:
    """A model that gives one answer and keeps the prompts."""

    def __init__(self, answer):
        self.answer = answer
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(("text", "ids"), ANSWERS.values(), ids=ANSWERS)
def test_answers_are_read(text, ids):
    assert parse(text) == ids
    picked = choose(LLMPicker(Model(text)), "which?", candidates(), limit=6)
    assert picked == Picked(tuple(ids), "picker")


@pytest.mark.parametrize("text", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_falls_back_to_the_score(text):
    picked = choose(LLMPicker(Model(text)), "which?", candidates(), limit=6)
    assert picked.ids == (1, 2, 3, 4)
    assert picked.by == "score"
    assert picked.why
    assert len(picked.why) < 500
    if text != NONSENSE["words"]:
        with pytest.raises((PickerError, ValueError)):
            parse(text)


def test_unknown_ids_are_dropped_and_the_limit_holds():
    answer = json.dumps({"ids": [99, 4, -1, 3, "x", 2, 1, 98]})
    assert choose(LLMPicker(Model(answer)), "?", candidates(), limit=3).ids == (4, 3, 2)
    picked = choose(LLMPicker(Model('{"ids": [98, 99]}')), "?", candidates(), limit=3)
    assert (picked.by, picked.ids) == ("score", (1, 2, 3, 4))
    assert "98" in picked.why


class Own:
    """A caller's picker."""

    def __init__(self, answer):
        self.answer = answer

    def pick(self, _request, _candidates, *, limit):
        assert limit
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        5,
        "4 3",
        [None],
        [[4]],
        [{"id": 4}],
        [object()],
        ValueError("no"),
        PickerError("no"),
        KeyError(),
        TimeoutError("late"),
    ],
    ids=repr,
)
def test_whatever_a_picker_does_the_score_decides(answer):
    picked = choose(Own(answer), "?", candidates(), limit=3)
    assert (picked.by, picked.ids) == ("score", (1, 2, 3, 4))
    assert picked.why


@pytest.mark.parametrize("answer", [[4, 2], (4, 2), iter([4, 2]), {4: 1, 2: 1}, [4, 4, 2, 9]])
def test_a_picker_may_answer_in_any_sequence(answer):
    assert choose(Own(answer), "?", candidates(), limit=2) == Picked((4, 2), "picker")


def test_an_exception_of_the_client_is_told():
    picked = choose(LLMPicker(Model(RuntimeError("429 slow down"))), "?", candidates(), limit=3)
    assert picked.by == "score"
    assert "429 slow down" in picked.why


def test_a_model_that_sleeps_is_not_waited_for():
    begin = time.perf_counter()
    picker = LLMPicker(lambda _prompt: time.sleep(3) or '{"ids": [1]}', timeout=0.2)
    picked = choose(picker, "?", candidates(), limit=3)
    assert 0.15 < time.perf_counter() - begin < 1
    assert picked.by == "score"
    assert "0.2 s" in picked.why


def test_a_model_sees_lines_and_never_texts():
    model = Model('{"ids": []}')
    choose(LLMPicker(model), "which {boat}?", candidates(), limit=3)
    (prompt,) = model.prompts
    assert "which {boat}?" in prompt
    assert "at most 3 ids" in prompt
    assert '{"ids": [12, 40]}' in prompt
    assert '#1 user: "summary 1"\n#2 user [decision]: "summary 2"\n' in prompt


def test_without_candidates_nobody_is_asked():
    model = Model('{"ids": []}')
    assert choose(LLMPicker(model), "?", [], limit=3) == Picked((), "score")
    assert model.prompts == []


# --- in a window ----------------------------------------------------------------------------------


@pytest.fixture
def talk(bag):
    with Memory.open(None, embedder=bag) as memory:
        conversation = memory.conversation("log")
        for n in range(60):
            role = "assistant" if n % 2 else "user"
            conversation.append(
                {"role": role, "content": f"turn {n} on the boat " + "and on " * 60}
            )
        conversation.append({"role": "user", "content": "what of the boat?"})
        assert memory.flush(20)
        yield conversation


def test_a_window_takes_what_the_picker_picks(talk):
    seen = []

    class Third:
        def pick(self, request, shortlist, *, limit):
            seen.append((request, list(shortlist), limit))
            return [shortlist[2].id]

    window = talk.window(budget=4_000, picker=Third(), shortlist=5, max_picked=4)
    ((request, shortlist, limit),) = seen
    assert (request, len(shortlist), limit) == ("what of the boat?", 5, 4)
    assert all(len(candidate.summary) <= 160 for candidate in shortlist)
    assert window.report.picked == (shortlist[2].id,)
    assert (window.report.by, window.report.notes) == ("picker", ())
    assert any(choice.shown for choice in window.report.choices)
    assert "left out by the picker" in window.report.choices[0].reason


def test_none_is_an_answer(talk):
    window = talk.window(budget=4_000, picker=Own([]), index_share=0)
    assert (window.report.picked, window.report.by) == ((), "picker")
    assert "earlier-turns" not in str(window.messages)


def test_at_most_six_are_picked(talk):
    class All:
        def pick(self, _request, shortlist, *, limit):
            assert limit == 6
            return [candidate.id for candidate in shortlist]

    assert len(talk.window(budget=9_000, picker=All()).report.picked) == 6


@pytest.mark.parametrize("answer", [ValueError("out of order"), [[1]], None, [10**9]], ids=repr)
def test_a_picker_that_fails_costs_nothing(talk, answer):
    by_score = talk.window(budget=6_000)
    talk.window(budget=5_999)  # so that nothing is frozen
    window = talk.window(budget=6_000, picker=Own(answer))
    assert window.report.by == "score"
    assert "the score picked" in " ".join(window.report.notes)
    assert window.messages == by_score.messages, "the score fills the budget, as without a picker"


def test_a_memory_s_picker_and_a_window_s():
    with Memory.open(None, embedder="lexical", picker=Own([])) as memory:
        conversation = memory.conversation("log")
        conversation.append([{"role": "user", "content": f"boat {n}"} for n in range(30)])
        assert conversation.window("boat", budget=900).report.by == "picker"
        assert conversation.window("boat?", budget=900).report.picked == ()
        window = conversation.window("boat!", budget=900, picker=Own([2]))
        assert window.report.picked == (2,)
