"""What a triage's word counts: the rules hold whoever judges, and judge alone where it fails."""

from __future__ import annotations

import logging

import pytest
from judging import REQUEST, candidate, texts

from warmset.errors import InvalidInputError, TriageError
from warmset.route import Judgement, RuleTriage, TriageReport, Verdict
from warmset.route.judgement import judged
from warmset.usage import Usage

A, B, C = candidate(1, "a"), candidate(2, "b"), candidate(3, "c")
SAID = {
    "a": "Margin fell to 11 % because of freight.",
    "b": "Boats were late in May.",
    "c": "The office has new chairs.",
}


class Says:
    """A triage that returns, or raises, what it was given."""

    def __init__(self, answer):
        self.answer = answer
        self.seen = None

    def judge(self, _request, candidates, _text):
        self.seen = [one.memory_id for one in candidates]
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def judge(answer, some=(A, B, C), said=SAID):
    triage = Says(answer)
    found = judged(RuleTriage(), triage, REQUEST, some, texts(said))
    return found, triage


def words(found):
    return {id_: verdict.classification for id_, verdict in found.verdicts.items()}


def test_a_mapping_is_taken_and_the_rules_judge_the_rest():
    found, triage = judge({2: Verdict("irrelevant", "no boats")})
    assert found.verdicts[2] == Verdict("irrelevant", "no boats")
    assert found.verdicts[1] == found.verdicts[3] == Verdict("supplementary", "a need names it")
    assert found.report == TriageReport(by="custom")
    assert found.report.usage.milliseconds > 0
    assert triage.seen == ["a", "b", "c"]


def test_a_judgement_says_by_whom_and_what_it_took():
    report = TriageReport(by="model", asked=3, usage=Usage(70, 6, estimated=True))
    found, _ = judge(Judgement(verdicts={1: Verdict("irrelevant", "")}, report=report))
    assert words(found) == {1: "irrelevant", 2: "supplementary", 3: "supplementary"}
    assert found.report == report
    assert (found.report.usage.tokens, found.report.usage.estimated) == (76, True)


def test_nobody_is_asked_where_the_rules_leave_nothing_open():
    some = [candidate(1, "a", priority="essential"), candidate(2, "b")]
    found, triage = judge({}, some, {"a": "Boats: 12 of them.", "b": "boats 12 of them"})
    assert words(found) == {1: "essential", 2: "redundant"}
    assert triage.seen is None
    assert found.report == TriageReport()
    assert found.report.usage is None


def test_what_is_essential_is_so_whatever_a_triage_says():
    some = [candidate(1, "a", priority="essential"), B]
    for word in ("irrelevant", "redundant", "supplementary"):
        found, triage = judge({1: Verdict(word, "x"), 2: Verdict("irrelevant", "")}, some)
        assert found.verdicts[1] == Verdict("essential", "an essential need names it")
        assert found.verdicts[2].classification == "irrelevant"
        assert triage.seen == ["a", "b"]


def test_essential_by_a_triage_is_supplementary_and_comes_first():
    found, _ = judge({3: Verdict("essential", "it must")})
    assert found.verdicts[3] == Verdict("supplementary", "it must", first=True)
    assert not found.verdicts[1].first


def test_what_the_rules_call_redundant_stays_so_and_is_not_shown():
    derived = candidate(1, "a", derived_from=("b",))
    found, triage = judge({2: Verdict("supplementary", "I like it")}, [derived, B, C])
    assert found.verdicts[2] == Verdict("redundant", "worked up in a", twin=1)
    assert triage.seen == ["a", "c"]
    assert found.report.by == "custom"


def test_redundant_counts_where_no_fact_is_lost():
    said = SAID | {"b": "It went down to 11% with transport.", "c": "It is 12 km to Oslo."}
    claims = {2: Verdict("redundant", "a says it"), 3: Verdict("redundant", "a says it")}
    found, _ = judge(claims, said=said)
    assert found.verdicts[2] == Verdict("redundant", "a says it")
    assert found.verdicts[3].classification == "supplementary"
    assert found.verdicts[3].reason.startswith("called redundant, but 2 of its facts")
    assert "Oslo" not in found.verdicts[3].reason


def test_of_two_that_are_called_redundant_for_each_other_the_worthier_one_stays():
    said = {"a": "Ship 77 docked.", "b": "The ship with the number 77 came in.", "c": "Chairs."}
    claims = {1: Verdict("redundant", "see 2"), 2: Verdict("redundant", "see 1")}
    found, _ = judge(claims, said=said)
    assert words(found) == {1: "supplementary", 2: "redundant", 3: "supplementary"}


