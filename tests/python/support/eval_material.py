"""Question sets of our own, small and known by heart, for the tests of the harness."""

from __future__ import annotations

import json
from pathlib import Path

LONGMEMEVAL = Path(__file__).parents[2] / "fixtures" / "eval" / "longmemeval.json"
PLACES = ("harbour", "mill", "chapel", "quarry", "orchard", "ferry", "tannery", "lighthouse")
THINGS = ("lantern", "ladder", "anchor", "kettle", "saddle", "barrel", "mirror", "compass")
MONTHS = ("January", "February", "March", "April", "May", "June")


def conversation(name, *, sessions=6, pairs=12):
    """A conversation in LoCoMo's format: in each session Nora hides things and Tor answers."""
    talk = {"speaker_a": "Nora", "speaker_b": "Tor"}
    told = {}
    for s in range(1, sessions + 1):
        turns = []
        for p in range(pairs):
            thing, place = f"{THINGS[p % 8]}{s}x{p}", PLACES[(p + s) % 8]
            told[thing] = (f"D{s}:{2 * p + 1}", place)
            said = f"In case you ask: I left the {thing} behind the old {place}, near the wall."
            turns.append({"speaker": "Nora", "dia_id": f"D{s}:{2 * p + 1}", "text": said})
            heard = f"Good to know, thank you. Number {s * 100 + p} on my long list of chores then."
            turns.append({"speaker": "Tor", "dia_id": f"D{s}:{2 * p + 2}", "text": heard})
        talk[f"session_{s}"] = turns
        talk[f"session_{s}_date_time"] = f"{s}:15 pm on {s + 1} {MONTHS[s - 1]}, 2023"
    return {"sample_id": name, "conversation": talk, "qa": _questions(told)}


def _questions(told):
    one, two, three, four = (list(told)[len(told) * part // 8] for part in (1, 2, 4, 5))
    id_ = {thing: found[0] for thing, found in told.items()}
    where = {thing: found[1] for thing, found in told.items()}
    return [
        {
            "question": f"Where did Nora leave the {one}?",
            "answer": f"behind the {where[one]}",
            "evidence": [id_[one]],
            "category": 4,
        },
        {
            "question": f"Where are the {two} and the {three}?",
            "answer": f"{where[two]}, {where[three]}",
            "evidence": [f"{id_[two]}; {id_[three]} "],
            "category": 1,
        },
        {
            "question": f"When did Nora speak about the {four}?",
            "answer": "2023",
            "evidence": [id_[four], "D77:7"],
            "category": 2,
        },
        {"question": "Is Tor patient?", "answer": "Yes; he is", "evidence": [], "category": 3},
        {
            "question": "Did Nora sell it?",
            "adversarial_answer": "no",
            "evidence": ["D1:1"],
            "category": 5,
        },
    ]


def locomo(directory, *, names=("isle", "coast")):
    """Write a LoCoMo file of some conversations, and return its path."""
    file = directory / "locomo.json"
    file.write_text(json.dumps([conversation(name) for name in names]), encoding="utf-8")
    return file


def quiet(_stage, done, total):
    """Take note of progress that makes sense."""
    assert done >= 0
    assert total is None or done <= total
