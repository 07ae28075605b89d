"""The sessions of the cost table: agents with tools and thinking, a support chat, a research."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset.lab.cost.workload import Step, Workload
from warmset.lab.cost.writer import Writer, result, said, words

if TYPE_CHECKING:
    from warmset.messages import Message

SEED: Final = 20_261_122

LEAST_RESULT: Final = 50
MOST_RESULT: Final = 6_000

SWEEP: Final = (200, 400, 800, 1_200, 2_000)
"""About how many tokens each call adds, in the agents of the sweep."""

_DAY: Final = 86_400.0
_PLANT_UNTIL: Final = 0.3
_ASK_FROM: Final = 0.6
"""The shares of a session that are over when the last fact is stated and the first is asked for."""


def workloads(*, quick: bool = False) -> list[Workload]:
    """Make the four sessions.

    Args:
        quick: Whether to make them a tenth as long, for tests.
    """
    less = 10 if quick else 1
    return [
        agent("agent, 30 exchanges", exchanges=30 // less, calls=10),
        agent("agent, one exchange", exchanges=1, calls=300 // less),
        support("support chat, 40 days", days=max(40 // less, 8)),
        agent("research", exchanges=12 // min(less, 4), calls=10, mean=2_000, pause=240.0),
    ]


def sweep(*, quick: bool = False) -> list[Workload]:
    """Make the first agent with calls from short to long."""
    exchanges = 3 if quick else 30
    return [
        agent(f"agent, {mean:,} tokens a call", exchanges=exchanges, calls=10, mean=mean)
        for mean in SWEEP
    ]


class _Facts:
    """Plants facts early and asks for them later, each once.

    Args:
        writer: Writes them.
        steps: How many calls the session has.
    """

    def __init__(self, writer: Writer, steps: int) -> None:
        self._writer = writer
        self._steps = steps
        self._waiting: list[tuple[str, str]] = []
        self._every = max(steps // 30, 1)

    def plant(self, at: int) -> str:
        """Return a sentence that states a fact, at some of the early calls; else an empty text.

        The first message states none: it is the task, which every window shows.
        """
        turn, offset = divmod(at, self._every)
        if not 0 < at < self._steps * _PLANT_UNTIL or offset != turn % 2 * (self._every // 2):
            return ""
        sentence, question, value = self._writer.fact()
        self._waiting.append((question, value))
        return sentence

    def ask(self, at: int) -> tuple[str, str] | None:
        """Return a question with the text that answers it; None if nothing is asked now."""
        if at < self._steps * _ASK_FROM or not self._waiting:
            return None
        return self._waiting.pop(0)


def agent(
    name: str, *, exchanges: int, calls: int, mean: float = 600.0, pause: float = 150.0
) -> Workload:
    """Make an agent's session: each exchange is a loop of tool calls, each reply begins thinking.

    Args:
        name: What it is.
        exchanges: How many requests the user makes.
        calls: The calls of the model for each.
        mean: About how many tokens each call adds, its result included.
        pause: About how many seconds the user takes between two requests.
    """
    writer = Writer(SEED + exchanges * 1_000 + int(mean))
    facts = _Facts(writer, exchanges * calls)
    system, tools = writer.text(3_000), writer.tools(3_000)
    steps: list[Step] = []
    at, number, open_call = 0.0, 0, None
    for _ in range(exchanges):
        for call in range(calls):
            asked = facts.ask(number) if call == 0 or (exchanges == 1 and call % 8 == 0) else None
            planted = facts.plant(number)
            if open_call is None:
                request = " ".join(filter(None, ("Next.", writer.text(40), planted)))
                sent = said("user", words(" ".join(filter(None, (request, asked and asked[0])))))
            else:
                size = writer.random.lognormvariate(0.0, 1.0) * mean * 0.45
                size = min(max(size, LEAST_RESULT), MOST_RESULT)
                found = [writer.text(size), planted, asked and f"The check needs this: {asked[0]}"]
                sent = said("user", result(open_call, "\n".join(filter(None, found))))
            last = call == calls - 1
            share = max(mean * 0.25 + writer.random.gauss(0, 20), 30)
            done: dict[str, Any] = words(writer.text(share / 2)) if last else writer.call(share / 2)
            steps.append(
                Step(
                    at=at,
                    messages=(sent,),
                    reply=said("assistant", writer.thinking(share / 2), done),
                    asked=() if asked is None else (asked[1],),
                )
            )
            open_call = None if last else done
            at += writer.random.uniform(4, 30)
            number += 1
        at += writer.random.expovariate(1 / pause)
    return Workload(name=name, system=system, tools=tools, steps=steps)


def support(name: str, *, days: int) -> Workload:
    """Make a support chat: a few short talks each day, hours apart, without tools.

    Args:
        name: What it is.
        days: How long it goes on.
    """
    writer = Writer(SEED + days)
    talks = [
        [writer.random.randint(2, 5) for _ in range(writer.random.randint(1, 3))]
        for _ in range(days)
    ]
    facts = _Facts(writer, sum(map(sum, talks)))
    system = writer.text(1_500)
    steps: list[Step] = []
    for day, sizes in enumerate(talks):
        for talk, turns in enumerate(sizes):
            at = day * _DAY + (9 + 4 * talk + writer.random.random()) * 3_600
            for turn in range(turns):
                number = len(steps)
                asked = facts.ask(number) if turn == turns - 1 else None
                told = (writer.text(130), facts.plant(number), asked and asked[0])
                sent: Message = said("user", words(" ".join(filter(None, told))))
                thought = writer.thinking(40)
                reply = said(
                    "assistant", thought, words(writer.text(writer.random.uniform(120, 640)))
                )
                steps.append(
                    Step(
                        at=at,
                        messages=(sent,),
                        reply=reply,
                        asked=() if asked is None else (asked[1],),
                    )
                )
                at += writer.random.uniform(20, 400)
    return Workload(name=name, system=system, tools=[], steps=steps)
