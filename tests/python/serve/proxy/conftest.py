"""A proxy in a thread, in front of servers of the tests."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from warmset.serve.proxy.app import application  # noqa: E402
from warmset.serve.proxy.callers import Talk  # noqa: E402
from warmset.serve.proxy.guard import Guard  # noqa: E402
from warmset.serve.proxy.memories import Memories  # noqa: E402
from warmset.serve.proxy.options import ProxyOptions  # noqa: E402
from warmset.serve.proxy.resent import ResentLists  # noqa: E402
from warmset.serve.proxy.upstream import Upstreams  # noqa: E402
from warmset.serve.proxy.watch import Watcher  # noqa: E402


class Named:
    """Who is talking, as the headers say; None of the proxy's own recognition."""

    def __init__(self):
        self._lists = ResentLists()

    def tenant(self, headers, _query):
        return headers.get("x-tenant", "t")

    def read(self, memory, text, start):
        return self._lists.read(memory.tenant, text, start)

    def conversation(self, memory, headers, _body, _surface, _listed):
        return Talk(memory.tenant, headers.get("x-warmset-conversation", "c"))

    def replied(self, *what):
        """Remember nothing."""


class Running:
    """A proxy that answers.

    Attributes:
        url: Its address.
        memories: Its store.
        watcher: What watches it.
    """

    def __init__(self, url, memories, watcher):
        self.url = url
        self.memories = memories
        self.watcher = watcher

    def said(self, conversation="c", tenant="t"):
        """Return the messages of a conversation."""
        with self.memories.of(tenant) as memory:
            return list(memory.conversation(conversation).messages())


@contextmanager
def serving(app):
    """Serve an application; return its address."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, date_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()


@pytest.fixture
def proxied(tmp_path):
    """Return a function that starts a proxy in front of a server."""

    @contextmanager
    def start(upstream, *, who=None, guard=None, **options):
        memories = Memories(tmp_path / "store", {"embedder": "lexical", "durability": "os"})
        try:
            given = ProxyOptions(upstreams=Upstreams.of([upstream.rstrip("/")]), **options)
            watcher = Watcher(names=given.names)
            app = application(memories, who or Named(), given, watcher)
            if guard is not None:
                app = Guard(app, guard, refused=watcher.refused)
            with serving(app) as url:
                yield Running(url, memories, watcher)
        finally:
            memories.close()

    return start
