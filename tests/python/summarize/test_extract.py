"""Summaries without a model: sentences word for word, in order, within their tokens."""

from __future__ import annotations

import json
import re

import pytest

from warmset import count_tokens
from warmset.errors import InvalidInputError
from warmset.summarize import ExtractiveSummarizer, audit
from warmset.testing import random_history

WRITE = ExtractiveSummarizer()
FILLER = "We talked of this and that for some time, and nothing came of it at all. "
FACTS = [
    "Never write to the replica in src/auth/login.py.",
    "We decided to use Postgres 16 for the ledger.",
    "TODO: write the rollback script for LED-42.",
    "The pool must stay at 12, since Ada counted 80 sessions.",
]


def turn(text, role="user"):
    return {"role": role, "content": text}


def test_what_binds_is_kept_and_talk_is_not():
    messages = [turn("Move the ledger to Postgres, please. " + FILLER)]
    for number, fact in enumerate(FACTS):
        messages += [turn(f"{FILLER}{fact} It is number {number} of it.", "assistant")]
        messages += [turn(FILLER.replace("this", f"this {word}")) for word in ("a", "b", "c")]
    made = WRITE(messages, max_tokens=110)
    assert made.startswith("user: Move the ledger to Postgres, please.")
    places = [made.index(fact) for fact in FACTS]
    assert places == sorted(places)
    assert made.count("nothing came of it") <= 1
    assert count_tokens(made) <= 110


def test_a_rule_weighs_more_than_plain_words():
    plain = [turn(f"The {word} boat lies beside the long pier.", "assistant") for word in "abcdefg"]
    rule = turn("Never paint the boat beside the long pier.", "assistant")
    messages = [turn("Look after the boats."), *plain[:4], rule, *plain[4:]]
    assert "Never paint the boat" in WRITE(messages, max_tokens=24)


def test_the_same_said_twice_is_kept_once():
    messages = [turn(f"{FACTS[0]} {FILLER}", "assistant") for _ in range(8)]
    assert WRITE(messages, max_tokens=200).count("Never write") == 1
    limits = [turn(f"Keep the pool at {n} for the ledger of Ada.") for n in (12, 20)]
    made = WRITE(limits, max_tokens=200)
    assert "at 12" in made
    assert "at 20" in made, "another number is another fact"


def test_an_earlier_summary_is_taken_up():
    first = WRITE([turn(f"{FACTS[0]} {FILLER}"), turn(FACTS[2], "assistant")], max_tokens=60)
    then = WRITE([turn(f"{FACTS[1]} {FILLER}")], max_tokens=80, previous=first)
    lines = then.splitlines()
    assert FACTS[0] in lines[0]
    assert lines[0].startswith("user: ")
    assert f"assistant: {FACTS[2]}" in lines
    assert FACTS[1] in lines[-1]


ODD = {
    "json": json.dumps([{"id": n, "name": f"row {n}", "path": f"src/a{n}.py"} for n in range(300)]),
    "minified": "{" + '"k":"' + "x" * 50_000 + '"}',
    "code": "def f(x):\n    return {'a': 1}\n\n\nclass A:\n    pass\n" * 200,
    "chinese": "我们决定使用数据库。连接池必须保持为12个。不得修改认证模块。" * 40,
    "japanese": "データベースを使うことに決めました。接続数は12です。" * 40,
    "arabic": "قررنا استخدام قاعدة البيانات. يجب أن يبقى العدد 12. " * 40,
    "one word": "a" * 100_000,
    "surrogates": "\ud800 the pool \udfff must stay at 12. " * 40,
    "emoji": "🙂" * 5_000,
    "lines": "\n" * 10_000 + "The pool must stay at 12.",
    "nulls": "\x00 " * 1_000 + "The pool must stay at 12.",
    "stops": "." * 50_000 + " The pool must stay at 12.",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("max_tokens", [1, 30, 400])
def test_any_text_is_summarised_within_its_tokens(text, max_tokens):
    messages = [turn("Look at this."), turn(text, "assistant")]
    made = WRITE(messages, max_tokens=max_tokens)
    assert count_tokens(made) <= max_tokens
    assert made == WRITE(messages, max_tokens=max_tokens)
    if max_tokens == 400:
        assert made


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini", "interactions"])
def test_every_dialect_is_read(dialect):
    history = random_history(7, dialect, exchanges=8)
    made = WRITE(history.messages, max_tokens=150)
    assert made
    assert count_tokens(made) <= 150


def test_long_turns_are_read_at_both_ends_and_it_says_so():
    text = f"{FACTS[0]} " + FILLER * 20_000 + FACTS[3]
    made = WRITE([turn(text)], max_tokens=100)
    assert FACTS[0] in made
    assert FACTS[3] in made
    assert made.notes == ("1 long turns were read in part",)
    assert WRITE([turn(FACTS[0])], max_tokens=100).notes == ()


def test_many_turns_are_read():
    messages = [
        turn(f"Step {n} went on as before, with {n} rows.", "assistant") for n in range(20_000)
    ]
    messages[9_000] = turn(FACTS[0])
    assert FACTS[0] in WRITE(messages, max_tokens=200)


def test_it_keeps_more_than_the_newest_turns_would():
    messages = [turn("Move the ledger to Postgres, please.")]
    for number in range(60):
        fact = FACTS[number % 4].replace("12", str(number)).replace("LED-42", f"LED-{number}")
        messages += [turn(FILLER, "assistant"), turn(f"{FILLER}{fact} {FILLER}")]
    made = WRITE(messages, max_tokens=400)
    newest = "\n".join(one["content"] for one in messages[-12:])
    assert count_tokens(newest) > 400
    kinds = ("number", "identifier", "constraint", "task")
    kept, tail = (audit(messages, text).recall for text in (made, newest))
    assert sum(kept[kind] for kind in kinds) > 2 * sum(tail[kind] for kind in kinds)


@pytest.mark.parametrize("wanted", [0, -1, True, 2.5, None])
def test_max_tokens_is_checked(wanted):
    with pytest.raises(InvalidInputError, match="max_tokens"):
        WRITE([turn("x")], max_tokens=wanted)


def test_nothing_gives_nothing():
    assert WRITE([], max_tokens=10) == ""
    assert WRITE([turn("")], max_tokens=10) == ""
    for bad in ("latin", None, "\ud800"):
        with pytest.raises(InvalidInputError, match=r"latin|encoding"):
            ExtractiveSummarizer(bad)
    with pytest.raises(InvalidInputError, match="previous"):
        WRITE([turn("x")], max_tokens=10, previous=b"earlier")
    assert re.fullmatch(r"user: \S.*", WRITE([turn("Keep it.")], max_tokens=10))
