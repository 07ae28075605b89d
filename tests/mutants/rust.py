"""Mutants of the core: cargo-mutants makes and tries them, in the copy.

A mutant meets the unit tests of the crate and the test binary of its own stage
(`tests/rust/<stage>`), or all binaries if its stage has none. The bindings (`rust/py`) have no
tests in Rust and are left out.
"""

from __future__ import annotations

import json
import platform
import random
import re
import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tests.mutants.changed import diff
from tests.mutants.mutant import Mutant, Outcome, Result
from tests.mutants.running import run
from tests.mutants.sample import in_turn
from tests.mutants.tree import CORE, UsageError, room_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.mutants.copies import Copy
    from tests.mutants.tree import Tree

CRATE = "warmset-core"
INSTALL = "cargo-mutants is not installed: cargo install --locked cargo-mutants"
ALSO = {"hot": ("simd",), "simd": ("hot",)}  # binaries that test a stage beside its own
MIN_TIMEOUT_SECONDS = 60
GRACE_SECONDS = 20.0  # cargo-mutants runs tests in groups of their own, which it ends itself
OUTCOMES: dict[str, Outcome] = {
    "CaughtMutant": "found",
    "MissedMutant": "lived",
    "Timeout": "timeout",
    "Unviable": "unviable",
}
PLACE = re.compile(r"^\S+?:(\d+):\d+: ")


class RustMutants:
    """All mutants that cargo-mutants would make, and a way to try some of them."""

    def __init__(self, copy: Copy, cargo_target: Path) -> None:
        self.copy = copy
        self.cargo_target = cargo_target
        self._names: dict[Mutant, str] = {}
        self._diffs: dict[Mutant, str] = {}

    def all(self, tree: Tree) -> list[Mutant]:
        """List the mutants of the core, in the order of the sources.

        Raises:
            UsageError: cargo-mutants is not installed, or failed.
        """
        return self._listed(tree)

    def changed(self, tree: Tree, revision: str) -> list[Mutant]:
        """List those that touch a line that has changed since a revision.

        Raises:
            UsageError: cargo-mutants is not installed, or failed.
        """
        since = self.copy.root / ".mutants-diff"
        since.write_text(diff(tree, revision), "utf-8")
        return self._listed(tree, "--in-diff", since.name)

    def _listed(self, tree: Tree, *options: str) -> list[Mutant]:
        self._names.clear()
        said = self._cargo("--list", "--json", *options)
        texts: dict[str, list[str]] = {}
        for one in json.loads(said):
            file, span, name = one["file"], one["span"], one["name"]
            if not is_compiled(file):
                continue
            if file not in texts:
                texts[file] = tree.read(file).splitlines()
            line = span["start"]["line"]
            mutant = Mutant(
                room=room_of(file),
                file=file,
                line=line,
                operator=PLACE.sub("", name),
                text=texts[file][line - 1].strip(),
                before="",
                after=name,
            )
            self._names[mutant] = name
            self._diffs[mutant] = _short(one.get("diff", ""))
        return list(self._names)

    def try_all(self, mutants: Sequence[Mutant], done: Callable[[Result], None]) -> None:
        """Try mutants stage by stage, and hand over each result as it comes.

        Raises:
            UsageError: The tests fail without a mutant, or cargo-mutants failed.
        """
        stages = defaultdict(list)
        for mutant in mutants:
            stages[mutant.room].append(mutant)
        for room, own in stages.items():
            self._try_stage(room.removeprefix("rust/"), own, done)

    def _try_stage(
        self, stage: str, mutants: Sequence[Mutant], done: Callable[[Result], None]
    ) -> None:
        by_name = {self._names[mutant]: mutant for mutant in mutants}
        out = self.copy.root / ".mutants-rust"
        shutil.rmtree(out, ignore_errors=True)
        outcomes = out / "mutants.out" / "outcomes.json"
        seen: set[str] = set()

        def look() -> None:
            for name, result in _outcomes(outcomes, by_name, self._diffs):
                if name not in seen:
                    seen.add(name)
                    done(result)

        picked = [part for name in by_name for part in ("--re", f"^{re.escape(name)}$")]
        # Mutants that delete a field pass every --re (cargo-mutants 27.1), but not --file.
        picked += [part for file in {one.file for one in mutants} for part in ("--file", file)]
        self._cargo(
            *("--in-place", "--no-shuffle", "--cap-lints=true", "-o", str(out)),
            *(f"--minimum-test-timeout={MIN_TIMEOUT_SECONDS}", *picked),
            *("--", *self._tests(stage)),
            tick=look,
        )
        look()
        if lost := sorted(set(by_name) - seen):
            raise UsageError(f"cargo-mutants did not try {len(lost)} mutants, first {lost[0]}")

    def _tests(self, stage: str) -> list[str]:
        binaries = [stage, *ALSO.get(stage, ())]
        if not (self.copy.root / "tests" / "rust" / stage).is_dir():
            return []
        return ["--lib", *(part for name in binaries for part in ("--test", name))]

    def _cargo(self, *arguments: str, tick: Callable[[], None] | None = None) -> str:
        if not (shutil.which("cargo") and shutil.which("cargo-mutants")):
            raise UsageError(INSTALL)
        env = {**self.copy.environment(), "CARGO_TARGET_DIR": str(self.cargo_target)}
        env["CARGO_TERM_COLOR"] = "never"
        command = ["cargo", "mutants", "-d", ".", "--no-config", "--package", CRATE, *arguments]
        ran = run(command, cwd=self.copy.root, env=env, tick=tick, grace=GRACE_SECONDS)
        # 0: all found; 2: some lived; 3: some took too long. The rest are failures.
        if ran.code not in (0, 2, 3):
            raise UsageError(f"cargo mutants ended with {ran.code}:\n{ran.output[-3000:]}")
        return ran.output


