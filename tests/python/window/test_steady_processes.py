"""Steady windows of several processes on one store: the list goes on in whichever makes the next.

`python tests/python/window/test_steady_processes.py 2000 500` runs 2,000 histories across processes
and 500 with processes that are killed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from bound_provider import BoundProvider
from fitting import cases
from growing_oracle import GrowingOracle
from steady_workers import Workers

WORDS = ["port", "config", "yaml", "deploy", "error", "retry", "queue", "cache", "latency"]


def history(workers, dialect, seed, *, kills=False):
    """Play one history; each call is made by another process."""
    rng, provider, oracle = random.Random(seed), BoundProvider(dialect, seed), GrowingOracle()
    said, found, without, model = [], Counter(), {}, "m"
    sends_back = rng.random() < 0.3
    given = {"conversation": f"{dialect} {seed} {kills}", "dialect": dialect, "budget": 1_500}
    given |= {"system": "Be brief.", "recall_share": 0.2}
    for number in range(rng.randrange(4, 12)):
        words = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(2, 60)))
        said.append({"role": "user", "content": f"question {number}: {words}"})
        steps = rng.choice((0, 0, 2, 5))
        while True:
            request = given | {"messages": said, "model": model}
            at, made = rng.randrange(len(workers.running)), None
            if kills and rng.random() < 0.2:
                made = workers.ask(at, request, rng.random() * 2)
                found.update(killed=1, answered=made is not None)
            if made is None:
                made = workers.ask(at, request)
            if made is None:
                return found
            epoch = (model, *made["epoch"])
            removed = set(made["removed"])
            lost = without.get(epoch, removed) != removed
            without[epoch] = removed
            oracle.look(epoch, made["system"], made["messages"], branched=lost)
            found.update(recalled=made["recalled"] > 0)
            found.update(left=any("left" in one for one in made["notes"]))
            answer = provider.reply(
                made["messages"], system=made["system"], model=model, calls=steps > 0
            )
            results = provider.result(answer)
            said = made["messages"] if sends_back else said
            said = [*said, *answer, *results]
            found.update(calls=1)
            steps -= 1
            if not results:
                break
    found.update(dropped=provider.dropped, kept=provider.kept)
    found.update(unequal=oracle.unequal, grown=oracle.grown)
    return found


def run(path, seeds, *, kills=False):
    found, workers = Counter(), Workers(path, 3)
    try:
        for seed in seeds:
            found.update(history(workers, ("anthropic", "responses")[seed % 2], seed, kills=kills))
    finally:
        workers.close()
    return found


@pytest.mark.parametrize("kills", [False, True])
def test_the_list_goes_on_in_another_process(kills, tmp_path):
    found = run(tmp_path, range(cases(8, 100)), kills=kills)
    assert found["dropped"] == 0
    assert found["unequal"] == 0
    assert found["left"] == 0 or kills
    assert found["grown"] > 50
    assert found["kept"] > found["calls"]
    if kills:
        assert 2 < found["answered"] < found["killed"] - 2


if __name__ == "__main__":
    for one, more in ((int(sys.argv[1]), False), (int(sys.argv[2]), True)):
        with tempfile.TemporaryDirectory() as place:
            print("killed" if more else "processes", dict(run(Path(place), range(one), kills=more)))
