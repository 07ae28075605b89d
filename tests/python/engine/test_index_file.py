"""The index in a file fits the store that has the same turns in the same sessions, and no other."""

from __future__ import annotations

import shutil

import pytest

from warmset import Memory
from warmset.engine.digest import digest
from warmset.index.file_lock import NAME


def said(first, last):
    return [{"role": "user", "content": f"turn word{n}"} for n in range(first, last)]


def append(memory, ends):
    """Append 30 turns in two sessions, of which the first one has so many."""
    log = memory.conversation("log")
    log.append(said(0, ends), session="a")
    log.append(said(ends, 30), session="b")


@pytest.mark.parametrize(("ends", "fits"), [(15, True), (14, False)])
def test_an_index_file_of_other_sessions_is_not_taken(ends, fits, tmp_path):
    """Two stores went on from one, with the same turns, ids and names of sessions."""
    with Memory.open(tmp_path / "one", embedder="lexical") as memory:
        memory.conversation("log").append(said(100, 220), session="before")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name, at in (("one", 15), ("two", ends)):
        with Memory.open(tmp_path / name, embedder="lexical") as memory:
            append(memory, at)
    shutil.copy(tmp_path / "one" / NAME, tmp_path / "two" / NAME)
    with Memory.open(tmp_path / "two", embedder="lexical") as memory:
        told = memory.stats()["index"]
        assert told["source"] == ("file" if fits else "records")
        assert told["why"] == (None if fits else "the store has other turns")


def digest_of(memory):
    with memory._engine.lock:
        return digest(memory._engine.ledgers)


def test_a_digest_is_of_turns_their_places_and_their_sessions(tmp_path):
    def made(path, ends, **more):
        with Memory.open(path, embedder="lexical", **more) as memory:
            append(memory, ends)
            return digest_of(memory)

    ours = made(tmp_path, 15)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert len(memory.conversation("empty")) == 0
        assert digest_of(memory) == ours
    assert made(None, 15) == ours
    others = {made(None, 14), made(None, 16), made(None, 15, tenant="t")}
    with Memory.open(None, embedder="lexical") as memory:
        append(memory, 15)
        memory.conversation("log").pop(1)
        others.add(digest_of(memory))
    assert len(others | {ours}) == 5
