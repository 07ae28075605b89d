"""What is shared is read and changed under the engine's lock, in windows of every mode."""

from __future__ import annotations

import threading

import pytest

from warmset import Memory, window as room
from warmset.window import pipeline, stages
from warmset.window.steady import recall, windows

WORDS = ("crane", "steel", "harbour", "lamp", "teapot", "garden", "bicycle", "umbrella", "boat")
HELD = [
    (room, "cut_conversation"),
    (room, "note_cut"),
    (pipeline, "read_request"),
    (pipeline, "stay"),
    (pipeline, "again"),
    (pipeline, "freeze"),
    (stages, "gather"),
    (stages, "changers_of"),
    (stages, "decisions_of"),
    (windows, "resume"),
    (windows, "swapped"),
    (windows, "recalled"),
    (windows, "sendable"),
    (windows, "record"),
    (recall, "gather"),
    (recall, "changers_of"),
    (recall, "decisions_of"),
]
"""Functions whose callers hold the engine's lock, where they are called."""


def said(role, text):
    return {"role": role, "content": text}


def is_free(lock):
    """Whether another thread could take a lock now."""
    found = []

    def take():
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def called(monkeypatch):
    """The functions that were called; each looks whether the lock is held."""
    names, free = set(), []
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        lock = memory._engine.lock
        for where, name in HELD:
            kept = getattr(where, name)

            def watching(*args, _kept=kept, _name=f"{where.__name__}.{name}", **options):
                names.add(_name)
                if is_free(lock):
                    free.append(_name)
                return _kept(*args, **options)

            monkeypatch.setattr(where, name, watching)
        assert is_free(lock)
        yield chat, names
        assert is_free(lock)
    assert free == [], "these were called without the lock"


def test_windows_of_every_mode_hold_the_lock(called):
    chat, names = called
    for at in range(40):
        chat.append(said("user", f"boat {at}: {' '.join(WORDS[at % 5 :] * 4)}"))
        if at == 5:
            chat.append(said("user", "Replica lag of the ledger: the alert fires above 30 s."))
            chat.append(said("user", "We decided on rope for the boat."))
        chat.append(said("assistant", f"lamp {at}"))
        if at > 30:
            chat.append(said("user", f"which boat has the rope, number {at - 20}?"))
            for mode in ("jit", "jit", "steady", "auto", "full", "recency"):
                chat.window(budget=1_200 if mode != "full" else 100_000, mode=mode)
            chat.fit(budget=600)
            chat.append(said("assistant", "None."))
    assert names == {f"{where.__name__}.{name}" for where, name in HELD}, "all were called"
