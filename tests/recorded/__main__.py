"""Record what comes back now: `python -m tests.recorded`, after a change that is meant."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor

from rich.progress import track

from tests.recorded.cases import COUNT, PLACE, line


def main() -> None:
    """Write the file."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(line, range(COUNT), chunksize=10)
        lines = list(track(made, "recording", total=COUNT))
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
