"""The lines that are not as they were at a revision."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.mutants.tree import UsageError

if TYPE_CHECKING:
    from tests.mutants.tree import Tree

HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
UPSTREAM = "origin/main"


def base(tree: Tree) -> str:
    """Choose what a change is compared with: where it left origin/main, or else the last commit.

    Work that is already on origin/main and not yet committed further is compared with HEAD~1.
    """
    try:
        revision = tree.git("merge-base", UPSTREAM, "HEAD").strip()
    except UsageError:
        return "HEAD~1"
    return revision if diff(tree, revision) or _new(tree) else "HEAD~1"


def diff(tree: Tree, revision: str) -> str:
    """Return the unified diff of the sources since a revision, without context."""
    options = ("--no-ext-diff", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--no-renames")
    return tree.git("diff", *options, "-U0", "--relative", revision, "--", "python", "rust")


def changed_lines(tree: Tree, revision: str) -> dict[str, set[int]]:
    """Say which lines of each source file are new since a revision; a new file is new as a whole.

    Raises:
        UsageError: There is no such revision.
    """
    lines: dict[str, set[int]] = defaultdict(set)
    file = ""
    for row in diff(tree, revision).splitlines():
        if row.startswith("+++ "):
            file = row.removeprefix("+++ ").rstrip("\t").strip('"').removeprefix("b/")
        elif hunk := HUNK.match(row):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines[file].update(range(first, first + count))
    for name in _new(tree):
        lines[name].update(range(1, len(tree.read(name).splitlines()) + 1))
    return {name: at for name, at in lines.items() if at and name != "/dev/null"}


def _new(tree: Tree) -> list[str]:
    named = tree.git("ls-files", "-z", "--others", "--exclude-standard", "--", "python", "rust")
    return [name for name in named.split("\0") if name.endswith((".py", ".rs"))]
