"""Answers of models, kept beside the figures, so that a run that was broken off goes on."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.lab.corpus.rows import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Answers:
    """A file of one JSON object a line: a hash of what was asked of whom, and the answer.

    A last line without its end is of a run that was broken off, and is dropped.

    Args:
        path: The file; None keeps answers for this run only.

    Raises:
        InvalidInputError: The file is not one of answers, or cannot be read.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, str] = {}
        self.asked = 0
        """How often a model was called."""
        if path is not None and path.exists():
            self._read(path)

    def of(self, spec: str, complete: Callable[[str], str]) -> Callable[[str], str]:
        """Return what completes a prompt, asking only what was never asked.

        Args:
            spec: Who is asked; another one is asked anew.
            complete: Asks.
        """

        def answer(prompt: str) -> str:
            key = hashlib.sha256(f"{spec}\0{prompt}".encode("utf-8", "replace")).hexdigest()
            if key not in self._known:
                said = complete(prompt)
                self.asked += 1
                self._keep({"key": key, "model": spec, "answer": said})
                self._known[key] = said
            return self._known[key]

        return answer

    def _keep(self, row: dict[str, str]) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise InvalidInputError(
                f"{self._path}: {error.strerror or error}; the answers need a file to be kept in"
            ) from error

    def _read(self, path: Path) -> None:
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise InvalidInputError(f"{path}: {error.strerror or error}") from error
        whole, end, torn = raw.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if end else (), 1):
            row: Any = parse(line.decode("utf-8", "replace"), f"{path}, line {number}")
            if not isinstance(row, dict) or not {"key", "answer"} <= row.keys():
                raise InvalidInputError(
                    f"{path}, line {number}: not an answer; move the file away, or mend it"
                )
            self._known[str(row["key"])] = str(row["answer"])
        if torn:
            with path.open("r+b") as file:
                file.truncate(len(raw) - len(torn))
