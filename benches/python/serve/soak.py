"""Half an hour of everything that clients and upstreams do: memory and descriptors stay flat.

    python -m benches.python.serve.soak [--minutes 30] [--json FILE]

Sixteen clients at once send lists, lists that go on, requests without a list, requests that the
guard refuses, and give up in the middle; the upstream plays random answers: whole, slow,
compressed, broken off and reset. Each turn that is new is kept, and its index lies in memory, so
that may grow: by no more than a few kilobytes a turn. The first quarter is for warming up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benches.python.setting import ROOT, setting  # isort: skip - threads are set before numpy

import httpx2

from benches.python.race import check
from benches.python.serve.load import free_port, process, said
from warmset import Memory
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.tenants import Tenants, secret_of

sys.path.insert(0, str(ROOT / "tests" / "python" / "support"))
from any_answers import METHODS, PATHS, Answering, answer

CLIENTS, EVERY = 16, 5.0
KEY = "sk-soak-0123456789"
A_TURN = 8 << 10
"""Bytes of memory that a new turn may take."""

FLAT = 1.05
"""How much of its memory after warming up the proxy may have at the end, besides new turns."""


def used(process_id: int) -> dict[str, int]:
    """Return the resident bytes and the descriptors of a process."""
    place = Path(f"/proc/{process_id}")
    pages = int((place / "statm").read_text().split()[1])
    return {
        "rss": pages * os.sysconf("SC_PAGE_SIZE"),
        "descriptors": len(list((place / "fd").iterdir())),
    }


async def client(url: str, seed: int, until: float, count: dict[str, int]) -> None:
    """Do anything until a time."""
    draw = random.Random(seed)  # noqa: S311 - the same each time
    own = said(seed, 20)
    headers = {"authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=30) as http:
        while time.monotonic() < until:
            number = draw.randrange(100_000)
            surface = answer(number).surface
            body: dict[str, Any] = {"messages": own[: draw.randrange(1, 20, 2)]}
            if surface == "responses":
                body = {"input": body["messages"]}
            if surface.startswith("gemini"):
                body = {"contents": [{"role": "user", "parts": [{"text": own[0]["content"]}]}]}
            more = {"x-answer": str(number), "x-warmset-conversation": f"{surface} {seed}"}
            sort = draw.random()
            if sort < 0.05:
                more["host"] = "elsewhere.example"
            elif sort < 0.1:
                more["x-long"] = "v" * 40_000
            method = METHODS.get(surface, "POST")
            count["requests"] += 1
            try:
                async with http.stream(
                    method, PATHS[surface], headers=more, json=None if method != "POST" else body
                ) as got:
                    async for _piece in got.aiter_raw():
                        if sort > 0.9:
                            break  # gives up
                    if got.headers.get("x-warmset", "").startswith("bypass"):
                        count["bypasses"] += 1
            except (httpx2.HTTPError, httpx2.StreamError):
                count["broken"] += 1


async def soaked(url: str, process_id: int, seconds: float) -> tuple[list[Any], dict[str, int]]:
    """Return what the proxy uses, every few seconds, and what was done."""
    count = {"requests": 0, "broken": 0, "bypasses": 0}
    begun = time.monotonic()
    until = begun + seconds
    clients = [asyncio.create_task(client(url, at, until, count)) for at in range(CLIENTS)]
    rows = []
    while time.monotonic() < until:
        await asyncio.sleep(EVERY)
        rows.append({"at": time.monotonic() - begun, **used(process_id), **count})
    await asyncio.gather(*clients)
    await asyncio.sleep(1)
    async with httpx2.AsyncClient(base_url=url) as http:
        check((await http.get("/_warmset/health")).status_code == 200, "the proxy is well")
    rows.append({"at": time.monotonic() - begun, **used(process_id), **count})
    return rows, count


def main() -> None:
    """Print what was used, and check that it stayed flat."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--place", type=Path, help="a directory for the store")
    parser.add_argument("--json", type=Path, help="where the results are written")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.place) as name, Answering() as upstream:
        store, port = Path(name) / "store", free_port()
        command = [sys.executable, "-m", "warmset", "serve", "--memory", str(store)]
        command += ["--port", str(port), "--embedder", "lexical", "--upstream", upstream.url]
        with process(*command, port=port) as server:
            url = f"http://127.0.0.1:{port}"
            rows, count = asyncio.run(soaked(url, server, given.minutes * 60))
        tenant = Tenants(secret_of(store), Aliases(store)).tenant(
            {"authorization": f"Bearer {KEY}"}
        )
        with Memory.open(store, embedder="lexical", tenant=tenant) as memory:
            turns = memory.stats()["messages"]
    for row in rows[:: max(1, len(rows) // 12)]:
        print(
            f"{row['at']:6.0f} s  {row['rss'] / 2**20:7.1f} MiB  {row['descriptors']:4} "
            f"descriptors  {row['requests']:7} requests"
        )
    warm, last = rows[len(rows) // 4], rows[-1]
    new = turns * (last["requests"] - warm["requests"]) // last["requests"]
    grown = last["rss"] - warm["rss"]
    print(
        f"{count['requests']} requests, {count['broken']} broken, {count['bypasses']} bypasses, "
        f"{turns} turns; since warming up {grown / 2**20:.1f} MiB for {new} turns"
    )
    if given.json:
        result = {"setting": setting(("uvicorn", "httpx2")), "rows": rows, "turns": turns}
        given.json.write_text(json.dumps(result, indent=2) + "\n")
    check(last["rss"] < FLAT * warm["rss"] + A_TURN * new, "memory is flat")
    most = max(row["descriptors"] for row in rows)
    check(last["descriptors"] <= rows[0]["descriptors"], "every descriptor was closed")
    check(most < rows[0]["descriptors"] + 4 * CLIENTS, "descriptors are as many as connections")


if __name__ == "__main__":
    main()
