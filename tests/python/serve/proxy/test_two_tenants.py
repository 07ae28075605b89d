"""Two callers whose requests come at the same time: nothing of one is in what the other is sent.

`HYPOTHESIS_PROFILE=deep python -m pytest tests/python/serve/proxy/test_two_tenants.py` sends
100,000 requests.
"""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.exchange import Asked, Exchanges
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.surfaces import CHAT, MESSAGES
from warmset.serve.proxy.tenants import Tenants, secret_of
from warmset.serve.replies import Reply

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
REQUESTS = 100_000 if DEEP else 2_000
CALLS = 12
"""Requests of one conversation; then the next one begins."""

KEYS = ("sk-one-5e0bd1", "sk-two-5e0bd1")
CANARIES = ("the heron of the first", "the wren of the second")
WORDS = ["shelf", "box", "nail", "screw", "bolt", "crate", "aisle", "count", "order", "ledger"]


class Caller:
    """Sends lists that grow; all that it says and is answered has its canary.

    Args:
        exchanges: The proxy.
        which: Which of the two it is.
        seed: What it says.
    """

    def __init__(self, exchanges, which, seed):
        self.exchanges, self.which = exchanges, which
        self.draw = random.Random(seed)
        self.canary, self.other = CANARIES[which], CANARIES[1 - which]
        self.count = self.shorter = 0
        self.messages = []

    def said(self, role):
        words = " ".join(self.draw.choices(WORDS, k=60))
        return {"role": role, "content": f"{self.canary}: {words}"}

    def send(self):
        """Send a request, as two tenants do who ask the same: each list begins alike."""
        if self.count % CALLS == 0:
            self.messages = [{"role": "user", "content": "Where is the bird, and what is stored?"}]
        else:
            self.messages.append(self.said("user"))
        self.count += 1
        surface = self.draw.choice((CHAT, MESSAGES)) if self.count % CALLS == 1 else self.surface
        self.surface = surface
        headers = {
            "authorization" if surface is CHAT else "x-api-key": (
                f"Bearer {KEYS[self.which]}" if surface is CHAT else KEYS[self.which]
            ),
            "x-warmset-mode": self.draw.choice(("auto", "jit", "recency")),
        }
        if self.draw.random() < 0.02:
            headers["x-warmset-conversation"] = "shared"  # both use this name
        asked = self.messages
        body = json.dumps({"model": "gpt-5.2", "messages": asked, "max_tokens": 99}).encode()
        given = Asked(surface=surface, headers=headers, query="", body=body)
        prepared = self.exchanges.prepare(given)
        assert prepared.bypass is None, prepared.bypass
        assert self.other.encode() not in prepared.body
        sent = json.loads(prepared.body)["messages"]
        self.shorter += len(sent) < len(asked)
        reply = self.said("assistant")
        self.messages.append(reply)
        whole = Reply(messages=(reply,), is_complete=True)
        assert self.exchanges.answered(given, prepared, whole)
        return prepared.talk.tenant


def test_nothing_crosses_between_two_callers(tmp_path):
    options = ProxyOptions(budget=700)
    memories = Memories(tmp_path / "store", {"embedder": "lexical", "durability": "os"})
    try:
        who = Callers(Tenants(secret_of(tmp_path), Aliases(tmp_path)), options)
        exchanges = Exchanges(memories, who, options)
        callers = [Caller(exchanges, at % 2, at) for at in range(4)]

        def work(at):
            return {callers[at].send() for _ in range(REQUESTS // len(callers))}

        with ThreadPoolExecutor(len(callers)) as pool:
            tenants = list(pool.map(work, range(len(callers))))
        for which, own in enumerate(CANARIES):
            names = tenants[which] | tenants[which + 2]
            assert len(names) == 2, "one for each way to send a key"
            assert names.isdisjoint(tenants[1 - which])
            for tenant in names:
                with memories.of(tenant) as memory:
                    for name in memory.conversations():
                        texts = [one["content"] for one in memory.conversation(name).messages()]
                        assert texts
                        assert not [text for text in texts if CANARIES[1 - which] in text]
                    assert CANARIES[1 - which] not in str(memory.search(own, k=20))
    finally:
        memories.close()
    assert sum(one.count for one in callers) == REQUESTS
    assert all(one.shorter > one.count // 9 for one in callers)
