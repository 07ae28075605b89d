"""Real vectors: what the local model makes of sentences and sources of Python's standard library.

Texts come in the order of their digests, sentences before sources, so that any first n of them are
a fair sample. Vectors are made once, a thousand texts at a time, and kept in the cache directory.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
import sysconfig
import time
from functools import cache
from pathlib import Path

import numpy as np

from warmset.embed import MiniLM
from warmset.embed.cache import cache_dir, landing
from warmset.embed.weights import resolve
from warmset.errors import WarmsetError

BLOCK = 1_000
SHORTEST = 30
LINES = 4  # of source in one text
_NOT_PROSE = {
    "site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__", "encodings",
}  # fmt: skip
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_COMMENTS = re.compile(r"(?:^[ \t]*#.*\n)+", re.MULTILINE)


class NoModel(Exception):  # noqa: N818 - a reason to skip, not a fault
    """The local model is not on this machine."""


def _in_order(found):
    """Texts that say something, once each, by their digests."""
    lines = {" ".join(text.split()) for text in found}
    said = [line for line in lines if len(line) >= SHORTEST]
    return sorted(said, key=lambda line: hashlib.sha256(line.encode()).digest())


def _sentences(source):
    """Yield the sentences of docstrings and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield from re.split(r"(?<=[.!?:])\s+|\n\s*\n", text)
    for comment in _COMMENTS.findall(source):
        text = re.sub(r"^[ \t]*#+ ?", "", comment, flags=re.MULTILINE)
        yield from re.split(r"(?<=[.!?:])\s+|\n\s*\n", text)


def _read() -> list[str]:
    root = Path(sysconfig.get_path("stdlib"))
    paths = [p for p in root.rglob("*.py") if not _NOT_PROSE & {*p.relative_to(root).parts}]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    prose = _in_order(text for source in sources for text in _sentences(source))
    lines = [source.splitlines() for source in sources]
    pieces = _in_order(
        "\n".join(one[at : at + LINES]) for one in lines for at in range(0, len(one), LINES)
    )
    return list(dict.fromkeys(prose + pieces))


@cache
def texts() -> list[str]:
    """Give all texts; a Python 3.11 has 27,000 sentences and 65,000 pieces of source."""
    # Reading takes seconds, so what was read is kept: for this Python, and this way of reading.
    key = sys.version.encode() + Path(__file__).read_bytes()
    path = cache_dir() / "vectors" / f"texts-{hashlib.sha256(key).hexdigest()[:24]}.json"
    if not path.exists():
        with landing(path) as draft:
            draft.write_text(json.dumps(_read()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def _model():
    try:
        return MiniLM(path=resolve(sources={}).tensors.parent)
    except WarmsetError as error:
        raise NoModel(f"{error}; `warmset model pull` brings it") from error


def embedded(lines: list[str]):
    """Embed texts, unless it was done before.

    Returns:
        Unit rows, one a text.

    Raises:
        NoModel: They were not embedded before, and the model is not here.
    """
    blocks, begin, made = [], time.monotonic(), 0
    for start in range(0, len(lines), BLOCK):
        block = lines[start : start + BLOCK]
        name = hashlib.sha256("\0".join(block).encode()).hexdigest()[:24]
        path = cache_dir() / "vectors" / f"all-MiniLM-L6-v2-{name}.npy"
        if not path.exists():
            rows = _model().embed(block)
            with landing(path) as draft, draft.open("wb") as file:
                np.save(file, rows)
            made += len(block)
            rate = made / (time.monotonic() - begin)
            done = start + len(block)
            print(f"\rembedded {done:,} of {len(lines):,} ({rate:.0f}/s)", end="", file=sys.stderr)
        blocks.append(np.load(path))
    if made:
        print(file=sys.stderr)
    return np.concatenate(blocks)


def real(n: int, queries: int):
    """Give n rows and some queries that are not among them.

    Raises:
        NoModel: See `embedded`.
        ValueError: There are not as many texts.
    """
    lines = texts()
    if len(lines) < n + queries:
        raise ValueError(f"this Python's library has {len(lines):,} texts, not {n + queries:,}")
    lines = lines[: -(-(n + queries) // BLOCK) * BLOCK]  # whole blocks, for other numbers too
    rows = embedded(lines)
    return rows[queries : n + queries], rows[:queries]
