"""The loss audit: which facts of turns are not in their summary."""

from __future__ import annotations

import pytest

from warmset import count_tokens
from warmset.errors import InvalidInputError, SummaryRefused
from warmset.summarize import audit
from warmset.summarize.checks import checked_text
from warmset.summarize.finding import _is_file
from warmset.summarize.sentences import asks_for_work


def said(text, role="assistant"):
    return [{"role": role, "content": text}]


def lost(text, summary=""):
    return {(fact.kind, fact.text) for fact in audit(said(text), summary).lost}


STATED = {
    "count": ("we saw 1,204 rows", ("number", "1,204")),
    "unit": ("it took 12 ms in all", ("number", "12 ms")),
    "percent": ("some 15 % of it", ("number", "15 %")),
    "money": ("they paid $1,200.50 for it", ("number", "$1,200.50")),
    "million": ("a town of 3 million people", ("number", "3 million")),
    "iso date": ("since 2023-05-08 it works", ("number", "2023-05-08")),
    "date": ("it was on 8 May 2023, early", ("number", "8 May 2023")),
    "american": ("it was on May 8th, 2023", ("number", "May 8th, 2023")),
    "time": ("at 14:30 sharp", ("number", "14:30")),
    "version": ("on v1.2.3 now", ("number", "v1.2.3")),
    "address": ("host 10.0.0.1 is up", ("number", "10.0.0.1")),
    "path": ("see src/db_pool.rs there", ("path", "src/db_pool.rs")),
    "windows": (r"see C:\data\in.csv there", ("path", r"C:\data\in.csv")),
    "file": ("see notes.md there", ("path", "notes.md")),
    "url": ("see https://x.org/a?b=1 there", ("url", "https://x.org/a?b=1")),
    "snake": ("call fetch_rows then", ("identifier", "fetch_rows")),
    "camel": ("call fetchRows then", ("identifier", "fetchRows")),
    "ticket": ("as in PROJ-12, yes", ("identifier", "PROJ-12")),
    "issue": ("as in #431, yes", ("identifier", "#431")),
    "hash": ("commit a3f9c2b1d was it", ("identifier", "a3f9c2b1d")),
    "variable": ("set MAX_ROWS to it", ("identifier", "MAX_ROWS")),
    "flag": ("use --dry-run for it", ("identifier", "--dry-run")),
    "mail": ("write to ada@x.org soon", ("identifier", "ada@x.org")),
    "name": ("then Ada Lovelace came", ("name", "Ada Lovelace")),
    "first name": ("Caroline came by", ("name", "Caroline")),
    "quote": ('she said "velvet harbour" twice', ("quote", "velvet harbour")),
    "never": ("Never write to the replica.", ("constraint", "Never write to the replica.")),
    "at most": ("Use at most 3 workers.", ("constraint", "Use at most 3 workers.")),
    "todo": ("TODO: write the docs", ("task", "TODO: write the docs")),
    "box": ("- [ ] write the docs", ("task", "write the docs")),
    "next": ("Next: move the ledger.", ("task", "Next: move the ledger.")),
    "chinese rule": ("不得修改认证模块。", ("constraint", "不得修改认证模块。")),
}


@pytest.mark.parametrize(("text", "fact"), STATED.values(), ids=STATED)
def test_a_fact_is_found_and_missed(text, fact):
    assert fact in lost(text)
    assert fact not in lost(text, text)
    assert fact not in lost(text, f"They said that {text}")


SAME = {
    "thousands": ("1,204 rows", "1204 rows"),
    "words": ("of 12 ships", "twelve ships"),
    "tens": ("of 25 ships", "twenty-five ships"),
    "percent": ("15 % of it", "fifteen percent"),
    "unit": ("in 12 ms", "12 milliseconds"),
    "glued": ("in 12 ms", "12ms"),
    "kilo": ("with 12k rows", "12,000 rows"),
    "million": ("3 million rows", "3M rows"),
    "money": ("paid $1,200", "1200 dollars"),
    "date": ("on 8 May 2023", "2023-05-08"),
    "american": ("on May 8, 2023", "8 May 2023"),
    "clock": ("at 2:30 pm", "14:30"),
    "noon": ("at 12:05 pm", "12:05"),
    "midnight": ("at 12:05 am", "0:05"),
    "version": ("on v1.2.3", "1.2.3"),
    "slashes": (r"see .\src\a_b.py", "src/a_b.py"),
    "longer path": ("see a_b.py", "in src/a_b.py"),
    "scheme": ("see https://x.org/a", "http://x.org/a/"),
    "possessive": ("then Ada came", "it is Ada's"),
    "case": ("set MAX_ROWS", "max_rows"),
    "quote": ('said "Velvet Harbour"', "velvet harbour it was"),
    "reworded": ("Never write to the replica.", "one must not write to the replica"),
    "listed": ("TODO: write the docs", "open tasks: write docs; deploy"),
}


