"""The checker and the reader of agents' sessions at the limits of their rules."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from agents_material import laid_out, session, write
from eval_material import quiet

from warmset.conversation import Conversation
from warmset.errors import InvalidInputError
from warmset.lab.corpus import agents, agents_check
from warmset.lab.corpus.agents_check import BYTES, main, problems, problems_of
from warmset.lab.corpus.stage import stage
from warmset.lab.eval.declining import Declining

CALLING = next(at for at, turn in enumerate(session()["turns"]) if turn.get("calls"))


@pytest.fixture
def one():
    return session()


def first(one, kind):
    return next(item for item in one["questions"] if item["kind"] == kind)


def about(one, word):
    return [said for said in problems(one) if word in said]


def grow(one, count):
    last = one["turns"][-1]
    for number in range(count):
        one["turns"].append({**last, "id": f"more{number}", "content": f"more{number}x"})


def shrink(one, count):
    used = {id_ for item in one["questions"] for id_ in item["evidence"] + item.get("outdated", [])}
    spare = [
        turn
        for turn in one["turns"]
        if turn["role"] == "assistant" and not turn.get("calls") and turn["id"] not in used
    ]
    for turn in spare[:count]:
        one["turns"].remove(turn)


def test_the_least_and_the_greatest_length(one):
    grow(one, 280)
    assert len(one["turns"]) == 600
    assert about(one, "turns: expected") == []
    one = session()
    shrink(one, 20)
    assert len(one["turns"]) == 300
    assert about(one, "turns: expected") == []


def test_neighbours_may_have_one_time(one):
    one["turns"][5]["at"] = one["turns"][4]["at"]
    assert problems(one) == []


@pytest.mark.parametrize(
    ("text", "counts"), [("one of us has to go", True), ("we all have to go", False)]
)
def test_a_sentence_has_six_words(one, text, counts):
    one["turns"][0]["content"] = one["turns"][7]["content"] = text
    assert bool(about(one, "said twice")) == counts


def test_what_tools_return_may_come_twice(one):
    one["turns"][CALLING + 1]["content"] = one["turns"][CALLING + 3]["content"]
    assert problems(one) == []


def test_three_loops_are_enough(one):
    for turn in one["turns"][: CALLING + 20]:
        if turn["role"] == "tool":
            turn |= {"role": "user"}
            turn.pop("call")
        elif "calls" in turn:
            turn |= {"content": turn.pop("calls")[0]["arguments"]["place"]}
    assert problems(one) == []


@pytest.mark.parametrize(
    ("answer", "question"),
    [("blue harbour gate", "Which gate of a harbour is blue?"), ("no", "No?")],
)
def test_answers_stand_in_questions_in_any_order(one, answer, question):
    first(one, "when").update(answer=answer, question=question)
    assert about(one, "stands in the question")


def test_a_short_decision_is_literal_and_a_long_one_is_not(one):
    item = first(one, "decision")
    words = next(t for t in one["turns"] if t["id"] == item["evidence"][0])["content"].split()
    item["answer"] = f"{words[7]} {words[5]} {words[3]} {words[1]}"
    assert about(one, "of its answer is not in the evidence")
    item["answer"] = f"{words[7]} {words[5]} {words[3]} zzz zzzz"  # three of five: just enough
    assert problems(one) == []
    item["answer"] = f"{words[7]} {words[5]} zzzzz zzz zzzz"
    assert about(one, "only 40% of the answer's words")


def test_outdated_turns_are_earlier_and_may_have_the_answer(one):
    item = first(one, "superseded")
    old, new = item["outdated"][0], item["evidence"][0]
    turn = next(turn for turn in one["turns"] if turn["id"] == old)
    turn["content"] += f" and not {item['answer']}"
    assert problems(one) == []
    item["outdated"] = [new]
    assert about(one, "an outdated turn comes before the evidence")
    item["outdated"] = [old, "t320"]
    assert about(one, "an outdated turn comes before the evidence")


def test_a_part_of_an_answer_may_stand_elsewhere(one):
    item = first(one, "value")
    one["turns"][100]["content"] += " quart"
    one["turns"][200]["content"] += " pint"
    one["turns"][250]["content"] += " pint"
    item |= {"answer": "quart, pint", "evidence": ["t101", "t201"]}
    assert problems(one) == []


def test_a_name_is_found_with_words_beside_it(one):
    item = first(one, "who")
    turn = next(turn for turn in one["turns"] if turn["id"] == item["evidence"][0])
    turn["name"] = "Marta"
    item["answer"] = "Marta from billing"
    assert problems(one) == []


@pytest.mark.parametrize(
    "arguments", [{"x": "{}"}, {"{}": 1}, {"x": ["y", "{}"]}, {"x": {"y": "so {} it is"}}]
)
def test_calls_say_something_too(one, arguments):
    answer = first(one, "value")["answer"]
    filled = json.loads(json.dumps(arguments).replace("{}", answer))
    one["turns"][CALLING]["calls"][0]["arguments"] = filled
    assert about(one, f"has the answer {answer!r} too")


def test_forms_of_letters_do_not_matter(one):
    item = first(one, "value")
    wide = "".join(chr(ord(sign) + 0xFEE0) for sign in "AB12")
    one["turns"][200]["content"] = f"it is {wide}, in full width"
    item |= {"answer": "ab12", "evidence": ["t201"]}
    assert problems(one) == []


def test_a_list_has_at_most_eight_turns(one):
    item = first(one, "list")
    for count in (8, 9):
        used = [turn for turn in one["turns"] if turn["role"] == "user"][:count]
        item["evidence"] = [turn["id"] for turn in used]
        item["answer"] = ", ".join(turn["content"].split()[3] for turn in used)
        assert bool(about(one, "3 to 8 turns")) == (count == 9)


def test_a_fifth_of_the_evidence_is_enough_for_a_third(one):
    users = [turn["id"] for turn in one["turns"] if turn["role"] == "user"]
    middle = len(users) // 2
    for item in one["questions"]:
        if item["kind"] == "error":  # 10 of 50 turns
            item["evidence"] = users[-2:]
        elif item["kind"] == "list":
            item["evidence"] = users[:3]
        elif item["evidence"]:
            item["evidence"] = [users[middle]]
    assert about(one, "of the evidence, found") == []
    first(one, "error")["evidence"] = users[:2]
    assert about(one, "third 3: expected 20% of the evidence, found 16%")


def test_two_fifths_of_its_words_are_near(one):
    item = next(i for i in one["questions"] if i["kind"] == "value" and int(i["id"][1:]) % 2)
    turn = next(turn for turn in one["turns"] if turn["id"] == item["evidence"][0])
    a, b = turn["content"].split()[:2]
    item["question"] = f"{a} {b} zzza zzzb zzzc zzzd?"
    assert problems(one) == []
    item["question"] = f"{a} {b} zzza zzzb zzzc?"
    assert about(one, "wording: 17 of 35 questions share less than 40%")


def test_size_is_in_bytes(one, tmp_path):
    one["turns"][CALLING + 1]["content"] += " " + "éé " * 45_000
    text = laid_out(one)
    assert len(text) < BYTES < len(text.encode())
    assert len(problems_of(write(tmp_path, one) / "plain.json")) == 1


@pytest.mark.parametrize("key", ["turns", "questions"])
def test_turns_and_questions_are_laid_out_alike(one, tmp_path, key):
    text = laid_out(one)
    other = laid_out(one | {key: []}).replace(
        f'"{key}": [\n  \n ]', f'"{key}": {json.dumps(one[key])}'
    )
    assert json.loads(text) == json.loads(other)
    (tmp_path / "plain.json").write_text(other, encoding="utf-8")
    assert [said[:7] for said in problems_of(tmp_path / "plain.json")] == ["layout:"]


def test_two_bad_files_are_one_failure(tmp_path, capsys):
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    assert main([str(bad), str(bad)]) == 1
    assert capsys.readouterr().out.count("expected a text as name") == 2


# --- the reader ----------------------------------------------------------------------------------


def test_files_are_in_the_order_of_their_names(tmp_path, monkeypatch):
    write(tmp_path, session("b"), session("a"))
    found = Path.glob
    monkeypatch.setattr(Path, "glob", lambda *given: sorted(found(*given), reverse=True))
    assert [path.name for path in agents.files(tmp_path)] == ["a.json", "b.json"]


def test_a_session_without_turns_is_refused(one, tmp_path):
    one |= {"turns": [], "questions": []}
    with pytest.raises(InvalidInputError, match="there is no message in it"):
        list(agents.read_all(write(tmp_path, one), "all"))


def test_arguments_keep_their_letters(one):
    one["turns"][CALLING]["calls"][0]["arguments"] = {"place": "Größe"}
    (call,) = agents.read(one).lines[CALLING].message["tool_calls"]
    assert call["function"]["arguments"] == '{"place": "Größe"}'


def test_evidence_is_in_the_order_of_the_turns(one):
    item = first(one, "list")
    item["evidence"] = item["evidence"][::-1]
    read = next(q for q in agents.read(one).questions if q.name == item["id"])
    assert list(read.evidence) == sorted(read.evidence)


def test_times_do_not_depend_on_where_one_is(one, monkeypatch):
    before = agents.read(one).lines[0].at
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert agents.read(one).lines[0].at == before
    finally:
        monkeypatch.undo()
        time.tzset()


def test_declining_is_measured_with_all_of_the_room(one, monkeypatch):
    given, kept = [], Conversation.window

    def watching(self, query, **options):
        given.append(options)
        return kept(self, query, **options)

    monkeypatch.setattr(Conversation, "window", watching)
    with stage(agents.read(one), store=None, model=None, progress=quiet) as on:
        Declining((5.0,)).ask(on.conversation, 10_000, "zzz", answerable=False)
    assert [(one["recent"], one["index_share"]) for one in given] == [(0, 0)]
    assert given[0]["budget"] > 500


def test_what_is_counted_as_grammar_is_read_from_beside_the_sessions():
    said = (agents.shipped() / "grammar.txt").read_text("utf-8").split()
    assert {"which", "welche", "quelle", "cuál"} <= set(said)
    assert agents_check.content_words(" ".join(said)) == []
