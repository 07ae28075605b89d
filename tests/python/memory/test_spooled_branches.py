"""Lists that change while the store is busy: each is stored once, and lands where it belongs."""

from __future__ import annotations

import pytest
from busy import held_elsewhere

from warmset import Memory
from warmset.receipts import Spooled

pytestmark = pytest.mark.usefixtures("impatient")


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def texts(log):
    return [turn["content"] for turn in log.fetch(log.ids)]


@pytest.fixture
def place(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(said("a", "b", "c"))
    return tmp_path


@pytest.fixture
def memory(place):
    with Memory.open(place, embedder="lexical", on_busy="spool") as made:
        yield made


def taken_up(memory):
    """Take the spool up, and return the conversation's path, here and after another opening."""
    memory.conversation("else").append(said("x"))
    return texts(memory.conversation("log"))


EDITS = {
    "edited": ("a", "B", "C"),
    "shortened": ("a",),
    "edited at the front": ("A",),
    "emptied": (),
    "longer": ("a", "b", "c", "d", "e"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_list_is_spooled_once(memory, place, edit):
    log = memory.conversation("log")
    with held_elsewhere(place):
        assert isinstance(log.sync(said(*edit)).appended, list)
        before = memory.stats()["spooled"]
        again = log.sync(said(*edit))
        assert (again.kept, again.appended) == (len(edit), [])
        assert memory.stats()["spooled"] == before == 1
    assert taken_up(memory) == list(edit)
    assert log.sync(said(*edit)).branched_at is None


@pytest.mark.parametrize("free", [False, True], ids=["busy", "free again"])
@pytest.mark.parametrize("edit", [*EDITS.values(), ("a", "b", "c", "x", "y")])
def test_another_list_after_a_spooled_message_is_what_counts(memory, place, edit, free):
    log = memory.conversation("log")
    with held_elsewhere(place):
        assert isinstance(log.append(said("x")), Spooled)
        if not free:
            log.sync(said(*edit))
            before = memory.stats()["spooled"]
            log.sync(said(*edit))
            assert memory.stats()["spooled"] == before == 2
    log.sync(said(*edit))
    assert taken_up(memory) == list(edit)
    log.append(said("next"))
    assert texts(log) == [*edit, "next"]


def test_what_follows_a_spooled_branch_follows_it(memory, place):
    log = memory.conversation("log")
    with held_elsewhere(place):
        log.sync(said("a", "B"))
        log.sync(said("a", "B", "C"))
        log.append(said("D"))
        assert log.sync(said("a", "B", "C", "D")).kept == 4
    assert taken_up(memory) == ["a", "B", "C", "D"]


def test_a_spooled_branch_whose_parent_was_erased_stays_on_its_path(memory, place):
    log = memory.conversation("log")
    log.sync(said("a", "b", "c", "d"))
    log.sync(said("a", "p", "q"))
    ids = dict(zip("apq", log.ids, strict=True))
    with held_elsewhere(place):
        log.sync(said("a", "p", "q", "r"))
    log.sync(said("a", "b", "c", "d"))
    assert texts(log)[:4] == ["a", "b", "c", "d"]
    assert taken_up(memory)
    log.sync(said("a", "p", "q"))
    with held_elsewhere(place):
        log.sync(said("a", "p", "Q"))  # follows p
    spool = place / "spool"
    (waiting,) = spool.glob("*.spl")
    waiting.rename(place.parent / "waiting")
    log.sync(said("a", "b", "c", "d"))
    memory.erase(ids=[ids["p"]])
    (place.parent / "waiting").rename(waiting)
    with (spool / "bell").open("ab") as bell:
        bell.write(b"1")
    assert taken_up(memory) == ["a", "Q"], "after a, as p was"
    with Memory.open(place, embedder="lexical", on_busy="spool") as again:
        assert texts(again.conversation("log")) == ["a", "Q"]


@pytest.mark.parametrize(
    ("given", "gone", "expected"),
    [(("a", "B"), 2, ["a", "B"]), (("a", "b", "c", "x"), 1, ["a", "c", "x"])],
    ids=["an edit", "an append"],
)
def test_an_erasure_keeps_the_path_that_waits_in_the_spool(memory, place, given, gone, expected):
    log = memory.conversation("log")
    for other in (("a", "b", "d"), ("a", "b", "c")):  # it has a branch
        log.sync(said(*other))
    ids = log.ids
    with held_elsewhere(place):
        log.sync(said(*given))
    memory.erase(ids=[ids[gone]])
    assert texts(log) == expected
    memory.close()
    with Memory.open(place, embedder="lexical") as again:
        assert texts(again.conversation("log")) == expected
