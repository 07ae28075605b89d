"""What the proxy adds to a call, beside the bare upstream and LiteLLM's proxy, in the same run.

    python -m benches.python.serve.load --litellm VENV/bin/python \\
        --json benches/results/serve-<cpu>-<date>.json

LiteLLM needs an environment of its own: `python -m venv VENV && VENV/bin/pip install
'litellm[proxy]'`. Without `--litellm` it is left out.

Everything is on the loopback: a mock that answers at once with the same bytes, the proxies, each a
process of its own with one worker, and the clients in this one. The store has 10,000 turns in 50
conversations of one key. Each stream carries on a conversation with a list of 200 to 240 messages,
asks again once it is answered, and takes another conversation after 20 requests; the first of each,
for which the proxy reads the conversation from the store, is not measured. The servers take turns
with each number of streams. Every answer is compared with that of the mock, and at the end the
store has what was said.

`full list` is in this process: a list of all 10,000 messages with a question more is prepared, and
the parsing of its JSON beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.python.setting import ROOT, setting  # isort: skip - threads are set before numpy

from benches.python.race import check
from warmset import Memory
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.exchange import Asked, Exchanges
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.surfaces import CHAT
from warmset.serve.proxy.tenants import Tenants, secret_of
from warmset.serve.replies import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TURNS, LIST = 10_000, 200
STREAMS = (1, 16, 64)
REQUESTS = 300
"""Measured requests for each number of streams and each server, at least."""

KEY, MODEL = "sk-bench-4f0c2a9e7d1b83655a60e2d97c14fb08", "gpt-5.2"
EACH = 20
"""Measured requests of a conversation."""

BUDGET = 6_000
HOLD, GOAL = 8.0, 3.0
"""Milliseconds that the proxy may add to the median of one stream."""

PARSED = 1.5
"""How many times as long as parsing it a full list may take."""

WORDS = [f"word{n}" for n in range(3_000)]
SAID = "There are forty boxes of nails."
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": MODEL,
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": SAID},
        }
    ],
    "usage": {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909},
}
BYTES = json.dumps(ANSWER).encode()


def said(number: int, count: int) -> list[dict[str, str]]:
    """Return a conversation."""
    draw = random.Random(number)  # noqa: S311 - the same each time
    return [
        {
            "role": ("user", "assistant")[at % 2],
            "content": f"{number} {at} {' '.join(draw.choices(WORDS, k=30))}.",
        }
        for at in range(count)
    ]


# --- the servers ----------------------------------------------------------------------------------


async def mock(port: int) -> None:
    """Answer every request at once, with the same bytes."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    whole = head % len(BYTES) + BYTES

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                start = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"\ncontent-length: *(\d+)", start, re.IGNORECASE)
                await reader.readexactly(int(size[1]) if size else 0)
                writer.write(whole)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, limit=1 << 20)
    await server.serve_forever()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@contextmanager
def process(*command: str, port: int, wait: float = 120.0) -> Iterator[int]:
    """Run a server until the end; return its process number once it listens."""
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(  # noqa: S603 - ours
            command,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        ) as server,
    ):
        try:
            end = time.monotonic() + wait
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    if server.poll() is not None or time.monotonic() > end:
                        log.seek(0)
                        raise RuntimeError(log.read().decode()[-2_000:]) from None
                    time.sleep(0.05)
            yield server.pid
        finally:
            server.terminate()
            server.wait(60)


