"""What is measured on: vectors of three kinds, texts, messages. The same at each run."""

from __future__ import annotations

import ast
import hashlib
import json
import sysconfig
import tempfile
import zlib
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

import warmset
from warmset.embed import MiniLM
from warmset.embed.weights import resolve
from warmset.errors import WarmsetError

DIM = 384
QUERIES = 64
KINDS = ("isotropic", "clustered", "real")
_NOT_OURS = {"site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__", "encodings"}


class NoModel(Exception):  # noqa: N818 - a reason to skip, not a fault
    """The local model is not on this machine, so there are no real vectors."""


def unit(rows):
    """Bring rows to length one."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@cache
def vectors(kind: str, n: int, dim: int = DIM):
    """Give n unit rows and 64 queries of their kind that are not among them."""
    rng = np.random.default_rng([n, dim, len(kind)])
    if kind == "real":
        return _real(n)
    rows = rng.standard_normal((n + QUERIES, dim), dtype=np.float32)
    if kind == "clustered":
        centres = rng.standard_normal((200, dim), dtype=np.float32)
        rows = centres[rng.integers(200, size=n + QUERIES)] + np.float32(0.7) * rows
    rows = unit(rows)
    return rows[:n], rows[n:]


def _real(n):
    """Vectors that the local model makes of real texts; kept, because making 10,000 takes a minute.

    Raises:
        NoModel: The model is not here.
    """
    lines = texts(n + QUERIES)
    name = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"warmset-bench-{name}.npy"
    if not path.exists():
        try:
            model = MiniLM(path=resolve(sources={}).tensors.parent)
        except WarmsetError as error:
            raise NoModel(str(error)) from error
        made = np.concatenate([model.embed(lines[at : at + 64]) for at in range(0, len(lines), 64)])
        draft = path.with_suffix(".part.npy")
        np.save(draft, unit(made))
        draft.rename(path)
    rows = np.load(path)
    return rows[:n], rows[n:]


def _said():
    """Yield the turns of the bundled conversation, then sentences of the standard library."""
    data = Path(warmset.__file__).parent / "lab" / "demo" / "data" / "conversation.jsonl"
    for line in data.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["message"].get("content")
        if isinstance(text, str) and text:
            yield text
    sources = _sources()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                yield from (part for part in text.split("\n\n") if len(part) > 30)
    for source in sources:
        lines = source.splitlines()
        yield from ("\n".join(lines[at : at + 4]) for at in range(0, len(lines), 4))


@cache
def _sources():
    root = Path(sysconfig.get_path("stdlib"))
    found = sorted(p for p in root.rglob("*.py") if not _NOT_OURS & {*p.relative_to(root).parts})
    return [path.read_text(encoding="utf-8") for path in found]


@cache
def texts(n: int) -> list[str]:
    """Give n different real texts of a turn's length."""
    found = list(islice(dict.fromkeys(_said()), n))
    if len(found) < n:
        raise ValueError(f"this Python's library has {len(found)} texts, {n} are needed")
    return found


SCRIPTS = (
    "会議は来週の火曜日に延期されました。資料は金曜日までに送ってください。",
    "Встреча перенесена на следующий вторник, материалы пришлите до пятницы.",
    "Die Besprechung wurde auf nächsten Dienstag verschoben, schickt die Unterlagen.",
    '{"id": 12345, "values": [1.5, 2.25, -3], "nested": {"ok": true, "note": null}}',
    "👩🏽‍💻 shipped it 🚀🚀 https://example.org/a?b=c#d",
)
PARTS = 16


@cache
def corpus(part: int) -> list[str]:
    """Give about half a megabyte of prose, code and other scripts, cut into messages.

    No two of the sixteen parts are the same: tokenisers keep the words that they met, so text that
    was counted before is no measure.
    """
    size = 3_000
    said = texts(PARTS * size)[part::PARTS]
    out = ["\n".join(said[at : at + 4]) for at in range(0, size, 4)]
    for at, script in enumerate(SCRIPTS * 10):
        turned = script[at + part :] + script[: at + part]
        out.append(f"{turned} {part * 1000 + at}\n{turned[::-1]}")
    return out


def hashed(lines, dim: int = DIM):
    """Embed texts without a model: each word adds its own pseudo-random direction."""
    rows = np.zeros((len(lines), dim), np.float32)
    for row, line in zip(rows, lines, strict=True):
        row[0] = 1e-3
        for word in line.lower().split()[:60]:
            np.add(row, _direction(word, dim), out=row)
    return unit(rows)


@cache
def _direction(word, dim):
    rng = np.random.default_rng(zlib.crc32(word.encode("utf-8", "replace")))
    return rng.standard_normal(dim, dtype=np.float32)


def conversation(n: int) -> list[dict[str, str]]:
    """Give n turns, user and assistant in turn."""
    lines = texts(8000)
    return [
        {
            "role": ("user", "assistant")[at % 2],
            "content": f"{lines[at % 8000]} {lines[at * 31 % 8000]}"[:600] + f" ({at})",
        }
        for at in range(n)
    ]
