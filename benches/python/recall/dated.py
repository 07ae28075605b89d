"""In how many windows the messages that are shown word for word have their days.

``python -m benches.python.recall.dated --locomo FILE [--shares 2 5 10 25]``

Mode "jit" is asked every question of the file, with budgets in percent of the conversation's
tokens. Mode "steady" is asked at every turn of the user while the conversation grows, from its
second day on. A window of mode "jit" that passes the list untouched does not count. The task and
the other messages are dated if a reader who follows the lines gives each its day.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.lab.corpus.locomo import read_all, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset import Window
    from warmset.lab.corpus.transcript import Transcript

_LINE = re.compile(r"\[(above: )?\w{3} (\d+ \w{3} \d+)(?: to [^;\]]*)?(?:; [^\n]*)?\]")
GROWING = 10.0
"""The budget of a growing list, in percent of the conversation's tokens."""


def day(at: float) -> str:
    """Return a day as lines write it."""
    when = datetime.fromtimestamp(at, UTC)
    return f"{when.day} {when:%b %Y}"


def read_days(window: Window, ours: dict[str, list[str]]) -> tuple[list[bool], int]:
    """Read a window from top to bottom.

    Args:
        window: The window.
        ours: The days on which each text was said.

    Returns:
        For each message shown whole whether its day is known; and the tokens of the lines.
    """
    dated: list[bool] = []
    known, waiting, tokens = "", list[tuple[int, list[str]]](), 0
    for message in window.messages:
        text = str(message["content"])
        if text in ours:
            dated.append(known in ours[text])
            if not known:
                waiting.append((len(dated) - 1, ours[text]))
            continue
        found = [_LINE.fullmatch(line) for line in text.split("\n")]
        if not all(found):
            continue
        tokens += count_tokens([message]) - count_tokens([])
        for line in found:
            if line is not None and line[1]:
                for place, days in waiting:
                    dated[place] = line[2] in days
            elif line is not None:
                known = line[2]
    return dated, tokens


def windows(talk: Transcript, shares: list[float]) -> Iterator[tuple[str, Window]]:
    """Make the windows of one conversation, from its second day on."""
    said = [line.message for line in talk.lines]
    whole, first = count_tokens(said), day(talk.lines[0].at or 0)
    with Memory.open(None, embedder="lexical") as memory:
        chat, grown = memory.conversation("jit"), memory.conversation("steady")
        later = False
        for line in talk.lines:
            for one in (chat, grown):
                one.append(line.message, at=line.at, speaker=line.speaker)
            later = later or day(line.at or 0) != first
            if line.message["role"] == "user" and later:
                budget = int(whole * GROWING / 100)
                yield f"steady, {GROWING:g} %", grown.window(budget=budget, mode="steady")
        for share in shares:
            for question in talk.questions:
                budget = int(whole * share / 100)
                try:
                    yield f"jit, {share:g} %", chat.window(question.text, budget=budget)
                except BudgetTooSmall:
                    continue


def main() -> None:
    """Print the shares of windows and of messages that have their days."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--shares", type=float, nargs="*", default=[2, 5, 10, 25])
    asked = parser.parse_args()
    found: dict[str, Counter[str]] = {}
    for talk in read_all(samples(json.loads(asked.locomo.read_text())) or []):
        ours: dict[str, list[str]] = {}
        for line in talk.lines:
            ours.setdefault(str(line.message["content"]), []).append(day(line.at or 0))
        for name, window in windows(talk, asked.shares):
            dated, tokens = read_days(window, ours)
            if not window.report.active and name.startswith("jit"):
                continue
            count = found.setdefault(name, Counter())
            count.update(windows=1, task=dated[0], shown=len(dated), dated=sum(dated))
            count.update(tokens=tokens, all=window.tokens)
    print(f"{'windows':14} {'count':>6} {'task':>7} {'messages':>9} {'line tokens':>12}")
    for name, count in sorted(found.items()):
        task, shown = count["task"] / count["windows"], count["dated"] / count["shown"]
        cost = count["tokens"] / count["windows"]
        print(f"{name:14} {count['windows']:6} {task:7.1%} {shown:9.1%} {cost:12.1f}")


if __name__ == "__main__":
    main()
