"""Trimming, counting and packing beside those who do it too, in one run on one core.

    taskset -c 0 python -m benches.python.trim.race --peers DIR --json benches/results/<name>.json

langchain-core and rs-bpe run in this process; peers whose pins clash run in interpreters of their
own, which wait while others are timed (`--install` makes them in DIR, or in $WARMSET_PEERS). All
take turns, as in `benches.python.race`, and every result is checked. It takes three to five
minutes, of which the slow peers have most; `--sizes 1000` is for trying it out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import metadata
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
import warmset
from benches.python import material
from benches.python.race import Result, check, packing, report
from benches.python.trim import peers
from warmset import Budget, Memory, count_tokens, trim_messages
from warmset._core import count_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    Turns: TypeAlias = list[dict[str, str]]

SHARES = (0.5, 0.05)  # of what all messages cost
SPARE = 0.999  # a watermark just below the budget: as much stays as with those who have none
SLOW = {"llama-index-core": 2_000, "agent-framework-core": 4_000, "litellm": 1_000}
ENCODINGS = ("o200k_base", "cl100k_base")


@dataclass
class Contestant:
    """What is called and how.

    Args:
        run: What is timed.
        prepare: What comes before each call, untimed.
        turn: Counted calls in one turn.
        told: Whether the call gives its own microseconds, as those in other interpreters do.
        settle: Whether a turn's first call is not counted.
    """

    run: Callable[[], object]
    prepare: Callable[[], object] | None = None
    turn: int = 1
    told: bool = False
    settle: bool = True


def turns(name: str, contestants: dict[str, Contestant], rounds: int) -> Result:
    """Let contestants take turns, ours first."""
    times: dict[str, list[float]] = {one: [] for one in contestants}
    order = list(contestants)
    for _ in range(rounds):
        for one in order:
            who = contestants[one]
            for at in range(who.turn + who.settle):
                if who.prepare is not None:
                    who.prepare()
                begin = time.perf_counter_ns()
                said = who.run()
                micros = (time.perf_counter_ns() - begin) / 1e3
                if at >= who.settle:
                    times[one].append(said if who.told else micros)
        order.append(order.pop(0))
    ours = sorted(times[next(iter(contestants))])
    result = Result(name, {one: median(found) for one, found in times.items()}, len(ours))
    result.notes["p99 of ours"] = ours[len(ours) * 99 // 100]
    return result


def by_four(messages: Sequence[object]) -> int:
    """Count langchain's messages: a list's counter, as langchain's documentation has it."""
    return sum(len(one.content) // 4 for one in messages)


def by_four_of_dicts(messages: Sequence[dict[str, str]]) -> int:
    """Count dicts in the same way."""
    return sum(len(one["content"]) // 4 for one in messages)


def langchain_messages(turns_: Turns) -> list[object]:
    """Make langchain's messages."""
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - a peer

    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return [kinds[one["role"]](one["content"]) for one in turns_]


def longest(costs: Sequence[int], budget: int) -> int:
    """Return how many messages of the end fit, added one by one."""
    fitting = 0
    for cost in reversed(costs):
        budget -= cost
        if budget < 0:
            break
        fitting += 1
    return fitting


class Held:
    """A conversation that warmset holds, and the messages that come next."""

    def __init__(self, talk: warmset.Conversation, given: Turns, more: Turns) -> None:
        self.talk, self.given, self._more = talk, given, iter(more)
        begin = time.perf_counter()
        talk.append(given)
        self.append_micros = (time.perf_counter() - begin) * 1e6 / len(given)
        self.total = int(count_tokens(given))
        self._numbers = count(1)
        self.kept: warmset.Kept | None = None

    def grow(self) -> int:
        """Append the next message; what it costs."""
        message = next(self._more)
        self.talk.append(message)
        self.given.append(message)
        return count_tokens([message]) - count_tokens([])

    def cross(self, budget: int) -> None:
        """Append until the cut of the last call is over the budget."""
        room = budget - self.kept.tokens
        while room >= 0:
            room -= self.grow()

    def fit(self, budget: int) -> None:
        """Cut for a budget, by the usual watermark."""
        self.kept = self.talk.fit(budget=budget)

    def fit_other(self, share: float) -> None:
        """Cut for a budget that was not asked for before."""
        tokens = int(self.total * share) + next(self._numbers)
        self.kept = self.talk.fit(
            budget=Budget(tokens, max_reply=0, safety=0, tool_reserve=0, watermark=SPARE)
        )

    def check(self, *, low: float | None = None) -> None:
        """Check the last cut: the task and the newest messages, well counted.

        Args:
            low: The watermark down to which it must have been cut, and no further; None where it
                may stand from an earlier call.
        """
        kept, given = self.kept, self.given
        messages = kept.messages
        fresh = len(messages) - 1
        check(
            messages == [given[0], *given[len(given) - fresh :]], "held: task and newest messages"
        )
        check(count_tokens(messages) == kept.tokens <= kept.budget, "held: tokens")
        if low is None:
            return
        older = given[len(given) - fresh - 1]
        over = kept.tokens + count_tokens([older]) - count_tokens([])
        check(kept.tokens <= int(kept.budget * low) < over, "held: as many as fit")


@contextmanager
def held(n: int) -> Iterator[Held]:
    """Hold n messages, with as many more to come as the cuts need."""
    said = material.conversation(3 * n + 5_000)
    with Memory.open(None, embedder="lexical") as memory:
        yield Held(memory.conversation("log"), said[:n], said[n:])


def langchain(given: Turns, share: float, *, dicts: bool = False) -> dict[str, Contestant]:
    """Make langchain-core's contestants, their results checked; none where it is not installed."""
    try:
        from langchain_core.messages import trim_messages as trim  # noqa: PLC0415 - a peer
        from langchain_core.messages.utils import (  # noqa: PLC0415 - a peer
            count_tokens_approximately,
        )
    except ImportError:
        print("langchain-core: not installed here", file=sys.stderr)
        return {}
    messages = langchain_messages(given)
    made: dict[str, Contestant] = {}
    for name, counter, costs in (
        ("len // 4", by_four, [by_four([one]) for one in messages]),
        ("approximate", "approximate", [count_tokens_approximately([one]) for one in messages]),
    ):
        budget = int(sum(costs) * share)

        def run(counter: object = counter, budget: int = budget) -> list[object]:
            return trim(messages, strategy="last", token_counter=counter, max_tokens=budget)

        found = run()
        check(found == messages[len(messages) - longest(costs, budget) :], f"langchain, {name}")
        made[f"langchain-core, {name}"] = Contestant(run)
    if dicts:
        budget = by_four(messages) * share
        made["langchain-core, dicts, len // 4"] = Contestant(
            lambda: trim(given, strategy="last", token_counter=by_four, max_tokens=int(budget))
        )
    return made


def holding(n: int) -> Iterator[Result]:
    """Race cuts of a conversation that warmset holds with langchain-core's of a list."""
    rounds = 12 if n < 50_000 else 3
    with held(n) as ours:
        for share in SHARES:
            others = langchain(ours.given[:n], share)
            name = f"held {n:,} to {share:.0%}"
            me = Contestant(lambda share=share: ours.fit_other(share), turn=16)
            result = turns(f"{name}, another budget", {"warmset": me} | others, rounds)
            ours.check(low=SPARE)
            result.notes["kept"] = str(len(ours.kept))
            yield result

            budget = int(ours.total * share)
            ours.fit(budget)
            me = Contestant(lambda budget=budget: ours.fit(budget), ours.grow, turn=16)
            result = turns(f"{name}, one message more", {"warmset": me} | others, rounds)
            ours.check()
            result.notes["moves"] = str(ours.kept.moves)
            yield result

            me = Contestant(
                lambda budget=budget: ours.fit(budget),
                lambda budget=budget: ours.cross(budget),
                settle=False,
            )
            result = turns(f"{name}, the cut moves", {"warmset": me} | others, 3)
            check(ours.kept.moved, "held: the cut moved")
            ours.check(low=Budget(budget + 1, max_reply=0, safety=0, tool_reserve=0).watermark)
            yield result

            me = Contestant(lambda: ours.kept.messages, lambda share=share: ours.fit_other(share))
            result = turns(f"{name}, reading messages", {"warmset": me}, 5)
            result.notes["µs a message"] = result.microseconds["warmset"] / len(ours.kept)
            yield result
        result = Result(f"append {n:,} at once", {"warmset": ours.append_micros * n}, 1)
        result.notes["µs a message"] = ours.append_micros
        yield result


def first_seen(n: int) -> Iterator[Result]:
    """Race trims of dicts that nobody saw before."""
    given = material.conversation(n)
    rounds = 8 if n < 50_000 else 3
    for share in SHARES:
        others = langchain(given, share, dicts=True)
        for name, counter, costs in (
            ("len // 4", by_four_of_dicts, [len(one["content"]) // 4 for one in given]),
            ("approximate", "approximate", [
                -(-(len(one["content"]) + len(one["role"])) // 4) + 3 for one in given
            ]),
        ):  # fmt: skip
            budget = int(sum(costs) * share)

            def run(counter: object = counter, budget: int = budget) -> Turns:
                return trim_messages(given, max_tokens=budget, token_counter=counter)

            found = run()
            wanted = given[n - longest(costs, budget) :]
            check(len(found) == len(wanted), f"ours, {name}: length")
            check(all(a is b for a, b in zip(found, wanted, strict=True)), f"ours, {name}")
            result = turns(
                f"dicts {n:,} to {share:.0%}, {name}",
                {"warmset": Contestant(run, turn=4)} | others,
                rounds,
            )
            yield result
    yield from exactly(given)


def exactly(given: Turns) -> Iterator[Result]:
    """Time `fit`, which counts with o200k what others estimate; nobody here does the same."""
    budget = count_tokens(given) // 2
    made: list[warmset.evict.FitResult] = []

    def run() -> None:
        made[:] = [warmset.fit(given, budget=budget)]

    result = turns(f"fit() of dicts {len(given):,} to 50%", {"warmset": Contestant(run)}, 3)
    check(count_tokens(made[0].messages) == made[0].tokens <= budget, "fit")
    check(made[0].messages[0] is given[0] and made[0].messages[-1] is given[-1], "fit: what stays")
    yield result


def beside(name: str, place: Path | None, versions: dict[str, str]) -> Iterator[Result]:
    """Race with one of the slow ones, with as few messages as it can bear."""
    n = SLOW[name]
    given = material.conversation(n)
    with ExitStack() as stack:
        slow = stack.enter_context(peers.peer(name, place, messages=given))
        ours = stack.enter_context(held(n))
        versions[name] = slow.about["version"]
        answers = []

        def ask() -> float:
            answers.append(slow.ask(None))
            return answers[-1]["microseconds"]

        budget, exact = by_four_of_dicts(given) // 2, count_tokens(given) // 2
        contestants = {
            "warmset": Contestant(lambda: ours.fit_other(0.5), turn=16),
            "warmset, dicts, len // 4": Contestant(
                lambda: trim_messages(given, max_tokens=budget, token_counter=by_four_of_dicts),
                turn=4,
            ),
            "warmset, dicts, o200k": Contestant(lambda: warmset.fit(given, budget=exact)),
            **langchain(given, 0.5),
            name: Contestant(ask, told=True, settle=False),
        }
        result = turns(f"held {n:,} to 50%, {name}", contestants, rounds=2)
        ours.check(low=SPARE)
        kept = answers[0]["kept"]
        check(all(one == answers[0] | {"microseconds": one["microseconds"]} for one in answers),
              f"{name}: the same each time")  # fmt: skip
        whole = [at for at in kept if at >= 0]
        check(len(kept) - len(whole) <= 1 and whole == [*range(n - len(whole), n)], f"{name}: end")
        share = sum(count_texts([given[at]["content"] for at in whole])) / ours.total
        check(0.3 < share < 0.6, f"{name}: half of the tokens, found {share:.2f}")
        result.notes["kept by the peer"] = str(len(kept))
        micros = result.microseconds
        for mine in list(micros)[1:3]:
            result.notes[f"peer / {mine.partition(', ')[2]}"] = micros[name] / micros[mine]
        yield result


def counting(place: Path | None, versions: dict[str, str]) -> Iterator[Result]:
    """Race counts of half a megabyte in messages, each text once; check the references' ids."""
    try:
        import rs_bpe  # noqa: PLC0415 - a peer
    except ImportError:
        print("rs-bpe: not installed here", file=sys.stderr)
        return
    parts = [material.corpus(part) for part in range(material.PARTS)]
    size = sum(len(text.encode()) for part in parts for text in part) / 1e6 / len(parts)
    for encoding in ENCODINGS:
        reference = getattr(rs_bpe.openai, encoding)()
        numbers = {name: count() for name in ("warmset", "rs-bpe", "tiktoken")}
        found: dict[str, list[list[int]]] = {name: [] for name in numbers}
        digests: list[str] = []

        def mine(e: str = encoding, f: object = found, n: object = numbers) -> None:
            f["warmset"].append(count_texts(parts[next(n["warmset"])], e))

        def theirs(r: object = reference, f: object = found, n: object = numbers) -> None:
            f["rs-bpe"].append([r.count(text) for text in parts[next(n["rs-bpe"])]])

        contestants = {"warmset": Contestant(mine, turn=3), "rs-bpe": Contestant(theirs, turn=3)}
        with ExitStack() as stack:
            try:
                third = stack.enter_context(peers.peer("tiktoken", place, encoding=encoding))
            except peers.NoPeer as reason:
                print(f"skipped {reason}", file=sys.stderr)
            else:
                versions["tiktoken"] = third.about["version"]

                def asked(p: object = third, f: object = found, n: object = numbers,
                          d: object = digests) -> float:  # fmt: skip
                    answer = p.ask(parts[next(n["tiktoken"])])
                    f["tiktoken"].append(answer["counts"])
                    d.append(answer["ids"])
                    return answer["microseconds"]

                contestants["tiktoken"] = Contestant(asked, turn=3, told=True)
            result = turns(f"count {size:.2f} MB, {encoding}", contestants, rounds=4)
        ids = [[reference.encode(text) for text in part] for part in parts]
        wanted = [[len(one) for one in part] for part in ids]
        check(sum(map(len, parts)) >= 2_500, "enough messages")
        check(all(found[name] == wanted for name in contestants), f"counts of {encoding}")
        said = [hashlib.sha256(repr(part).encode()).hexdigest() for part in ids]
        check(not digests or digests == said, f"ids of the references, {encoding}")
        result.notes["messages with the references' counts"] = str(sum(map(len, parts)))
        for one, micros in result.microseconds.items():
            result.notes[f"MB/s of {one}"] = size * 1e6 / micros
        yield result


def contests(
    sizes: list[int], place: Path | None, versions: dict[str, str], only: list[str]
) -> Iterator[Result]:
    """Hold all contests, one after the other."""
    if "trim" in only:
        for n in sizes:
            yield from holding(n)
            yield from first_seen(n)
    if "slow" in only:
        for name in SLOW:
            try:
                yield from beside(name, place, versions)
            except peers.NoPeer as reason:
                print(f"skipped {reason}", file=sys.stderr)
    if "count" in only:
        yield from counting(place, versions)
    if "pack" in only:
        yield from packing()


def main() -> None:
    """Run all contests, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--peers", type=Path, help="directory of the peers' environments")
    parser.add_argument("--install", action="store_true", help="make what is not there, with pip")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    groups = ["trim", "slow", "count", "pack"]
    parser.add_argument("--only", nargs="*", choices=groups, default=groups)
    options = parser.parse_args()
    named = os.environ.get(peers.VARIABLE)
    place = options.peers or (Path(named) if named else None)
    if options.install:
        if place is None:
            parser.error(f"--install needs --peers or {peers.VARIABLE}")
        peers.install(place)
    found, begin = setting(), time.perf_counter()
    if options.peers:  # where somebody keeps environments says nothing about a number
        found["command"] = str(found["command"]).replace(str(options.peers), "DIR")
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if found["cores"] != 1:
        print("not pinned: run it under taskset -c 0", file=sys.stderr)
    versions: dict[str, str] = found["peers"]
    try:
        versions["langchain-core"] = metadata.version("langchain-core")
    except metadata.PackageNotFoundError:
        versions["langchain-core"] = "not installed"
    report(contests(options.sizes, place, versions, options.only), found, begin, options.json)


if __name__ == "__main__":
    main()
