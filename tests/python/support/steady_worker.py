"""A process of its own that answers lines of JSON with windows, of mode "steady" by default."""

from __future__ import annotations

import json
import sys

from warmset import Memory
from warmset.errors import BudgetTooSmall


def main(path):
    with Memory.open(path, embedder="lexical") as memory:
        print("ready", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                made = memory.process(asked.pop("messages"), **{"mode": "steady"} | asked)
            except BudgetTooSmall:
                print("null", flush=True)
                continue
            epoch = made.report.epoch
            answer = {
                "messages": made.messages,
                "system": made.system,
                "mode": made.report.mode,
                "epoch": None if epoch is None else [epoch.number, epoch.why],
                "removed": [one.id for one in made.report.thinking.removed],
                "notes": made.report.notes,
                "recalled": 0 if epoch is None else len(epoch.recalled),
            }
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
