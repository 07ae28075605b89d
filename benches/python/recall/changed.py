"""Whether windows mark the values that were changed later, on chats of agents with labels.

``python -m benches.python.recall.changed --agents DIR [--percent 10] [--show]``

Each session of the directory is stored, and every question of it is asked. A mark is right if the
session's labels name the marked turn as outdated, and what it points to as its newer value. What no
label names is counted apart and printed by `--show`, to be judged by a reader: labels cover four
changes a session.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmset import Memory, count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset import Window

_MARK = re.compile(r"^\[changed later: #(\d+)(?:, below)?\]$")
_ID = re.compile(r"^#(\d+) ")


def message(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a turn as a message of OpenAI Chat."""
    said: dict[str, Any] = {"role": turn["role"], "content": turn.get("content") or None}
    if turn.get("calls"):
        said["tool_calls"] = [
            {
                "id": one["id"],
                "type": "function",
                "function": {"name": one["name"], "arguments": json.dumps(one["arguments"])},
            }
            for one in turn["calls"]
        ]
    if turn["role"] == "tool":
        said |= {"tool_call_id": turn["call"], "content": turn["content"]}
    return said


def marks(window: Window) -> Iterator[tuple[int, int]]:
    """Yield the marked turns of a window, each with the turn that its mark points to."""
    last = 0
    for one in window.messages:
        for line in str(one.get("content")).split("\n"):
            if (found := _ID.match(line)) is not None:
                last = int(found[1])
            elif (mark := _MARK.match(line)) is not None:
                yield last, int(mark[1])


def main() -> None:
    """Print the marks of each session, by what the labels say of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=Path, nargs="+", required=True)
    parser.add_argument("--percent", type=float, default=10.0)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    heads = f"{'right':>6} {'wrong':>6} {'unlabelled':>11} {'outdated marked':>16}"
    print(f"{'session':16} {'split':9} {heads}")
    sums = [0, 0, 0, 0, 0]
    for file in sorted(file for place in asked.agents for file in place.glob("*.json")):
        session = json.loads(file.read_text())
        figures, unknown = measured(session, asked.percent)
        sums = [one + more for one, more in zip(sums, figures, strict=True)]
        row(session["name"], session["split"], figures)
        if asked.show:
            print(*unknown, sep="\n")
    row("all", "", sums)


def row(name: str, split: str, figures: list[int]) -> None:
    """Print one line of the table."""
    right, wrong, unknown, shown, marked = figures
    print(f"{name:16} {split:9} {right:6} {wrong:6} {unknown:11} {f'{marked} of {shown}':>16}")


def measured(session: dict[str, Any], percent: float) -> tuple[list[int], list[str]]:
    """Ask every question of a session.

    Returns:
        Right, wrong and unlabelled marks, each counted once; turns that labels call outdated and
        that a window quotes, and how many of them it marks; and the unlabelled marks.
    """
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation(session["name"])
        turns = session["turns"]
        for turn in turns:
            chat.append(message(turn), at=turn["at"], speaker=turn.get("name"))
        ids = dict(zip((turn["id"] for turn in turns), chat.ids, strict=True))
        texts = {ids[turn["id"]]: str(turn.get("content")) for turn in turns}
        newer: dict[int, set[int]] = {}
        for question in session["questions"]:
            old = [ids[one] for one in question.get("outdated", ())]
            new = [ids[one] for one in question["evidence"]]
            for id_ in old:
                newer.setdefault(id_, set()).update(new, (one for one in old if one > id_))
        budget = int(count_tokens([message(turn) for turn in turns]) * percent / 100)
        found: set[tuple[int, int]] = set()
        shown, marked = 0, 0
        for question in session["questions"]:
            window = chat.window(question["question"], budget=budget)
            here = set(marks(window))
            found |= here
            quoted = set(window.report.picked) & newer.keys()
            shown += len(quoted)
            marked += len(quoted & {old for old, _ in here})
            there = {id_ for part in window.parts for id_ in part.ids}
            missing = [pair for pair in here if pair[1] not in there]
            assert not missing, f"marked without the newer value: {missing}"
    right = {(old, new) for old, new in found if new in newer.get(old, ())}
    wrong = {(old, new) for old, new in found - right if old in newer}
    unknown = sorted(found - right - wrong)
    told = [f"    {texts[old][:150]!r}\n      -> {texts[new][:150]!r}" for old, new in unknown]
    return [len(right), len(wrong), len(unknown), shown, marked], told


if __name__ == "__main__":
    main()
