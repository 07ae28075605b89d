"""A provider that compacts lists as Anthropic and OpenAI do, and binds thinking to its prefix.

Thinking behind a compaction is taken if all conditions of the documentation hold: it was made
behind the compacted list or behind the compaction, the messages behind it follow unchanged, the
first of them has another role than the last compacted one, and system prompt and tools are those
of the compaction's request. It shares no code with warmset.
"""

from __future__ import annotations

import json

from bound_provider import BoundProvider, RefusedError, bare, merged, thoughts

BETA = "compact-2026-09-04"
BESIDE = ("additional_tools", "configuration_update")


def around(system, tools):
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    return json.dumps([bare(system or []), bare(list(tools or []))])


class CompactingProvider(BoundProvider):
    """See the module; `unchecked` are models that do not look at thinking."""

    def __init__(self, dialect, seed=0, unchecked=()):
        super().__init__(dialect, seed)
        self.blocks = {}  # by signature: content, model, system and tools, messages, output
        self.unchecked = unchecked
        self.compacted = 0
        self.behind = 0  # thinking that was kept across a compaction

    def compact(self, messages, system=None, tools=None, model="m", betas=(BETA,)):
        """Answer a request for a compaction with the message, or the items, of its reply."""
        messages = json.loads(json.dumps(messages))
        if self.dialect == "anthropic" and BETA not in betas:
            raise RefusedError("compaction: Extra inputs are not permitted")
        if self.dialect == "anthropic":  # OpenAI's endpoint is sent no tools
            self.look(messages, system, tools, model, betas=betas)
        self._no_open_call(messages)
        self.compacted += 1
        mark = f"cmp-{self.compacted}-{self.rng.randrange(1 << 60):x}"
        text = f"Summary {self.compacted} of {len(messages)} messages."
        if self.dialect == "anthropic":
            block = {"type": "compaction", "content": text, "signature": mark}
            output = [{"role": "assistant", "content": [block]}]
        else:
            output = [one for one in messages if one.get("role") == "user"]
            output.append({"type": "compaction", "id": f"cmp_{mark}", "encrypted_content": mark})
        self.blocks[mark] = (text, model, around(system, tools), messages, output)
        return output

    def _no_open_call(self, messages):
        if self.dialect == "anthropic":
            found = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
            calls = {b["id"] for b in found if b["type"] == "tool_use"}
            done = {b["tool_use_id"] for b in found if b["type"] == "tool_result"}
        else:
            calls = {i["call_id"] for i in messages if i.get("type") == "function_call"}
            done = {i["call_id"] for i in messages if i.get("type") == "function_call_output"}
        if calls - done:
            raise RefusedError("compaction_incomplete_turn")

    def look(self, messages, system=None, tools=None, model="m", betas=()):
        """Check a request; raise `RefusedError`, or count what is kept and dropped."""
        whole = self._expanded(messages, system, tools, betas)
        if whole is None:
            return super().look(messages, system, tools, model)
        expanded, holds = whole
        before = dict(thoughts(self.dialect, system, tools, expanded)) if holds else {}
        for signature, now in thoughts(self.dialect, system, tools, messages):
            maker, was = self.made[signature]
            same, moved = now == was, before.get(signature) == was
            if maker == model and (same or moved):
                self.kept += 1
                self.behind += moved and not same
            elif self.dialect == "anthropic" and maker == model:
                raise RefusedError(f"{signature}: the block is bound to a different conversation")
            else:
                self.dropped += 1
        return None

    def reply(self, messages, system=None, tools=None, model="m", *, calls=False, betas=()):
        """Check a request, and answer it; see `BoundProvider`."""
        self.look(messages, system, tools, model, betas=betas)
        looked, self.look = self.look, lambda *_args: None
        try:
            return super().reply(messages, system, tools, model, calls=calls)
        finally:
            self.look = looked

    def _expanded(self, messages, system, tools, betas):
        """Return the list with the compacted messages in their place, and whether they count."""
        if self.dialect == "anthropic":
            runs = merged(messages)
            flat = [(at, b) for at, (_, run) in enumerate(runs) for b in run]
            places = [at for at, (_, b) in enumerate(flat) if b["type"] == "compaction"]
            if not places:
                return None
            if BETA not in betas:
                raise RefusedError("messages: unexpected block 'compaction'")
            if places != [0]:
                raise RefusedError("compaction_block_misplaced")
            block = flat[0][1]
            text, model, beside, covered, _ = self.blocks[block["signature"]]
            if block["content"] != text:
                raise RefusedError("compaction_content_mismatch")
            rest = [{**messages[0], "content": messages[0]["content"][1:]}, *messages[1:]]
            rest = [one for one in rest if one["content"]]
            holds = beside == around(system, tools) and model not in self.unchecked
            if rest:
                first = rest[0]["role"]
                holds = holds and first != "system" and first != covered[-1]["role"]
            return [*covered, *rest], holds
        places = [at for at, one in enumerate(messages) if one.get("type") == "compaction"]
        if not places:
            return None
        at = places[-1]
        _, _, _, covered, output = self.blocks[messages[at]["encrypted_content"]]
        instructs = ("system", "developer")
        front = [one for one in messages[: at + 1] if one.get("role") not in instructs]
        rest = messages[at + 1 :]
        said = [one for one in covered if one.get("type") in BESIDE]
        while rest and rest[0] in said:
            said, rest = [one for one in said if one != rest[0]], rest[1:]
        lost = [one for one in said if one["type"] == "additional_tools"]
        return [*covered, *rest], front == output and not lost