@pytest.mark.parametrize(("text", "summary"), SAME.values(), ids=SAME)
def test_the_same_fact_in_other_words_is_kept(text, summary):
    assert lost(text, summary) == set()


OTHER = {
    "number": ("of 12 ships", "of 123 ships and 0.12 more"),
    "unit": ("in 12 ms", "12 users"),
    "date": ("on 8 May 2023", "9 May 2023"),
    "path": ("see src/a_b.py", "see src/a_b.pyc and my_src/a_b.py"),
    "folder": ("see src/a_b.py", "see a_b.py"),
    "identifier": ("set max_rows", "set max_rows_total"),
    "ticket": ("as PROJ-12", "PROJ-123"),
    "name": ("then Ada Lovelace came", "Ada came"),
    "permission": ("Never write to the replica.", "they write to the replica"),
    "another task": ("TODO: archive the exports", "to do: rename the exports"),
    "another limit": ("Use at most 3 workers.", "use at most 5 workers"),
}


@pytest.mark.parametrize(("text", "summary"), OTHER.values(), ids=OTHER)
def test_another_fact_does_not_keep_one(text, summary):
    assert lost(text, summary)


def test_a_constraint_with_another_number_is_another_constraint():
    rule = "The nightly ledger export must never have more than 30 workers on both database hosts."
    assert ("constraint", rule) in lost(rule, rule.replace("30", "50"))
    assert lost(rule, rule.replace("nightly ", "")) == set()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "we go on, as before.",
        "1. first of all\n2) then more",
        "I'll never forget that day!",
        "That must have been hard. Never mind.",
        "- [x] write the docs",
        "and/or, he/she, e.g. this",
        "Thanks! Great. Looking good, everyone.",
        "It rained. Sailing was off.",
        "must we never write to the replica?",
    ],
)
def test_talk_states_nothing(text):
    assert lost(text) == set()


def test_a_box_that_is_ticked_later_is_no_open_task():
    turns = said("- [ ] write the docs\n- [ ] call Bob", "user") + said("- [x] write the docs")
    tasks = [fact.text for fact in audit(turns, "").lost if fact.kind == "task"]
    assert tasks == ["call Bob"]


def test_a_request_without_an_answer_is_open():
    ask = said("Hm. Which colour has the boat?", "user")
    assert [fact.text for fact in audit(ask, "").lost] == ["Which colour has the boat?"]
    answered = audit([*ask, {"role": "assistant", "content": "it is blue"}], "").lost
    assert "task" not in {fact.kind for fact in answered}


def test_a_fact_tells_where_and_how_often():
    turns = said("see PROJ-12 there", "user") + said("proj-12 again, and PROJ-12")
    (fact,) = [one for one in audit(turns, "").lost if one.kind == "identifier"]
    assert (fact.text, fact.at, fact.role, fact.times) == ("PROJ-12", 0, "user", 2)


def test_recall_is_told_for_each_kind():
    found = audit(said("Ada has 12 and 40, in src/a_b.py"), "Ada has 12")
    assert found.recall == {"number": 0.5, "path": 0.0, "name": 1.0}
    assert [fact.text for fact in found.kept] == ["12", "Ada"]
    assert audit(said("nothing here"), "").recall == {}


