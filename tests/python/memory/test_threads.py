"""Many threads, many handles, and the asynchronous twins: nothing is lost, nothing is torn."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from warmset import Conversation, Filter, Memory, ingest
from warmset.errors import Closed, InvalidInputError, InvalidMessageError

THREADS = 8


def said(text):
    return {"role": "user", "content": text}


def together(work, count=THREADS):
    """Run work(n) in threads that begin at once; raise what any of them raises."""
    barrier = threading.Barrier(count)

    def run(n):
        barrier.wait(20)
        return work(n)

    with ThreadPoolExecutor(count) as pool:
        return [future.result(60) for future in [pool.submit(run, n) for n in range(count)]]


@pytest.mark.usefixtures("busy_interpreter")
def test_threads_append_and_search_and_lose_nothing(tmp_path, bag):
    rounds = 25
    with Memory.open(tmp_path, embedder=bag) as memory:

        def work(n):
            mine, shared = memory.conversation(f"own {n}"), memory.conversation("shared")
            ids = []
            for turn in range(rounds):
                ids += mine.append([said(f"mine {n} {turn}"), said(f"word{n}x{turn}")])
                ids += shared.append(said(f"shared {n} {turn}"))
                found = memory.search(f"word{n}x{turn}", k=3, where=Filter(conversation=mine.id))
                assert found[0].summary == f"word{n}x{turn}", "found as soon as it is appended"
                window = shared.window(f"shared {n}", budget=900)
                assert window.tokens <= 900
                assert memory.stats()["messages"] >= len(ids)
            return ids

        ids = [id_ for part in together(work) for id_ in part]
        assert len(ids) == len(set(ids)) == THREADS * rounds * 3
        assert memory.flush(60)
        assert memory.stats()["messages"] == len(ids)
    with Memory.open(tmp_path, embedder=bag) as memory:
        for n in range(THREADS):
            kept = memory.conversation(f"own {n}").fetch(memory.conversation(f"own {n}").ids)
            assert [turn["content"] for turn in kept] == [
                text for turn in range(rounds) for text in (f"mine {n} {turn}", f"word{n}x{turn}")
            ]
        assert sorted(
            turn["content"]
            for turn in memory.conversation("shared").fetch(memory.conversation("shared").ids)
        ) == sorted(f"shared {n} {turn}" for n in range(THREADS) for turn in range(rounds))


@pytest.mark.usefixtures("busy_interpreter")
def test_a_conversation_that_many_begin_at_once_is_one():
    with Memory.open(None, embedder="lexical") as memory:
        for attempt in range(60):
            name = f"talk {attempt}"

            def begin(n, name=name):
                conversation = memory.conversation(name)
                return len(conversation) if n % 2 else conversation.append(said(f"kite {n}"))[0]

            ids = together(begin)[::2]
            assert sorted(memory.conversation(name).ids) == sorted(ids)
            found = memory.search("kite", k=50, where=Filter(conversation=name))
            assert sorted(found.ids) == sorted(ids)
        assert memory.stats()["messages"] == 60 * THREADS // 2


@pytest.mark.usefixtures("busy_interpreter")
def test_names_that_are_new_at_once_get_numbers_of_their_own():
    """A number that two conversations share would show one the other's messages."""
    with Memory.open(None, embedder="lexical") as memory:
        for attempt in range(60):

            def work(n, attempt=attempt):
                name = f"{attempt} {n}"
                if n % 2:  # a search before the first message gives the name its number too
                    memory.search("kite", where=Filter(conversation=name))
                memory.conversation(name).append(said("the kite"))
                return name

            for name in together(work):
                own = memory.conversation(name).ids
                assert memory.search("kite", where=Filter(conversation=name), k=99).ids == own


@pytest.mark.usefixtures("busy_interpreter")
def test_syncing_one_list_from_many_threads_keeps_it_once():
    turns = [said(f"turn {n}") for n in range(30)]
    with Memory.open(None, embedder="lexical") as memory:
        for attempt in range(40):
            conversation = memory.conversation(f"log {attempt}")
            done = together(lambda _n, one=conversation: one.sync(turns))
            assert sum(len(synced.appended) for synced in done) == len(conversation) == 30


