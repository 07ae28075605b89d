"""A provider that binds thinking to its prefix: a mock for Anthropic's models, and for OpenAI's.

It remembers what each block of thinking was made behind, as a hash of JSON texts, and looks at
every block that comes back. It shares no code with warmset.
"""

from __future__ import annotations

import hashlib
import json
import random


class RefusedError(Exception):
    """The provider's 400."""


def bare(value):
    """Return a value without cache marks."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key != "cache_control"}
    return [bare(one) for one in value] if isinstance(value, list) else value


def merged(messages):
    """Return Anthropic messages with neighbours of one role merged, results first."""
    runs = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if runs and runs[-1][0] == message["role"]:
            runs[-1][1].extend(blocks)
        else:
            runs.append((message["role"], list(blocks)))
    return [(role, sorted(own, key=lambda b: b["type"] != "tool_result")) for role, own in runs]


class Seen:
    """What a list has so far, as a hash of its pieces."""

    def __init__(self, *pieces):
        self.hash = hashlib.sha256()
        for piece in pieces:
            self.add(piece)

    def add(self, piece):
        self.hash.update(json.dumps(piece).encode() + b"\n")

    @property
    def prefix(self):
        return self.hash.hexdigest()


def thoughts(dialect, system, tools, messages):
    """Yield every piece of thinking with its prefix, a hash."""
    if dialect == "anthropic":
        system = [{"type": "text", "text": system}] if isinstance(system, str) else system
        seen = Seen(bare(system or []), bare(list(tools or [])))
        for role, blocks in merged(messages):
            before = seen.prefix  # thinking of one reply has the prefix of the reply
            for block in blocks:
                if block["type"] in ("thinking", "redacted_thinking"):
                    yield block.get("signature") or block["data"], before
            seen.add([role, bare(blocks)])
        return
    seen = Seen(system, bare(list(tools or [])))
    for item in messages:
        if item.get("type") == "reasoning":
            yield item["encrypted_content"], seen.prefix
        seen.add(item)


class BoundProvider:
    """Takes requests, and refuses or drops thinking whose prefix is another one.

    Args:
        dialect: "anthropic", which refuses, or "responses", which drops.
        seed: Makes the replies.
    """

    def __init__(self, dialect, seed):
        self.dialect = dialect
        self.rng = random.Random(seed)
        self.made = {}
        self.calls = 0
        self.kept = self.dropped = 0

    def look(self, messages, system=None, tools=None, model="m"):
        """Check a request; raise `RefusedError`, or count what is dropped."""
        for signature, before in thoughts(self.dialect, system, tools, messages):
            maker, behind = self.made[signature]
            if maker != model or before != behind:
                if self.dialect == "anthropic" and maker == model:
                    raise RefusedError(
                        f"{signature}: the block is bound to a different conversation"
                    )
                self.dropped += 1
            else:
                self.kept += 1

    def reply(self, messages, system=None, tools=None, model="m", *, calls=False):
        """Check a request, and answer it with thinking, a text, and calls if asked to."""
        self.look(messages, system, tools, model)
        self.calls += 1
        mark = f"sig-{self.calls}-{self.rng.randrange(1 << 60):x}"
        text = f"answer {self.calls} " + "word " * self.rng.randrange(40)
        if self.dialect == "anthropic":
            blocks = [{"type": "thinking", "thinking": "hm " * 9, "signature": mark}]
            blocks.append({"type": "text", "text": text})
            if calls:
                use = {"id": f"tu_{self.calls}", "name": "look", "input": {"n": self.calls}}
                blocks.append({"type": "tool_use", **use})
            answer = [{"role": "assistant", "content": blocks}]
        else:
            stem = f"{self.calls:08d}{self.rng.randrange(1 << 60):020x}"
            answer = [
                {"type": "reasoning", "id": f"rs_{stem}0", "summary": [], "encrypted_content": mark}
            ]
            if calls:
                call = {"call_id": f"c_{self.calls}", "name": "look", "arguments": "{}"}
                answer.append({"type": "function_call", "id": f"fc_{stem}1", **call})
            else:
                said = [{"type": "output_text", "text": text, "annotations": []}]
                answer.append(
                    {"type": "message", "id": f"msg_{stem}2", "role": "assistant", "content": said}
                )
        whole = [*messages, *answer]
        prefix = dict(thoughts(self.dialect, system, tools, whole))[mark]
        self.made[mark] = (model, prefix)
        return answer

    def result(self, answer):
        """Return the results of a reply's calls; none where it calls nothing."""
        if self.dialect == "anthropic":
            uses = [b["id"] for b in answer[0]["content"] if b["type"] == "tool_use"]
            done = [
                {
                    "type": "tool_result",
                    "tool_use_id": use,
                    "content": "row " * self.rng.randrange(80),
                }
                for use in uses
            ]
            return [{"role": "user", "content": done}] if done else []
        ids = [item["call_id"] for item in answer if item.get("type") == "function_call"]
        return [
            {
                "type": "function_call_output",
                "call_id": call,
                "output": "row " * self.rng.randrange(80),
            }
            for call in ids
        ]
