"""How long an import of a million lines takes, and what lies in memory meanwhile.

    taskset -c 0 python -m benches.python.ingest.transcripts --lines 1000000

It writes a session of Claude Code of that many lines, imports it into a new store, and imports it
again. It asserts what was stored, and prints for each import the seconds and the most memory that
the process had meanwhile, its own and that of mapped files apart. It needs Linux.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Self

from warmset.maintenance import import_transcripts

ROUND = 4
"""Lines of an exchange: a prompt, a reply in two pieces, and the result of its call."""


def write(path: Path, lines: int, seed: int = 1) -> None:
    """Write a session of exchanges with a call each."""
    rng = random.Random(seed)  # noqa: S311 - for material
    last = None
    with path.open("w") as file:
        for n in range(lines):
            uid = str(uuid.UUID(int=rng.getrandbits(128), version=4))
            exchange, place = divmod(n, ROUND)
            words = " ".join(rng.choices(("lamp", "wall", "door", "green", "paint"), k=20))
            role = "user" if place in (0, 3) else "assistant"
            content: object = f"{n} {words}"
            if place == 1:
                content = [{"type": "text", "text": f"{n} {words}"}]
            elif place == 2:
                call = {"name": "Read", "input": {"file_path": f"/f{n % 500}"}}
                content = [{"type": "tool_use", "id": f"t{exchange}", **call}]
            elif place == 3:
                result = {"tool_use_id": f"t{exchange}", "content": words}
                content = [{"type": "tool_result", **result}]
            message = {"role": role, "content": content}
            if role == "assistant":
                message |= {"id": f"m{exchange}", "model": "made-up"}
            line = {
                "parentUuid": last,
                "isSidechain": False,
                "sessionId": "a-million-lines",
                "type": role,
                "uuid": uid,
                "timestamp": "2026-05-01T10:00:00.000Z",
                "message": message,
            }
            file.write(json.dumps(line) + "\n")
            last = uid


class Watch:
    """The most memory that the process has while a block runs, in MiB.

    Attributes:
        own: Anonymous pages: what the program itself keeps.
        mapped: Pages of mapped files, which the system takes back when it needs them.
    """

    def __init__(self) -> None:
        self.own = self.mapped = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            said = dict(line.split(":", 1) for line in lines)
            own, mapped = (int(said[name].split()[0]) >> 10 for name in ("RssAnon", "RssFile"))
            self.own, self.mapped = max(self.own, own), max(self.mapped, mapped)
            if self._over.wait(0.02):
                return


def main() -> None:
    """Import a session twice, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    lines = parser.parse_args().lines // ROUND * ROUND
    with tempfile.TemporaryDirectory() as place:
        file, store = Path(place, "session.jsonl"), Path(place, "store")
        write(file, lines)
        with Watch() as watch:
            pass
        print(f"{lines:,} lines, {file.stat().st_size >> 20:,} MiB; before: {watch.own} MiB")
        for name in ("first", "second"):
            begun = time.perf_counter()
            with Watch() as watch:
                report = import_transcripts(store, file)
            seconds = time.perf_counter() - begun
            messages = lines // ROUND * (ROUND - 1)
            new = messages if name == "first" else 0
            assert (report.new, report.known) == (new, messages - new)
            rate = f"{lines / seconds:,.0f} lines/s"
            memory = f"{watch.own} MiB of its own, {watch.mapped} MiB of mapped files"
            print(f"{name}: {report.new:,} new in {seconds:.1f} s ({rate}), {memory}")


if __name__ == "__main__":
    main()
