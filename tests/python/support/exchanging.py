"""A proxy without connections: requests are prepared and answered by calls."""

from __future__ import annotations

import json
from contextlib import contextmanager

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.exchange import Asked, Exchanges
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants
from warmset.serve.replies import Reply


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def whole(*messages, **more):
    """Return a reply that has ended."""
    return Reply(messages=messages, is_complete=True, **more)


class Exchanging:
    """A proxy that is called.

    Args:
        folder: Where its store lies.
    """

    def __init__(self, folder):
        self.memories = Memories(folder / "store", {"embedder": "lexical", "durability": "os"})
        options = ProxyOptions()
        who = Callers(Tenants(b"s" * 32, Aliases(folder)), options)
        self.exchanges = Exchanges(self.memories, who, options)

    def ask(self, surface, given, *, headers=(), text=None, **body):
        """Return a request, and what is sent for it.

        Args:
            surface: What it is.
            given: Its list.
            headers: Its headers besides the key.
            text: Its body as it is written; made of the list and of `body` if not given.
            body: More fields.
        """
        body = {surface.messages: given, "model": "gpt-5.2", **body}
        headers = {"authorization": "Bearer k", **dict(headers)}
        written = (text or json.dumps(body)).encode()
        asked = Asked(surface=surface, headers=headers, query="", body=written)
        return asked, self.exchanges.prepare(asked)

    def answer(self, request, reply):
        """Answer what `ask` returned; return whether the reply was appended."""
        return self.exchanges.answered(*request, reply)

    @contextmanager
    def memory(self):
        """Lend the memory of who asks."""
        tenant = self.exchanges._who.tenant({"authorization": "Bearer k"}, "")
        with self.memories.of(tenant) as memory:
            yield memory

    def stored(self):
        """Return the messages of each conversation, and how many the store has."""
        with self.memory() as memory:
            names = memory.conversations()
            paths = [[dict(one) for one in memory.conversation(name).messages()] for name in names]
            return paths, memory.stats()["messages"]
