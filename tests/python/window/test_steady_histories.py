"""Random agent histories in mode "steady": lists only grow, and no thinking is lost or refused.

`python tests/python/window/test_steady_histories.py 50000 5` runs so many in each dialect, of at
most so many exchanges.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest
from bound_provider import BoundProvider
from fitting import cases
from growing_oracle import GrowingOracle

from warmset import Memory, validate
from warmset.errors import BudgetTooSmall

INDEX_TITLE = "Other turns that may matter"
DIALECTS = ("anthropic", "responses")
SYSTEMS = ("Be brief.", "Be brief. It is noon.")
WORDS = ["port", "config", "yaml", "deploy", "error", "retry", "queue", "cache", "latency"]


TOGETHER = 50
"""Histories in one store."""


class Agent:
    """One agent with a window for each call, in mode "steady" or now and then in mode "jit".

    Args:
        memory: Where its conversation is stored.
        dialect: The dialect of its provider.
        seed: What it says and does.
        most: The most exchanges.
        options: Further options of its windows.
    """

    def __init__(self, memory, dialect, seed, most=13, **options):
        self.most, self.options = most, options
        self.rng, self.provider = random.Random(seed), BoundProvider(dialect, seed)
        self.memory, self.dialect, self.name = memory, dialect, f"{dialect} {seed}"
        self.oracle, self.found = GrowingOracle(), Counter()
        self.history = []
        self.branched = set()  # epochs that have not been seen since the history branched
        self.whole = self.rng.random() < 0.5  # sends whole lists, else appends
        self.restless = self.rng.random() < 0.3
        self.mixed = self.rng.random() < 0.3
        self.model, self.system = "m", SYSTEMS[0]
        self.budget = self.rng.choice((900, 1_500, 3_000) if most > 5 else (500, 700, 1_000))
        self.recall = self.rng.choice((0.05, 0.2))
        self.without = {}  # by epoch, the thinking that is left out of its lists

    def run(self):
        """Ask, work, go back and change its mind a few times."""
        for number in range(self.rng.randrange(min(4, self.most), self.most + 1)):
            if self.restless:
                self.model = self.rng.choice(("m", "m", "n"))
                self.system = self.rng.choice((*SYSTEMS, SYSTEMS[0]))
            self.say([self.question(number)])
            if self.rng.random() < 0.1:
                self.window()  # sent, and never answered
                self.say([self.question(number)])
            steps = self.rng.choice((0, 0, 1, 3, 6))
            try:
                while self.call(calls=steps > 0):
                    steps -= 1
            except BudgetTooSmall:
                return self.found
            if self.rng.random() < 0.15:
                self.go_back()
        return self.found

    def question(self, number):
        words = " ".join(self.rng.choice(WORDS) for _ in range(self.rng.randrange(2, 60)))
        return {"role": "user", "content": f"question {number}: {words}"}

    def say(self, messages, window=None):
        self.history += messages
        if not self.whole:
            self.memory.conversation(self.name).append(messages, window=window)

    def go_back(self):
        """Leave the history at a question, and ask another one."""
        asked = [
            at
            for at, one in enumerate(self.history)
            if one.get("role") == "user" and isinstance(one["content"], str)
        ]
        self.history = self.history[: self.rng.choice(asked)]
        if not self.whole:
            self.memory.conversation(self.name).sync(self.history)
        self.branched = set(self.oracle.last)

    def window(self):
        """Make a window, and compare it with the last one of its epoch."""
        mode = "jit" if self.mixed and self.rng.random() < 0.2 else "steady"
        given = {"budget": self.budget, "mode": mode, "model": self.model, "system": self.system}
        given |= {"dialect": self.dialect, "recall_share": self.recall, **self.options}
        if self.whole:
            made = self.memory.process(self.history, conversation=self.name, **given)
        else:
            made = self.memory.conversation(self.name).window(**given)
        report = made.report
        self.found.update(removed=sum(one.blocks for one in report.thinking.removed))
        if mode == "steady":
            epoch = (self.model, report.epoch.number, report.epoch.why)
            self.found.update(epochs=report.epoch.began, recalled=bool(report.epoch.recalled))
            assert made.tokens <= self.budget
            self.found.update(invalid=len(validate(made.messages, dialect=self.dialect)))
            roles = {"system", "developer"}
            self.found.update(
                instructed=sum(
                    one.get("role") in roles and INDEX_TITLE in str(one) for one in made.messages
                )
            )
            left = {one.id for one in report.thinking.removed}
            lost = self.without.get(epoch, left) != left  # it is listed, and changes what follows
            self.without[epoch] = left
            self.oracle.look(
                epoch, self.system, made.messages, branched=epoch in self.branched or lost
            )
            self.branched.discard(epoch)
            again = self.memory.conversation(self.name).window(**given)
            assert again.messages == made.messages
        return made

    def call(self, *, calls):
        """Make one call; return whether the model called a tool."""
        made = self.window()
        call = made.anthropic() if self.dialect == "anthropic" else made.responses()
        messages = call.get("messages") or call["input"]
        answer = self.provider.reply(
            messages, system=call.get("system"), model=self.model, calls=calls
        )
        results = self.provider.result(answer)
        self.say([*answer, *results], made if self.rng.random() < 0.5 else None)
        self.found.update(calls=1)
        return bool(results)


def run(dialect, seeds, most=13, **options):
    """Return what became of a history for each seed."""
    found = Counter()
    for start in range(0, len(seeds), TOGETHER):
        with Memory.open(None, embedder="lexical") as memory:
            for seed in seeds[start : start + TOGETHER]:
                agent = Agent(memory, dialect, seed, most, **options)
                found.update(agent.run())
                found.update(
                    kept=agent.provider.kept,
                    dropped=agent.provider.dropped,
                    unequal=agent.oracle.unequal,
                    grown=agent.oracle.grown,
                )
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lists_only_grow(dialect):
    found = run(dialect, range(cases(30, 300)))
    assert found["dropped"] == 0
    assert found["unequal"] == 0
    assert found["grown"] > 400
    assert found["recalled"] > 5
    assert found["epochs"] > 50
    assert found["kept"] > found["calls"]
    assert found["invalid"] == found["instructed"] == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lists_with_instructing_index_lines_only_grow(dialect):
    found = run(dialect, range(cases(20, 200)), index_role="system", recall_share=0.3, shortlist=4)
    assert (found["dropped"], found["unequal"], found["invalid"]) == (0, 0, 0)
    assert found["instructed"] > 15
    assert found["kept"] > found["calls"]


if __name__ == "__main__":
    for one in DIALECTS:
        for given in ({}, {"index_role": "system", "recall_share": 0.3, "shortlist": 4}):
            found = run(one, range(int(sys.argv[1])), int(sys.argv[2]), **given)
            print(one, given, dict(found), flush=True)
