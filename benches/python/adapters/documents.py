"""Adapters beside each framework's own classes: 10,000 documents, 10,000 messages, 100 tasks.

    taskset -c 0 python -m benches.python.adapters.documents \
        --json benches/results/adapters-<cpu>-<date>.json

Contestants take turns on one core, over the same vectors, which nobody has to make. The classes of
the frameworks keep everything in memory, and write one JSON file if they are told to; ours are
durable when a call returns (`durability="os"`, no wait for a disk), and shared. Every answer is
compared. Times are those of the processor, of all threads. The last part has 100 tasks at once, and
says how long a single step of the event loop's thread computes, and how late a task comes that
sleeps for a millisecond: beside an idle loop, for other programs on the core are in that, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
import numpy as np
from haystack.dataclasses import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from langchain_core.documents import Document as Text
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, trim_messages
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel

from benches.python.race import check, line, race as any_race
from warmset import Memory
from warmset.adapters.haystack import WarmsetDocumentStore
from warmset.adapters.langchain import WarmsetVectorStore
from warmset.adapters.langchain.windows import Call, Windows
from warmset.adapters.pydantic_ai import WarmsetHistory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from benches.python.race import Result

PEERS = ("langchain", "langchain-core", "haystack-ai", "pydantic-ai-slim", "numpy")
COUNT, SIZE, K, GROUPS = 10_000, 384, 10, 100
TASKS = 100


def race(name: str, contestants: dict[str, Any], *, rounds: int, turn: int) -> Result:
    """Race by the time of the processor."""
    return any_race(name, contestants, rounds=rounds, turn=turn, clock=time.process_time_ns)


RNG = np.random.default_rng(1)
VECTORS = RNG.standard_normal((COUNT, SIZE)).astype(np.float32)
ROWS = VECTORS.tolist()


class Known(Embeddings):
    """Embeddings that are there already: a text is the number of its vector."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [ROWS[int(text.split()[0])] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return ROWS[int(text.split(maxsplit=1)[0])]


def texts() -> list[Text]:
    return [
        Text(id=str(n), page_content=f"{n} " + "word " * 40, metadata={"n": n, "group": n % GROUPS})
        for n in range(COUNT)
    ]


def vector_stores(place: Path) -> Iterator[Result]:
    """Race LangChain's vector stores."""
    documents = texts()
    numbers = iter(range(1_000))

    def fresh() -> WarmsetVectorStore:
        return WarmsetVectorStore(Known(), place / f"lc{next(numbers)}", durability="os")

    yield race(
        f"LangChain: add {COUNT:,} documents",
        {
            "warmset": lambda _: fresh().add_documents(documents),
            "InMemoryVectorStore": lambda _: InMemoryVectorStore(Known()).add_documents(documents),
        },
        rounds=2,
        turn=2,
    )
    ours, theirs = fresh(), InMemoryVectorStore(Known())
    ours.add_documents(documents)
    theirs.add_documents(documents)
    theirs.dump(str(place / "dump.json"))
    path = place / f"lc{next(numbers) - 1}"

    def again(_: int) -> None:
        with WarmsetVectorStore(Known(), path, durability="os") as opened:
            check(opened.similarity_search("5", k=1)[0].id == "5", "opened")

    def loaded(_: int) -> None:
        opened = InMemoryVectorStore.load(str(place / "dump.json"), Known())
        check(opened.similarity_search("5", k=1)[0].id == "5", "loaded")

    peers = {"warmset": again, "InMemoryVectorStore, its JSON": loaded}
    yield race(f"LangChain: open {COUNT:,} documents and search", peers, rounds=2, turn=2)
    for at in (0, 77, COUNT - 1):
        mine, other = (s.similarity_search(str(at), k=K) for s in (ours, theirs))
        check([one.id for one in mine] == [one.id for one in other], "nearest documents")
    yield race(
        f"LangChain: the {K} nearest of {COUNT:,}",
        {
            "warmset": lambda at: ours.similarity_search(str(at), k=K),
            "InMemoryVectorStore": lambda at: theirs.similarity_search(str(at), k=K),
        },
        rounds=4,
        turn=3,
    )
    group = lambda at: at % GROUPS  # noqa: E731 - said once
    yield race(
        f"LangChain: the {K} nearest of a hundredth",
        {
            "warmset": lambda at: ours.similarity_search(str(at), k=K, filter={"group": group(at)}),
            "InMemoryVectorStore": lambda at: theirs.similarity_search(
                str(at), k=K, filter=lambda one: one.metadata["group"] == group(at)
            ),
        },
        rounds=4,
        turn=3,
    )
    ours.close()


