"""Values that were changed later: what counts as a change of what, and what only looks like one."""

from __future__ import annotations

import random

import pytest

from warmset._core import may_say
from warmset.messages import dumps
from warmset.native import ColdStore
from warmset.text.changes import changes_value, statements, subjects, superseded, supersedes
from warmset.text.clauses import Clauses

CHANGED = [
    ("The retry limit is 5 attempts.", "Make it 7 attempts from now on."),
    (
        "Replica lag: the alert fires above 30 s.",
        "It harms nobody at night, raise the alert to 90 s.",
    ),
    ("The checkout timeout is 30 seconds.", "We raised the checkout timeout to 45 seconds."),
    ("Deck is due on 28 January.", "The deck is now due on 5 February."),
    ("Refunds up to 80 euros are yours.", "You may now refund up to 120 euros."),
    ("Wim visits Umbra on 21 April.", "New date for Wim at Umbra: 29 April."),
    ("The staging pool has 12 connections.", "The staging pool has 20 connections now."),
    ("The canary runs for 2 hours.", "Let the canary run for six hours instead."),
    ("We cap uploads at 25 MB.", "Uploads are now capped at 40 MB."),
    ("Nightly backup starts at 02:30.", "Moved the nightly backup to 04:15."),
    ("The pump check is at 3 pm.", "Right, the pump check is now at 4PM."),
    ("The valve test is at 3:30pm.", "The valve test is now at 4:30pm."),
    ("The hull survey is at 3:30 am.", "The hull survey is now at 3:30 pm."),
    ("The discount is 10 %.", "We lower the discount to 8 %."),
    ("The rehearsal is on Tuesday.", "The rehearsal moves to Thursday."),
    ("The invoice term is thirty days.", "The invoice term goes from 30 days to 45 days."),
    ("Cache entries expire after 10 minutes.", "Change it: cache entries expire after 15 minutes."),
    ("The pooled estimate is 0.52.", "New pooled value: 0.44."),
    ("Cells show fewer than 20 units never.", "Nothing under 35 units a cell, so raise our limit."),
    ("The grant closes on 3 May.", "The grant's deadline was extended to 10 May."),
    ("Batch size is 500 rows a batch.", "Batch size: not 500 rows but 800 rows now."),
]

UNCHANGED = [
    # two things of one kind
    ("The payments timeout is 30 seconds.", "Raise the search timeout to 90 seconds."),
    ("The timeout of payments is 30 s.", "The timeout of search is now 90 s."),
    ("Aster's rate limit is 100 requests.", "We raised the rate limit of Borea to 250 requests."),
    ("Invoices for Kestrel are due on 3 May.", "Invoices for Merlin are now due on 9 May."),
    ("The red queue holds 50 jobs.", "The blue queue now holds 80 jobs."),
    ("The staging pool has 12 connections.", "The production pool has 20 connections now."),
    ("Port 8080 is for the api.", "The metrics exporter now listens on port 9100."),
    ("We have 3 lanterns in the shed.", "Set the alarm to 7 minutes."),
    # proposed, asked, rejected
    ("The retry limit is 5 attempts.", "Could we make it 7 attempts?"),
    ("The retry limit is 5 attempts.", "Maybe raise the limit to 7 attempts."),
    ("The retry limit is 5 attempts.", "I suggest that we change it to 7 attempts now."),
    ("The retry limit is 5 attempts.", "Raising it to 7 attempts was rejected."),
    ("The retry limit is 5 attempts.", "What if it goes to 7 attempts instead?"),
    ("The retry limit is 5 attempts.", "Do not raise it to 7 attempts."),
    ("The retry limit is 5 attempts.", "Keep 5 attempts, not 7 attempts, for now."),
    ("Shall we take 5 attempts?", "Make it 7 attempts."),
    ("We could try 5 attempts.", "Make it 7 attempts from now on."),
    # the same value again, and other kinds of value
    ("The retry limit is 5 attempts.", "Right, the retry limit is now 5 attempts."),
    ("The pump check is at 3 pm.", "Right, the pump check is now at 3PM."),
    ("The pump check is at 3pm.", "Right, the pump check is now at 3\u202fpm."),
    ("The pump check is at 3:30 pm.", "Right, the pump check is now at 3:30PM."),
    ("The rehearsal is on Tuesday.", "Right, the rehearsal is now on Tuesdays."),
    ("The checkout timeout is 30 seconds.", "The checkout timeout now has 2 tests."),
    ("The checkout timeout is 30 seconds.", "We raised the checkout budget to 45 euros."),
    # measured, counted, told
    ("The build took 12 minutes yesterday.", "The build took 9 minutes now."),
    ("Twenty-four open, the oldest from Thursday.", "640 out, and now 402 people wait."),
    ("I saw 3 kettles leak.", "The small kettle has run out now, 402 people wait."),
    ("We got 30 rows, 6 of them in.", "Done: 42 rows now."),
    ("522,631 lines in the quarter.", "The text: two lines, final."),
    ("The PDF has 9 pages.", "A brief of two pages. The deadline moves again."),
    ("In 2016 the mill closed.", "The mill is now open, since 2019."),
    ("Row 17 has a wrong sign.", "I've set it to 0.8."),
    # the new value is known
    ("The retry limit is 5 attempts, it was 7 attempts.", "Make it 7 attempts from now on."),
    # no sign of a change
    ("The checkout timeout is 30 seconds.", "The checkout timeout is 45 seconds."),
]


