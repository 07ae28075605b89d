"""Which test executes which line, and how long it takes: recorded once, kept in `target/mutants`.

Each folder of tests is a part of the record, with the sources as they were. A part is stale, and is
recorded again, when one of its test files is new, changed or gone. When a source has changed since,
its lines are found again by their text; a line that is new has the tests of its function.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coverage import CoverageData

from tests.mutants.running import run
from tests.mutants.tree import PACKAGE, TESTS, Tree, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.mutants.copies import Copy

NOT_ROOMS = ("support", "house", "__pycache__")  # house reads the sources, and executes little
PROPERTY = "tests/property"
DOES_NOT_COUNT = ("-p", "no:cacheprovider", "--no-header", "-q")


def folders(tree: Tree) -> list[str]:
    """List the folders of tests that are recorded, smallest first."""
    found = [path for path in (tree.root / TESTS).glob("*") if path.name not in NOT_ROOMS]
    found.append(tree.root / PROPERTY)
    kept = [path for path in found if any(path.rglob("test_*.py"))]
    kept.sort(key=lambda path: (len(list(path.rglob("test_*.py"))), path.name))
    return [path.relative_to(tree.root).as_posix() for path in kept]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _test_files(tree: Tree, folder: str) -> dict[str, str]:
    paths = sorted((tree.root / folder).rglob("test_*.py"))
    names = [path.relative_to(tree.root).as_posix() for path in paths]
    return {name: _digest(tree.read(name)) for name in names}


@dataclass(frozen=True)
class Part:
    """The record of one folder of tests."""

    home: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        try:
            read: dict[str, Any] = json.loads((self.home / "part.json").read_text("utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {"tests": {}, "files": {}, "sources": {}}
        return read

    @cached_property
    def data(self) -> CoverageData:
        data = CoverageData(str(self.home / "lines.sqlite"))
        data.read()
        return data

    def lines(self, file: str) -> dict[int, list[str]]:
        """Return the tests that passed, for each line of a file as it was."""
        found = self.data.contexts_by_lineno(file)
        return {
            at: [one for one in tests if one in self.facts["tests"]] for at, tests in found.items()
        }


class Record:
    """All parts; `bring_up` records what is stale."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.home = tree.cache / "record"
        self._lines: dict[str, dict[int, set[str]]] = {}
        self.seconds: dict[str, float] = {}
        self.parts: list[Part] = []
        self._read()

    def _read(self) -> None:
        self._keep_parts(Part(self._home_of(folder)) for folder in folders(self.tree))

    def _keep_parts(self, parts: Iterable[Part]) -> None:
        self._lines.clear()
        self.parts = [part for part in parts if part.facts["tests"]]
        self.seconds = {test: s for part in self.parts for test, s in part.facts["tests"].items()}

    def _home_of(self, folder: str) -> Path:
        return self.home / folder.removeprefix("tests/").replace("/", "-")

    def forget(self, stale: Iterable[str]) -> None:
        """Go on without the record of some folders of tests."""
        gone = {self._home_of(folder) for folder in stale}
        self._keep_parts([part for part in self.parts if part.home not in gone])

    def has(self, folder: str) -> bool:
        """Whether a folder of tests is recorded."""
        return any(part.home == self._home_of(folder) for part in self.parts)

    def worth(self, folder: str) -> float:
        """Return the seconds that the tests of a folder took."""
        return sum(s for test, s in self.seconds.items() if test.startswith(f"{folder}/"))

    def stale(self, only: Iterable[str] = ()) -> list[str]:
        """List the folders that have to be recorded, among those named, or among all.

        Raises:
            UsageError: A folder was named that has no tests.
        """
        known, named = folders(self.tree), [folder.rstrip("/") for folder in only]
        if wrong := [folder for folder in named if folder not in known]:
            raise UsageError(
                f"no folder of tests: {', '.join(wrong)}; there are {', '.join(known)}"
            )
        return [
            folder
            for folder in (named or known)
            if Part(self._home_of(folder)).facts["files"] != _test_files(self.tree, folder)
        ]

    def bring_up(self, copy: Copy, stale: Iterable[str], begun: Callable[[str], None]) -> None:
        """Record folders of tests, one after the other; each is kept once it is complete."""
        for folder in stale:
            begun(folder)
            self._record(copy, folder)
        self._read()

    def _record(self, copy: Copy, folder: str) -> None:
        home = self._home_of(folder)
        home.mkdir(parents=True, exist_ok=True)
        (home / "part.json").unlink(missing_ok=True)
        (home / "lines.sqlite").unlink(missing_ok=True)
        files = _test_files(self.tree, folder)
        # As they run: the tree may change meanwhile.
        there = Tree(copy.root)
        texts = {file: there.read(file) for file in there.python_files()}
        recorder = Path(__file__).resolve().with_name("recorder.py")
        command = [sys.executable, "-P", str(recorder), str(home / "lines.sqlite")]
        command += [str(home / "times.json"), PACKAGE, folder, *DOES_NOT_COUNT, "--tb=no"]
        # Only this tracer can change contexts while it runs.
        env = {**copy.environment(), "COVERAGE_CORE": "ctrace"}
        ran = run(command, cwd=copy.root, env=env)
        if ran.code not in (0, 1):
            raise UsageError(f"recording {folder} ended with {ran.code}:\n{ran.output[-2000:]}")
        times = json.loads((home / "times.json").read_text("utf-8"))
        self._keep(texts.values())
        sources = {file: _digest(text) for file, text in texts.items()}
        facts = {"tests": times["tests"], "failed": times["failed"], "files": files}
        (home / "part.json").write_text(json.dumps({**facts, "sources": sources}), "utf-8")

    def _keep(self, texts: Iterable[str]) -> None:
        (self.home / "sources").mkdir(parents=True, exist_ok=True)
        for text in texts:
            path = self.home / "sources" / _digest(text)
            if not path.exists():
                path.write_text(text, "utf-8", newline="")

    def tests_of(self, file: str, line: int) -> set[str]:
        """Return the tests that execute a line, or else those that execute its function.

        What stands in no function runs once, in whichever test imports the file first, and what is
        cached in whichever calls it first: there are none then.
        """
        lines = self._lines_of(file)
        first, last = _function_around(self.tree.read(file), line)
        if first <= last and lines.get(line):
            return lines[line]
        return {test for at in range(first, last + 1) for test in lines.get(at, ())}

    def executes(self, file: str, line: int) -> bool:
        """Whether any test executes just this line while it runs."""
        return bool(self._lines_of(file).get(line))

    def tests_of_file(self, file: str) -> set[str]:
        """Return the tests that execute any line of a file while they run."""
        return {test for tests in self._lines_of(file).values() for test in tests}

    def _lines_of(self, file: str) -> dict[int, set[str]]:
        if file not in self._lines:
            self._lines[file] = self._now(file)
        return self._lines[file]

    def _now(self, file: str) -> dict[int, set[str]]:
        text = self.tree.read(file)
        found: dict[int, set[str]] = {}
        for part in self.parts:
            was = part.facts["sources"].get(file)
            if was is None:
                continue
            moved = None
            if was != _digest(text):
                old = (self.home / "sources" / was).read_text("utf-8")
                moved = _moves(old, text)
            for at, tests in part.lines(file).items():
                now = at if moved is None else moved.get(at)
                if now is not None:
                    found.setdefault(now, set()).update(tests)
        return found


def _moves(old: str, new: str) -> dict[int, int]:
    """Say where each line of an older text stands now, for those that are still there."""
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return {
        a + step + 1: b + step + 1
        for a, b, size in matcher.get_matching_blocks()
        for step in range(size)
    }


def _function_around(text: str, line: int) -> tuple[int, int]:
    """Return the first and last line of the innermost function around a line.

    (1, 0) for none, and for one whose result is cached: it runs in the first test that calls it.
    """
    around = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not around:
        return 1, 0
    inner = max(around, key=lambda node: node.lineno)
    if any("cache" in ast.unparse(one) for one in inner.decorator_list):
        return 1, 0
    return inner.lineno, inner.end_lineno or inner.lineno
