"""What a search waits for and for how long, what it leaves out, and the cues that it reads."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from warmset import Filter, Memory
from warmset.errors import Closed, Erased, InvalidInputError, NotFound
from warmset.retrieve.cues import read

THEN = datetime(2023, 5, 10, 12, tzinfo=UTC)  # a Wednesday
DAY = (THEN.date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days


def said(text, role="user"):
    return {"role": role, "content": text}


# --- waiting --------------------------------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch):
    """Opens a memory, and notes how long its searches wait for turns."""
    opened = []

    def open_with(embedder):
        memory = Memory.open(None, embedder=embedder)
        opened.append(memory)
        indexer, found = memory._engine.indexer, []
        settle = indexer.await_turns

        def watching(wanted, left):
            assert not wanted(10**9), "a turn that was erased meanwhile is not waited for"
            found.append((left, indexer.pending()))
            return settle(wanted, left)

        monkeypatch.setattr(indexer, "await_turns", watching)
        return memory, found

    yield open_with
    for memory in opened:
        memory.close()


def test_without_waiting_an_embedder_in_the_process_gets_a_moment(bag, waits):
    memory, found = waits(bag)
    memory.conversation("log").append(said("the car"))
    memory.search("automobile", wait=0)
    memory.search("automobile", wait=7)
    vector = np.ones(64)
    memory.search("automobile", query_vector=vector, wait=0)
    lefts = [left for left, _ in found]
    assert lefts[0] == lefts[2] == 0.05, "what was appended just before is found"
    assert 6 < lefts[1] <= 7


def test_without_waiting_a_remote_embedder_gets_none(bag, waits):
    memory, found = waits(type(bag)(remote=True))
    memory.conversation("log").append(said("the car"))
    memory.search("automobile", query_vector=np.ones(64), wait=0)
    assert [left for left, _ in found] == [0]


def test_what_is_pending_is_counted_after_the_wait(bag, waits):
    memory, found = waits(bag)
    with memory.paused():
        memory.conversation("log").append([said("the car"), said("the boat")])
        assert memory.search("automobile", wait=0).pending == 2
    made = memory.search("automobile", wait=20)
    assert (made.pending, made.by) == (0, "fused")
    assert found[-1][0] > 19
    assert made[0].summary == "the car"


def test_the_query_is_embedded_without_the_names_of_the_speakers(bag):
    with Memory.open(None, embedder=bag) as memory:
        chat = memory.conversation("log")
        chat.append(said("The boat was mended."), speaker="Maria Okonjo")
        chat.append(said("Thanks!", "assistant"), speaker="John Whitlock")
        assert memory.flush(20)
        del bag.texts[:]
        chat.search("When did Maria mend the boat?")
        assert bag.texts == ["When did mend the boat?"]


def test_a_blank_question_is_not_embedded(bag):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append(said("the car"))
        assert memory.flush(20)
        calls = bag.calls
        for blank in ("", "  \n"):
            assert memory.search(blank).by == "lexical"
        assert bag.calls == calls


# --- what may be found ----------------------------------------------------------------------------


@pytest.fixture
def log():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def test_the_filter_of_a_conversation_keeps_its_other_fields(log):
    log.append([said("the boat sails"), said("the boat sank", "assistant")])
    for where in (Filter(role="assistant"), Filter(role="assistant", conversation="log")):
        assert [hit.role for hit in log.search("boat", where=where)] == ["assistant"]
    with pytest.raises(InvalidInputError, match=r"where\.conversation"):
        log.search("boat", where=Filter(conversation="other"))


def test_what_a_window_shows_is_not_found_again(log):
    log.append([said("the boat sails"), said("Noted.", "assistant")])
    for at in range(20):
        log.append([said(f"lamp {at} " * 9), said(f"the boat sails {at}", "assistant")])
    made = log.window("boat sails", budget=300, recent=2)
    shown = {id_ for part in made.parts if part.name != "index" for id_ in part.ids}
    verbatim = shown - set(made.report.picked)
    assert verbatim
    assert made.report.picked
    assert not verbatim & {choice.id for choice in made.report.choices}


def test_hits_outlive_the_store_and_tables_are_cut():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([said(f"boat {at}") for at in range(60)])
        log.append(said("a boat of a boat builder"))
        made = memory.search("boat builder", k=55)
        assert made[0].terms != made[1].terms
        for at, hit in enumerate(made):
            assert hit.terms == made.terms(at)
            assert (hit.id, hit.score) == (made.ids[at], made.scores[at])
            assert hit.terms["lexical"] == made.signal("lexical")[at]
        copied = pickle.loads(pickle.dumps(made))  # noqa: S301 - made here
        assert list(copied) == list(made)
        assert len(copied) == 55
        assert made._repr_html_().count("<tr>") == 50 + 1
        six = memory.search("boat", k=6)
        assert "..." not in repr(six)
        assert "..." in repr(memory.search("boat", k=7))
    assert copied.ids == made.ids


# --- cues -----------------------------------------------------------------------------------------


def cue_of(memory, query, name="log"):
    ledger = memory._engine.ledgers.get((memory.tenant, name))
    return read(query, memory._engine.numbers, ledger)[1]


def test_days_are_those_of_the_newest_message_and_in_the_past():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(said("Hello."), at=datetime(2020, 1, 1, tzinfo=UTC))
        log.append(said("Hello again."), at=THEN)
        assert cue_of(memory, "What was said yesterday?").days == ((DAY - 1, DAY - 1),)
        (june,) = cue_of(memory, "What was said in June?").days
        assert june[1] < DAY, "the last one, and not the next"
        assert cue_of(memory, "What was said yesterday?", "other").days[0][0] > DAY + 365
        log.append(said("A week later."), at=THEN + timedelta(days=7))
        assert cue_of(memory, "What was said yesterday?").days == ((DAY + 6, DAY + 6),)
        assert log.sync([said("Hello."), said("Hello again.")]).left == 1
        assert cue_of(memory, "What was said yesterday?").days == ((DAY - 1, DAY - 1),)


@pytest.mark.parametrize(
    ("query", "when", "number"),
    [
        ("When did it sink?", True, False),
        ("In which year did it sink?", True, False),
        ("How long did it sail?", True, True),
        ("How old is the boat?", True, True),
        ("How often does it sail?", True, True),
        ("How many boats sank?", False, True),
        ("How many days did it sail?", True, True),
        ("How far is the pier?", False, True),
        ("Who sank the boat?", False, False),
        ("Say when.", False, False),
    ],
)
def test_what_a_question_asks_for(log, query, when, number):
    log.append(said("Hello."))
    cue = read(query, log._handle.engine.numbers, log._ledger)[1]
    assert (cue.when, cue.number) == (when, number)


def test_a_question_that_names_all_speakers_names_none(log):
    log.append(said("Hello."), speaker="Maria Okonjo")
    log.append(said("Hello.", "assistant"), speaker="John Whitlock")
    numbers = log._handle.engine.numbers

    def speakers(query):
        return read(query, numbers, log._ledger)[1].speakers

    assert len(speakers("What did Maria say?")) == 1
    assert speakers("What did Maria say to John?") == ()
    log.append(said("Hello."), speaker="Ann Lee")
    assert len(speakers("What did Maria say to John?")) == 2


def test_names_of_both_roles_name_none(log):
    for at in range(12):
        log.append([said(f"Thanks, Maria! {at}"), said(f"Thanks, John! {at}", "assistant")])
    numbers = log._handle.engine.numbers

    def roles(query):
        return read(query, numbers, log._ledger)[1].roles

    assert len(roles("Where is Maria's boat?")) == 1
    assert len(roles("Where is John's boat?")) == 1
    assert roles("Where is Maria's boat?") != roles("Where is John's boat?")
    assert roles("Where is the boat of Maria and John?") == ()


@pytest.mark.parametrize("part", [slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2)])
def test_any_part_of_the_hits_is_what_it_is_of_a_list(part):
    with Memory.open(None, embedder="lexical") as memory:
        memory.conversation("log").append([said(f"boat {n} of the harbour") for n in range(5)])
        found = memory.search("boat harbour")
        assert len(found) == 5
        assert [hit.id for hit in found[part]] == found.ids[part]


def test_the_vector_of_a_windows_question_is_that_of_its_words(bag):
    with Memory.open(None, embedder=bag) as memory:
        chat = memory.conversation("log")
        chat.append(said("The boat was mended."), speaker="Maria Okonjo")
        chat.append(said("Thanks!", "assistant"), speaker="John Whitlock")
        ledger = memory._engine.ledger("default", "log")
        ask = memory._searcher.question
        words, vector = ask(ledger, "When did Maria mend the boat?", query_vector=None, wait=5)
        assert words == "When did mend the boat?"
        assert np.allclose(vector, bag.embed([words])[0])
        assert ask(ledger, " ", query_vector=None, wait=5)[1] is None
        given = np.ones(bag.dim, np.float32)
        assert np.array_equal(ask(ledger, "x", query_vector=given, wait=5)[1], given)


def test_hits_of_what_was_erased_since_are_left_out():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        ids = log.append([said(f"boat {at}") for at in range(3)])
        made = memory.search("boat")
        assert made.ids == ids
        gone, *left = ids
        memory.erase(ids=[gone])
        assert [hit.id for hit in made] == [hit.id for hit in made[:]] == left
        assert [hit.id for hit in made[:2]] == left[:1]
        assert [hit.id for hit in reversed(made)] == left[::-1]
        assert [hit["id"] for hit in made.to_dict()["hits"]] == left
        assert made._repr_html_().count("<tr>") == 3
        assert (made.ids, len(made)) == (ids, 3)
        copied = pickle.loads(pickle.dumps(made))  # noqa: S301 - made here
        for one in (made, copied):
            with pytest.raises((Erased, NotFound)):
                one[0]
            assert one[1].id == one[-2].id == left[0]
    assert [hit.id for hit in copied] == left
    for use in (list, lambda one: one[0], lambda one: one[:], type(made).to_dict, pickle.dumps):
        with pytest.raises(Closed):
            use(made)
