"""One mutant against tests: does one fail?"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.mutants.mutant import Result
from tests.mutants.running import Ran, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mutants.copies import Copy
    from tests.mutants.mutant import Mutant, Outcome

TIMEOUT = 300.0  # seconds that the tests of a mutant may take, where nothing else is known
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line")
UNUSED = ("-p", "no:langsmith_plugin")  # comes with langchain-core, and is half of pytest's start
NO_TESTS = 5  # pytest: nothing was collected
WRONG_USE = 4  # pytest: a path that does not exist, or a conftest.py that cannot be imported
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
DOES_NOT_COMPILE = re.compile(r"^error: could not compile|^error\[E\d+\]", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """What a mutant meets: pytest's arguments, or a line for the shell."""

    arguments: tuple[str, ...] = ()
    shell: str = ""
    sound: bool = False  # known to pass without a mutant

    def command(self, place: Path) -> list[str]:
        """Write the command; the arguments of pytest go through a file, as they may be many."""
        if self.shell:
            return ["bash", "-c", self.shell]
        listed = place / ".mutants-tests"
        listed.write_text("\n".join(self.arguments), "utf-8")
        return [sys.executable, *PYTEST, *UNUSED, f"@{listed.name}"]


@dataclass
class Bench:
    """A copy in which mutants are tried one after the other."""

    copy: Copy
    cargo_target: Path
    timeout: float = TIMEOUT
    _sound: dict[Suite, str] = field(
        default_factory=dict
    )  # what fails without a mutant, "" if none

    def try_one(self, mutant: Mutant, tests: Suite, timeout: float | None = None) -> Result:
        """Run the tests with a mutant in place.

        A mutant counts as found only if the same tests pass without it: this is tried once for
        each list of tests, when its first mutant is found.
        """
        with self.copy.changed(mutant.file, mutant.after):
            ran = self._run(tests, timeout or self.timeout)
        by = _first_failure(ran)
        if ran.code == 0:
            self._sound.setdefault(tests, "")
            return Result(mutant=mutant, outcome="lived", seconds=ran.seconds)
        if tests.shell and DOES_NOT_COMPILE.search(ran.output):
            return Result(mutant=mutant, outcome="unviable", seconds=ran.seconds)
        if wrong := self._wrong_without(tests, ran):
            return Result(mutant=mutant, outcome="broken", seconds=ran.seconds, by=wrong)
        outcome: Outcome = "timeout" if ran.code is None else "found"
        return Result(mutant=mutant, outcome=outcome, seconds=ran.seconds, by=by)

    def _wrong_without(self, tests: Suite, with_it: Ran) -> str:
        """Say what is wrong with tests by themselves; "" if they pass, and in time."""
        if tests.sound:
            return ""
        if tests not in self._sound:
            # Tests that took too long with a mutant may always do.
            ran = self._run(tests, with_it.seconds if with_it.code is None else None)
            self._sound[tests] = _wrong(ran)
        return self._sound[tests]

    def _run(self, tests: Suite, timeout: float | None) -> Ran:
        env = {**self.copy.environment(), "CARGO_TARGET_DIR": str(self.cargo_target)}
        command = tests.command(self.copy.root)
        return run(command, cwd=self.copy.root, env=env, timeout=timeout)


def _wrong(ran: Ran) -> str:
    if ran.code == NO_TESTS:
        return "no tests collected"
    if ran.code is None:
        return f"takes more than {ran.seconds:.0f} s without it too; see --timeout"
    return f"fails without it: {_first_failure(ran)}" if ran.code else ""


def _first_failure(ran: Ran) -> str:
    if ran.code is None:
        return f"not done after {ran.seconds:.0f} s"
    if found := FAILED.search(ran.output):
        return found[1]
    said = [line.strip() for line in ran.output.splitlines() if line.strip()]
    return said[-1][:200] if said else f"exit code {ran.code}"
