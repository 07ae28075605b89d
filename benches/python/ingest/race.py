"""Ingest against the bare embedder: what keeping, splitting, storing and indexing add to it.

``taskset -c 0 python -m benches.python.ingest.race [--embedder static] [--turns 400] [--rounds 5]``

A round appends turns to a new durable store and waits until all have their vectors; the bare
embedder then embeds the very batches that the worker gave it. Rounds of both alternate, so that a
busy machine hits them alike; the first of each is not counted. Both clocks are read: on a busy
machine the processor's is the steadier one, but it does not see the disk.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from benches.python import material
from warmset import Memory
from warmset.embed import named


class Recording:
    """Passes on to an embedder and remembers each batch and its vectors."""

    def __init__(self, embedder):
        self._embedder = embedder
        self.name, self.fingerprint = embedder.name, embedder.fingerprint
        self.dim, self.remote = embedder.dim, embedder.remote
        self.split, self.embed_query = embedder.split, embedder.embed_query
        self.batches, self.vectors = [], []

    def embed(self, texts):
        rows = self._embedder.embed(texts)
        self.batches.append(list(texts))
        self.vectors.append(rows)
        return rows


def ingest(embedder, turns, batch):
    """Append turns and wait for their vectors; returns both times, batches and their vectors."""
    recording = Recording(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="warmset-bench-") as path,
        Memory.open(path, embedder=recording) as memory,
    ):
        log = memory.conversation("log")
        begin, worked = time.perf_counter(), time.process_time()
        for start in range(0, len(turns), batch):
            log.append(turns[start : start + batch])
        assert memory.flush(3_600)
        took = time.perf_counter() - begin, time.process_time() - worked
        stats = memory.stats()
        assert (stats["ready"], stats["pending"], stats["failed"]) == (len(turns), 0, {})
        assert memory.search(turns[7]["content"], k=1).ids == [log.ids[7]]
    return took, recording.batches, recording.vectors


def bare(embedder, batches, vectors):
    """Embed batches; returns seconds on the wall and of the processor."""
    begin, worked = time.perf_counter(), time.process_time()
    made = [embedder.embed(texts) for texts in batches]
    took = time.perf_counter() - begin, time.process_time() - worked
    assert all(map(np.array_equal, made, vectors)), "the same texts have the same vectors"
    return took


def main(arguments):
    """Measure and print; returns the figures."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--embedder", default="minilm")
    given.add_argument("--turns", type=int, default=400)
    given.add_argument("--rounds", type=int, default=5)
    given.add_argument("--batch", type=int, default=2, help="messages of one append")
    given.add_argument("--json", type=Path)
    options = given.parse_args(arguments)
    embedder = named(options.embedder)
    embedder.embed(["the model is loaded"])
    turns = [
        {"role": ("user", "assistant")[n % 2], "content": f"{text[:300]} ({n})"}
        for n, text in enumerate(material.texts(options.turns))
    ]
    ours, theirs = [], []
    for _ in range(options.rounds + 1):
        took, batches, vectors = ingest(embedder, turns, options.batch)
        ours.append(took)
        theirs.append(bare(embedder, batches, vectors))
    texts = sum(map(len, batches))
    assert texts == 2 * len(turns) - 1, "each turn, and all but the last among its neighbours"
    figures = {
        "embedder": embedder.name,
        "texts": texts,
        "ingest_s": ours[1:],
        "bare_s": theirs[1:],
    }
    for at, clock in enumerate(("wall", "processor")):
        rates = [texts / median(took[at] for took in part[1:]) for part in (ours, theirs)]
        figures[f"share_{clock}"] = rates[0] / rates[1]
        print(
            f"{embedder.name}, {clock}: ingest {rates[0]:,.0f} texts/s, "
            f"bare {rates[1]:,.0f} texts/s: {rates[0] / rates[1]:.1%}"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
