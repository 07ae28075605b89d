"""Progress on standard error, one bar a stage; nothing where nobody watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from rich import progress as rich_progress

if TYPE_CHECKING:
    from rich.console import Console

_SAID: Final = {
    "download": "get the model",
    "build": "build the model",
    "quantise": "quantise the model",
    "keep": "keep the messages",
    "embed": "embed the messages",
    "ask": "make windows",
}


class Bars:
    """Shows how far each stage has come; it is a `warmset.embed.Progress`.

    Args:
        console: Where to draw, if it is a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._shown = rich_progress.Progress(
            rich_progress.TextColumn("{task.description:18}"),
            rich_progress.BarColumn(),
            rich_progress.TaskProgressColumn(),
            rich_progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, rich_progress.TaskID] = {}

    def __enter__(self) -> Self:
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        """Take note; see `warmset.embed.Progress`."""
        if stage not in self._tasks:
            self._tasks[stage] = self._shown.add_task(_SAID.get(stage, stage), total=None)
        self._shown.update(self._tasks[stage], completed=done, total=total)
