"""How well the loss audit tells what a summary lost: recall and precision on planted facts.

    python -m benches.python.audit.facts [--locomo FILE] [--split test] [--trials 40] [--json]

Facts of eight kinds are planted, from word lists of this file, into transcripts that the audit's
author did not write: the demo's, made-up ones, and LoCoMo's where its file is given (CC BY-NC, not
shipped). A summary is made of some of the transcript's own sentences and a known half of the
planted facts, word for word or in other words; the other half is missing. Recall: missing facts
that the audit reports. Precision: of all that it reports, planted or not, what is not in the
summary. What was not planted is judged by an oracle that shares no code with the audit.

The split `dev` is for tuning the audit, `test` for reporting: other seeds, other carriers, other
sentences for constraints and tasks, other conversations or other halves of them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benches.python.audit.words import CARRIERS, CONSTRAINTS, TASKS
from warmset.lab.corpus import locomo
from warmset.summarize import audit
from warmset.testing import random_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warmset.summarize import Fact

KINDS = ("number", "path", "url", "identifier", "name", "quote", "constraint", "task")
DEMO = Path(__file__).parents[3] / "python/warmset/lab/demo/data/conversation.jsonl"
PER_KIND = 4
TURNS = 60

FIRST = ["Priya", "Tobias", "Ingrid", "Kwame", "Yuki", "Rosalind", "Emre", "Farid"]
LAST = ["Raman", "Okafor", "Lindqvist", "Baptiste", "Haraldsen", "Mbeki", "Castellan", "Oyelaran"]
PRODUCTS = ["Quillbase", "Zephyrite", "Moonlatch", "Corvix", "Tessera", "Brightloom", "Ostrava"]
STEMS = ["ledger", "quota", "beacon", "harvest", "signal", "parcel", "roster", "glacier"]
TAILS = ["sync", "cache", "worker", "filter", "bridge", "parser", "shard", "probe"]
VERBS = ["archive", "restart", "rename", "publish", "compress", "migrate", "encrypt", "duplicate"]
THINGS = [
    "tariff tables", "voucher archive", "turnstile firmware", "harbour registry",
    "orchard sensors", "payroll exports", "museum catalogue", "ferry timetable",
]  # fmt: skip
PHRASES = [
    "velvet harbour", "a quiet riot of plums", "paper lanterns first", "measure twice tomorrow",
    "the copper staircase", "salt before sugar", "every third window", "blue until noon",
]  # fmt: skip
MONTHS = ["January", "March", "April", "June", "August", "October", "November", "December"]


@dataclass(frozen=True)
class Planted:
    """A fact: its kind, the sentence that plants it, itself, and a sentence that says it again."""

    kind: str
    sentence: str
    value: str
    again: str


def _numbers(rng: Random) -> Iterator[tuple[str, str]]:
    count, share = rng.randrange(3_001, 98_000), rng.randrange(21, 97)
    size, hour, minute = rng.randrange(101, 990) / 10, rng.randrange(13, 23), rng.randrange(10, 59)
    day, month, year = rng.randrange(13, 29), rng.choice(MONTHS), rng.randrange(2011, 2024)
    at = {"January": 1, "March": 3, "April": 4, "June": 6, "August": 8, "October": 10,
          "November": 11, "December": 12}[month]  # fmt: skip
    release = f"{rng.randrange(4, 40)}.{rng.randrange(3, 70)}.{rng.randrange(2, 60)}"
    yield f"{count:,}", str(count)
    yield f"{share} %", f"{share} percent"
    yield f"{size} GB", f"{size} gigabytes"
    yield f"${count:,}", f"{count} dollars"
    yield f"{hour}:{minute}", f"{hour - 12}:{minute} pm"
    yield f"{day} {month} {year}", f"{year}-{at:02}-{day}"
    yield f"{month} {day}, {year}", f"{day} {month} {year}"
    yield f"v{release}", release
    yield f"{share} ms", f"{share}ms"


def _identifiers(rng: Random) -> Iterator[tuple[str, str]]:
    one, two, number = rng.choice(STEMS), rng.choice(TAILS), rng.randrange(100, 9_999)
    yield f"{one}_{two}_{number}", f"`{one}_{two}_{number}`"
    yield f"{one}{two.title()}{number}", f"{one}{two.title()}{number}()"
    yield f"{one[:3].upper()}-{number}", f"{one[:3].upper()}-{number}"
    yield f"{rng.getrandbits(40):010x}a7", "commit {}"
    yield f"{one.upper()}_{two.upper()}_{number}", f"${one.upper()}_{two.upper()}_{number}"
    yield f"--{one}-{two}-{number}", f"--{one}-{two}-{number}=on"


def _values(kind: str, rng: Random) -> tuple[str, str]:
    """Return a value, and the same value written otherwise."""
    one, two, number = rng.choice(STEMS), rng.choice(TAILS), rng.randrange(100, 9_999)
    if kind == "number":
        return rng.choice(list(_numbers(rng)))
    if kind == "identifier":
        value, other = rng.choice(list(_identifiers(rng)))
        return value, other.format(value)
    if kind == "path":
        end = rng.choice(["py", "toml", "md", "sql"])
        path = f"{one}/{two}/{one}_{number}.{end}"
        return rng.choice(
            [(path, f"./{path}"), (f"/opt/{path}", f"`/opt/{path}`"),
             (path.replace("/", "\\"), path), (f"{one}-{number}.{end}", f"'{one}-{number}.{end}'")]
        )  # fmt: skip
    if kind == "url":
        url = f"https://{one}.{two}.example/{number}/{two}?page={number}"
        return rng.choice([(url, f"<{url}>"), (url, url.replace("https", "http"))])
    if kind == "name":
        person = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        product = rng.choice(PRODUCTS)
        return rng.choice([(person, f"{person}'s"), (product, f"{product}’s"), (person, person)])
    phrase = rng.choice(PHRASES)
    return rng.choice([(f'"{phrase}"', phrase), (f"“{phrase}”", f"'{phrase}'")])


def _bound(kind: str, split: str, rng: Random) -> tuple[str, str]:
    """Return a constraint or an open task, and the same in another sentence."""
    verb = rng.choice(VERBS)
    words = {
        "verb": verb,
        "past": verb + ("d" if verb.endswith("e") else "ed"),
        "thing": rng.choice(THINGS),
        "number": rng.randrange(120, 900),
    }
    ways = CONSTRAINTS if kind == "constraint" else TASKS
    sentence, again = rng.choice(ways[split])
    return sentence.format(**words), again.format(**words)


def plant(kind: str, split: str, rng: Random) -> Planted:
    """Make one fact up."""
    if kind in ("constraint", "task"):
        sentence, again = _bound(kind, split, rng)
        return Planted(kind, sentence, sentence, again)
    value, other = _values(kind, rng)
    first, second = CARRIERS[split]
    return Planted(kind, rng.choice(first).format(value), value, rng.choice(second).format(other))


# --- the oracle -----------------------------------------------------------------------------------


def squash(text: str) -> str:
    """Leave letters and digits only, in lower case."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def stated(text: str, summary: str, squashed: str, words: set[str], lines: list[set[str]]) -> bool:
    """Tell whether a summary has a text, plainly: as it is, or all its words in one line."""
    plain = text.casefold().strip()
    if any(sign.isdigit() for sign in plain) or len(plain) < 4:
        bare = re.escape(plain)
        if re.search(rf"(?<![\w.,/-]){bare}(?![\w/-])", summary):
            return True
        return plain.replace(",", "") in words
    if (
        squash(plain)
        and squash(plain) in squashed
        and re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", summary)
    ):
        return True
    own = set(re.findall(r"\w+", plain))
    return len(own) > 3 and any(own <= line for line in lines)