@pytest.mark.usefixtures("busy_interpreter")
def test_reembedding_while_others_append(bag):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append([said(f"old {n}") for n in range(300)])

        def work(n):
            for turn in range(20):
                if n:
                    memory.conversation(f"log {n}").append(said(f"new {n} {turn}"))
                    memory.search(f"new {n}")
                elif turn < 3:
                    memory.reembed()

        together(work, 4)
        assert memory.flush(60)
        stats = memory.stats()
        assert (stats["failed"], stats["messages"]) == ({}, 360)
        assert stats["rows"] == 360


def test_closing_while_others_append_loses_nothing_acknowledged(tmp_path, bag):
    memory = Memory.open(tmp_path, embedder=bag)
    started = threading.Event()

    def work(n):
        kept = []
        if n == 0:
            started.wait(20)
            memory.close()
            return kept
        try:
            for turn in range(10_000):
                kept += memory.conversation(f"log {n}").append(said(f"turn {turn}"))
                if turn == 5:
                    started.set()
        except Closed:
            return kept
        raise AssertionError("it was never closed")

    kept = together(work, 4)
    with Memory.open(tmp_path, embedder=bag) as again:
        for n in range(1, 4):
            assert again.conversation(f"log {n}").ids == kept[n]


def test_opening_one_path_from_many_threads_makes_one_engine(tmp_path):
    handles = together(lambda _n: Memory.open(tmp_path, embedder="lexical"))
    assert len({id(handle._engine) for handle in handles}) == 1
    together(lambda n: handles[n].conversation("log").append(said(str(n))))
    together(lambda n: handles[n].close())
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert len(memory.conversation("log")) == THREADS


# --- asynchronous twins ---------------------------------------------------------------------------


def test_asynchronous_twins_do_what_the_others_do(tmp_path, bag):
    async def talk():
        memory = await Memory.aopen(tmp_path, embedder=bag)
        with memory:
            conversation = memory.conversation("log")
            ids = await conversation.aappend([said("the car"), said("the lake")], speaker="Zoë")
            many = await asyncio.gather(*(conversation.aappend(said(str(n))) for n in range(20)))
            assert len({id_ for part in many for id_ in part}) == 20
            assert conversation.fetch(ids[0]).speaker == "Zoë"
            assert (await memory.asearch("automobile"))[0].id == ids[0]
            assert (await conversation.asearch("lake"))[0].id == ids[1]
            window = await conversation.awindow("automobile", budget=900)
            assert window.messages == conversation.window("automobile", budget=900).messages
            done = await memory.aprocess([said("one")], conversation="other", budget=900)
            assert done.messages == [said("one")]
            with pytest.raises(InvalidMessageError):
                await conversation.aappend([{"role": "user"}])
            with pytest.raises(InvalidInputError):
                await memory.asearch("x", k=0)
        with pytest.raises(Closed):
            await memory.asearch("x")

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Memory, "open"),
        (Memory, "search"),
        (Memory, "process"),
        (Conversation, "append"),
        (Conversation, "search"),
        (Conversation, "window"),
    ],
)
def test_a_twin_takes_the_same_arguments(owner, name):
    own, twin = getattr(owner, name), getattr(owner, f"a{name}")
    assert inspect.iscoroutinefunction(twin)
    assert str(inspect.signature(twin)) == str(inspect.signature(own))


def test_an_event_loop_goes_on_while_a_slow_embedder_works(bag):
    gate = threading.Event()

    async def talk():
        with Memory.open(None, embedder=bag) as memory:
            memory.conversation("log").append(said("the car"))
            assert memory.flush(20)
            bag.before = lambda _texts: gate.wait(20)
            search = asyncio.create_task(memory.asearch("automobile"))
            await asyncio.sleep(0.05)
            assert not search.done()
            gate.set()
            assert len(await search) == 1

    asyncio.run(talk())


def test_a_sync_that_an_erasure_came_before_keeps_the_whole_list():
    """Whoever waited for the lock holds a ledger that is no more."""
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(4)]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(turns)
        before = conversation._ledger
        memory.erase(conversation="log")
        beside = ingest.Beside(None, None, None, None)
        synced, _ = ingest.sync_messages(
            memory._engine, before, turns, beside, memory._handle.redactor
        )
        assert (synced.kept, synced.appended) == (0, conversation.ids)
        assert len(conversation) == len(turns)
        memory.erase(conversation="log")
        assert (
            ingest.append_messages(memory._engine, before, turns, beside, memory._handle.redactor)
            == conversation.ids
        )
