"""A run: mutants are gathered, tried one after the other, and their results collected."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.mutants.changed import base, changed_lines
from tests.mutants.chosen import MORE_SECONDS, SECONDS, choose, folder_for
from tests.mutants.copies import copy_of
from tests.mutants.equivalent import equivalents
from tests.mutants.mutant import Result
from tests.mutants.operators import mutants_of
from tests.mutants.record import Record
from tests.mutants.rust import RustMutants, is_core, rust_sample
from tests.mutants.sample import sample, thinned
from tests.mutants.tree import UsageError, room_of
from tests.mutants.trial import Bench, Suite

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rich.progress import Progress, TaskID

    from tests.mutants.copies import Copy
    from tests.mutants.lists import Mistake
    from tests.mutants.mutant import Mutant
    from tests.mutants.tree import Tree

START_SECONDS = 60.0  # that pytest may take to start, on a busy machine
LAST = ("tests/python/house/test_signatures.py", "tests/python/memory/test_log.py")
"""What users can call, and what is logged: few tests see all of it, among many that execute it."""

FOLDER_SECONDS = 120.0  # worth of tests of a folder that what lived meets as a whole
SLOWER = 10.0  # times as long as recorded that tests may take; then the mutant counts as a time-out


class Run:
    """One run over a tree. `results` holds what has come out, also after an interruption."""

    def __init__(self, tree: Tree, bar: Progress, seconds: float) -> None:
        self.tree = tree
        self.bar = bar
        self.seconds = seconds
        self.results: list[Result] = []

    def record(self, only: Sequence[str]) -> None:
        """Record which test executes which line, for folders of tests that have changed."""
        with copy_of(self.tree) as copy:
            self._bring_up(Record(self.tree), copy, only)

    def by_hand(self, mistakes: Sequence[Mistake]) -> None:
        """Try mistakes of the lists, by what is recorded already; see `_try_mistake`."""
        record = Record(self.tree)
        record.forget(record.stale())  # whether these tests pass is not known
        with copy_of(self.tree) as copy:
            bench = self._bench(copy)
            task = self.bar.add_task("by hand", total=len(mistakes))
            for one in mistakes:
                self.bar.update(task, description=one.room)
                tried = self._try_mistake(one, record, bench)
                self._done(replace(tried, fresh=one.fresh), task)

    def _try_mistake(self, mistake: Mistake, record: Record, bench: Bench) -> Result:
        """Try one entry of a list, unless it is equivalent or its text is not there exactly once.

        Of its tests those come first that are recorded to execute the line; if none of these fails,
        all of them follow.
        """
        mutant, times = mistake.mutant(self.tree)
        if times != 1:
            by = f"the text occurs {times} times" if mutant.before else "no such file"
            return Result(mutant=mutant, outcome="stale", by=by)
        if mistake.equivalent:
            return Result(mutant=mutant, outcome="equivalent", by=mistake.equivalent)
        places = () if mistake.tests.shell else mistake.tests.arguments
        if places and (chosen := choose(mutant, record, within=places)):
            tried = self._try_chosen(mutant, chosen, record, bench)
            if tried.outcome != "lived":
                return tried
        return bench.try_one(mutant, mistake.tests)

    def automatic(self, options: argparse.Namespace) -> None:
        """Try a sample, what is mutable on changed lines, or a sample of that."""
        languages = {
            "python": ("python",),
            "rust": ("rust",),
            "both": ("python", "rust"),
            None: ("python",) if options.changed is None else ("python", "rust"),
        }[options.language]
        with ExitStack() as stack:
            copy = stack.enter_context(copy_of(self.tree))
            rust = RustMutants(copy, self.tree.cache / "cargo")
            wanted = self._gather(options, languages, rust)
            tried = [one for one in wanted if not self._is_equivalent(one)]
            python = [one for one in tried if not is_core(one.file)]
            if python:
                self._try_python(python, copy, no_record=options.no_record)
            if core := [one for one in tried if is_core(one.file)]:
                task = self.bar.add_task("rust", total=len(core))
                rust.try_all(core, lambda result: self._done(result, task))

    def _gather(
        self, options: argparse.Namespace, languages: Sequence[str], rust: RustMutants
    ) -> list[Mutant]:
        rooms, seed, count = options.rooms, options.seed, options.sample
        files = [file for file in self.tree.python_files() if "python" in languages]
        known = {room_of(file) for file in self.tree.python_files()} | self._stages()
        if wrong := sorted(set(rooms) - known):
            raise UsageError(f"no room {', '.join(wrong)}; there are {', '.join(sorted(known))}")
        files = [file for file in files if not rooms or room_of(file) in rooms]
        core = "rust" in languages and (not rooms or any(room in self._stages() for room in rooms))
        if options.changed is None:
            if len(languages) > 1:
                raise UsageError("a sample is of one language: --language python, or rust")
            if core:
                return rust_sample(self._of_rooms(rust.all(self.tree), rooms), count, seed)
            return sample(self.tree, count, seed, files)
        revision = options.changed or base(self.tree)
        made: list[Mutant] = []
        for file, lines in sorted(changed_lines(self.tree, revision).items()):
            if file in files:
                made += mutants_of(file, self.tree.read(file), lines)
        if core and any(map(is_core, changed_lines(self.tree, revision))):
            made += self._of_rooms(rust.changed(self.tree, revision), rooms)
        return made if count is None else thinned(made, count, seed)

    def _stages(self) -> set[str]:
        return {room_of(file) for file in self.tree.files() if is_core(file)}

    @staticmethod
    def _of_rooms(mutants: Sequence[Mutant], rooms: Sequence[str]) -> list[Mutant]:
        return [one for one in mutants if not rooms or one.room in rooms]

    def _is_equivalent(self, mutant: Mutant) -> bool:
        for entry in equivalents(self.tree):
            if entry.matches(mutant):
                self.results.append(Result(mutant=mutant, outcome="equivalent", by=entry.reason))
                return True
        return False

    def _try_python(self, mutants: Sequence[Mutant], copy: Copy, *, no_record: bool) -> None:
        record = Record(self.tree)
        if not no_record:
            self._bring_up(record, copy, ())
        bench = self._bench(copy)
        task = self.bar.add_task("python", total=len(mutants))
        for one in mutants:
            self.bar.update(task, description=one.room)
            self._done(self._try_one(one, record, bench), task)

    def _try_one(self, mutant: Mutant, record: Record, bench: Bench) -> Result:
        """Try recorded tests, then the room's folder if they may not be all that see the line.

        If a mutant lives the first of them, it meets others. The folder follows where it is not
        recorded, where no test is seen to execute the line, which runs at import or in another
        process, and where it takes little time: what is cached is executed by one test alone, and
        seen by others. Last, it meets what few tests see of all that execute it; see `LAST`.
        """
        tried: Result | None = None
        met: list[str] = []
        for seconds in (SECONDS, MORE_SECONDS):
            if chosen := choose(mutant, record, seconds, besides=met):
                tried = _after(tried, self._try_chosen(mutant, chosen, record, bench))
            if tried is None or tried.outcome != "lived":
                break
            met = chosen
        folder = folder_for(mutant, self.tree)
        own = folder.endswith(f"/{mutant.room}")
        seen = record.has(folder) and record.executes(mutant.file, mutant.line)
        whole = not seen or record.worth(folder) <= FOLDER_SECONDS
        if tried is None or (tried.outcome == "lived" and own and whole):
            tried = _after(tried, bench.try_one(mutant, Suite(arguments=(folder,))))
        last = tuple(path for path in LAST if (self.tree.root / path).exists())
        if tried.outcome == "lived" and last:
            tried = _after(tried, bench.try_one(mutant, Suite(arguments=last)))
        return tried

    @staticmethod
    def _try_chosen(mutant: Mutant, chosen: Sequence[str], record: Record, bench: Bench) -> Result:
        worth = sum(record.seconds[test] for test in chosen)
        suite = Suite(arguments=tuple(chosen), sound=True)
        return bench.try_one(mutant, suite, START_SECONDS + SLOWER * worth)

    def _bring_up(self, record: Record, copy: Copy, only: Sequence[str]) -> None:
        stale = record.stale(only)
        if not stale:
            return
        task = self.bar.add_task("recording", total=len(stale))
        begun = []

        def begin(folder: str) -> None:
            begun.append(folder)
            self.bar.update(task, description=f"recording {folder}", completed=len(begun) - 1)

        record.bring_up(copy, stale, begin)
        self.bar.remove_task(task)

    def _done(self, result: Result, task: TaskID) -> None:
        """Keep a result; a log, which shows no bar that moves, gets a line."""
        self.results.append(result)
        self.bar.advance(task)
        if not self.bar.console.is_terminal:
            place = f"{result.mutant.file}:{result.mutant.line}"
            said = f"{result.outcome} {place} {result.mutant.operator} ({result.seconds:.0f} s)"
            self.bar.console.print(said, markup=False, highlight=False, soft_wrap=True)

    def _bench(self, copy: Copy) -> Bench:
        return Bench(copy, self.tree.cache / "cargo", self.seconds)


def _after(tried: Result | None, more: Result) -> Result:
    """Return the result of more tests, with the time of those before them."""
    return more if tried is None else replace(more, seconds=tried.seconds + more.seconds)
