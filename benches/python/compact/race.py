"""Compaction beside langchain's and Agent Framework's: time, tokens, and what can still be had.

    taskset -c 0 python -m benches.python.compact.race --peers DIR --install \
        --locomo FILE --json benches/results/<name>.json

All get the same lists, about the same share of their tokens, and the same summary text for the same
turns; what a model takes is a stated latency, slept through. The peers run in interpreters of their
own and take turns with ours. Facts are planted in the turns; of those whose turn left a list it is
counted how many can still be had: in the window, by a search, by a handle. It takes five minutes;
`--quick` is for trying it out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from statistics import median

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
import numpy as np

from benches.python import material
from benches.python.compact import peers, show
from benches.python.compact.material import (
    FACTS,
    agent_run,
    conversations,
    in_window,
    with_facts,
)
from benches.python.compact.ours import Compact, Prepared
from benches.python.race import check
from benches.python.trim import peers as trim_peers
from warmset import count_tokens, validate
from warmset.embed import FunctionEmbedder, MiniLM
from warmset.embed.weights import resolve

SHARE = 0.4
LATENCY = 1.0
ROUNDS = {100: 40, 1_000: 20, 4_000: 6}
WAITING = 2


@cache
def _row(text):
    return material.hashed([text])[0]


def _hashed(texts):
    """Embed without a model, each text once: memories come and go in a race."""
    return np.stack([_row(text) for text in texts])


def sized(messages):
    """Return what a list costs, and what a summary of it may have."""
    tokens = count_tokens(messages)
    return tokens, min(2_000, max(100, tokens // 20))


def checked(name, outcome):
    """Stop where a list is not what its maker promises."""
    check(outcome.held, f"{name}: its promise")
    return outcome


def timing(n, contestants, rounds):
    """Let contestants take turns on one list."""
    given = agent_run(n)
    tokens, summary_tokens = sized(given)
    calls = {name: ([], [], []) for name in contestants}
    for who in contestants.values():
        who.take(given, SHARE, summary_tokens)
    order, last = list(contestants), {}
    for number in range(rounds):
        show.progress(f"{n:,} messages: {number + 1} of {rounds}")
        for name in order:
            wall, cpu, late = calls[name]
            if "no time ahead" not in name:  # that one is about waiting
                last[name] = checked(name, contestants[name].call(0))
                wall.append(last[name].wall * 1e3)
                cpu.append(last[name].cpu * 1e3)
            if number < WAITING:
                one = checked(name, contestants[name].call(LATENCY))
                late.append(one.wall * 1e3)
                last.setdefault(name, one)
        order.append(order.pop(0))
    rows = {}
    for name, (wall, cpu, late) in calls.items():
        ranked = sorted(wall)
        rows[name] = {
            "calls": len(wall),
            "p50": median(ranked) if ranked else None,
            "p99": ranked[len(ranked) * 99 // 100] if ranked else None,
            "max": max(ranked, default=None),
            "cpu": median(cpu) if cpu else None,
            "with latency": median(late),
            "with latency, max": max(late),
            "model calls at the wall": last[name].model_calls,
            "tokens after": count_tokens(last[name].messages),
            "share": count_tokens(last[name].messages) / tokens,
            "messages after": len(last[name].messages),
            "invalid": len(validate(last[name].messages)),
        }
    for name in ("compact_context", "compact_context, memory", "PreparedCompaction"):
        check(rows[name]["invalid"] == 0, f"{name}: a valid list")
    return {"messages": len(given), "tokens": tokens, "ms": rows}


def quality(source, messages, contestants):
    """Plant facts in a transcript, compact it, and look for those whose turn left."""
    given, facts = with_facts(messages)
    tokens, summary_tokens = sized(given)
    rows = {}
    for name, who in contestants.items():
        show.progress(f"{source}: {name}")
        who.take(given, SHARE, summary_tokens)
        window = checked(name, who.call(0)).messages
        stayed = {one["content"] for one in window if isinstance(one["content"], str)}
        gone = [fact for fact in facts if given[fact.at]["content"] not in stayed]
        had = [in_window(fact, window) for fact in gone]
        found = [fact.at in who.found(fact.asked) for fact in gone]
        handed = [who.handed(fact.at) == given[fact.at] for fact in gone]
        if name in ("compact_context, memory", "PreparedCompaction"):
            check(all(handed), f"{name}: every turn that left comes back by its handle")
            check(validate(window) == [], f"{name}: a valid list")
        rows[name] = {
            "planted": len(facts),
            "stayed": len(facts) - len(gone),
            "left": len(gone),
            "verbatim": sum(sentence for sentence, _ in had),
            "values": sum(values for _, values in had),
            "search": sum(found),
            "handle": sum(handed),
            "any": sum(any(one) for one in zip((v for _, v in had), found, handed, strict=True)),
            "share": count_tokens(window) / tokens,
            "task kept": int(any(one["content"] == given[0]["content"] for one in window)),
            "invalid": len(validate(window)),
        }
        check(rows[name]["left"] > FACTS // 4, f"{name}: facts left the list")
    return {"source": source, "messages": len(given), "tokens": tokens, "facts": rows}


def ours(stack, embedder):
    """Make the contestants of ours."""
    out = {
        "compact_context": Compact(embedder, keeps=False),
        "compact_context, memory": Compact(embedder, keeps=True),
        "PreparedCompaction": Prepared(embedder),
    }
    for one in out.values():
        stack.callback(one.close)
    return out


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--peers", type=Path, help="directory of the peers' environments")
    parser.add_argument("--install", action="store_true", help="make what is not there, with pip")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's file, for its conversations")
    parser.add_argument("--model", action="store_true", help="facts by the local model's vectors")
    parser.add_argument("--quick", action="store_true", help="100 messages, few calls")
    options = parser.parse_args()
    named = os.environ.get(trim_peers.VARIABLE)
    place = options.peers or (Path(named) if named else None)
    if options.install:
        if place is None:
            parser.error(f"--install needs --peers or {trim_peers.VARIABLE}")
        trim_peers.install(place, peers.NEEDS)
    found, begin = setting(("numpy",)), time.perf_counter()
    for given, word in ((options.peers, "DIR"), (options.locomo, "FILE")):
        if given:  # where somebody keeps environments and data says nothing about a number
            found["command"] = str(found["command"]).replace(str(given), word)
    if found["cores"] != 1:
        print("not pinned: run it under taskset -c 0", file=sys.stderr)
    rounds = {100: 5} if options.quick else ROUNDS
    hashed = FunctionEmbedder(_hashed, dim=material.DIM, fingerprint="hashed-words")
    used = MiniLM(path=resolve(sources={}).tensors.parent) if options.model else hashed
    with ExitStack() as stack:
        others = peers.peers(stack, place, found["peers"])
        racing = ours(stack, hashed)
        racing["PreparedCompaction, no time ahead"] = late = Prepared(hashed, ahead=False)
        stack.callback(late.close)
        timed = racing | {name: who for name, who in others.items() if "first user" not in name}
        times = [timing(n, timed, count) for n, count in rounds.items()]
        asked = ours(stack, used)
        asked["PreparedCompaction, no carry"] = bare = Prepared(used, carry=0)
        stack.callback(bare.close)
        talks = list(conversations(options.locomo))
        facts = [quality(*one, asked | others) for one in (talks[:1] if options.quick else talks)]
    found |= {
        "share": SHARE,
        "latency": LATENCY,
        "facts by": "MiniLM" if options.model else "hashed words",
    }
    found |= {"load at the end": os.getloadavg()}
    found["seconds"] = round(time.perf_counter() - begin, 1)
    show.progress("")
    show.show(found, times, facts)
    if options.json:
        made = {"setting": found, "times": times, "facts": facts}
        text = json.dumps(made, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