def test_arguments_and_results_of_tools_are_read():
    turns = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {
                        "name": "edit",
                        "arguments": '{"path": "src/a_b.py", "new": "x\\nMAX_ROWS = 40"}',
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": '{"ok": true, "commit": "a3f9c2b1d"}'},
    ]
    found = {(fact.kind, fact.text, fact.role) for fact in audit(turns, "").lost}
    assert {
        ("path", "src/a_b.py", "assistant"),
        ("identifier", "MAX_ROWS", "assistant"),
        ("number", "40", "assistant"),
        ("identifier", "a3f9c2b1d", "tool"),
    } <= found
    anthropic = [{"role": "assistant", "content": [{"type": "text", "text": "as in PROJ-12"}]}]
    assert [fact.text for fact in audit(anthropic, "", dialect="anthropic").lost] == ["PROJ-12"]


def test_long_turns_are_read_to_a_limit_that_is_told():
    found = audit(said("as in PROJ-12 " + "and on " * 50_000 + "PROJ-99"), "")
    assert [fact.text for fact in found.lost] == ["PROJ-12"]
    assert found.unread == 14 + 7 * 50_000 + 7 - 200_000


# --- what rides along -----------------------------------------------------------------------------

TURN = (
    "Never write to the replica. TODO: write the docs for Ada. The pool has 12 sessions, see "
    "src/a_b.py, src/c_d.py, PROJ-12 and https://x.org/a. "
)


def test_what_is_carried_keeps_to_its_cap_and_the_most_important_goes_first():
    found = audit(said(TURN), "")
    whole = found.carried(500)
    assert whole.startswith("Constraints: Never write to the replica.")
    for part in (
        "TODO: write the docs for Ada.",
        "src/a_b.py; src/c_d.py",
        "12 sessions",
        "PROJ-12",
    ):
        assert part in whole
    assert whole.count("Never write") == 1
    assert whole.count("Ada") == 1, "it is in the task already"
    for cap in range(120):
        listed = found.carried(cap)
        assert count_tokens(listed) <= cap
        assert listed == found.carried(cap)
    assert found.carried(14) == "Constraints: Never write to the replica."
    assert found.carried(0) == ""
    assert audit(said(TURN), TURN).carried(99) == ""
    for bad in (-1, True, 2.5):
        with pytest.raises(InvalidInputError):
            found.carried(bad)
    for bad in (None, b"text"):
        with pytest.raises(InvalidInputError, match="summary"):
            audit(said(TURN), bad)


def test_what_a_user_said_often_goes_before_what_a_tool_said_once():
    turns = said("as in PROJ-12", "user") + said("PROJ-12 again") + said("saw PROJ-99 here")
    assert audit(turns, "").carried(12) == "Identifiers: PROJ-12"


def test_a_fact_that_does_not_fit_leaves_room_for_those_behind_it():
    text = "Never write to the replica of the harbour master's own ledger. It is PROJ-12."
    found = audit(said(text, "user"), "")
    assert {fact.kind for fact in found.lost} >= {"constraint", "identifier"}
    assert found.carried(12) == "Identifiers: PROJ-12"


def test_a_task_with_a_ticked_box_is_done():
    assert asks_for_work("- [ ] write the docs")
    assert not asks_for_work("- [x] write the docs")


@pytest.mark.parametrize("body", ['[{"error": "no"}]', '{"error": "no"}', '[{"status": 500}]'])
def test_the_body_of_an_error_is_one_within_a_list_too(body):
    with pytest.raises(SummaryRefused) as caught:
        checked_text(body)
    assert caught.value.reason == "error"


@pytest.mark.parametrize(("stem", "there"), [("abcdefghijk", True), ("abcdefghijkl", False)])
def test_a_long_word_before_a_long_word_is_a_sentence_and_no_file(stem, there):
    assert _is_file(f"{stem}.finally") is there
    assert _is_file(f"{stem}.final")


def test_a_word_that_any_turn_has_in_lower_case_is_no_name_where_it_begins_a_sentence():
    turns = [*said("Harbourmasters agreed at once."), *said("we asked the harbourmasters")]
    assert not audit(turns, "").lost
    assert [fact.text for fact in audit(turns[:1], "").lost] == ["Harbourmasters"]


@pytest.mark.parametrize("before", ["and/or", "n/a", "i.e.", "etc."])
def test_what_is_no_fact_hides_none_behind_it(before):
    assert ("number", "12 ms") in lost(f"it was {before} it took 12 ms in all")
