"""How long an agent waits for each hook, in a store of 100,000 turns: alone, and with the helper.

    taskset -c 0 python -m benches.python.serve.hooks \\
        --json benches/results/hooks-<cpu>-<date>.json [--store DIR]

Each line starts a hook as an agent does, in turn with the others and with a bare `python -c pass`,
from the start of the process to its end; figures are medians and 95th percentiles of the clock on
the wall. `alone` is a hook without a helper: it answers by its index of words, and starts no
helper here. The transcript has 2,000 lines; each prompt asks for something else, and each answer is
looked at. Sessions are marked as those whose turns the proxy keeps, so that the helper does not
store the transcript beside the calls that are measured; before each call its queue is empty, so
that SessionStart, which waits up to a second for the audit of a summary, waits for none. `--store`
takes a copy of a store that is there; without it, one is made.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from benches.python.setting import setting  # isort: skip - threads are set before numpy

from benches.python.race import check
from warmset import Memory
from warmset.serve.hooks import entry, failures
from warmset.serve.hooks.answers import EVENTS
from warmset.serve.hooks.config import Config
from warmset.serve.hooks.helper import ping
from warmset.serve.hooks.installing import prepare
from warmset.serve.hooks.jobs import waiting

if TYPE_CHECKING:
    from warmset.serve.hooks.places import Places

TURNS, CONVERSATIONS, PLANTED, LINES = 100_000, 100, 500, 2_000
BARS = {"alone": 80.0, "helper": 40.0, "above bare": 10.0}
"""Milliseconds: medians."""

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o") for c in "lmnrstvx"]
BARE = [sys.executable, "-c", "pass"]


def made(place: Path) -> None:
    """Make a store of 100,000 turns in 100 conversations."""
    draw = random.Random(3)  # noqa: S311 - the same each time
    with Memory.open(place, embedder="lexical", durability="os") as memory, memory.paused():
        for number in range(CONVERSATIONS):
            turns = [
                {
                    "role": "user" if at % 2 == 0 else "assistant",
                    "content": " ".join(draw.choices(WORDS, k=40)),
                }
                for at in range(TURNS // CONVERSATIONS)
            ]
            memory.conversation(f"talk {number}").append(turns)


def plant(place: Path) -> None:
    """Add what the prompts ask for, each in words that nothing else has."""
    with Memory.open(place, embedder="lexical") as memory:
        memory.conversation("planted").append(
            [{"role": "user", "content": fact(at)} for at in range(PLANTED)]
        )


def fact(at: int) -> str:
    """Return a fact that one prompt asks for."""
    return f"The gauge quillon{at} in hall wexham{at} is set to {at * 37 + 11} bar."


def prompt(at: int) -> str:
    """Return the prompt that asks for it."""
    return f"What is the gauge quillon{at} in hall wexham{at} set to?"


def transcript(place: Path) -> Path:
    """Write a transcript as Claude Code does."""
    draw = random.Random(5)  # noqa: S311 - the same each time
    lines: list[dict[str, Any]] = []
    for at in range(LINES):
        role = "user" if at % 2 == 0 else "assistant"
        text = " ".join(draw.choices(WORDS, k=60))
        message: dict[str, Any] = {"role": role, "content": f"We decided on {text}. Next is it."}
        if role == "assistant":
            message["usage"] = {"input_tokens": 900, "output_tokens": 90}
            message["content"] = [{"type": "text", "text": message["content"]}]
        lines.append(
            {"type": role, "uuid": f"u{at}", "isSidechain": False, "message": message}
            | {"timestamp": "2026-11-28T10:00:00.000Z"}
        )
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


def given(event: str, path: Path, at: int) -> dict[str, Any]:
    """Return what a host sends; each call is of a session of its own, but for what needs one."""
    more: dict[str, Any] = {
        "SessionStart": {"source": "compact"},
        "UserPromptSubmit": {"prompt": prompt(at)},
        "PreCompact": {"trigger": "auto", "custom_instructions": ""},
        "PostCompact": {"trigger": "auto", "compact_summary": "They went on."},
        "Stop": {"stop_hook_active": False},
        "SessionEnd": {"reason": "other"},
    }[event]
    session = f"session-{at}"
    here = {"session_id": session, "transcript_path": str(path), "cwd": str(path.parent)}
    return {**here, "hook_event_name": event, **more}


ENVIRON = {**os.environ, entry.WRAPPED: "1"}


def timed(command: list[str], text: str) -> tuple[float, str]:
    """Run a process, and return its milliseconds and what it prints."""
    started = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own lines
        command, input=text, capture_output=True, text=True, check=True, env=ENVIRON
    )
    return (time.perf_counter() - started) * 1000, done.stdout


def looked_at(event: str, out: str, at: int) -> None:
    """Check an answer."""
    if event == "UserPromptSubmit":
        check(f"{at * 37 + 11} bar" in out, f"the answer to prompt {at} is not recalled")
    if event == "PreCompact":
        check("decisions: We decided" in out, "there is no checkpoint")
    if event == "SessionStart":
        check("Resume with the next step" in out, "the session is told nothing")


def measured(places: Places, path: Path, runs: int, *, helped: bool) -> dict[str, dict[str, float]]:
    """Return what each event takes."""
    found: dict[str, list[float]] = {"bare": [], **{event: [] for event in EVENTS}}
    order = ("UserPromptSubmit", "PreCompact", "SessionStart", "PostCompact", "Stop", "SessionEnd")
    for at in range(runs + 1):
        found["bare"].append(timed(BARE, "")[0])
        for event in order:
            if not helped:
                Path(places.started).touch()  # so that none is started while we measure
            command = [sys.executable, "-I", "-S", entry.__file__, "claude-code", event]
            number = at + (0 if helped else PLANTED // 2)
            while helped and waiting(places.queue):
                time.sleep(0.02)
            said = json.dumps(given(event, path, number))
            took, out = timed([*command, places.memory], said)
            looked_at(event, out, number)
            found[event].append(took)
    check(not failures.read(places.failures), "a hook failed")
    return {
        name: {"p50": median(some[1:]), "p95": quantiles(some[1:], n=20)[-1]}
        for name, some in found.items()
    }


def main() -> int:
    """Measure, print, and judge if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--hold", action="store_true", help="fail where a bar is crossed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warmset-hooks-") as folder:
        place = Path(folder) / "store"
        if options.store is None:
            made(place)
        else:
            shutil.copytree(options.store, place)
        plant(place)
        places = prepare(place, Config(idle=600.0))
        path = transcript(Path(folder) / "transcript.jsonl")
        helper = subprocess.Popen(  # noqa: S603 - our own helper
            [sys.executable, str(Path(entry.__file__).with_name("resident.py")), places.memory]
        )
        try:
            while ping(places) is None or not Path(places.words).exists():
                check(helper.poll() is None, "the helper ended")
                time.sleep(0.1)
            helped = measured(places, path, options.runs, helped=True)
        finally:
            helper.terminate()
            helper.wait()
        alone = measured(places, path, options.runs, helped=False)
    crossed: list[str] = []
    print(f"{'':18}{'alone p50':>12}{'p95':>8}{'helper p50':>12}{'p95':>8}   ms")
    for name in ("bare", *EVENTS):
        one, two = alone[name], helped[name]
        print(f"{name:18}{one['p50']:12.1f}{one['p95']:8.1f}{two['p50']:12.1f}{two['p95']:8.1f}")
        above = two["p50"] - helped["bare"]["p50"]
        figures = {"alone": one["p50"], "helper": two["p50"], "above bare": above}
        crossed += [f"{name} {bar}" for bar, most in BARS.items() if figures[bar] > most]
    if options.json:
        result = {"setting": setting(), "alone": alone, "helper": helped, "bars": BARS}
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    for one_crossed in crossed:
        print(f"over the bar: {one_crossed}", file=sys.stderr)
    return int(bool(crossed and options.hold))


if __name__ == "__main__":
    sys.exit(main())
