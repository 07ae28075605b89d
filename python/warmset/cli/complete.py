"""``warmset completion``: commands, options and files, completed by the shell."""

from __future__ import annotations

from typing import Literal

from warmset.cli.app import application


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script with which a shell completes commands, options and files.

    Args:
        shell: Which shell.
    """
    print(application([]).generate_completion(prog_name="warmset", shell=shell))
