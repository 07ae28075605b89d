"""Local servers that bind thinking to its prefix, beside what `provider_servers.py` refuses.

The rule is that of `bound_provider.py`. Anthropic's answers 400, or, where the request asks for it
in a beta, drops the blocks; OpenAI's always drops them. What was dropped is in the response's
`input_transformations`, as the providers list it.
"""

from __future__ import annotations

from bound_provider import thoughts
from provider_servers import AnthropicServer, ResponsesServer

BETA = "thinking-binding-controls-2026-08-01"
PREFIX, MODEL = "prefix", "model"


class Bindings:
    """What each piece of thinking was made behind, and by which model.

    Args:
        dialect: "anthropic" or "responses".
    """

    def __init__(self, dialect):
        self.dialect = dialect
        self.made = {}
        self.replies = {}  # by mark: the thinking, and the names of what was said behind it

    def keep(self, body, reply):
        """Remember the thinking of a reply to a request."""
        new = [reply] if self.dialect == "anthropic" else reply
        now = dict(self._thoughts(body, new))
        before = dict(self._thoughts(body, ()))
        said = reply["content"] if self.dialect == "anthropic" else reply
        peers = {name for one in said if (name := peer(one))}
        for block in said:
            if (mark := mark_of(block)) in now.keys() - before.keys():
                self.made[mark] = (body["model"], now[mark])
                self.replies[mark] = (block, peers)

    def invalid(self, body):
        """Return why each piece of thinking of a request is not taken, by its mark."""
        found = {}
        for mark, prefix in self._thoughts(body, ()):
            maker, behind = self.made[mark]
            if maker != body["model"]:
                found[mark] = MODEL
            elif behind != prefix:
                found[mark] = PREFIX
        return found

    def _thoughts(self, body, reply):
        sent = body["messages"] if self.dialect == "anthropic" else body["input"]
        system = body.get("system" if self.dialect == "anthropic" else "instructions")
        return thoughts(self.dialect, system, body.get("tools"), [*sent, *reply])

    def left_out(self, body):
        """Return the marks of the thinking whose reply is sent, and that is not sent itself."""
        blocks = list(blocks_of(self.dialect, body))
        sent, names = {mark_of(one) for one in blocks}, {peer(one) for one in blocks}
        return {
            mark for mark, (_, peers) in self.replies.items() if peers & names and mark not in sent
        }

    def would_drop(self, body, mark):
        """Return whether thinking is not taken, if it is put back before the rest of its reply."""
        block, peers = self.replies[mark]
        if self.dialect == "responses":
            lists = {"input": list(body["input"])}
            own = lists["input"]
        else:
            lists = {"messages": [dict(one) for one in body["messages"]]}
            for message in lists["messages"]:
                if isinstance(message["content"], list):
                    own = message["content"] = list(message["content"])
                    if any(peer(one) in peers for one in own):
                        break
        own.insert(next(at for at, one in enumerate(own) if peer(one) in peers), block)
        return mark in self.invalid(body | lists)


def mark_of(block):
    """Return what tells thinking from any other; None for what is no thinking."""
    if block.get("type") == "reasoning":
        return block["encrypted_content"]
    if block.get("type") in ("thinking", "redacted_thinking"):
        return block.get("signature") or block["data"]
    return None


def peer(block):
    """Return by what a block or an item of a reply is known also without its thinking."""
    if block.get("type") in ("function_call", "tool_use", "server_tool_use"):
        return block.get("call_id") or block["id"]
    if block.get("type") == "message" and isinstance(block["content"], list):
        return block["content"][0]["text"]
    return block["text"] if block.get("type") == "text" else None


def blocks_of(dialect, body):
    """Yield the blocks or the items of a request."""
    if dialect == "responses":
        yield from body["input"]
        return
    for message in body["messages"]:
        yield from message["content"] if isinstance(message["content"], list) else ()


class BoundMessages(AnthropicServer):
    """Anthropic Messages, a model that checks what its thinking stands behind."""

    def __init__(self, httpserver):
        super().__init__(httpserver)
        self.bindings = Bindings("anthropic")
        self.beta = ""

    def respond(self, request):
        self.beta = request.headers.get("anthropic-beta", "")
        return super().respond(request)

    def refused(self, body):
        self.body = body
        binding = (body.get("thinking") or {}).get("block_binding")
        if binding is not None and BETA not in self.beta:
            return ["thinking.block_binding: Extra inputs are not permitted"]
        why = super().refused(body)
        if why or self._drops(body):
            return why
        return [
            f"{mark}: The block is bound to a different conversation"
            for mark, found in self.bindings.invalid(body).items()
            if found == PREFIX
        ]

    def thinking(self, messages):  # these models think where they see fit
        return super().thinking(messages, leads=False)

    def _drops(self, body):
        binding = (body.get("thinking") or {}).get("block_binding") or {}
        return binding.get("prefix_mismatch_behavior") == "drop_block"

    def reply(self, number, body):
        made = super().reply(number, body)
        invalid = self.bindings.invalid(body)
        made["input_transformations"] = [
            {
                "type": "thinking_dropped",
                "path": f"messages.{at}.content.{place}",
                "reason": f"{invalid[mark]}_binding_mismatch",
            }
            for at, message in enumerate(body["messages"])
            if isinstance(message["content"], list)
            for place, block in enumerate(message["content"])
            if (mark := mark_of(block)) in invalid
        ]
        self.bindings.keep(body, {"role": "assistant", "content": made["content"]})
        return made


class BoundResponses(ResponsesServer):
    """OpenAI Responses, a model that drops reasoning behind a changed prefix."""

    def __init__(self, httpserver):
        super().__init__(httpserver)
        self.bindings = Bindings("responses")

    def refused(self, body):
        self.body = body
        return super().refused(body)

    def reply(self, number, body):
        made = super().reply(number, body)
        invalid = self.bindings.invalid(body)
        made["input_transformations"] = [
            {
                "type": "reasoning",
                "id": item["id"],
                "action": "removed",
                "reason": f"{invalid[mark]}_mismatch",
            }
            for item in body["input"]
            if (mark := mark_of(item)) in invalid
        ]
        self.bindings.keep(body, made["output"])
        return made
