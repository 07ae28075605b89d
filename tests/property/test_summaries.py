"""Summaries and audits of any conversation: bounds, order, and what both agree on."""

from __future__ import annotations

from hypothesis import given, strategies as st

from warmset import count_tokens, summary_of
from warmset.errors import SummaryRefused
from warmset.messages import facts
from warmset.summarize import ExtractiveSummarizer, audit
from warmset.testing import random_history

SENTENCES = [
    "Never write to the replica.",
    "TODO: write the docs for LED-42.",
    "We decided to keep the pool at 1,204.",
    "See src/db_pool.rs and --dry-run.",
    "Ada Lovelace paid $12.50 on 8 May 2023.",
    "我们决定使用数据库。",
    "ok",
    "",
    "\ud800 and \x00",
    "- [ ] call Bob",
    '{"a": [1, 2]}',
]
ROLES = st.sampled_from(["user", "assistant"])
TEXTS = st.lists(st.sampled_from(SENTENCES) | st.text(st.characters(), max_size=40), max_size=6)
TALKS = st.lists(
    st.builds(lambda role, parts: {"role": role, "content": " ".join(parts)}, ROLES, TEXTS),
    min_size=1,
    max_size=12,
)


@given(TALKS, st.integers(1, 200))
def test_extracts_are_short_verbatim_in_order_and_the_same_again(messages, max_tokens):
    write = ExtractiveSummarizer()
    made = write(messages, max_tokens=max_tokens)
    assert count_tokens(made) <= max_tokens
    assert made == write(messages, max_tokens=max_tokens)
    texts = iter([facts(message, "openai") for message in messages])
    turn = next(texts)
    for line in made.split("\n") if made else ():
        role, _, said = line.partition(": ")
        while not (turn.role == role and _in_order(said, turn.text)):
            turn = next(texts)  # StopIteration: a line that no later turn said


def _in_order(said: str, text: str) -> bool:
    """Tell whether words stand in a text in this order."""
    at = 0
    for word in said.split():
        at = text.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


@given(
    st.integers(0, 500),
    st.sampled_from(["openai", "responses", "anthropic", "gemini", "interactions"]),
)
def test_a_summary_is_shorter_or_refused(seed, dialect):
    messages = random_history(seed, dialect).messages
    try:
        made = summary_of(messages, dialect=dialect, carry_tokens=40)
    except SummaryRefused as error:
        reason = error.reason
    else:
        reason = ""
        assert made.tokens == count_tokens(made.text)
        assert made.tokens < made.replaced
        assert made.audit == audit(messages, made.text, dialect=dialect)
    assert reason in {"", "empty", "not_shorter", "json", "low_recall"}


@given(TALKS, st.integers(0, 120))
def test_an_audit_keeps_what_is_said_and_carries_within_its_cap(messages, cap):
    whole = "\n".join(facts(message, "openai").text for message in messages)
    found = audit(messages, "")
    assert found.kept == ()
    assert count_tokens(found.carried(cap)) <= cap
    assert found.carried(cap) == audit(messages, "").carried(cap)
    hard = {"number", "path", "url", "identifier", "name"}
    assert {fact.text for fact in audit(messages, whole).lost if fact.kind in hard} == set()


@given(TALKS, TALKS)
def test_more_summary_never_loses_more(messages, more):
    part = "Ada keeps the pool at 1,204."
    longer = f"{part}\n" + "\n".join(facts(message, "openai").text for message in more)
    hard = {"number", "path", "url", "identifier", "name"}
    before = {fact for fact in audit(messages, part).lost if fact.kind in hard}
    assert {fact for fact in audit(messages, longer).lost if fact.kind in hard} <= before
