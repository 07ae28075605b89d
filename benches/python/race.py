"""All peers in one process, in turns, on one core: a table of ratios, and the numbers as JSON.

    taskset -c 0 python -m benches.python.race --json benches/results/<name>.json

Contestants run in turns of a few calls, so that whatever else the machine does hits them alike; a
turn's first call is not counted, as it pays for what the one before left in the caches. Every
result is checked. It takes about a minute and a half; the first run also makes the real vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
import numpy as np

from benches.python import material, peers
from warmset import Memory
from warmset._core import count_texts
from warmset.embed import FunctionEmbedder
from warmset.native import ColdStore, HotIndex, pack_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    Call: TypeAlias = Callable[[int], object]


@dataclass
class Result:
    """What one contest gave: microseconds a call, by contestant; ours is the first."""

    name: str
    microseconds: dict[str, float]
    calls: int
    notes: dict[str, float | str] = field(default_factory=dict)

    @property
    def ratios(self) -> dict[str, float]:
        """How many times longer each peer takes."""
        ours, *others = self.microseconds
        return {name: self.microseconds[name] / self.microseconds[ours] for name in others}


def race(
    name: str,
    contestants: dict[str, Call],
    *,
    rounds: int,
    turn: int = 16,
    of: Callable[[list[float]], float] = median,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Result:
    """Let contestants take turns; each call gets its number.

    Args:
        name: The contest's name.
        contestants: What to call, ours first.
        rounds: Turns of each.
        turn: Calls in one turn that are counted.
        of: The median, or the mean where rare slow calls are part of the price, as checkpoints are.
        clock: What counts nanoseconds; `time.thread_time_ns` where nothing is waited for and others
            use the machine.

    Returns:
        The times.
    """
    times: dict[str, list[float]] = {one: [] for one in contestants}
    numbers = {one: count() for one in contestants}
    order = list(contestants)
    for _ in range(rounds):
        for one in order:
            call, number = contestants[one], numbers[one]
            call(next(number))
            for _ in range(turn):
                at = next(number)
                begin = clock()
                call(at)
                times[one].append((clock() - begin) / 1e3)
        order.append(order.pop(0))
    result = Result(name, {one: of(found) for one, found in times.items()}, rounds * turn)
    result.notes["p99 of ours"] = sorted(times[next(iter(contestants))])[rounds * turn * 99 // 100]
    return result


def check(fine: object, what: str) -> None:
    """Stop where a result is wrong: a fast wrong answer is no answer."""
    if not fine:
        raise SystemExit(f"wrong result: {what}")


def searches(kind: str, n: int) -> Iterator[Result]:
    """Race single queries and batches over n vectors."""
    rows, queries = material.vectors(kind, n)
    index = HotIndex(rows.shape[1], metric="ip")
    index.add(np.arange(n), rows)
    flat = peers.faiss_index(rows)
    singles = [query[None] for query in queries]
    m = len(queries)
    for at in (0, m // 2, m - 1):
        query = queries[at]
        check(peers.same_bits(index.search(query, peers.K), rows, query), f"ours, {kind} {n}")
        check(peers.near(peers.numpy_search(rows, query), rows, query), f"numpy, {kind} {n}")
    contestants: dict[str, Call] = {"warmset": lambda at: index.search(queries[at % m], peers.K)}
    batches: dict[str, Call] = {"warmset": lambda _: index.search_batch(queries, peers.K)}
    if flat is not None:
        scores, ids = flat.search(queries, peers.K)
        check(all(peers.near((ids[at], scores[at]), rows, queries[at]) for at in (0, 9)), "faiss")
        contestants["faiss flat"] = lambda at: flat.search(singles[at % m], peers.K)
        batches["faiss flat"] = lambda _: flat.search(queries, peers.K)
    contestants["numpy"] = lambda at: peers.numpy_search(rows, queries[at % m])
    batches["numpy"] = lambda _: peers.numpy_batch(rows, queries)
    rounds = {1_000: 120, 10_000: 40}.get(n, 8)
    yield race(f"search {kind} {n:,}", contestants, rounds=rounds)
    if kind != "isotropic":
        return
    ids, scores, _ = index.search_batch(queries, peers.K)
    check(peers.same_bits((ids[9], scores[9]), rows, queries[9]), f"our batch, {n}")
    rounds, turn = (8, 4) if n < 100_000 else (3, 2)
    yield race(f"batch of 64, {kind} {n:,}", batches, rounds=rounds, turn=turn)


def adding() -> Iterator[Result]:
    """Race inserts of 10,000 vectors at once."""
    rows, _ = material.vectors("isotropic", 10_000)
    ids = np.arange(len(rows))

    def ours(_: int) -> object:
        index = HotIndex(rows.shape[1], metric="ip")
        index.add(ids, rows)
        return index

    contestants: dict[str, Call] = {"warmset": ours}
    if peers.faiss_index(rows[:1]) is not None:
        contestants["faiss flat"] = lambda _: peers.faiss_index(rows)
    result = race("add 10,000 at once", contestants, rounds=4, turn=3)
    result.notes["µs a vector"] = result.microseconds["warmset"] / len(rows)
    yield result


def packing() -> Iterator[Result]:
    """Race packing of 1,000 lists of 500."""
    rng = np.random.default_rng(1)
    n = 500_000
    arrays = (np.arange(0, n + 1, 500), rng.integers(5, 400, n), np.round(rng.random(n), 3),
              rng.integers(1_000, 8_000, 1_000))  # fmt: skip
    lists = [column.tolist() for column in arrays]
    chosen, ends = pack_batch(*arrays)
    check((chosen.tolist(), ends.tolist()) == peers.naive_pack(*lists), "pack_batch")
    contestants: dict[str, Call] = {
        "warmset": lambda _: pack_batch(*arrays),
        "loop in Python": lambda _: peers.naive_pack(*lists),
    }
    yield race("pack_batch 1,000 x 500", contestants, rounds=3, turn=2)


def counting() -> Iterator[Result]:
    """Race counts of half a megabyte in messages."""
    try:
        import rs_bpe  # noqa: PLC0415 - a peer
    except ImportError:
        return
    parts = [material.corpus(part) for part in range(material.PARTS)]
    size = sum(len(text.encode()) for part in parts for text in part) / 1e6 / len(parts)
    for encoding in ("o200k_base", "cl100k_base"):
        reference = getattr(rs_bpe.openai, encoding)()
        found: dict[str, list[list[int]]] = {"warmset": [], "rs-bpe": []}
        contestants: dict[str, Call] = {
            "warmset": lambda at, e=encoding, f=found: f["warmset"].append(
                count_texts(parts[at], e)
            ),
            "rs-bpe": lambda at, r=reference, f=found: f["rs-bpe"].append(
                [r.count(text) for text in parts[at]]
            ),
        }
        # Each part is counted once: both keep words that they met.
        result = race(f"count {size:.2f} MB, {encoding}", contestants, rounds=4, turn=3)
        check(found["warmset"] == found["rs-bpe"], f"tokens of {encoding}")
        for one, micros in result.microseconds.items():
            result.notes[f"MB/s of {one}"] = size * 1e6 / micros
        yield result


def storing(place: Path) -> Iterator[Result]:
    """Race durable appends, batches and reads of 1 KB records."""
    payloads = [os.urandom(peers.KILOBYTE) for _ in range(1_000)]
    rows = [peers.row(payload) for payload in payloads]
    with ExitStack() as stack:
        store = stack.enter_context(ColdStore.open(place / "store", segment_bytes=8 << 20))
        raw, base = peers.RawFile(place / "raw"), peers.Sqlite(place / "base")
        stack.callback(raw.close)
        stack.callback(base.close)
        contestants: dict[str, Call] = {
            "warmset": lambda at: store.append([rows[at % 1_000]]),
            "raw + fdatasync": lambda at: raw.append(payloads[at % 1_000]),
            "SQLite FULL": lambda at: base.append(payloads[at % 1_000]),
        }
        result = race("durable append 1 KB, mean", contestants, rounds=60, turn=50, of=fmean)
        result.notes["records/s"] = 1e6 / result.microseconds["warmset"]
        yield result
        check(store.verify()["records"] == raw.count == base.count == 60 * 51, "appends")

        contestants = {
            "warmset": lambda _: store.append(rows),
            "raw + fdatasync": lambda _: raw.append_all(payloads),
            "SQLite FULL": lambda _: base.append_all(payloads),
        }
        result = race("durable 1,000 x 1 KB, mean", contestants, rounds=10, turn=4, of=fmean)
        result.notes["records/s"] = 1e9 / result.microseconds["warmset"]
        yield result
        total = 60 * 51 + 50 * 1_000
        check(store.verify()["records"] == base.count == total, "batches")

        ids = [1 + at * 7919 % 20_000 for at in range(5_000)]  # in sealed segments
        contestants = {
            "warmset": lambda at: store.get(ids[at % 5_000]).payload,
            "SQLite": lambda at: base.get(ids[at % 5_000]),
        }
        check(all(contestants["warmset"](at) == contestants["SQLite"](at) for at in range(999)),
              "reads")  # fmt: skip
        result = race("read 1 KB by id", contestants, rounds=20, turn=500)
        result.notes["bytes a record"] = store.stats()["bytes"] / total
        yield result


def windowing() -> Iterator[Result]:
    """Time windows and searches of 10,000 turns; nobody else makes these."""
    asked = material.texts(500)
    vectors = material.hashed(asked)
    embedder = FunctionEmbedder(material.hashed, dim=material.DIM)
    with Memory.open(None, embedder=embedder) as memory:
        talk = memory.conversation("log")
        talk.append(material.conversation(10_000))
        check(memory.flush(600), "vectors in time")

        def ask(at: int) -> object:
            question = f"{asked[at % 500][:80]} {at}"  # new each time: no picks are frozen
            return talk.window(question, query_vector=vectors[at % 500], budget=4_000)

        window = ask(0)
        check(0 < window.report.tokens_sent <= 4_000 and window.report.picked, "window")
        yield race("window() of 10,000 turns", {"warmset": ask}, rounds=20, turn=20)
        contestants: dict[str, Call] = {
            "warmset": lambda at: talk.search(
                asked[at % 500][:80], query_vector=vectors[at % 500], k=12
            )
        }
        check(len(contestants["warmset"](0)) == 12, "search")
        yield race("search() of 10,000 turns", contestants, rounds=20, turn=20)


def contests(place: Path, sizes: list[int]) -> Iterator[Result]:
    """Hold all contests, one after the other."""
    for kind in material.KINDS:
        for n in sizes:
            if (kind, n) == ("real", 100_000):
                continue
            try:
                yield from searches(kind, n)
            except material.NoModel as error:
                print(f"no real vectors: {error}", file=sys.stderr)
                break
            material.vectors.cache_clear()
    yield from adding()
    yield from packing()
    yield from counting()
    yield from storing(place)
    yield from windowing()


def line(result: Result) -> str:
    """Put a result into one row of the table."""
    ours, *_ = result.microseconds
    ratios = "  ".join(f"{one} x {ratio:.2f}" for one, ratio in result.ratios.items())
    notes = ", ".join(
        f"{key} {value:,.1f}" if isinstance(value, float) else f"{key} {value}"
        for key, value in result.notes.items()
    )
    return f"{result.name:30} {result.microseconds[ours]:>12,.1f} µs  {ratios:44}  {notes}"


def report(results: Iterable[Result], found: dict[str, Any], begin: float, to: Path | None) -> None:
    """Print each result as it comes, and write all of them with their setting."""
    made = []
    for result in results:
        print(line(result), flush=True)
        made.append(asdict(result) | {"ratios": result.ratios})
    found["load at the end"] = os.getloadavg()
    found["seconds"] = round(time.perf_counter() - begin, 1)
    print(f"{found['seconds']} s, load at the end {found['load at the end']}")
    if to:
        to.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"setting": found, "results": made}, indent=1, ensure_ascii=False)
        to.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Run all contests, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--commit", help="what was built, if that is not the checkout")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    options = parser.parse_args()
    found, begin = setting(), time.perf_counter()
    if options.commit:
        found |= {"commit": options.commit, "changed": "not looked at"}
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if found["cores"] != 1:
        print("not pinned: run it under taskset -c 0", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=options.place) as place:
        report(contests(Path(place), options.sizes), found, begin, options.json)


if __name__ == "__main__":
    main()
