"""A session in the form of `agent_recall` that keeps to all of its rules, of made-up words."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import product

from warmset.lab.corpus.agents import KINDS

CONSONANTS = "bdfgklmnprtvz"
WORDS = [
    f"{a}{b}{c}{d}{e}o"
    for a, b, c, d, e in product(CONSONANTS, "aeiu", CONSONANTS, "aeiu", CONSONANTS)
]
LENGTH = 320


def session(name="plain", split="fit"):
    """Return a session: pairs of a user and an agent, and four loops of six calls."""
    words = iter(WORDS[:: len(WORDS) // 4_000])
    turns, at = [], datetime(2026, 3, 2, 9)  # noqa: DTZ001 - it is written as UTC

    def add(role, **rest):
        nonlocal at
        at += timedelta(minutes=37)
        turns.append(
            {"id": f"t{len(turns) + 1}", "at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "role": role} | rest
        )

    def said():
        return " ".join(next(words) for _ in range(8))

    while len(turns) < LENGTH:
        add("user", content=said())
        if len(turns) % 80 == 41:
            for _ in range(6):
                call = f"c{len(turns)}"
                asked = {"id": call, "name": "look", "arguments": {"place": next(words)}}
                add("assistant", content="", calls=[asked])
                add("tool", call=call, content=said())
        add("assistant", content=said())
    return {
        "name": name,
        "title": "A plain session",
        "kind": "plain",
        "languages": ["xx"],
        "about": "Nothing.",
        "split": split,
        "turns": turns,
        "questions": _questions(turns, words),
    }


def _questions(turns, words):
    told = [turn for turn in turns if turn["role"] == "user"]
    kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
    made = []
    for number, kind in enumerate(kinds, 1):
        item = {"id": f"q{number}", "kind": kind, "question": f"{next(words)} {next(words)}?"}
        made.append(item | {"answer": "", "evidence": []})
        if kind == "unanswerable":
            continue
        first = (number * 97) % (len(told) - 4)
        count = {"list": 3, "error": 2}.get(kind, 1)
        used = told[first : first + count]
        pieces = [turn["content"].split() for turn in used]
        made[-1] |= {"evidence": [turn["id"] for turn in used]}
        made[-1]["answer"] = ", ".join(piece[3] for piece in pieces)
        if kind == "superseded":
            made[-1]["outdated"] = [turns[turns.index(used[0]) - 1]["id"]]
        if number % 2 == 0:  # as many as may be are asked with a word of the evidence
            made[-1]["question"] = " ".join(piece[0] for piece in pieces) + "?"
    return made


def write(directory, *sessions):
    """Write sessions as files of their names, and return the directory."""
    for one in sessions:
        (directory / f"{one['name']}.json").write_text(laid_out(one), encoding="utf-8")
    return directory


def laid_out(one):
    """Return a session as a file: one turn a line, and one question a line."""
    head = {key: value for key, value in one.items() if key not in ("turns", "questions")}
    lines = [json.dumps(head, ensure_ascii=False)[:-1]]
    for key in ("turns", "questions"):
        each = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in one[key])
        lines.append(f' "{key}": [\n  {each}\n ]')
    return ",\n".join(lines) + "}\n"
