"""The exit codes of the command."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
MISUSED: Final = 2
NOT_INSTALLED: Final = 2
INTERRUPTED: Final = 130
