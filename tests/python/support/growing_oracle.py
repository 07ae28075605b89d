"""Says whether the lists of an epoch only grow; it shares no code with warmset."""

from __future__ import annotations

import json


def pieces(messages):
    """Return a list as texts: a role where it changes, then each block, without cache marks."""
    out, role = [], None
    for message in messages:
        content = message.get("content", message.get("parts"))
        if content is None:  # an item of the Responses API
            out.append(json.dumps(message))
            role = None
            continue
        if message.get("role") != role or "type" in message:
            role = message.get("role")
            out.append(f"role {role}")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        rest = {key: one for key, one in message.items() if key not in ("content", "parts", "role")}
        out += [json.dumps(block) for block in blocks] + ([json.dumps(rest)] if rest else [])
    return out


class GrowingOracle:
    """Remembers the last list of each epoch, and compares the next one with it."""

    def __init__(self):
        self.last = {}
        self.unequal = 0
        self.grown = 0

    def look(self, epoch, system, messages, *, branched=False):
        """Compare a list with the last one of its epoch, unless the history branched since."""
        now = [json.dumps(system), *pieces(messages)]
        before = self.last.get(epoch)
        if before is not None and not branched:
            self.grown += 1
            self.unequal += now[: len(before)] != before
        self.last[epoch] = now
