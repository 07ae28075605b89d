"""The contests of `race.py`: single queries, batches, peers of convenience, filters."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

# One thread, before numpy starts more.
from benches.python.from_tests import index_vectors, oracle, real_vectors

# isort: split
import numpy as np

from benches.python.index import peers, stores
from benches.python.index.timing import Memory, progress, turns
from benches.python.race import Result, check
from warmset import Filter
from warmset.lab.corpus import locomo, rows as file
from warmset.native import HotIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

K = peers.K
QUERIES = 256
CHECKED = 8
MILLION = 1_000_000
TALKS, TENANTS, STRETCH = 1_000, 10, 20  # of a million rows: turns come in stretches

GRAPHS = {"hnswlib": peers.Hnswlib, "faiss HNSW": peers.FaissGraph}
SCANS = {"usearch exact bf16": peers.Usearch, "usearch exact i8": peers.UsearchBytes}
CONVENIENT = {
    "sqlite-vec": stores.SqliteVec,
    "lancedb": stores.LanceDb,
    "qdrant local": stores.Qdrant,
    "a loop in Python": stores.Loop,
}


def contestants(kind: str, n: int) -> dict[str, type[peers.Peer]]:
    """Say who is raced with so many rows of a kind."""
    chosen: dict[str, type[peers.Peer]] = {"faiss flat": peers.Flat}
    if n <= 100_000:
        chosen |= {"numpy": peers.Numpy} | SCANS
    if n >= 10_000:
        chosen["faiss PQ + refine"] = peers.FastScan
    if n <= 10_000 or (kind == "like" and n <= 100_000):
        chosen |= GRAPHS  # more than that takes minutes to build, or never finds 99 %
    return chosen


def brute_force(rows, queries):
    """Score all rows by the canonical sum, some at a time: a million of them are large."""
    parts = []
    for start in range(0, len(rows), 50_000):
        scan = oracle.Scan(rows[start : start + 50_000])
        parts.append([scan.scores(query) for query in queries])
    ids = np.arange(len(rows), dtype=np.uint64)
    return [oracle.best(ids, np.concatenate(scores), K) for scores in zip(*parts, strict=True)]


def ours(rows, **labels) -> tuple[HotIndex, float]:
    """Make an index of ours; how many microseconds a row took."""
    index = HotIndex(rows.shape[1], metric="ip")
    ids = np.arange(len(rows))
    begin = time.perf_counter()
    for start in range(0, len(rows), 10_000):
        part = slice(start, start + 10_000)
        some = {name: column[part] for name, column in labels.items()}
        index.add(ids[part], rows[part], **some)
    return index, (time.perf_counter() - begin) * 1e6 / len(rows)


def scanned(index: HotIndex, query) -> tuple[str, float]:
    """Name the codes that a search reads first, and count the bytes of all of them."""
    told = index.explain(query, K)
    heads = ", ".join(f"{head} {rows:,}" for head, rows in told.heads.items())
    return heads, float((told.bytes_per_row or 4 * index.dim) * len(index))


def build(name: str, make: type[peers.Peer], rows) -> peers.Peer | None:
    """Give a peer its rows; None if it is not installed."""
    progress(f"{name}: building with {len(rows):,} rows")
    try:
        return make(rows)
    except ImportError as reason:
        progress("")
        print(f"skipped {name}: {reason}", file=sys.stderr)
        return None


def drawn(kind: str, n: int):
    """Give n rows of a kind and the queries; as many real ones as there are, at most.

    Raises:
        NoModel: Real vectors were not made yet, and the local model is not here.
    """
    if kind == "real":
        n = min(n, len(real_vectors.texts()) // 1_000 * 1_000 - QUERIES)
    return index_vectors.vectors(kind, n, QUERIES)


def said(path: Path):
    """Give the turns of LoCoMo's conversations as rows, and questions about them as queries.

    Raises:
        NoModel: They were not embedded yet, and the local model is not here.
    """
    talks = list(locomo.read_all(locomo.samples(file.whole(path)) or []))
    lines = [str(line.message["content"]) for talk in talks for line in talk.lines]
    asked = [question.text for talk in talks for question in talk.questions]
    few = asked[:: max(1, len(asked) // QUERIES)][:QUERIES]
    return real_vectors.embedded([line for line in lines if line]), real_vectors.embedded(few)


def searches(kind: str, rows, queries, seconds: float) -> Iterator[Result]:
    """Race single queries, then batches of 64."""
    n, m = len(rows), len(queries)
    index, insert = ours(rows)
    found, scores, _ = index.search_batch(queries, K)
    answers = brute_force(rows, queries[:CHECKED])
    for at, answer in enumerate(answers):
        check(oracle.same(index.search(queries[at], K), answer), f"ours, {kind} {n}, {at}")
        check(oracle.same((found[at], scores[at]), answer), f"our batch, {kind} {n}, {at}")

    calls = {"warmset": lambda at: index.search(queries[at % m], K)}
    batches = {"warmset": lambda _: index.search_batch(queries[:64], K)}
    notes: dict[str, float | str] = {"µs an insert of warmset": insert}
    for name, make in contestants(kind, n).items():
        peer = build(name, make, rows)
        if peer is None:
            continue
        sample = m if n < MILLION else 64
        settled = peer.settle(queries[:sample], found[:sample])
        check(not peer.exact or settled["recall"] > 0.999, f"{name}, {kind} {n}: {settled}")
        if not peer.exact:
            notes |= {f"{what} of {name}": value for what, value in settled.items()}
        if name != "numpy":  # it takes the rows as they are
            notes[f"µs an insert of {name}"] = peer.seconds * 1e6 / n
        calls[name] = lambda at, peer=peer: peer.one(queries[at % m])
        if name in {"faiss flat", "numpy"}:
            batches[name] = lambda _, peer=peer: peer.many(queries[:64])
    head, size = scanned(index, queries[0])
    memory = Memory(size)
    result = turns(f"{kind} {n:,}", calls | memory.calls(), seconds)
    memory.note(result)
    result.notes |= {"read first": head, "bytes of a row read first": size / n}
    result.notes |= notes
    for at in range(0, m, m // CHECKED):
        again = index.search(queries[at], K)
        check(oracle.same(again, (found[at], scores[at])), f"the same answer again, {kind} {n}")
    yield result
    yield turns(f"batch of 64, {kind} {n:,}", batches, seconds)


def convenience(n: int, seconds: float) -> Iterator[Result]:
    """Race those whom one takes because they are at hand."""
    rows, queries = index_vectors.vectors("like", n, QUERIES)
    index, _ = ours(rows)
    answers = brute_force(rows, queries[:CHECKED])
    check(all(oracle.same(index.search(query, K), answer)
              for query, answer in zip(queries, answers, strict=False)), "ours")  # fmt: skip
    calls = {"warmset": lambda at: index.search(queries[at % QUERIES], K)}
    for name, make in CONVENIENT.items():
        if (peer := build(name, make, rows)) is not None:
            share = peer.settle(queries[:CHECKED], [ids for ids, _ in answers])["recall"]
            check(share > 0.98, f"{name} finds {share:.3f}")
            calls[name] = lambda at, peer=peer: peer.one(queries[at % QUERIES])
    yield turns(f"convenience, like {n:,}", calls, seconds)


def filters(n: int, seconds: float) -> Iterator[Result]:
    """Time searches of a part of n rows, beside those of all of them; nobody else stands here."""
    progress(f"filters, {n:,} rows")
    rows, queries = index_vectors.vectors("like", n, QUERIES)
    rng = np.random.default_rng(1)
    talk = np.repeat(rng.integers(TALKS, size=-(-n // STRETCH)), STRETCH)[:n].astype(np.uint32)
    tenant, at = talk % TENANTS, np.arange(n) * 1_000
    mine, whose = int(talk[n // 2]), int(tenant[n // 2])
    index = HotIndex(rows.shape[1], metric="ip")
    for start in range(0, n, 10_000):
        part = np.arange(start, min(n, start + 10_000))
        for kind, chosen in (("summary", part[::10]), ("turn", part[part % 10 != 0])):
            index.add(chosen, rows[chosen], kind=kind, tenant=tenant[chosen],
                      conversation=talk[chosen], at=at[chosen])  # fmt: skip
    end = at[-1] + 1
    places = np.arange(n)
    parts = {
        "one conversation": (Filter(tenant=whose, conversation=mine), talk == mine),
        "one tenant": (Filter(tenant=whose), tenant == whose),
        "one kind": (Filter(kind="summary"), places % 10 == 0),
        "the newest hundredth": (Filter(since=int(end * 0.99)), at >= int(end * 0.99)),
        "the newest half": (Filter(since=int(end // 2)), at >= int(end // 2)),
    }
    calls = {"all rows": lambda at: index.search(queries[at % QUERIES], K)}
    sizes: dict[str, float | str] = {}
    for name, (where, inside) in parts.items():
        for query in queries[:2]:
            ids, scores = brute_force(rows[inside], [query])[0]
            answer = places[inside][ids.astype(np.int64)].astype(np.uint64), scores
            check(oracle.same(index.search(query, K, where=where), answer), f"filter, {name}")
        calls[name] = lambda at, where=where: index.search(queries[at % QUERIES], K, where=where)
        sizes[f"rows of {name}"] = str(int(inside.sum()))
    result = turns(f"filters, like {n:,}", calls, seconds)
    result.notes |= sizes
    yield result
