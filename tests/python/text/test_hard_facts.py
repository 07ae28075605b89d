"""The hard facts of a text, each in one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from warmset.text.hard_facts import READ, facts_of

SAME = {
    "thousands": ("1,000 rows", "1000 rows", "1000"),
    "percent": ("15 % of it", "15% of it", "15"),
    "zeros": ("it took 2.50", "it took 2.5", "2.5"),
    "unit": ("12ms a call", "12 ms a call", "12"),
    "kilo": ("12k tokens", "12,000 tokens", "12000"),
    "money": ("pay $1,200.50", "pay 1200.5 dollars", "1200.5"),
    "version": ("on v1.2.3", "on 1.2.3", "1.2.3"),
    "clock": ("at 2:30pm", "at 2:30 pm", "2:30"),
    "path": (r"open .\src\db_pool.rs", "open `src/db_pool.rs`.", "src/db_pool.rs"),
    "line": ("in src/a.py:12", "in src/a.py", "src/a.py"),
    "url": ("see https://x.org/a?b=1.", "see http://x.org/a?b=1", "x.org/a?b=1"),
    "possessive": ("it was Ada’s idea", "an idea of Ada", "ada"),
    "sentence": ("Caroline left.", "then Caroline left", "caroline"),
    "case": ("set MAX_ROWS", "set max_rows", "max_rows"),
    "ticket": ("(PROJ-12)", "fixes proj-12: done", "proj-12"),
    "json": ('{"pool_size":12}', "pool_size = 12", "pool_size"),
    "flag": ("use --dry-run", "with (--dry-run).", "--dry-run"),
    "chinese": ("连接池为12个", "pool 12", "12"),
}
NOTHING = (
    "",
    " ",
    "we go on and on, as before.",
    "The tests and/or docs. Then we wait. I'm OK!",
    "Running it again. Please wait; don't stop.",
    "e.g. this, i.e. that",
    "- / ~ $ ... --",
)


@pytest.mark.parametrize(("one", "other", "fact"), SAME.values(), ids=SAME)
def test_a_fact_has_one_spelling(one, other, fact):
    assert fact in facts_of(one)
    assert fact in facts_of(other)


@pytest.mark.parametrize("text", NOTHING)
def test_plain_words_state_no_fact(text):
    assert facts_of(text) == frozenset()


def test_all_facts_of_a_turn():
    text = 'Ada (New York) set "limit" to 40 in ~/app/.env, see fetchRows() and a3f9c2b1.'
    named = {"ada", "new", "york"}
    assert facts_of(text) == named | {"40", "~/app/.env", "fetchrows", "a3f9c2b1"}


def test_a_long_text_is_read_to_its_limit():
    text = "x " * (READ // 2) + "PROJ-99"
    assert facts_of(text) == frozenset()
    assert facts_of("x " * 100 + "PROJ-97") == {"proj-97"}
    assert facts_of("a1" * 10_000_000)


@given(st.text(st.characters(), max_size=200))
def test_any_text_is_read(text):
    found = facts_of(text)
    assert all(isinstance(fact, str) and fact for fact in found)
    assert facts_of(text) == found


@given(st.lists(st.sampled_from(["Ada", "12", "src/a.py", "a_b", "go", "--x-y"]), max_size=9))
def test_facts_add_up(words):
    together = facts_of("see " + " ; ".join(words))
    assert together == frozenset().union(*(facts_of(f"see {word}") for word in words))