def changes(earlier, later, roles=("user", "user")):
    first, second = (
        statements(text, role) for text, role in zip((earlier, later), roles, strict=True)
    )
    found = superseded(first, second)
    assert supersedes(second, earlier, roles[0]) is found
    return found


@pytest.mark.parametrize(("earlier", "later"), CHANGED)
def test_a_changed_value_is_found(earlier, later):
    assert changes(earlier, later)


@pytest.mark.parametrize(("earlier", "later"), UNCHANGED)
def test_what_only_looks_like_a_change_is_none(earlier, later):
    assert not changes(earlier, later)


def test_whole_chats_of_both_have_no_other_marks():
    """Every pair of different subjects: nothing is taken for a change of something else."""
    wrong = []
    for at, (earlier, _) in enumerate(CHANGED):
        for place, (_, later) in enumerate(CHANGED):
            if at != place and changes(earlier, later):
                wrong.append((earlier, later))
    right = sum(changes(*pair) for pair in CHANGED)
    assert right / (right + len(wrong)) >= 0.9, wrong


@pytest.mark.parametrize(("earlier", "later"), CHANGED)
def test_each_change_is_seen_at_a_glance(earlier, later):
    assert changes_value(later, "user")
    assert not changes_value(later, "tool")
    assert not changes_value(earlier, "user")


@pytest.mark.parametrize("seed", range(4))
def test_an_earlier_turn_need_not_be_read_in_full(seed):
    """And most of them not at all: the core tells which ones may be changed."""
    rng = random.Random(seed)
    pairs = [*CHANGED, *UNCHANGED]
    parts = [text for pair in pairs for text in pair] + ["Ün jour.", "The boat is red.", "7"]
    earlier = [" ".join(rng.choices(parts, k=rng.randint(1, 4))) for _ in range(60)]
    store = ColdStore.open(None)
    turns = [dumps({"role": "user", "content": text}) for text in earlier]
    ids = store.append([("turn", [b"t", b"log"], b"", turn) for turn in turns])
    found = spared = 0
    for _, text in pairs:
        later = statements(" ".join([text, *rng.choices(parts, k=rng.randint(0, 2))]), "user")
        for old, may in zip(earlier, may_say(store, ids, list(subjects(later))), strict=True):
            changed = superseded(statements(old, "user"), later)
            assert supersedes(later, old, "user") is changed, (old, text)
            assert may or not changed, (old, text)
            found, spared = found + changed, spared + (not may)
    assert found > 20
    assert spared > 1_000


def test_what_cannot_be_read_may_say_anything():
    store = ColdStore.open(None)
    said = {"role": "user", "content": "The BOAT is red."}
    others = {**said, "name": "Ann"}, {"role": "user", "content": "Été"}
    turns = [dumps(one) for one in (said, *others)]
    ids = store.append([("turn", [b"t", b"log"], b"", turn) for turn in turns])
    gone = store.append([("turn", [b"t", b"log"], b"", turns[0])])
    store.erase(records=gone)
    assert may_say(store, [*ids, *gone, 99], ["pump"]) == [False, True, True, True, True]
    assert may_say(store, ids[:1], ["pump", "boat"]) == [True]
    assert may_say(store, ids[:1], []) == [False]
    assert may_say(store, [], ["boat"]) == []


def test_a_tools_result_states_nothing():
    earlier, later = CHANGED[1]
    assert changes(earlier, later, ("assistant", "user"))
    assert not changes(earlier, later, ("tool", "user"))
    assert not changes(earlier, later, ("user", "tool"))


def test_an_old_value_that_is_named_must_be_the_one():
    later = "The invoice term goes from 30 days to 45 days."
    assert changes("The invoice term is 30 days.", later)
    assert not changes("The invoice term is 20 days.", later)


def test_words_have_one_form():
    (forms,) = Clauses("limits limited limiting raise raised the of 7").stated(0)
    assert forms.words == forms.around == {"limit"}
    assert {one.around for one in Clauses("Thursday 5 May at noon, two seconds").stated(0)} == {
        frozenset()
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The 30-minute-check of the pump, daily", {"check", "pump"}),  # it is part of a word
        ("Hurry, the pump waits 9 s, the colour is grey", {"pump", "wait"}),
        ("Pump: 9 s wait, grey", {"wait"}),
        ("The wait is 9 s, the colour is grey", {"wait"}),
        ("It is 9 s, the colour is grey", {"colour", "grey"}),  # nothing else tells of what
    ],
)
def test_a_value_belongs_to_its_clause(text, words):
    assert [one.words for one in Clauses(text).stated(0)] == [words]


def test_what_a_value_is_said_with_are_the_neighbours_of_its_sentence():
    read = Clauses("Far.\nThe pump is old. Its wait is 9 s. Paint it!\nGrey.")
    assert [one.around for one in read.stated(2)] == [{"pump", "old", "wait", "paint"}]
    assert read.stated(1) == []


def test_long_turns_are_read_at_their_beginning():
    earlier, later = CHANGED[1]
    assert not changes(earlier, "x" * 1_990 + ". " + later)
    assert changes(earlier, later + " " + "x" * 50_000)
