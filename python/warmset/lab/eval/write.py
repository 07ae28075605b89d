"""Figures into files, whole or not at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from warmset._support.files import destination
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def text(path: Path, content: str) -> None:
    """Write a text file; what was there stays until all of it is written.

    Raises:
        InvalidInputError: It cannot be written; the message names it.
    """
    path, replaceable = destination(path)
    if not replaceable:
        _into(path, content)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(content, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InvalidInputError(f"{path}: {error.strerror or error}; give another file") from error


def _into(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}; give another file") from error


def figures(path: Path, found: Mapping[str, Any]) -> None:
    """Write figures as JSON.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    text(path, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
