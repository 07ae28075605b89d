"""Sessions of agents: those that ship keep to the rules, and the checker sees every breach."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pytest
from agents_material import laid_out, session, write

from warmset.errors import InvalidInputError
from warmset.lab.corpus import agents
from warmset.lab.corpus.agents_check import content_words, problems, problems_of

SHIPPED = sorted(agents.shipped().glob("*.json"))
SPLITS = {
    "coding": "fit",
    "data_analysis": "fit",
    "support": "fit",
    "travel": "fit",
    "mixed_one": "fit",
    "operations": "held_out",
    "research": "held_out",
    "mixed_two": "held_out",
}
PHRASE = 8
"""Words in a row that no two sessions share."""


@pytest.fixture
def one():
    return session()


def first(one, kind):
    return next(item for item in one["questions"] if item["kind"] == kind)


# --- what ships ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_a_session_keeps_to_the_rules(path):
    assert problems_of(path) == []
    assert json.loads(path.read_text("utf-8"))["split"] == SPLITS[path.stem]


def test_no_two_sessions_share_phrases():
    owners = defaultdict(set)
    for path in SHIPPED:
        for turn in json.loads(path.read_text("utf-8"))["turns"]:
            if turn["role"] != "tool":
                words = re.findall(r"\w+", turn.get("content", "").casefold())
                for at in range(len(words) - PHRASE + 1):
                    owners[" ".join(words[at : at + PHRASE])].add(path.stem)
    assert {phrase: names for phrase, names in owners.items() if len(names) > 1} == {}


def test_the_readme_has_every_session_and_kind():
    said = (agents.shipped() / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", said, re.MULTILINE))
    assert {name: rows[name] for name in SPLITS} == SPLITS
    assert {name: int(rows[name]) for name in agents.KINDS} == agents.KINDS


# --- the reader ----------------------------------------------------------------------------------


def test_a_session_is_read(one):
    one["turns"][0]["name"] = "Nora"
    read = agents.read(one)
    assert (read.name, read.split, len(read.lines)) == ("plain", "fit", len(one["turns"]))
    assert (len(read.questions), len(read.unanswerable)) == (35, 5)
    assert Counter(question.category for question in read.questions) == {
        kind: count for kind, count in agents.KINDS.items() if kind != "unanswerable"
    }
    assert read.lines[0].speaker == "Nora"
    assert read.lines[1].speaker is None
    assert read.lines[0].at == 1_772_444_220.0  # 2 March 2026, 09:37 UTC
    item = first(one, "list")
    places = tuple(int(id_[1:]) - 1 for id_ in item["evidence"])
    asked = next(question for question in read.questions if question.name == item["id"])
    assert (asked.evidence, asked.answer, asked.category) == (places, item["answer"], "list")


def test_calls_are_messages_of_openai(one):
    at = next(at for at, turn in enumerate(one["turns"]) if turn.get("calls"))
    call = one["turns"][at]["calls"][0]
    call["arguments"] = {"place": "Größe", "deep": [1, {"x": None}]}
    asking, answer = (line.message for line in agents.read(one).lines[at : at + 2])
    assert asking["content"] is None
    (made,) = asking["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == call["arguments"]
    assert (made["id"], made["type"], made["function"]["name"]) == (call["id"], "function", "look")
    assert answer["tool_call_id"] == call["id"]
    assert answer["content"] == one["turns"][at + 1]["content"]


def _turn(place, /, **change):
    return lambda one: one["turns"][place].update(change)


def _asked(of, /, **change):
    return lambda one: first(one, of).update(change)


CALLING = next(at for at, turn in enumerate(session()["turns"]) if turn.get("calls"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: one.pop("name"), "the session: expected a text as name"),
        (lambda one: one.update(split="test"), "split: expected one of fit, held_out"),
        (lambda one: one.update(turns={}), "the session: expected a list as turns"),
        (lambda one: one.update(questions=None), "the session: expected a list as questions"),
        (lambda one: one["turns"].insert(3, 7), "turn 4: expected a JSON object"),
        (_turn(4, id="t1"), "turn 5: id 't1' is of an earlier turn"),
        (_turn(4, role="system"), "turn 5: expected a role user, assistant or tool"),
        (_turn(4, content=None), "turn 5: expected texts as content and name"),
        (_turn(4, name=7), "turn 5: expected texts as content and name"),
        (_turn(4, at="2 March"), "turn 5: expected a time like"),
        (_turn(4, role="tool"), "turn 5: expected a text as call"),
        (_turn(4, role="tool", call="c9"), "turn 5: expected no tool turn, found the answer of"),
        (_turn(CALLING + 1, call="c0"), "expected call 'c41', found the answer of 'c0'"),
        (lambda one: one["turns"].pop(CALLING + 1), "expected the answer of call 'c41' before it"),
        (_turn(-1, calls=[{"id": "z", "name": "look", "arguments": {}}]), "'z' is not answered"),
        (_turn(CALLING, calls=[7]), "a call: expected a JSON object"),
        (_turn(CALLING, calls=[{"id": "c41", "name": "look"}]), "arguments of a call: expected a"),
        (_asked("when", kind="why"), "expected a kind of decision, value"),
        (_asked("when", evidence=["t9999"]), "there is no turn 't9999'"),
        (_asked("when", evidence="t9"), "expected a list as evidence"),
        (_asked("when", outdated=["x"]), "there is no turn 'x'"),
        (_asked("when", evidence=[]), "evidence is empty if, and only if"),
        (_asked("when", answer=""), "an answer is empty if, and only if"),
        (_asked("when", question=" "), "expected a text as question"),
        (_asked("unanswerable", evidence=["t9"]), "evidence is empty if, and only if"),
        (_asked("unanswerable", answer="x"), "an answer is empty if, and only if"),
    ],
)
def test_a_malformed_session_is_refused(one, change, why):
    change(one)
    with pytest.raises(InvalidInputError) as caught:
        agents.read(one)
    assert why in str(caught.value)
    assert problems(one) == [str(caught.value)]


def test_parallel_calls_are_answered_in_order(one):
    turns = one["turns"]
    asking, answer = turns[CALLING], turns[CALLING + 1]
    asking["calls"].append({"id": "next", "name": "look", "arguments": {}})
    other = answer | {"id": "t1b", "call": "next", "content": "other"}
    turns.insert(CALLING + 2, other)
    assert agents.read(one).lines[CALLING + 2].message["tool_call_id"] == "next"
    turns[CALLING + 1], turns[CALLING + 2] = other, answer
    with pytest.raises(InvalidInputError, match="expected call 'c41'"):
        agents.read(one)


def test_files_of_a_directory_by_split(tmp_path):
    write(tmp_path, session("b"), session("a", "held_out"))
    (tmp_path / "README.md").write_text("no session")
    assert [one.name for one in agents.read_all(tmp_path, "all")] == ["a", "b"]
    assert [one.name for one in agents.read_all(tmp_path, "fit")] == ["b"]
    assert [one.name for one in agents.read_all(tmp_path / "a.json", "held_out")] == ["a"]
    with pytest.raises(InvalidInputError, match="no session is of 'fit'"):
        list(agents.read_all(tmp_path / "a.json", "fit"))


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="there is no session in it"):
        list(agents.read_all(tmp_path, "all"))
    with pytest.raises(InvalidInputError, match=r"x\.json: No such file"):
        list(agents.read_all(tmp_path / "x.json", "all"))
    (tmp_path / "y.json").write_text("[]")
    with pytest.raises(InvalidInputError, match=r"y\.json: the session: expected a JSON object"):
        list(agents.read_all(tmp_path, "all"))


# --- the checker ---------------------------------------------------------------------------------


def test_a_good_session_has_no_problems(one, tmp_path):
    assert problems(one) == []
    assert problems_of(write(tmp_path, one) / "plain.json") == []


def _more(count):
    def change(one):
        last = one["turns"][-1]
        for number in range(count):
            one["turns"].append({**last, "id": f"more{number}", "content": f"more{number}x"})

    return change


def _fewer(one):
    used = {id_ for item in one["questions"] for id_ in item["evidence"] + item.get("outdated", [])}
    spare = [t for t in one["turns"] if t["role"] == "assistant" and not t.get("calls")]
    for turn in [turn for turn in spare if turn["id"] not in used][:21]:
        one["turns"].remove(turn)


def _copy_of_answer(kind, place):
    def change(one):
        answer = first(one, kind)["answer"]
        turn = next(t for t in one["turns"][place:] if not t.get("calls"))
        turn["content"] = f"So it is «{answer.upper()}», you say."

    return change


def _early(one):
    used = one["turns"][0]["id"], one["turns"][2]["id"], one["turns"][4]["id"]
    for item in one["questions"]:
        if item["kind"] in ("when", "who", "decision", "value"):
            item["evidence"] = [used[0]]
        elif item["kind"] == "list":
            item["evidence"] = list(used)


def _near(one):
    texts = {turn["id"]: turn["content"].split() for turn in one["turns"]}
    for item in one["questions"]:
        if item["evidence"]:
            item["question"] = " ".join(texts[id_][1] for id_ in item["evidence"])


def _in_question(one):
    item = first(one, "who")
    item["question"] = f"Was it {item['answer'].upper()}, or who?"


def _evidence(kind, change):
    return lambda one: first(one, kind)["evidence"].append(change(one))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_more(300), "turns: expected 300 to 600, found 620"),
        (_fewer, "turns: expected 300 to 600, found 299"),
        (_turn(5, at="2026-02-01T00:00:00Z"), "t6: it is earlier than t5"),
        (_turn(CALLING + 2, calls=session()["turns"][CALLING]["calls"]), "expected call"),
        (lambda one: one["questions"].pop(), "unanswerable: expected 5 questions, found 4"),
        (_asked("when", id="q1"), "id 'q1': two questions have it"),
        (_asked("when", question=session()["questions"][0]["question"]), "two questions have it"),
        (_evidence("value", lambda one: first(one, "value")["evidence"][0]), "named twice"),
        (lambda one: first(one, "list")["evidence"].pop(), "3 to 8 turns, found 2"),
        (lambda one: first(one, "error")["evidence"].pop(), "the turn of the error and that of"),
        (_asked("superseded", outdated=[]), "outdated turns belong to a superseded value"),
        (_asked("value", outdated=["t1"]), "outdated turns belong to a superseded value"),
        (_asked("superseded", outdated=["t320"]), "an outdated turn comes before the evidence"),
        (_in_question, "stands in the question"),
        (_asked("value", answer="zzz"), "'zzz' of its answer is not in the evidence"),
        (_asked("path", answer="zzz"), "'zzz' of its answer is not in the evidence"),
        (_asked("superseded", answer="zzz"), "'zzz' of its answer is not in the evidence"),
        (_asked("decision", answer="zzz yes"), "'zzz yes' of its answer is not in the evidence"),
        (_asked("decision", answer="z zz zzz zzzz zzzzz"), "only 0% of the answer's words are"),
        (_asked("list", answer="zzz, zzzz"), "only 0% of the answer's words are in the evidence"),
        (_asked("error", answer="zzz"), "only 0% of the answer's words are in the evidence"),
        (_asked("who", answer="Zed"), "its answer 'Zed' is not in the evidence"),
        (_evidence("value", lambda _one: "t3"), "evidence t3 has nothing of the answer"),
        (_copy_of_answer("value", 300), "has the answer"),
        (_copy_of_answer("path", CALLING + 1), "has the answer"),
        (_copy_of_answer("superseded", 300), "has the answer"),
        (_copy_of_answer("decision", 300), "has the answer"),
        (_early, "third 3: expected 20% of the evidence, found"),
        (_near, "questions share less than 40% of their words"),
    ],
)
def test_a_breach_is_seen(one, change, why):
    change(one)
    assert [said for said in problems(one) if why in said], problems(one)


def test_calls_have_ids_of_their_own(one):
    for at in (CALLING + 2, CALLING + 3):
        turn = one["turns"][at]
        if "calls" in turn:
            turn["calls"][0]["id"] = "c41"
        else:
            turn["call"] = "c41"
    assert problems(one) == ["call c41: its id is not unique"]


def test_sentences_do_not_come_twice(one):
    one["turns"][0]["content"] = "we moved all of the 12 boxes to bay 7"
    one["turns"][7]["content"] = "We moved all of the 45 boxes to `bay 9`"
    assert problems(one) == ["said twice, numbers apart: we moved all of the 0 boxes to bay 0"]
    one["turns"][0]["content"] = one["turns"][7]["content"] = "thanks, go on"
    assert problems(one) == []


def test_loops_are_asked_for(one):
    for turn in one["turns"]:
        if turn["role"] == "tool" and int(turn["id"][1:]) < 250:
            turn |= {"role": "user", "content": turn["content"]}
            turn.pop("call")
        elif "calls" in turn and int(turn["id"][1:]) < 250:
            turn |= {"content": turn.pop("calls")[0]["arguments"]["place"]}
    assert problems(one) == ["loops: expected at least 3 of 5 calls or more, found 1"]


def test_a_value_may_stand_in_several_turns_jointly(one):
    item = first(one, "value")
    a, b = one["turns"][100], one["turns"][200]
    a["content"] += " quart"
    b["content"] += " pint"
    item |= {"answer": "Quart, pint", "evidence": [a["id"], b["id"]]}
    assert problems(one) == []
    one["turns"][250]["content"] += " pint quart"
    assert problems(one) == [f"{item['id']}: t251 has the answer 'Quart, pint' too"]


@pytest.mark.parametrize(
    ("answer", "text", "there"),
    [
        ("30 s", "wait `30 s`, no more", True),
        ("30 s", "wait 30 seconds", False),
        ("30", "it took 1.30", False),
        ("30", "it took 30.5", False),
        ("30", "it took 130 or 301", False),
        ("30", "it took 30.", True),
        ("app.yml", "/srv/app.yml:7", True),
        ("c++", "in C++, mostly", True),
        (".env", "in the env", False),
        ("Größe", "GRÖSSE", True),
    ],
)
def test_answers_stand_as_whole_words(one, answer, text, there):
    item = first(one, "value")
    turn = one["turns"][200]
    turn["content"] = f"frumble {text}"
    item |= {"answer": answer, "evidence": [turn["id"]]}
    assert (problems(one) == []) == there


def test_grammar_is_no_content():
    assert content_words("What did we say about the port, and where?") == ["port"]
    assert content_words("¿Qué dijo ella sobre el puerto? Wer hat es?") == content_words(
        "dijo ella sobre puerto"
    )


def test_a_file_has_a_name_a_size_and_a_layout(one, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(laid_out(one), encoding="utf-8")
    assert problems_of(file) == ["name: expected 'other', that of the file, found 'plain'"]
    file = tmp_path / "plain.json"
    file.write_text(json.dumps(one))
    assert problems_of(file) == [
        "layout: expected each turn and each question on a line of its own"
    ]
    long = copy.deepcopy(one)
    long["turns"][CALLING + 1]["content"] += " " + "hum " * 60_000
    file.write_text(laid_out(long), encoding="utf-8")
    (said,) = problems_of(file)
    assert said.startswith("size: expected at most 230000 bytes, found 2")


def test_the_checker_is_a_command(one, tmp_path):
    good = write(tmp_path, one) / "plain.json"
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    command = [sys.executable, "-m", "warmset.lab.corpus.agents_check", str(good)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (0, f"{good}: it keeps to the rules\n")
    done = subprocess.run([*command, str(bad)], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert f"{bad}: the session: expected a text as name" in done.stdout
