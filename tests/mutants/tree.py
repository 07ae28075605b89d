"""The repository: which room a file belongs to, where tests lie, where results are kept."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PACKAGE = "python/warmset"
CORE = "rust/core/src"
TESTS = "tests/python"
FACADES = ("memory", "conversation", "memory_options")


class UsageError(Exception):
    """What was asked for cannot be done; the message says what to do."""


@dataclass(frozen=True)
class Tree:
    """A checkout with the layout of this repository."""

    root: Path

    @property
    def cache(self) -> Path:
        """What is kept between runs; git ignores it."""
        return self.root / "target" / "mutants"

    @property
    def lists(self) -> Path:
        """The mistakes written by hand."""
        return self.root / "tests" / "mutants" / "by_hand"

    @property
    def equivalents(self) -> Path:
        """The mutants that are no mistakes."""
        return self.root / "tests" / "mutants" / "equivalent.toml"

    def python_files(self) -> list[str]:
        """List the modules of the package, sorted."""
        found = (self.root / PACKAGE).rglob("*.py")
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def read(self, file: str) -> str:
        """Read a file of the tree as it is, line ends included."""
        with (self.root / file).open(encoding="utf-8", newline="") as stream:
            return stream.read()

    def git(self, *arguments: str) -> str:
        """Run git in the tree.

        Raises:
            UsageError: git refused, or is not there.
        """
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                ["git", *arguments],  # noqa: S607 - git is found on the path
                cwd=self.root,
                capture_output=True,
                check=True,
            )
        except FileNotFoundError:
            raise UsageError("git is not installed, or not on the path") from None
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip()
            raise UsageError(f"git {' '.join(arguments)}: {said}") from None
        return done.stdout.decode(errors="surrogateescape")

    def files(self) -> list[str]:
        """List what git tracks and what it would track, as it lies in the working tree."""
        named = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted({name for name in named.split("\0") if name})


def room_of(file: str) -> str:
    """Name the room of a file: a folder of the package, `memory`, `words`, or `rust/` and a stage.

    Modules that lie beside the folders are two rooms: the facades with their options, and the
    words that all rooms share.
    """
    path = PurePosixPath(file)
    if path.is_relative_to(PACKAGE):
        first = path.relative_to(PACKAGE).parts[0]
        if first.endswith(".py"):
            return "memory" if first.removesuffix(".py") in FACADES else "words"
        return first
    if path.is_relative_to(CORE):
        return f"rust/{path.relative_to(CORE).with_suffix('').parts[0]}"
    if path.is_relative_to("rust"):
        return "/".join(path.parts[:2])
    return path.parts[0]
