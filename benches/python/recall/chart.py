"""Draws the README's chart: evidence found at equal tokens, from the figures of the LoCoMo run.

`python -m benches.python.recall.chart` prints the figures and draws `evidence-at-5-percent.svg`.
They are those of `locomo-recall.svg` beside it, which `warmset eval locomo FILE --svg` writes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).resolve().parents[2] / "results"
SOURCE: Final = RESULTS / "locomo-recall.svg"
CHART: Final = RESULTS / "evidence-at-5-percent.svg"

SHARE: Final = 5.0
"""The size of the windows, in percent of the conversation's tokens."""

NAMES: Final = {
    "default": "warmset",
    "bm25": "keywords (BM25)",
    "dense": "vectors",
    "recency": "the newest turns",
}
"""What is drawn, from the top to the bottom: the run's name for it, and the chart's."""

WIDTH: Final = 720
LEFT: Final = 170
FULL: Final = 470
"""Pixels of a bar of 100 %."""

TOP: Final = 66
STEP: Final = 40
BAR: Final = 26

STYLE: Final = (
    "svg{color:#1f2328;background:#ffffff}"
    "text{font:15px system-ui,sans-serif;fill:currentColor}"
    ".head{font-weight:600;font-size:17px}.note{font-size:13px;fill-opacity:.7}"
    ".ours{fill:#c2410c}.other{fill:#8c959f}.strong{font-weight:600}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}"
    ".ours{fill:#f0883e}.other{fill:#6e7681}}"
)


def figures(plot: str) -> dict[str, float]:
    """Read the recall of each way at `SHARE`: the largest window within it.

    Args:
        plot: The run's plot, whose points have titles such as "bm25: 0.680 at 4.9%".
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}
    for name, recall, share in re.findall(r"<title>([\w-]+): ([\d.]+) at ([\d.]+)%</title>", plot):
        if name in found and float(share) <= SHARE:
            found[name].append((float(share), float(recall)))
    return {NAMES[name]: max(points)[1] for name, points in found.items()}


def draw(recalls: dict[str, float]) -> str:
    """Draw one bar a way.

    Args:
        recalls: Names and fractions, from the top to the bottom.
    """
    height = TOP + STEP * len(recalls) + 34
    title = f"Evidence in a window of {SHARE:g} % of the conversation's tokens"
    said = ", ".join(f"{name} {recall:.1%}" for name, recall in recalls.items())
    note = "part of the turns that answer a question, mean of 786 questions; more is better"
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}: {said}">',
        f"<style>{STYLE}</style>",
        f'<text class="head" x="16" y="30">{title}</text>',
        f'<text class="note" x="16" y="51">{note}</text>',
    ]
    for at, (name, recall) in enumerate(recalls.items()):
        y = TOP + at * STEP
        kind, weight = ("other", "") if at else ("ours", ' class="strong"')
        wide, middle = FULL * recall, y + BAR / 2 + 5
        place = f'x="{LEFT}" y="{y}" width="{max(wide, 2):.1f}" height="{BAR}"'
        end = f'x="{LEFT + wide + 10:.1f}" y="{middle:g}"'
        lines += [
            f'<text{weight} x="{LEFT - 12}" y="{middle:g}" text-anchor="end">{name}</text>',
            f'<rect class="{kind}" {place} rx="3" />',
            f"<text{weight} {end}>{recall:.1%}</text>",
        ]
    source = "LoCoMo (Maharana et al., ACL 2024), five conversations; equal tokens for each method"
    lines.append(f'<text class="note" x="16" y="{height - 14}">{source}</text></svg>')
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the figures, and draw the chart."""
    recalls = figures(SOURCE.read_text())
    for name, recall in recalls.items():
        sys.stdout.write(f"{name:<18}{recall:>7.1%}\n")
    CHART.write_text(draw(recalls))


if __name__ == "__main__":
    main()
