"""Ctrl-C at random moments of every command and of a `with` block.

``python tests/python/support/interrupting.py 2000`` sends that many in all, and prints a table. The
suite sends a few.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

# The signal has its default effect, whatever this process inherited from a shell in the background,
# and the clock begins where ours begins: before that, Python starts and imports the entry point.
LAUNCH = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from warmset.cli import entry
begin, pipe = entry._code, int(sys.argv.pop(1))
def begun():
    os.write(pipe, b"x")
    return begin()
entry._code = begun
entry.main()
"""

BLOCK = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from warmset import Memory
def embed(texts):
    time.sleep(0.05 * len(texts))
    return [[1.0, len(text)] for text in texts]
with Memory.open(sys.argv[2], embedder=embed) as memory:
    memory.conversation("log").append({"role": "user", "content": "x"})
    os.write(int(sys.argv[1]), b"x")
    for n in range(10_000):
        memory.conversation("log").append({"role": "user", "content": f"turn {n} " * 20})
        time.sleep(0.001)
"""

MODEL = BLOCK.replace("embedder=embed", "embedder=None")
DURATION = 2.0
LIMIT, LOADING = 1.0, 3.0
"""Seconds that a process has to end: any, and one that may be loading a model."""


def prepare(folder):
    """Make what the commands work on."""
    from warmset import Memory  # noqa: PLC0415 - only here

    with Memory.open(folder / "store", embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": f"turn {n} about a ferry"} for n in range(2_000)])
    lines = [{"role": "user", "content": f"turn {n} about a ferry " * 9} for n in range(400)]
    (folder / "list.json").write_text(json.dumps(lines))
    subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-m", "warmset", "export", folder / "store"]  # noqa: RUF005
        + ["--out", folder / "export.jsonl"],
        check=True,
        capture_output=True,
    )


def cases(folder):
    """Return each case with its command line and the seconds that it has to end."""
    store, file = str(folder / "store"), str(folder / "list.json")
    fresh = str(folder / "fresh{n}")
    lines = {
        "help": (["--help"], LIMIT),
        "bench": (["bench"], LIMIT),
        "demo": (["demo"], LOADING),
        "demo, words": (["demo", "--words-only"], LIMIT),
        "demo, compact": (["demo", "--compact"], LIMIT),
        "compact": (["compact", file], LOADING),
        "compact, words": (["compact", file, "--words-only"], LIMIT),
        "doctor": (["doctor", store], LIMIT),
        "verify": (["verify", store, "--json"], LIMIT),
        "export": (["export", store], LIMIT),
        "import": (["import", str(folder / "export.jsonl"), "--memory", fresh], LIMIT),
        "history": (["history", store], LIMIT),
        "erase": (["erase", store, "--conversation", "none"], LIMIT),
        "model path": (["model", "path"], LIMIT),
        "model verify": (["model", "verify"], LOADING),
        "rpc": (["rpc", "--memory", store], LOADING),
    }
    made = {name: ([LAUNCH, "{fd}", *line], limit) for name, (line, limit) in lines.items()}
    made["with"] = [BLOCK, "{fd}", fresh], LIMIT
    made["with, model"] = [MODEL, "{fd}", fresh], LOADING
    return made


def interrupt(line, moment, number):
    """Start a process, send the signal after that many seconds, and wait.

    Returns:
        The seconds until it ended, its exit code and its errors; None if it ended well by itself.
    """
    reader, writer = os.pipe()
    words = [word.replace("{fd}", str(writer)).replace("{n}", str(number)) for word in line]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - fixed
            [sys.executable, "-c", *words],
            stdin=subprocess.PIPE,  # it stays open: a question waits for its answer
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[writer],
        ) as process,
    ):
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        sent = time.monotonic()
        if process.returncode == 0:
            return None
        process.send_signal(signal.SIGINT)  # nothing is sent to one that has ended
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        seconds = time.monotonic() - sent
        errors.seek(0)
        return seconds, process.returncode, errors.read().decode()


def verdict(name, limit, found):
    """Say what is wrong with how a process ended; None if nothing is."""
    seconds, code, errors = found
    if seconds > limit:
        return f"{seconds:.1f} s"
    if name.startswith("with"):  # a program of the user's: Python prints the KeyboardInterrupt
        if code not in (-signal.SIGINT, 130):
            return f"exit code {code}: {errors[-300:]}"
        return None if "Fatal" not in errors and "abort" not in errors else errors[-300:]
    if code == 0:  # it was over
        return None
    if code != 130:
        return f"exit code {code}: {errors[-300:]}"
    return errors[-300:] if "Traceback" in errors or "Error" in errors else None


def main(count):
    """Send that many signals in all; gives how many ends were wrong."""
    chance, wrong = random.Random(count), 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        lines = cases(Path(folder))
        for name, (line, limit) in lines.items():
            ends, times, number = Counter(), [], 0
            for number in range(-(-count // len(lines))):
                most = chance.choice((0.3, DURATION))
                found = interrupt(line, chance.uniform(0, most), number)
                if found is None:
                    ends["over before"] += 1
                    continue
                times.append(found[0])
                ends[verdict(name, limit, found) or "well"] += 1
            bad = {end: times for end, times in ends.items() if end not in ("well", "over before")}
            wrong += sum(bad.values())
            slowest = max(times, default=0.0)
            print(f"{name:16} {number + 1:5} slowest {slowest:.2f} s {dict(ends)}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1])), 1))
