"""Turns are indexed when the index is next asked for, and nobody can tell."""

from __future__ import annotations

import threading

import pytest

from warmset import Memory
from warmset.engine.library import LONG, MOST


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


def user(text):
    return {"role": "user", "content": text}


def found(memory, query):
    return [hit.id for hit in memory.search(query)]


def test_a_turn_waits_until_somebody_searches(memory):
    engine, chat = memory._engine, memory.conversation("c")
    [id_] = chat.append(user("The harbour opens at nine."))
    assert (len(engine.indexed), engine.waits) == (0, 1)
    assert found(memory, "harbour") == [id_]
    assert (len(engine.indexed), engine.waits) == (1, 0)


def test_so_many_turns_wait_and_no_more(memory):
    engine, chat = memory._engine, memory.conversation("c")
    for at in range(MOST - 1):
        chat.append(user(f"Boat {at}."))
    assert len(engine.indexed) == 0
    chat.append(user("The last boat."))
    assert (len(engine.indexed), engine.waits) == (MOST, 0)


@pytest.mark.parametrize(("characters", "weight"), [(LONG - 1, 1), (LONG, 2), (3 * LONG, 4)])
def test_a_long_turn_counts_as_several(memory, characters, weight):
    memory.conversation("c").append(user("b" * characters))
    assert memory._engine.waits == weight


def test_one_turn_that_is_long_enough_does_not_wait(memory):
    memory.conversation("c").append(user("b" * LONG * MOST))
    assert len(memory._engine.indexed) == 1


def test_a_turn_that_left_the_path_while_it_waited_is_not_found(memory):
    chat = memory.conversation("c")
    chat.append(user("The harbour opens at nine."))
    chat.append(user("The harbour opens at ten."))
    chat.pop()
    assert found(memory, "harbour") == [chat.ids[0]]


def test_a_turn_that_was_erased_while_it_waited_is_gone(memory):
    chat = memory.conversation("c")
    first, second = chat.append([user("The harbour is open."), user("The harbour is shut.")])
    memory.erase(ids=[first])
    assert found(memory, "harbour") == [second]


def test_another_handle_finds_it(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical") as one,
        Memory.open(tmp_path, embedder="lexical") as other,
    ):
        [id_] = one.conversation("c").append(user("The harbour opens at nine."))
        assert found(other, "harbour") == [id_]


def test_it_is_in_the_file_of_the_index(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        chat = memory.conversation("c")
        chat.append([user(f"Boat {at}.") for at in range(3_000)])
        memory.rebuild_index()
        [id_] = chat.append(user("The harbour opens at nine."))
        memory._engine.index.save()
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory._engine.index.figures()["source"] == "file"
        assert found(memory, "harbour") == [id_]


def test_threads_that_append_and_search_find_their_own(memory):
    missed = []

    def work(name):
        chat = memory.conversation(name)
        for at in range(200):
            [id_] = chat.append(user(f"Boat {at} of {name}."))
            if id_ not in [hit.id for hit in chat.search(f"{at}", k=300)]:
                missed.append((name, at))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not missed
