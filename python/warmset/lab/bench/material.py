"""What is measured on: vectors, texts, messages. The same at each run on the same Python."""

from __future__ import annotations

import ast
import json
import sysconfig
import zlib
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

DIM: Final = 384
QUERIES: Final = 64
PARTS: Final = 16
"""Parts of the corpus, no two of which are the same."""

_LINES: Final = 8_000
"""Texts of which a conversation is made."""

_NOT_OURS: Final = frozenset(
    {"site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__", "encodings"}
)
_SCRIPTS: Final = (
    "会議は来週の火曜日に延期されました。資料は金曜日までに送ってください。",
    "Встреча перенесена на следующий вторник, материалы пришлите до пятницы.",
    "Die Besprechung wurde auf nächsten Dienstag verschoben, schickt die Unterlagen.",
    '{"id": 12345, "values": [1.5, 2.25, -3], "nested": {"ok": true, "note": null}}',
    "👩🏽‍💻 shipped it 🚀🚀 https://example.org/a?b=c#d",
)


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Bring rows to length one."""
    made: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made.astype(np.float32)


@lru_cache(maxsize=1)  # a hundred thousand rows take 150 MB
def vectors(kind: str, n: int, dim: int = DIM) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return n unit rows and 64 queries of their kind that are not among them.

    Args:
        kind: "isotropic", or "clustered" around 200 centres.
        n: The number of rows.
        dim: Their length.
    """
    rng = np.random.default_rng([n, dim, len(kind)])
    rows = rng.standard_normal((n + QUERIES, dim), dtype=np.float32)
    if kind == "clustered":
        centres = rng.standard_normal((200, dim), dtype=np.float32)
        rows = centres[rng.integers(200, size=n + QUERIES)] + np.float32(0.7) * rows
    made = unit(rows)
    return made[:n], made[n:]


def _said() -> Iterator[str]:
    """Yield the turns of the bundled conversation, then sentences of the standard library."""
    data = Path(__file__).parents[1] / "demo" / "data" / "conversation.jsonl"
    for line in data.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["message"].get("content")
        if isinstance(text, str) and text:
            yield text
    for path in _sources():
        for node in ast.walk(ast.parse(_source(path))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                yield from (part for part in text.split("\n\n") if len(part) > 30)  # noqa: PLR2004
    for path in _sources():
        lines = _source(path).splitlines()
        yield from ("\n".join(lines[at : at + 4]) for at in range(0, len(lines), 4))


def _sources() -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(p for p in root.rglob("*.py") if not _NOT_OURS & {*p.relative_to(root).parts})


def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _different(texts: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def texts(n: int) -> list[str]:
    """Return n different real texts of a turn's length; those of a smaller n come first.

    Raises:
        InvalidInputError: This Python's library has fewer.
    """
    found, rest = _texts()
    found += islice(rest, max(0, n - len(found)))
    if len(found) < n:
        raise InvalidInputError(
            f"this Python's library has {len(found)} texts of {n}; use a Python with its sources"
        )
    return found[:n]


@cache
def _texts() -> tuple[list[str], Iterator[str]]:
    """Return the texts that were asked for so far, and where the next ones come from."""
    return [], _different(_said())


@cache
def corpus(part: int, size: int = 3_000) -> list[str]:
    """Return prose, code and other scripts, cut into messages: half a megabyte for 3,000 texts.

    No two of the sixteen parts are the same: tokenizers keep the words that they met, so text that
    was counted before is no measure.

    Args:
        part: Which of the parts, from 0.
        size: Texts of the standard library in each.
    """
    said = texts(PARTS * size)[part::PARTS]
    out = ["\n".join(said[at : at + 4]) for at in range(0, size, 4)]
    for at, script in enumerate(_SCRIPTS * 10):
        turned = script[at + part :] + script[: at + part]
        out.append(f"{turned} {part * 1000 + at}\n{turned[::-1]}")
    return out


def hashed(lines: Sequence[str], dim: int = DIM) -> NDArray[np.float32]:
    """Embed texts without a model: each word adds its own pseudo-random direction."""
    rows = np.zeros((len(lines), dim), np.float32)
    for row, line in zip(rows, lines, strict=True):
        row[0] = 1e-3
        for word in line.lower().split()[:60]:
            np.add(row, _direction(word, dim), out=row)
    return unit(rows)


@cache
def _direction(word: str, dim: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(zlib.crc32(word.encode("utf-8", "replace")))
    return rng.standard_normal(dim, dtype=np.float32)


def conversation(n: int) -> list[dict[str, str]]:
    """Return n turns, user and assistant in turn."""
    lines = texts(_LINES)
    return [
        {
            "role": ("user", "assistant")[at % 2],
            "content": f"{lines[at % _LINES]} {lines[at * 31 % _LINES]}"[:600] + f" ({at})",
        }
        for at in range(n)
    ]