def filled(place: Path) -> str:
    """Fill a store; return the tenant of the key."""
    Memory.open(place, embedder="lexical").close()
    tenants = Tenants(secret_of(place), Aliases(place))
    tenant = tenants.tenant({"authorization": f"Bearer {KEY}"})
    with Memory.open(place, embedder="lexical", tenant=tenant) as memory:
        for number in range(TURNS // LIST):
            memory.conversation(f"auto-{number:016x}").append(said(number, LIST))
        memory.flush(600)
        check(memory.stats()["messages"] == TURNS, "the store has every turn")
    return tenant


def litellm(python: str, place: Path, upstream: int, port: int) -> list[str]:
    """Return the command of LiteLLM's proxy before the mock."""
    config = {
        "model_list": [
            {
                "model_name": MODEL,
                "litellm_params": {
                    "model": f"openai/{MODEL}",
                    "api_base": f"http://127.0.0.1:{upstream}/v1",
                    "api_key": KEY,
                },
            }
        ],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"telemetry": False},
    }
    path = place / "litellm.yaml"
    path.write_text(json.dumps(config))  # JSON is YAML
    start = "from litellm.proxy.proxy_cli import run_server; run_server()"
    options = ["--config", str(path), "--host", "127.0.0.1", "--port", str(port)]
    return [python, "-c", start, *options, "--num_workers", "1"]


# --- the clients ----------------------------------------------------------------------------------


