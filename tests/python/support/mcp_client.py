"""The SDK's own client with warmset's server, over both transports and in both eras."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

import warmset
from tests.conformance.suite import served

ROOT = Path(__file__).resolve().parents[3]
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
"""How a client is told which era to speak, and the version that it then agrees on."""


def environment():
    paths = [str(Path(warmset.__file__).parents[1]), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def tokens(path, *more):
    return ("-m", "warmset", "mcp", "--memory", str(path), "--embedder", "lexical", *more)


def over_stdio(path, *more):
    """What starts a server that speaks on its standard streams."""
    return StdioServerParameters(
        command=sys.executable, args=list(tokens(path, *more)), env=environment()
    )


def over_http(path, *more):
    """A server at a free port, as a context manager; gives its URL."""
    return served(*tokens(path, "--http", "--port", "0", *more))


@asynccontextmanager
async def client(server, mode, **options):
    """A client that is connected, and has agreed on the version that was meant."""
    async with Client(server, mode=mode, read_timeout_seconds=60, **options) as made:
        assert made.session.protocol_version == ERAS[mode]
        yield made


def run(work, *given):
    """Run an async function to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return anyio.run(work, *given)
