r"""How long a hundred tasks at once hold up the event loop, adapter by adapter.

    taskset -c 0 python -m benches.python.adapters.loop \
        --json benches/results/adapters-loop-<cpu>-<date>.json

A hundred tasks use an adapter as agents do, for some seconds: each adds, reads, and adds again. One
more task wakes up every millisecond and notes how late it is: that is how long the loop was held
up, by whatever held it. Bar: 20 ms at p99.9. An idle loop on the same machine stands beside it.

Python's collector of garbage holds up all threads while it looks at everything that lives, and the
frameworks that are imported here are a million objects: half a second, now and then. So what was
imported is frozen before, as a server does that cares; `--collect-all` leaves that out. How long
the collector took at most is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.python.setting import file_system, setting

# isort: split
from benches.python.adapters.race import PEERS, messages
from benches.python.race import check
from warmset.native import ColdStore, Log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TASKS, STEP, HOLD = 100, 0.001, 20.0


async def late(ends: float) -> list[float]:
    """Return how late the loop woke up, in milliseconds, each time until the end."""
    found = []
    while time.perf_counter() < ends:
        due = time.perf_counter() + STEP
        await asyncio.sleep(STEP)
        found.append((time.perf_counter() - due) * 1e3)
    return found


class Pauses:
    """Notes how long the collector of garbage takes; in milliseconds."""

    def __init__(self) -> None:
        self.longest = self._began = 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self.longest = max(self.longest, (time.perf_counter() - self._began) * 1e3)


async def measured(work: Callable[[int, int], Awaitable[None]], seconds: float) -> dict[str, Any]:
    """Run the tasks, and return what the loop felt."""
    ends, pauses = time.perf_counter() + seconds, Pauses()
    gc.callbacks.append(pauses)

    async def task(number: int) -> int:
        for step in count():
            if time.perf_counter() >= ends:
                return step
            await work(number, step)
        return 0

    beside = asyncio.create_task(late(ends))
    steps = sum(await asyncio.gather(*map(task, range(TASKS))))
    times = sorted(await beside)
    gc.callbacks.remove(pauses)
    check(times and steps, "nothing was measured")
    at = {"median": 0.5, "p99": 0.99, "p99.9": 0.999}
    picked = {name: round(times[int(len(times) * share)], 3) for name, share in at.items()}
    picked |= {"longest": round(times[-1], 3), "collector": round(pauses.longest, 3)}
    return {**picked, "steps": steps, "wakings": len(times)}


def works(log: Log) -> dict[str, Callable[[int, int], Awaitable[None]]]:
    """Return a step of each adapter."""
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415 - a peer

    from warmset.adapters.claude_agent_sdk import WarmsetSessionStore  # noqa: PLC0415
    from warmset.adapters.langgraph import WarmsetSaver, WarmsetStore  # noqa: PLC0415
    from warmset.adapters.openai_agents import WarmsetSession  # noqa: PLC0415

    items = messages()
    transcripts, saver, store = WarmsetSessionStore(log), WarmsetSaver(log), WarmsetStore(log)

    async def idle(_number: int, _step: int) -> None:
        await asyncio.sleep(0.01)

    async def sessions(number: int, step: int) -> None:
        session = WarmsetSession(f"s{number}", log)
        await session.add_items(items[:200] if step == 0 else items[step : step + 2])
        await session.get_items()

    async def transcript(number: int, step: int) -> None:
        key: Any = {"project_key": "p", "session_id": f"s{number}"}
        lines: Any = [
            {"type": "user", "uuid": f"{step} {at}", "message": item}
            for at, item in enumerate(items[: 200 if step == 0 else 2])
        ]
        await transcripts.append(key, lines)
        await transcripts.load(key)

    async def checkpoints(number: int, step: int) -> None:
        config: Any = {"configurable": {"thread_id": f"t{number}", "checkpoint_ns": ""}}
        version = saver.get_next_version(None, None)
        checkpoint = empty_checkpoint()
        checkpoint.update(channel_values={"m": items[:200]}, channel_versions={"m": version})
        put = await saver.aput(config, checkpoint, {"source": "loop", "step": step}, {"m": version})
        await saver.aput_writes(put, [("m", items[step])], "task")
        await saver.aget_tuple(config)

    async def memories(number: int, step: int) -> None:
        await store.aput((f"u{number}", "all"), f"k{step}", {"text": items[step], "n": step})
        await store.asearch((f"u{number}",), limit=50)

    return {
        "nothing": idle,
        "OpenAI Agents session": sessions,
        "Claude session store": transcript,
        "LangGraph saver": checkpoints,
        "LangGraph store": memories,
    }


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each adapter")
    parser.add_argument("--collect-all", action="store_true", help="freeze nothing before")
    options = parser.parse_args()
    found, figures = setting(PEERS), []
    with tempfile.TemporaryDirectory(dir=options.place) as place:
        found["file system"] = file_system(Path(place))
        print(json.dumps(found, indent=1, ensure_ascii=False), file=sys.stderr)
        with ColdStore.open(Path(place) / "store") as opened:
            found["frozen"] = not options.collect_all
            given = works(Log(opened))
            if not options.collect_all:
                gc.collect()
                gc.freeze()
            for name, work in given.items():
                figure = asyncio.run(measured(work, options.seconds))
                missed = "  MISSED" if figure["p99.9"] > HOLD else ""
                said = ", ".join(f"{key} {value:,}" for key, value in figure.items())
                print(f"{name:24} {said}, hold {HOLD} ms at p99.9{missed}", flush=True)
                figures.append({"name": name, "unit": "ms", "hold": HOLD, **figure})
    found["load at the end"] = os.getloadavg()
    if options.json:
        text = json.dumps({"setting": found, "results": figures}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