class Stream:
    """A client on a connection of its own, which carries on one conversation after the other.

    Args:
        numbers: Which ones; of those that are not stored it begins one.
        port: The server.
    """

    def __init__(self, numbers: Iterable[int], port: int) -> None:
        self.port = port
        self.numbers = numbers
        self.took: list[float] = []

    async def run(self, requests: int) -> list[float]:
        """Ask so often; return the milliseconds of each request but those that begin."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for number in self.numbers:
            draw = random.Random(number + self.port)  # noqa: S311 - the same each time
            messages = said(number, LIST)
            for turn in range(1 + min(EACH, requests - len(self.took))):
                question = f"What of {' '.join(draw.choices(WORDS, k=20))}?"
                messages.append({"role": "user", "content": question})
                took = await self.ask(messages, reader, writer)
                if turn:
                    self.took.append(took)
            if len(self.took) == requests:
                break
        writer.close()
        return self.took

    async def ask(
        self,
        messages: list[dict[str, str]],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> float:
        """Send a list, and append the reply; return the milliseconds until all of it was there."""
        body = json.dumps({"model": MODEL, "messages": messages}).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n"
            f"authorization: Bearer {KEY}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        begun = time.perf_counter()
        writer.write(head.encode() + body)
        answer = await _read(reader)
        took = (time.perf_counter() - begun) * 1e3
        message = json.loads(answer)["choices"][0]["message"]
        check(message["content"] == SAID, "the answer is the mock's")
        messages.append({"role": "assistant", "content": message["content"]})
        return took


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Read an answer; return its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    check(head.startswith(b"HTTP/1.1 200"), head.decode("latin-1")[:200])
    size = re.search(rb"\ncontent-length: *(\d+)", head, re.IGNORECASE)
    if size:
        return await reader.readexactly(int(size[1]))
    parts = []
    while step := int(await reader.readuntil(b"\r\n"), 16):
        parts.append((await reader.readexactly(step + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(parts)


async def timed(port: int, streams: int) -> dict[str, float]:
    """Return what requests take with some streams at once."""
    each = -(-REQUESTS // streams)
    begun = time.perf_counter()
    numbers = [range(at, 100 * streams, streams) for at in range(streams)]
    runs = await asyncio.gather(*(Stream(own, port).run(each) for own in numbers))
    spent = time.perf_counter() - begun
    took = sorted(one for run in runs for one in run)
    return {
        "p50": statistics.median(took),
        "p90": took[len(took) * 9 // 10],
        "a second": len(took) / spent,
    }


# --- the full list --------------------------------------------------------------------------------


def full_list(place: Path, repeats: int = 15) -> dict[str, float]:
    """Return the milliseconds of parsing a list of all turns, and of preparing it."""
    options = ProxyOptions(budget=BUDGET)
    memories = Memories(place, {"embedder": "lexical"})
    parsing, preparing = [], []
    try:
        who = Callers(Tenants(secret_of(place), Aliases(place)), options)
        exchanges = Exchanges(memories, who, options)
        messages = said(777, TURNS)
        headers = {"authorization": f"Bearer {KEY}"}
        for turn in range(repeats + 1):
            messages.append({"role": "user", "content": f"What of {WORDS[turn]} {WORDS[-turn]}?"})
            body = json.dumps({"model": MODEL, "messages": messages}).encode()
            asked = Asked(surface=CHAT, headers=headers, query="", body=body)
            begun = time.perf_counter()
            json.loads(body)
            parsed = time.perf_counter()
            prepared = exchanges.prepare(asked)
            done = time.perf_counter()
            check(prepared.bypass is None, f"no bypass: {prepared.bypass}")
            check(len(prepared.body) < len(body) / 10, "the window is short")
            reply = {"role": "assistant", "content": f"Forty of {WORDS[turn]}."}
            messages.append(reply)
            exchanges.answered(asked, prepared, Reply(messages=(reply,), is_complete=True))
            if turn:  # the first one is new to the store
                parsing.append((parsed - begun) * 1e3)
                preparing.append((done - parsed) * 1e3)
    finally:
        memories.close()
    return {"parse": statistics.median(parsing), "prepare": statistics.median(preparing)}


def main() -> None:
    """Print the figures, and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--mock", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--litellm", help="a Python that has LiteLLM's proxy")
    parser.add_argument("--place", type=Path, help="a directory for the stores")
    parser.add_argument("--json", type=Path, help="where the results are written")
    given = parser.parse_args()
    if given.mock:
        asyncio.run(mock(given.mock))
        return
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=given.place) as name, ExitStack() as servers:
        place = Path(name)
        tenant = filled(place / "store")
        ports = {"bare": free_port()}
        bare = [sys.executable, "-m", "benches.python.serve.load", "--mock", str(ports["bare"])]
        servers.enter_context(process(*bare, port=ports["bare"]))
        ports["warmset"] = free_port()
        own = [sys.executable, "-m", "warmset", "serve", "--memory", str(place / "store")]
        own += ["--port", str(ports["warmset"]), "--embedder", "lexical", "--budget", str(BUDGET)]
        own += ["--upstream", f"http://127.0.0.1:{ports['bare']}", "--patience", "60"]
        servers.enter_context(process(*own, port=ports["warmset"]))
        if given.litellm:
            ports["litellm"] = free_port()
            theirs = litellm(given.litellm, place, ports["bare"], ports["litellm"])
            servers.enter_context(process(*theirs, port=ports["litellm"]))
        for streams in STREAMS:
            for whose, port in ports.items():
                found.setdefault(str(streams), {})[whose] = asyncio.run(timed(port, streams))
        health = f"http://127.0.0.1:{ports['warmset']}/_warmset/health"
        with urllib.request.urlopen(health) as said_of_it:
            check(json.load(said_of_it)["status"] == "ok", "the proxy is well")
        servers.close()
        with Memory.open(place / "store", embedder="lexical", tenant=tenant) as memory:
            more = memory.stats()["messages"] - TURNS
        check(more > 2 * REQUESTS * len(STREAMS), "what was said is in the store")
        full = full_list(place / "store")
    for streams, rows in found.items():
        base = rows["bare"]["p50"]
        for whose, row in rows.items():
            row["added p50"] = row["p50"] - base
            print(
                f"{streams:>2} streams, {whose:<8} p50 {row['p50']:7.2f} ms, added "
                f"{row['added p50']:7.2f}, p90 {row['p90']:7.2f}, {row['a second']:6.0f} a second"
            )
    added = found["1"]["warmset"]["added p50"]
    print(f"one stream: {added:.2f} ms added (hold {HOLD}, goal {GOAL})")
    share = full["prepare"] / full["parse"]
    print(
        f"full list: parsing {full['parse']:.2f} ms, preparing {full['prepare']:.2f}, "
        f"{share:.2f} times (hold {PARSED})"
    )
    if given.json:
        versions = ("uvicorn", "httpx2", "starlette")
        results = {"setting": setting(versions), "turns": TURNS, "list": LIST}
        if given.litellm:
            command = [given.litellm, "-m", "pip", "show", "litellm"]
            shown = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
            results["litellm"] = shown.stdout.splitlines()[1].removeprefix("Version: ")
        results |= {"streams": found, "full list": full}
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