def document_stores(place: Path) -> Iterator[Result]:
    """Race Haystack's document stores."""
    documents = [
        Document(id=str(n), content="word " * 40, meta={"n": n, "group": n % GROUPS}, embedding=row)
        for n, row in enumerate(ROWS)
    ]
    numbers = iter(range(1_000))

    def fresh() -> WarmsetDocumentStore:
        return WarmsetDocumentStore(place / f"hs{next(numbers)}", durability="os")

    def memory() -> InMemoryDocumentStore:
        return InMemoryDocumentStore(embedding_similarity_function="cosine", shared=False)

    yield race(
        f"Haystack: write {COUNT:,} documents",
        {
            "warmset": lambda _: fresh().write_documents(documents),
            "InMemoryDocumentStore": lambda _: memory().write_documents(documents),
        },
        rounds=2,
        turn=2,
    )
    ours, theirs = fresh(), memory()
    ours.write_documents(documents)
    theirs.write_documents(documents)
    theirs.save_to_disk(str(place / "haystack.json"))
    path = place / f"hs{next(numbers) - 1}"

    def again(_: int) -> None:
        with WarmsetDocumentStore(path, durability="os") as opened:
            check(opened.count_documents() == COUNT, "opened")

    def loaded(_: int) -> None:
        opened = InMemoryDocumentStore.load_from_disk(str(place / "haystack.json"))
        check(opened.count_documents() == COUNT, "loaded")

    peers = {"warmset": again, "InMemoryDocumentStore, its JSON": loaded}
    yield race(f"Haystack: open {COUNT:,} documents", peers, rounds=1, turn=2)
    of = lambda at: {"field": "meta.group", "operator": "==", "value": at % GROUPS}  # noqa: E731
    check(ours.filter_documents(of(7)) == theirs.filter_documents(of(7)), "filter")
    yield race(
        f"Haystack: filter a hundredth of {COUNT:,}",
        {
            "warmset": lambda at: ours.filter_documents(of(at)),
            "InMemoryDocumentStore": lambda at: theirs.filter_documents(of(at)),
        },
        rounds=4,
        turn=3,
    )
    mine, other = (s.embedding_retrieval(ROWS[5], top_k=K) for s in (ours, theirs))
    check([one.id for one in mine] == [one.id for one in other], "retrieval")
    yield race(
        f"Haystack: retrieve {K} of {COUNT:,}",
        {
            "warmset": lambda at: ours.embedding_retrieval(ROWS[at], top_k=K),
            "InMemoryDocumentStore": lambda at: theirs.embedding_retrieval(ROWS[at], top_k=K),
        },
        rounds=2,
        turn=2,
    )
    ours.close()


def histories(place: Path) -> Iterator[Result]:
    """Race a turn of a conversation of 10,000 messages: what is new is kept, and a window made."""
    said = [f"message {n} " + "word " * 30 for n in range(COUNT + 400)]
    with Memory.open(place / "memory", embedder="lexical", durability="os") as memory:
        talk: list[Any] = [
            (AIMessage if n % 2 else HumanMessage)(said[n], id=str(n)) for n in range(COUNT - 1)
        ]
        windows = Windows(memory, budget=8_000, mode="auto", conversation="lc", options={})

        def turn(_: int) -> None:
            n = len(talk)
            talk.append((AIMessage if n % 2 else HumanMessage)(said[n], id=str(n)))
            made = windows.make(Call(talk), "lc")
            check(made.window.tokens <= 8_000, "window")

        def trimmed(_: int) -> None:
            kept = trim_messages(
                talk,
                max_tokens=8_000,
                token_counter="approximate",  # noqa: S106 - no password
                start_on="human",
            )
            check(kept, "trimmed")

        began = time.process_time_ns()
        turn(0)
        first = (time.process_time_ns() - began) / 1e6
        result = race(
            f"LangChain: a turn of {COUNT:,} messages",
            {"warmset": turn, "trim_messages, nothing kept": trimmed},
            rounds=4,
            turn=4,
        )
        result.notes["the first list of 10,000, ms"] = round(first, 1)
        yield result
        history: list[Any] = [
            ModelResponse([TextPart(text)]) if n % 2 else ModelRequest([UserPromptPart(text)])
            for n, text in enumerate(said[:COUNT])
        ]
        agent = Agent(TestModel(), capabilities=[WarmsetHistory(memory, budget=8_000)])
        bare = Agent(TestModel())
        own, file = list(history), place / "history.json"

        def run(_: int) -> None:
            made = agent.run_sync("next", message_history=own, conversation_id="pa")
            own[:] = made.all_messages()

        def saved(_: int) -> None:
            made = bare.run_sync("next", message_history=history)
            file.write_bytes(ModelMessagesTypeAdapter.dump_json(made.all_messages()))

        run(0)
        yield race(
            f"Pydantic-AI: a run behind {COUNT:,} messages",
            {"warmset": run, "no capability, its JSON": saved},
            rounds=2,
            turn=3,
        )
        check(len(memory.conversation("pa")) == len(own), "kept")


