"""What becomes of facts that stand in dropped turns: kept, distilled, known already, or lost.

``taskset -c 0 python -m benches.python.compact.experiment [--json] [--each 16] [--rounds 3]``

Facts are planted in turns of a user among real texts, and the list is compacted to 40 % of its
tokens. Of each fact the memory says: the same words ("true"), other words ("paraphrased"), nothing
("absent"), or the same sentence with another number ("look-alike"), which is what a cosine alone
takes for known. A fact is lost if no turn that stayed, no memory and no distilled memory states
all of it. The same is measured without the check of facts.
"""

from __future__ import annotations

import argparse
import json
from statistics import mean

from benches.python import material
from benches.python.compact.planted_facts import planted
from benches.python.setting import setting
from warmset import Memory, compact_context
from warmset.compact import CompactWeights
from warmset.embed import MiniLM
from warmset.embed.weights import resolve
from warmset.text.hard_facts import facts_of

KINDS = ("true", "paraphrased", "absent", "look-alike")
NOVEL = ("absent", "look-alike")
RATIO = 0.4


def conversation(facts, seed):
    """Plant facts among real texts: five turns of those for each."""
    fillers = iter(material.texts(6_000)[seed * 700 :])
    out, places = [], {}
    for at, fact in enumerate(facts):
        places[at] = len(out)
        out.append({"role": "user", "content": fact["said"]})
        for turn in range(5):
            role = "user" if turn % 2 else "assistant"
            out.append({"role": role, "content": next(fillers)[:400]})
    return out, places


def run(embedder, *, each, seed, check):
    """Compact one list; gives a row a fact."""
    facts = planted(KINDS, each, seed)
    given, places = conversation(facts, seed)
    with Memory.open(None, embedder=embedder) as memory:
        for fact in facts:
            known = {"true": "said", "paraphrased": "other", "look-alike": "alike"}
            if fact["kind"] in known:
                memory.remember(fact[known[fact["kind"]]])
        weights = CompactWeights(fact_check=check)
        ask = {"memory": memory, "distill_novel": True, "target_ratio": RATIO, "weights": weights}
        made = compact_context(given, **ask)
        assert made.stats.after_tokens <= made.stats.budget
        drops = {drop.id: drop for drop in made.dropped}
        stated = [facts_of(item.text) for item in memory.memories(k=100_000)]
        distilled = [facts_of(item.text) for item in memory.memories(k=100_000) if item.sources]
        rows = []
        for at, fact in enumerate(facts):
            drop, hard = drops.get(places[at]), facts_of(fact["said"])
            assert len(hard) >= 2
            assert hard <= facts_of(fact["other"])
            rows.append(
                {
                    "kind": fact["kind"],
                    "stayed": drop is None,
                    "distilled": drop is not None and any(hard <= one for one in distilled),
                    "known": drop is None or any(hard <= one for one in stated),
                    "coverage": None if drop is None else drop.terms.coverage,
                    "restored": drop is None or memory.restore(drop.handle) == given[places[at]],
                }
            )
        return rows, made.stats


def table(rows):
    """Sum up by kind, in percent."""
    out = {}
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind]
        seen = [row["coverage"] for row in own if row["coverage"] is not None]
        out[kind] = {
            "facts": len(own),
            "stayed": 100 * mean(row["stayed"] for row in own),
            "distilled": 100 * mean(row["distilled"] for row in own),
            "stayed or distilled": 100 * mean(row["stayed"] or row["distilled"] for row in own),
            "lost": 100 * mean(not row["known"] for row in own),
            "coverage when dropped": mean(seen) if seen else None,
            "by handle": 100 * mean(row["restored"] for row in own),
        }
    return out


def main() -> None:
    """Measure and print."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--each", type=int, default=16)
    reader.add_argument("--rounds", type=int, default=3)
    asked = reader.parse_args()
    embedder = MiniLM(path=resolve(sources={}).tensors.parent)
    found = {}
    for check in (True, False):
        rows, dropped = [], []
        for seed in range(asked.rounds):
            own, stats = run(embedder, each=asked.each, seed=seed, check=check)
            rows += own
            dropped.append(stats.dropped_pct)
        name = "with the check of facts" if check else "without it"
        found[name] = {"dropped_pct": mean(dropped), "kinds": table(rows)}
    if asked.json:
        print(json.dumps({"setting": setting(), "ratio": RATIO, "results": found}, indent=1))
        return
    for name, result in found.items():
        print(f"\n{name}: {result['dropped_pct']:.1f} % of the messages dropped")
        columns = list(next(iter(result["kinds"].values())))
        print(f"{'':14}" + "".join(f"{column:>23}" for column in columns))
        for kind, own in result["kinds"].items():
            cells = ("-" if one is None else f"{one:.2f}" for one in own.values())
            print(f"{kind:14}" + "".join(f"{cell:>23}" for cell in cells))


if __name__ == "__main__":
    main()
