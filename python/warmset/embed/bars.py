"""Progress on standard error, one bar a stage; nothing where nobody watches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Self

from warmset._extras import extra

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

_SAID: Final = {
    "download": "get the model",
    "build": "build the model",
    "quantise": "quantise the model",
    "keep": "keep the messages",
    "embed": "embed the messages",
    "ask": "make windows",
}


class Bars:
    """Shows how far each stage has come; it is a `Progress`.

    Nothing is drawn before the first stage begins, so a model that is there already is silent.

    Args:
        console: Where to draw, if it is a terminal; standard error if not given.

    Raises:
        MissingExtraError: The extra `local` is not installed.
    """

    def __init__(self, console: Console | None = None) -> None:
        with extra("local"):
            from rich import progress  # noqa: PLC0415 - an extra
            from rich.console import Console as Terminal  # noqa: PLC0415
        console = console or Terminal(stderr=True)
        self._shown = progress.Progress(
            progress.TextColumn("{task.description:18}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._begun = False
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._begun:
            self._shown.stop()

    def __call__(self, stage: str, done: int, total: int | None, /) -> None:
        """Take note; see `Progress`."""
        if not self._begun:
            self._begun = True
            self._shown.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._shown.add_task(_SAID.get(stage, stage), total=None)
        self._shown.update(self._tasks[stage], completed=done, total=total)


def watched() -> bool:
    """Tell whether somebody looks at standard error."""
    return sys.stderr is not None and sys.stderr.isatty()
