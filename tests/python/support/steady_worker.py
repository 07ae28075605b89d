"""What a process does that answers requests with windows, of mode "steady" by default."""

from __future__ import annotations

import json

from warmset import Memory
from warmset.errors import BudgetTooSmall


def serve(path, asked):
    """Answer requests, each an object in JSON, until the other end of the connection is closed."""
    with Memory.open(path, embedder="lexical") as memory:
        asked.send_bytes(b'"ready"')
        while True:
            try:
                request = json.loads(asked.recv_bytes())
            except EOFError:
                return
            asked.send_bytes(json.dumps(answer(memory, **request)).encode())


def answer(memory, *, messages, **options):
    """Make one window; None if nothing fits."""
    try:
        made = memory.process(messages, **{"mode": "steady"} | options)
    except BudgetTooSmall:
        return None
    epoch = made.report.epoch
    return {
        "messages": made.messages,
        "system": made.system,
        "mode": made.report.mode,
        "epoch": None if epoch is None else [epoch.number, epoch.why],
        "removed": [one.id for one in made.report.thinking.removed],
        "notes": made.report.notes,
        "recalled": 0 if epoch is None else len(epoch.recalled),
    }
