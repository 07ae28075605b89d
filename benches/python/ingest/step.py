"""What a step of an agent costs: an append over the bare store's, and a turn over its embedding.

    taskset -c 0 python -m benches.python.ingest.step [--turns 1000] [--rounds 400] [--json FILE]

Append: `Conversation.append` of one message, by words alone, beside `ColdStore.append` of the same
bytes, both with durability "os", in turns; medians of microseconds. Step: a message is appended, a
window asked for it, and a reply appended, beside the embedding of that query alone, with MiniLM and
a conversation of so many turns; medians of milliseconds. The queries are new ones.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
from benches.python.race import check
from benches.python.scale import WORDS, talk
from warmset import Memory, messages
from warmset.embed import named
from warmset.native import ColdStore

if TYPE_CHECKING:
    from collections.abc import Callable


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def appends(folder: Path, rounds: int) -> dict[str, float]:
    """Measure appends of one message, in microseconds."""
    ours: list[float] = []
    bare: list[float] = []
    key, meta = [b"default", b"bare"], b'{"at":1.0}'
    batch = talk(1, rounds)
    with (
        ColdStore.open(folder / "bare", durability="os") as store,
        Memory.open(folder / "ours", embedder="lexical", durability="os") as memory,
    ):
        log = memory.conversation("talk")
        for message in batch:
            payload = messages.dumps(message)
            bare.append(timed(lambda: store.append([("turn", key, meta, payload)])))  # noqa: B023
            ours.append(timed(lambda: log.append(message)))  # noqa: B023
        check(log.messages() == batch, "every message is there")
    return {"append": median(ours) * 1e6, "bare append": median(bare) * 1e6}


def steps(folder: Path, turns: int, rounds: int) -> dict[str, float]:
    """Measure a turn of a conversation, in milliseconds."""
    embedder = named("minilm")
    ours: list[float] = []
    bare: list[float] = []
    queries = (f"What of {one} and {other}?" for one, other in zip(WORDS, WORDS[7:], strict=False))
    with Memory.open(folder / "steps", embedder=embedder, durability="os") as memory:
        log = memory.conversation("talk")
        log.append(talk(2, turns))
        memory.flush()
        reply = {"role": "assistant", "content": "I see."}
        for _, query in zip(range(rounds), queries, strict=False):
            memory.flush()

            def step(query: str = query) -> None:
                log.append({"role": "user", "content": query})
                log.window(budget=4_000)
                log.append(reply)

            ours.append(timed(step))
            memory.flush()
            other = query.replace("What", "And what")  # no vector of it is held
            bare.append(timed(lambda: embedder.embed_query([other])))  # noqa: B023
        check(len(log) == turns + 2 * rounds, "every turn is there")
    return {"step": median(ours) * 1e3, "embedding": median(bare) * 1e3}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = appends(Path(folder), options.rounds)
        found |= steps(Path(folder), options.turns, options.rounds)
    print(f"append: {found['append']:.0f} µs, bare {found['bare append']:.1f}")
    print(f"{found['append'] / found['bare append']:.1f} x")
    print(f"step: {found['step']:.2f} ms, embedding {found['embedding']:.2f}")
    print(f"{found['step'] / found['embedding']:.2f} x")
    if options.json:
        options.json.write_text(
            json.dumps({"setting": setting(), "figures": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
