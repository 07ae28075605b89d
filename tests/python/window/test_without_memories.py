"""A store without memories gives the windows that it gave before there were any: byte for byte."""

from __future__ import annotations

import hashlib
import json
from importlib import resources

import pytest

from warmset import Memory

BEFORE = {
    "jit": "6d47f9e73771e6d12a697146",
    "steady": "b6a6ec23c28b843491db638d",
    "recency": "94b5ed732037797942706456",
}
"""Hashes of the windows below, made by the version before memories reached windows; that of "jit"
anew when the number of the day ceased to be a word of a turn."""


def recorded():
    data = resources.files("warmset.lab.demo") / "data"
    lines = (data / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    asked = json.loads((data / "questions.json").read_text(encoding="utf-8"))
    return [json.loads(line) for line in lines], [one["question"] for one in asked]


def windows(mode, **options):
    """The hash of the windows of a recorded conversation: while it is said, and of questions."""
    said, questions = recorded()
    found = hashlib.blake2b(digest_size=12)

    def take(window):
        found.update(json.dumps([window.messages, window.system, window.tokens]).encode())
        found.update(json.dumps([[one.name, one.tokens] for one in window.parts]).encode())

    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for start in range(0, len(said), 90):
            for one in said[start : start + 90]:
                chat.append(one["message"], at=one["at"])
            take(chat.window(budget=6_000, mode=mode, **options))
            take(chat.window(budget=90_000, mode=mode, **options))
        for number, question in enumerate(questions[:6]):
            budget = (1_500, 4_000, 20_000)[number % 3]
            take(chat.window(question, budget=budget, mode=mode, **options))
    return found.hexdigest()


@pytest.mark.parametrize("mode", sorted(BEFORE))
def test_a_store_without_memories_gives_the_windows_of_before(mode):
    assert windows(mode) == BEFORE[mode]


def test_a_share_of_0_gives_them_too():
    assert windows("steady", memories=0) == BEFORE["steady"]
