"""What a consolidation does, or would do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """A plan, or what was done; `print` shows it as a table.

    Args:
        archived: Names of items that are archived for their age, the oldest first but for
            what others need, each with the reason.
        merged: Names of items that are archived because another one says the same, each with that
            one's name and the reason.
        skipped: Names of items of the plan that were changed or erased meanwhile, each with the
            reason; they were left as they are.
        kept: The number of items that were looked at and stay.
        left: The number of changes that the limit left for another call.
        tokens: The tokens of what is archived and merged.
        applied: Whether it was done.
    """

    archived: tuple[tuple[str, str], ...] = ()
    merged: tuple[tuple[str, str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    kept: int = 0
    left: int = 0
    tokens: int = 0
    applied: bool = False

    def __str__(self) -> str:
        rows = [("archived", name, "", reason) for name, reason in self.archived]
        rows += [("merged", name, into, reason) for name, into, reason in self.merged]
        rows += [("skipped", name, "", reason) for name, reason in self.skipped]
        rows.insert(0, ("", "item", "into", "reason"))
        widths = [max(len(row[at]) for row in rows) for at in range(3)]
        lines = [
            "  ".join(
                (*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])
            )
            for row in rows
        ]
        gone = len(self.archived) + len(self.merged)
        done = "done" if self.applied else "planned, nothing was changed"
        rest = f", {self.left:,} left" if self.left else ""
        lines.append(
            f"{gone:,} of {gone + self.kept:,} items, {self.tokens:,} tokens{rest}: {done}"
        )
        return "\n".join(line.rstrip() for line in lines)
