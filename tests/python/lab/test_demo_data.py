"""The sample conversation is valid, long enough, and its questions are fair."""

import json
import math
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "python" / "warmset" / "lab" / "demo" / "data"
ROWS = [json.loads(s) for s in (DATA / "conversation.jsonl").read_text("utf-8").splitlines()]
QUESTIONS = json.loads((DATA / "questions.json").read_text("utf-8"))
MESSAGES = [row["message"] for row in ROWS]
SHARE = 0.05  # of the conversation's tokens is what a ranking may spend

STOP = frozenset(
    re.findall(
        r"[a-z]+",
        """a about after again all am an and any are as at be because been before being between both
    but by can could did do does doing down during each few for from further had has have having
    he her here hers him his how i if in into is it its just me more most my no nor not now of off
    on once only or other our out over own same she should so some such than that the their them
    then there these they this those through to too under until up very was we were what when
    where which while who whom why will with would you your""",
    )
)


def text(message):
    calls = (call["function"] for call in message.get("tool_calls", ()))
    parts = [message["content"] or "", *(f"{c['name']} {c['arguments']}" for c in calls)]
    return "\n".join(part for part in parts if part)


TEXTS = [text(m) for m in MESSAGES]


def words(s):
    return [w for w in re.findall(r"[a-z0-9]+", s.lower()) if w not in STOP]


class Bm25:
    """Independent of the product and without stemming; k1 1.2, b 0.75."""

    def __init__(self, texts):
        self.docs = [Counter(words(t)) for t in texts]
        self.lengths = [d.total() for d in self.docs]
        self.mean = sum(self.lengths) / len(texts)
        self.df = Counter(w for d in self.docs for w in d)

    def score(self, query, i):
        doc, norm = self.docs[i], 1.2 * (0.25 + 0.75 * self.lengths[i] / self.mean)
        return sum(
            math.log1p((len(self.docs) - self.df[w] + 0.5) / (self.df[w] + 0.5))
            * (doc[w] * 2.2 / (doc[w] + norm))
            for w in set(words(query))
            if doc[w]
        )

    def rank(self, query):
        scores = [self.score(query, i) for i in range(len(self.docs))]
        return sorted(range(len(scores)), key=lambda i: -scores[i])


def within_budget(order):
    left = SHARE * sum(map(len, TEXTS)) / 4
    got = set()
    for i in order:
        left -= len(TEXTS[i]) / 4
        if left < 0:
            break
        got.add(i)
    return got


def test_size():
    assert len(ROWS) >= 340
    assert 30_000 <= sum(map(len, TEXTS)) / 4 <= 45_000


def test_rows_have_the_documented_keys():
    for row in ROWS:
        assert set(row) in ({"at", "message"}, {"at", "speaker", "message"})
        assert ("speaker" in row) == (row["message"]["role"] == "user")


def test_roles_and_content():
    roles = [m["role"] for m in MESSAGES]
    assert roles[:2] == ["system", "user"]
    assert roles.count("system") == 1
    assert set(roles) == {"system", "user", "assistant", "tool"}
    for m in MESSAGES:
        if m["role"] == "assistant":
            assert set(m) <= {"role", "content", "tool_calls"}
            assert m["content"] is None or isinstance(m["content"], str)
            assert m["content"] or m["tool_calls"]
        elif m["role"] == "tool":
            assert set(m) == {"role", "tool_call_id", "content"}
        else:
            assert set(m) == {"role", "content"}
        if m["role"] != "assistant":
            assert isinstance(m["content"], str)
            assert m["content"]


def test_ends_with_a_complete_reply():
    last = MESSAGES[-1]
    assert last["role"] == "assistant"
    assert last["content"]
    assert "tool_calls" not in last


def test_every_call_is_followed_by_its_results():
    seen = set()
    pending = set()
    for m in MESSAGES:
        if m["role"] == "tool":
            assert m["tool_call_id"] in pending
            pending.remove(m["tool_call_id"])
            continue
        assert not pending
        for call in m.get("tool_calls", ()):
            assert call["type"] == "function"
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert call["id"] not in seen
            seen.add(call["id"])
            pending.add(call["id"])
    assert not pending
    assert len(seen) >= 100


def test_has_parallel_calls_answered_out_of_order():
    asked = {}
    for at, m in enumerate(MESSAGES):
        asked |= {call["id"]: (at, n) for n, call in enumerate(m.get("tool_calls", ()))}
    answered = [asked[m["tool_call_id"]] for m in MESSAGES if m["role"] == "tool"]
    assert answered != sorted(answered)
    assert [turn for turn, _ in answered] == sorted(turn for turn, _ in answered)


def test_sessions():
    times = [datetime.fromisoformat(row["at"]) for row in ROWS]
    assert all(t.utcoffset() == timedelta(0) for t in times)
    steps = [b - a for a, b in pairwise(times)]
    assert min(steps) >= timedelta(0)
    assert sum(step > timedelta(hours=8) for step in steps) >= 8


def test_no_long_message_twice():
    assert [t for t, n in Counter(t for t in TEXTS if len(t) > 80).items() if n > 1] == []


def test_questions_have_the_documented_keys():
    assert len(QUESTIONS) == 10
    assert len({q["question"] for q in QUESTIONS}) == 10
    for q in QUESTIONS:
        assert set(q) == {"question", "answer", "key", "evidence", "note"}


@pytest.mark.parametrize("q", QUESTIONS, ids=lambda q: q["key"])
def test_evidence_lies_far_back_and_holds_the_key(q):
    assert 1 <= len(q["evidence"]) <= 2
    assert all(0 <= i < 0.8 * len(ROWS) for i in q["evidence"])
    assert all(i < len(ROWS) - 60 for i in q["evidence"])
    assert any(q["key"] in TEXTS[i] for i in q["evidence"])


def test_at_least_three_questions_are_about_a_decision_that_replaced_another():
    assert sum(q["note"].startswith("Superseded") for q in QUESTIONS) >= 3


def test_words_alone_miss_some_and_find_some():
    bm25 = Bm25(TEXTS)
    missed = [
        q["key"]
        for q in QUESTIONS
        if not within_budget(bm25.rank(q["question"])).issuperset(q["evidence"])
    ]
    assert 3 <= len(missed) <= 6, missed


def test_the_latest_messages_alone_find_nothing():
    recent = within_budget(range(len(TEXTS) - 1, -1, -1))
    assert not any(recent.intersection(q["evidence"]) for q in QUESTIONS)
