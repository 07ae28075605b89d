"""Lists of a caller while messages wait in the spool, and once they were taken up."""

from __future__ import annotations

import pickle

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
def memory(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as made:
        made.conversation("log").sync(said("a", "b", "c"))
        yield made


def test_batches_in_the_spool_are_told_apart_by_their_tokens():
    one, other = Spooled("a"), Spooled("b")
    assert one == Spooled("a")
    assert one != other
    assert other != one
    assert one != [], "no batch without records either"
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own


def test_what_was_taken_up_may_be_said_again(memory, tmp_path):
    log = memory.conversation("log")
    with held_elsewhere(tmp_path):
        assert isinstance(log.append(said("yes")), Spooled)
    memory.conversation("else").append(said("x"))
    assert texts(log) == ["a", "b", "c", "yes"]
    synced = log.sync(said("a", "b", "c", "yes", "yes"))
    assert (synced.kept, len(synced.appended)) == (4, 1)
    assert texts(log) == ["a", "b", "c", "yes", "yes"]
    synced = log.sync(said("a", "b", "yes"))
    assert (synced.kept, len(synced.appended)) == (2, 1)
    assert texts(log) == ["a", "b", "yes"]


def test_a_list_without_what_is_in_the_spool_is_another_list(memory, tmp_path):
    log = memory.conversation("log")
    log.sync(said("a", "p", "q"))
    log.sync(said("a", "b", "c"))
    with held_elsewhere(tmp_path):
        assert isinstance(log.append(said("x", "y")), Spooled)
    # "x" and "y" follow "c"; here they follow "q" of the other branch.
    synced = log.sync(said("a", "p", "q", "x", "y"))
    assert (synced.kept, len(synced.appended)) == (3, 2)
    assert texts(log) == ["a", "p", "q", "x", "y"]


def test_a_list_with_a_part_of_what_is_in_the_spool_ends_there(memory, tmp_path):
    log = memory.conversation("log")
    with held_elsewhere(tmp_path):
        assert isinstance(log.append(said("x", "y")), Spooled)
    log.sync(said("a", "b", "c", "x"))
    assert texts(log) == ["a", "b", "c", "x"]


def test_a_list_that_ends_where_the_spool_begins_takes_the_path_back(memory, tmp_path):
    log = memory.conversation("log")
    with held_elsewhere(tmp_path):
        assert isinstance(log.append(said("x")), Spooled)
    log.sync(said("a", "b", "c"))
    memory.conversation("else").append(said("y"))
    assert texts(log) == ["a", "b", "c"]
