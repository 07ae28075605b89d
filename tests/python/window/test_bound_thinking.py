"""Random agent histories against a provider that binds thinking to its prefix: nothing is refused.

`python tests/python/window/test_bound_thinking.py 2000` runs that many in each dialect and mode.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest
from bound_provider import BoundProvider

from warmset import Memory, compact_context, fit
from warmset.errors import BudgetTooSmall

DIALECTS = ("anthropic", "responses")
MODES = ("jit", "full", "recency", "steady")
WAYS = ("append", "inferred", "process", "cut", "fit", "compact")
SYSTEMS = ("Be brief.", "Be brief. It is noon.")


def ask(rng, n):
    return {"role": "user", "content": f"question {n} about {rng.choice('abcdef')} " * 4}


class Agent:
    """One agent, and how it keeps its conversation.

    Args:
        seed: What it says and asks for.
        dialect: The dialect of its provider.
        way: "append" (with the window), "inferred" (without), "process" (whole lists), "cut"
            (`Conversation.fit`), "fit" and "compact" (without a store: what was sent goes on).
        memory: Where it is stored.
    """

    def __init__(self, seed, dialect, way, memory):
        self.rng, self.provider = random.Random(seed), BoundProvider(dialect, seed)
        self.dialect, self.way, self.memory, self.name = dialect, way, memory, f"{way} {seed}"
        self.conversation = memory.conversation(self.name)
        self.history, self.removed = [], 0
        self.restless = self.rng.random() < 0.3  # other budgets, models and system prompts
        self.budget, self.model, self.system = 4_000, "m", SYSTEMS[0]
        self.last = None  # what was sent last

    def run(self):
        """Ask, work and go back a few times."""
        for exchange in range(self.rng.randrange(3, 9)):
            self.said([ask(self.rng, exchange)])
            steps = self.rng.randrange(6)
            if self.restless:
                self.model = self.rng.choice(("m", "n"))
                self.system = self.rng.choice(SYSTEMS)
            self.budget = self.rng.choice((400, 700, 1_200, 4_000))
            while True:
                if self.restless:
                    self.budget = self.rng.choice((400, 700, 1_200, 4_000))
                try:
                    answer, made = self.step(calls=steps > 0)
                except BudgetTooSmall:
                    return
                results = self.provider.result(answer)
                self.said([*answer, *results], made)
                steps -= 1
                if not results:
                    break
            if self.rng.random() < 0.15 and self.way == "process":
                asked = [at for at, one in enumerate(self.history) if is_question(one)]
                self.history = self.history[: self.rng.choice(asked)]

    def said(self, messages, made=None):
        self.history += messages
        if self.way in ("append", "cut"):
            self.conversation.append(messages, window=made)
        elif self.way == "inferred":
            self.conversation.append(messages)

    def step(self, *, calls):
        """Make a list, and send it."""
        made = self.made()
        thinking = made.report.thinking if hasattr(made, "report") else made.thinking
        self.removed += sum(one.blocks for one in thinking.removed)
        if hasattr(made, "report"):
            call = made.anthropic() if self.dialect == "anthropic" else made.responses()
            arguments = {"messages": call.get("messages") or call["input"]}
            arguments["system"] = call.get("system")
        else:
            arguments = {"messages": made.messages, "system": self.system}
            if self.way in ("fit", "compact"):
                self.history, self.last = list(made.messages), arguments | {"model": self.model}
        return self.provider.reply(**arguments, model=self.model, calls=calls), made

    def made(self):
        options = {"system": self.system, "model": self.model}
        if self.way == "cut":
            return self.conversation.fit(budget=self.budget, **options)
        if self.way == "fit":
            given = {"dialect": self.dialect, "budget": self.budget, "sent": self.last}
            return fit(self.history, **given, **options)
        if self.way == "compact":
            given = {"dialect": self.dialect, "target_ratio": 0.7, "sent": self.last}
            return compact_context(self.history, **options, **given)
        options |= {"dialect": self.dialect, "mode": self.rng.choice(MODES), "budget": self.budget}
        if self.way == "process":
            return self.memory.process(self.history, conversation=self.name, **options)
        return self.conversation.window(**options)


def is_question(message):
    return message.get("role") == "user" and isinstance(message["content"], str)


def run(dialect, way, seeds):
    found = Counter()
    with Memory.open(None, embedder="lexical") as memory:
        for seed in seeds:
            agent = Agent(seed, dialect, way, memory)
            agent.run()
            provider = agent.provider
            found.update(calls=provider.calls, kept=provider.kept, dropped=provider.dropped)
            found.update(removed=agent.removed)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("way", WAYS)
def test_no_thinking_is_sent_behind_another_prefix(dialect, way):
    found = run(dialect, way, range(25))
    assert found["dropped"] == 0
    assert found["kept"] > found["calls"] // 3
    assert found["removed"]


if __name__ == "__main__":
    for one in DIALECTS:
        for how in WAYS:
            print(one, how, dict(run(one, how, range(int(sys.argv[1])))))