def of_rank(ranked: list[float], share: float) -> float:
    """Return the value below which a share of a sorted list is, rounded."""
    return round(ranked[min(len(ranked) - 1, int(len(ranked) * share))], 2)


@contextmanager
def steps(found: list[float]) -> Iterator[None]:
    """Note how many milliseconds of the processor each step of an event loop takes."""
    run = asyncio.Handle._run  # noqa: SLF001 - there is no other place for it

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time_ns()
        run(handle)
        found.append((time.thread_time_ns() - began) / 1e6)

    asyncio.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
    try:
        yield
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001


async def idle(_: int) -> None:
    """Wait, so that only the core itself is looked at."""
    await asyncio.sleep(3)


async def held_up(work: Callable[[int], Awaitable[object]]) -> dict[str, float]:
    """Run 100 tasks at once; return what the event loop was held up by, in milliseconds."""
    late: list[float] = []
    taken: list[float] = []
    over = asyncio.Event()

    async def beat() -> None:
        while not over.is_set():
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - began - 0.001) * 1_000)

    beating = asyncio.create_task(beat())
    began = time.perf_counter()
    with steps(taken):
        await asyncio.gather(*map(work, range(TASKS)))
    took = time.perf_counter() - began
    over.set()
    await beating
    late.sort()
    taken.sort()
    return {
        "tasks": TASKS,
        "seconds": round(took, 2),
        "steps": len(taken),
        "a step computes, p99.9": of_rank(taken, 0.999),
        "longest step": of_rank(taken, 1),
        "beats": len(late),
        "late, median": of_rank(late, 0.5),
        "late, p99.9": of_rank(late, 0.999),
    }


async def loops(place: Path) -> dict[str, dict[str, float]]:
    """Return how long 100 tasks hold up an event loop, for each adapter."""
    found = {"idle": await held_up(idle)}
    with WarmsetVectorStore(Known(), place / "loop lc", durability="os") as vectors:
        vectors.add_documents(texts()[:5_000])
        vectors.similarity_search("1")

        async def add_and_search(n: int) -> None:
            for step in range(20):
                at = 5_000 + n * 20 + step
                await vectors.aadd_texts([f"{at} new"], ids=[f"new {at}"])
                near = await vectors.asimilarity_search(str(at), k=3, filter=None)
                check(near[0].id == f"new {at}", "found at once")

        found["LangChain vectors: 20 additions and searches each"] = await held_up(add_and_search)
    with WarmsetDocumentStore(place / "loop hs", durability="os") as store:

        async def write_and_filter(n: int) -> None:
            for step in range(20):
                meta = {"n": n, "step": step}
                one = Document(id=f"{n} {step}", meta=meta, embedding=ROWS[n])
                await store.write_documents_async([one])
                same = {"field": "meta.n", "operator": "==", "value": n}
                check(len(await store.filter_documents_async(same)) == step + 1, "filtered")

        found["Haystack: 20 writes and filters each"] = await held_up(write_and_filter)
    with Memory.open(place / "loop memory", embedder="lexical", durability="os") as memory:
        windows = Windows(memory, budget=4_000, mode="auto", conversation=None, options={})

        async def windowed(n: int) -> None:
            talk: list[Any] = []
            for step in range(20):
                talk.append(HumanMessage(f"question {n} {step} " + "word " * 40))
                made = await asyncio.to_thread(windows.make, Call(talk), f"lc {n}")
                talk.append(AIMessage(f"answer {n} {step}"))
                await asyncio.to_thread(windows.note, f"lc {n}", made, talk[-1:])

        found["LangChain windows: 20 calls each"] = await held_up(windowed)
        agent = Agent(TestModel(), capabilities=[WarmsetHistory(memory, budget=4_000)])
        bare = Agent(TestModel())

        def runs(of: Agent[None, str]) -> Callable[[int], Awaitable[None]]:
            async def run(n: int) -> None:
                history = None
                for step in range(5):
                    made = await of.run(
                        f"question {step}", message_history=history, conversation_id=f"pa {n}"
                    )
                    history = made.all_messages()

            return run

        found["Pydantic-AI: 5 runs each"] = await held_up(runs(agent))
        found["Pydantic-AI without the capability: 5 runs each"] = await held_up(runs(bare))
    return found


def main() -> None:
    """Run all races, print them, and save them if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--json", type=Path, help="where to save the figures")
    parser.add_argument("--place", type=Path, help="a directory on the disk to use")
    options = parser.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(dir=options.place) as name:
        place = Path(name)
        for part in (vector_stores, document_stores, histories):
            for result in part(place):
                results.append(result)
                print(line(result), flush=True)
        late = asyncio.run(loops(place))
    for what, figures in late.items():
        print(f"{what:60} {figures}", flush=True)
    if options.json:
        races = [{**asdict(one), "ratios": one.ratios} for one in results]
        said = {"setting": setting(PEERS), "races": races, "event loop": late}
        text = json.dumps(said, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