# --- trials ---------------------------------------------------------------------------------------


def transcripts(split: str, path: Path | None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the transcripts of a split: the first half of each source, or the second."""
    half = 0 if split == "dev" else 1
    if path is not None:
        talks = list(locomo.read_all(locomo.samples(json.loads(path.read_text())) or []))
        for talk in talks[half::2]:
            yield "locomo", [line.message for line in talk.lines]
    rows = [json.loads(line)["message"] for line in DEMO.read_text().splitlines()]
    middle = len(rows) // 2
    yield "demo", rows[:middle] if half == 0 else rows[middle:]
    made = [
        message
        for seed in range(half * 5_000, half * 5_000 + 12)
        for message in random_history(seed, "openai", exchanges=6).messages
    ]
    yield "generated", made


def _plain(messages: list[dict[str, Any]], rng: Random) -> list[dict[str, Any]]:
    start = rng.randrange(max(1, len(messages) - TURNS))
    return [
        message
        for message in messages[start : start + TURNS]
        if message.get("role") in ("user", "assistant") and isinstance(message.get("content"), str)
        and message["content"] and not message.get("tool_calls")
    ]  # fmt: skip


def trial(
    messages: list[dict[str, Any]], split: str, rng: Random, told: Callable[..., None]
) -> dict[str, Counter[str]]:
    """Plant, summarise, audit; count by kind what was found, missed, right and wrong."""
    turns = [dict(one) for one in _plain(messages, rng)]
    own = " ".join(turn["content"] for turn in turns)
    chosen: list[Planted] = []
    for kind in KINDS:
        for _ in range(PER_KIND):
            fact = plant(kind, split, rng)
            before = own + " ".join(one.sentence + one.again for one in chosen)
            if squash(fact.value) not in squash(before):
                chosen.append(fact)
    rng.shuffle(chosen)
    kept, lost = chosen[::2], chosen[1::2]
    for fact in chosen:
        turn = rng.choice(turns)
        turn["content"] = f"{turn['content']}\n{fact.sentence}"
    pieces = [
        rng.choice(re.split(r"(?<=[.!?])\s+", turn["content"].split("\n")[0]))[:300]
        for turn in rng.sample(turns, len(turns) // 5)
    ]
    pieces += [fact.again if rng.random() < 0.5 else fact.sentence for fact in kept]
    rng.shuffle(pieces)
    summary = "\n".join(pieces)

    score: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    reported = audit(turns, summary).lost
    _recall(lost, reported, score, told)
    _precision(kept, lost, reported, summary, score, told)
    return score


def _recall(
    lost: list[Planted],
    reported: tuple[Fact, ...],
    score: dict[str, Counter[str]],
    told: Callable[..., None],
) -> None:
    """Count the missing facts that were reported."""
    for fact in lost:
        bare = squash(fact.value)
        hit = any(
            one.kind == fact.kind and (squash(one.text) == bare or (
                fact.kind in ("constraint", "task") and squash(one.text) in bare
                and len(squash(one.text)) > len(bare) / 2))
            for one in reported
        )  # fmt: skip
        score[fact.kind]["found" if hit else "missed"] += 1
        if not hit:
            told("MISSED", fact)


def _precision(
    kept: list[Planted],
    lost: list[Planted],
    reported: tuple[Fact, ...],
    summary: str,
    score: dict[str, Counter[str]],
    told: Callable[..., None],
) -> None:
    """Count what was reported and is in the summary all the same."""
    low = summary.casefold()
    squashed, words = squash(summary), {w.strip(".,;:!?()") for w in low.replace(",", "").split()}
    lines = [set(re.findall(r"\w+", line)) for line in low.split("\n")]
    values = {(fact.kind, squash(fact.value)): fact for fact in kept}
    gone = {squash(fact.value) for fact in lost}
    for one in reported:
        bare = squash(one.text)
        if bare in gone:
            wrong = False
        elif (one.kind, bare) in values or any(
            one.kind == kind and kind in ("constraint", "task") and bare in value
            for kind, value in values
        ):
            wrong = True
        else:
            wrong = stated(one.text, low, squashed, words, lines)
        score[one.kind]["wrong" if wrong else "right"] += 1
        if wrong:
            told("WRONG", one, values.get((one.kind, bare)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--trials", type=int, default=40, help="for each transcript")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", action="store_true", help="what went wrong; for the split dev")
    given = parser.parse_args()

    def told(*said: object) -> None:
        if given.show and given.split == "dev":
            print(*said, file=sys.stderr)

    totals: dict[str, dict[str, Counter[str]]] = {}
    for number, (source, messages) in enumerate(transcripts(given.split, given.locomo)):
        for n in range(given.trials):
            rng = Random(f"{given.split} {number} {n}")  # noqa: S311 - chance, not secrets
            for kind, counts in trial(messages, given.split, rng, told).items():
                for name in (source, "all"):
                    totals.setdefault(name, {k: Counter() for k in (*KINDS, "all")})
                    totals[name][kind] += counts
                    totals[name]["all"] += counts
    table = {
        source: {kind: _rates(counts) for kind, counts in kinds.items()}
        for source, kinds in totals.items()
    }
    if given.json:
        print(json.dumps({"split": given.split, "trials": given.trials, "sources": table}))
        return 0
    for source, kinds in table.items():
        print(f"\n{source:<12} {'planted':>8} {'recall':>8} {'reported':>9} {'precision':>10}")
        for kind, row in kinds.items():
            print(f"{kind:<12} {row['planted']:>8} {row['recall']:>8.3f} {row['reported']:>9} "
                  f"{row['precision']:>10.3f}")  # fmt: skip
    return 0


def _rates(counts: Counter[str]) -> dict[str, Any]:
    planted, reported = counts["found"] + counts["missed"], counts["right"] + counts["wrong"]
    return {
        "planted": planted,
        "recall": counts["found"] / max(1, planted),
        "reported": reported,
        "precision": counts["right"] / max(1, reported),
    }


if __name__ == "__main__":
    sys.exit(main())