def rust_sample(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw from each stage in turn: a line, then a mutant on it."""
    by_room: dict[str, dict[tuple[str, int], list[Mutant]]] = defaultdict(dict)
    for mutant in mutants:
        by_room[mutant.room].setdefault((mutant.file, mutant.line), []).append(mutant)
    draws = {
        room: _lines(places, random.Random(f"{seed}/{room}")) for room, places in by_room.items()
    }
    return in_turn(draws, count, random.Random(seed))


def _lines(
    places: Mapping[tuple[str, int], Sequence[Mutant]], chance: random.Random
) -> Iterator[Mutant]:
    order = sorted(places)
    chance.shuffle(order)
    for place in order:
        yield chance.choice(sorted(places[place], key=lambda one: one.after))


def is_compiled(file: str) -> bool:
    """Whether this machine compiles a file; not those of the instructions of other processors."""
    name, arm = file.rpartition("/")[2], platform.machine().lower() in ("aarch64", "arm64")
    if name.startswith("neon"):
        return arm
    return not (arm and name.startswith("x86"))


def is_core(file: str) -> bool:
    """Whether cargo-mutants is asked about a file."""
    return file.startswith(f"{CORE}/") and file.endswith(".rs")


def _outcomes(
    path: Path, by_name: Mapping[str, Mutant], diffs: Mapping[Mutant, str]
) -> Iterator[tuple[str, Result]]:
    """Read what has come out so far; the file may be half written."""
    try:
        said: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return
    for one in said["outcomes"]:
        scenario = one["scenario"]
        if not isinstance(scenario, dict):
            continue  # the tests without a mutant
        name = scenario["Mutant"]["name"]
        outcome = OUTCOMES.get(one["summary"])
        if outcome is None or name not in by_name:
            continue
        mutant = by_name[name]
        yield (
            name,
            Result(
                mutant=mutant,
                outcome=outcome,
                seconds=sum(phase.get("duration", 0.0) for phase in one["phase_results"]),
                diff=diffs[mutant],
            ),
        )


def _short(diff: str) -> str:
    """Leave the lines that stay as they are out of a diff."""
    return "\n".join(row for row in diff.splitlines() if not row.startswith(" "))
