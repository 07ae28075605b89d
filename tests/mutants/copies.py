"""A copy of the tree in which mutants are made, so that the working tree is never touched."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutants.tree import PACKAGE, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mutants.tree import Tree

BUILT = ("_core*.so", "_core*.pyd")  # the compiled core, which git ignores


class Copy:
    """A directory with the files of a tree, in which one file at a time is changed."""

    def __init__(self, root: Path, temporary: Path) -> None:
        self.root = root
        self.temporary = temporary
        self._last = 0

    def environment(self) -> dict[str, str]:
        """What tests in the copy need: its package, and a place for what killed tests leave."""
        return {"PYTHONPATH": str(self.root / "python"), "TMPDIR": str(self.temporary)}

    @contextmanager
    def changed(self, file: str, after: str) -> Iterator[None]:
        """Give a file other contents within the block."""
        path = self.root / file
        before = path.read_bytes()
        try:
            self._write(path, after.encode())
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, contents: bytes) -> None:
        """Write a version of a file with a time of its own, in whole seconds.

        Python takes a compiled file for that of a source by the source's time and size, and
        versions may have the same size. Cargo builds again what is newer than its last build.
        """
        path.write_bytes(contents)
        self._last = max(int(time.time()) + 1, self._last + 1)
        os.utime(path, (self._last, self._last))


def _compiled(tree: Tree) -> list[Path]:
    """Find the compiled core: beside the sources, or where pip installed it.

    Raises:
        UsageError: There is none, and the tree has one to be built.
    """
    beside = [path for pattern in BUILT for path in (tree.root / PACKAGE).glob(pattern)]
    if beside or not (tree.root / "rust").is_dir():
        return beside
    try:
        files = metadata.files("warmset") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [Path(str(one.locate())) for one in files if any(map(one.match, BUILT))]
    if not found:
        raise UsageError("the core is not built: run `maturin develop --release`, or pip install .")
    return found


@contextmanager
def copy_of(tree: Tree) -> Iterator[Copy]:
    """Copy what git tracks or would track, and the compiled core; remove it in the end."""
    home = Path(tempfile.mkdtemp(prefix="warmset-mutants-"))
    place = home / "tree"
    try:
        (home / "t").mkdir()
        place.mkdir()
        for name in tree.files():
            source, target = tree.root / name, place / name
            if not os.path.lexists(source):
                continue  # removed, but not yet for git
            target.parent.mkdir(parents=True, exist_ok=True)
            # Times are those of copying: cargo may have built another run's mutants since.
            shutil.copy(source, target, follow_symlinks=False)
        for core in _compiled(tree):
            shutil.copy2(core, place / PACKAGE)
        yield Copy(place, home / "t")
    finally:
        shutil.rmtree(home, ignore_errors=True)
