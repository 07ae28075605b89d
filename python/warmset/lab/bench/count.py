"""Cases of counting tokens: prose, code and other scripts, each text once."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warmset._core import count_texts
from warmset.lab.bench import material
from warmset.lab.bench.case import OURS, CannotTakePartError, Case, Contest, expect

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from warmset.lab.bench.case import Call

TIKTOKEN, RS_BPE = "tiktoken", "rs-bpe"
SMALL: Final = 600
"""Texts of a part in the command: a tenth of a megabyte."""

_VOCABULARIES: Final = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""By the digest of this, tiktoken finds what it fetched before."""


@contextmanager
def counts(encoding: str, size: int, _: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Count one part after the other; the counts of all contestants are compared afterwards."""
    parts = [material.corpus(part, size) for part in range(material.PARTS)]
    found: dict[str, list[list[int]]] = {}
    contest = Contest(wanted, most=material.PARTS)

    def counted(name: str, count: Callable[[list[str]], list[int]]) -> Call:
        found[name] = []
        return lambda at: found[name].append(count(parts[at]))

    def rs_bpe() -> Call:
        reference = getattr(importlib.import_module("rs_bpe").openai, encoding)()
        return counted(RS_BPE, lambda texts: [reference.count(text) for text in texts])

    def tiktoken() -> Call:
        encode = vocabulary(encoding).encode_ordinary
        return counted(TIKTOKEN, lambda texts: [len(encode(text)) for text in texts])

    def right() -> None:
        best = [count_texts(part, encoding) for part in parts]
        for name, lists in found.items():
            expect(lists == best[: len(lists)], f"{encoding} by {name} and by warmset differ")

    contest.ours(counted(OURS, lambda texts: count_texts(texts, encoding)))
    contest.peer(TIKTOKEN, tiktoken)
    contest.peer(RS_BPE, rs_bpe)
    megabytes = sum(len(text.encode()) for text in parts[0]) / 1e6
    contest.notes[OURS] = f"{megabytes:.2f} MB a call"
    contest.check = right
    yield contest


def vocabulary(encoding: str) -> Any:
    """Return tiktoken's encoding if its vocabulary is on this machine: a bench fetches nothing.

    Raises:
        ImportError: tiktoken is not installed.
        CannotTakePartError: The vocabulary is not there.
    """
    peer = importlib.import_module("tiktoken")
    name = hashlib.sha1(_VOCABULARIES.format(encoding).encode()).hexdigest()  # noqa: S324 - a name
    for place in _places():
        if (place / name).is_file():
            before = os.environ.get("TIKTOKEN_CACHE_DIR")
            os.environ["TIKTOKEN_CACHE_DIR"] = str(place)
            try:
                return peer.get_encoding(encoding)
            finally:
                os.environ.pop("TIKTOKEN_CACHE_DIR")
                if before is not None:
                    os.environ["TIKTOKEN_CACHE_DIR"] = before
    raise CannotTakePartError(
        f"its vocabulary is not on this machine; tiktoken.get_encoding({encoding!r}) fetches it"
    )


def _places() -> Iterator[Path]:
    """Yield the directories where tiktoken looks, then the one that llama-index-core ships."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if named := os.environ.get(variable):
            yield Path(named)
    yield Path(tempfile.gettempdir()) / "data-gym-cache"
    try:
        found = importlib.util.find_spec("llama_index.core")
    except ModuleNotFoundError:
        return
    if found is not None and found.origin:
        yield Path(found.origin).parent / "_static" / "tiktoken_cache"


def count(encoding: str, size: int, *, quick: bool = True) -> Case:
    """Return the case of an encoding, with parts of so many texts; see `material.corpus`."""
    return Case(
        name=f"count-{encoding.partition('_')[0]}",
        group="count",
        what=f"tokens of prose, code and other scripts, {encoding}, each text once",
        peers=(TIKTOKEN, RS_BPE),
        open=partial(counts, encoding, size),
        quick=quick,
    )


CASES: Final = (count("o200k_base", SMALL), count("cl100k_base", SMALL, quick=False))