def test_what_is_irrelevant_keeps_no_facts():
    said = {"a": "Ship 77 docked.", "b": "The ship with the number 77 came in.", "c": "Chairs."}
    found, _ = judge({1: Verdict("irrelevant", ""), 2: Verdict("redundant", "")}, said=said)
    assert words(found) == {1: "irrelevant", 2: "supplementary", 3: "supplementary"}


@pytest.mark.parametrize("length", [20_000, 20_001])
def test_a_text_of_which_not_all_facts_are_known_is_not_called_redundant(length):
    said = SAID | {"b": "boats " * 4_000}
    said["b"] = said["b"][:length].ljust(length, "x")
    found, _ = judge({2: Verdict("redundant", "long")}, said=said)
    assert words(found)[2] == ("redundant" if length == 20_000 else "supplementary")


class Odd:
    """Whatever is asked of it, it is no text."""

    def __str__(self):
        return ""

    def __repr__(self):
        return "Odd()"


FAULTS = {
    "exception": ValueError("no way\nat all"),
    "none": None,
    "a list": [Verdict("irrelevant", "")],
    "words": {1: "irrelevant"},
    "unknown ids": {7: Verdict("irrelevant", ""), 8: Verdict("irrelevant", "")},
    "unknown ids of a judgement": Judgement(verdicts={7: Verdict("irrelevant", "")}),
    "no report": Judgement(verdicts={1: Verdict("irrelevant", "")}, report=None),
    "silent": RuntimeError(Odd()),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_whatever_goes_wrong_the_rules_judge_and_it_is_told(fault, caplog):
    caplog.set_level(logging.WARNING, "warmset.route")
    found, _ = judge(fault)
    assert found.verdicts == RuleTriage().judge(REQUEST, (A, B, C), texts(SAID))
    assert found.report.by == "rules"
    assert found.report.why
    assert "\n" not in found.report.why
    assert found.report.usage.milliseconds > 0
    [record] = caplog.records
    assert (record.event, record.what, record.to) == ("fell_back", "triage", "rules")
    assert (record.triage, record.candidates) == ("Says", 3)
    assert "no way" not in record.getMessage()


def test_an_error_that_says_what_it_took_counts():
    error = TriageError("no answer " * 100)
    error.usage = Usage(50, 5)
    found, _ = judge(error)
    assert found.report.usage.tokens == 55
    assert len(found.report.why) == 400


def test_a_triage_cannot_change_what_it_is_given():
    class Clears(Says):
        def judge(self, request, candidates, text):
            list(candidates).clear()
            with pytest.raises(AttributeError):
                candidates.clear()
            return super().judge(request, candidates, text)

    found = judged(RuleTriage(), Clears({}), REQUEST, [A, B, C], texts(SAID))
    assert set(found.verdicts) == {1, 2, 3}


def test_a_report_has_one_of_three_words():
    with pytest.raises(InvalidInputError, match="one of rules, model, custom"):
        TriageReport(by="me")
    with pytest.raises(InvalidInputError, match="expected a Usage"):
        TriageReport(usage=7)


def test_ids_of_nobody_are_dropped_beside_others():
    found, _ = judge({7: Verdict("irrelevant", ""), 1: Verdict("irrelevant", "")})
    assert words(found) == {1: "irrelevant", 2: "supplementary", 3: "supplementary"}
    assert judge({})[0].report == TriageReport(by="custom")


def test_a_verdict_has_one_of_four_words_and_a_reason_of_one_short_line():
    with pytest.raises(InvalidInputError, match="one of essential, supplementary"):
        Verdict("perhaps", "x")
    with pytest.raises(InvalidInputError, match="expected a text"):
        Verdict("irrelevant", None)
    whole = "a  b " + "x" * 195
    assert Verdict("irrelevant", whole).reason == whole
    assert Verdict("irrelevant", "x" * 201).reason == "x" * 199 + "…"
    odd = Verdict("irrelevant", "a\nb\x1b[2Jc\u2028d\u202ee \ud800 f")
    assert odd.reason == "a b [2Jc d e f"


def test_the_account_is_one_line():
    assert TriageReport().line() == "judged by the rules"
    usage = Usage(1_000, 234, 640.4, estimated=True)
    said = TriageReport(by="model", usage=usage).line()
    assert said == "judged by a model (about 1,234 tokens, 640 ms)"
    failed = TriageReport(why="it was late", usage=Usage(5, 0, 2.0)).line()
    assert failed == "judged by the rules (5 tokens, 2 ms), because it was late"
