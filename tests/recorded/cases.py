"""Recorded cases: what is asked, and a digest of what comes back.

A case is a number. From it come a conversation, how it is stored, and what is asked of it; the
digest is of what a user sees of the results: messages, system prompt, tokens, and which turns they
are. Vectors have entries of one sixteenth, so that no format of numbers rounds them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tests.recorded.lists import DIALECTS, conversation, in_dialect, sentence
from warmset import Memory, WarmsetError, compact_context, fit
from warmset.options import MODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warmset import Conversation, Window

COUNT: Final = 2_000
PLACE: Final = Path(__file__).resolve().parents[1] / "fixtures" / "recorded" / "windows.txt"
"""A line for each case: its digest, and what was asked."""

SIZE: Final = 8
_DIMENSIONS: Final = 256
_BEGUN: Final = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)


class SignEmbedder:
    """Words are directions of signs; a text is the signs of their sum, at unit length."""

    name = "signs"
    fingerprint = "signs-for-tests"
    dim = _DIMENSIONS
    remote = False

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """Return a row of plus and minus one sixteenth for each text."""
        rows = np.array([_sum(one) for one in texts]).reshape(len(texts), _DIMENSIONS)
        return np.where(rows >= 0, 0.0625, -0.0625).astype(np.float32)

    embed_query = embed

    def split(self, text: str) -> list[str]:
        """Return a text as one piece."""
        return [text]


def _sum(text: str) -> np.ndarray[Any, Any]:
    total = np.zeros(_DIMENSIONS, np.int64)
    for word in text.lower().split():
        digest = hashlib.shake_128(word.encode()).digest(_DIMENSIONS // 8)
        total += 2 * np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.int64) - 1
    return total


def results(number: int) -> Iterator[tuple[str, object]]:
    """Make a case; yield what was asked, and what came back, in order."""
    draw = Random(f"recorded {number}")
    dialect = DIALECTS[number % len(DIALECTS)]
    messages, system = in_dialect(conversation(draw, draw.choice((2, 4, 9, 20, 45))), dialect)
    what = draw.choice(("window", "window", "window", "window", "process", "fit", "compact"))
    if what == "fit":
        yield f"fit {dialect}", _tried(_fitted, draw, messages, system, dialect)
    elif what == "compact":
        yield f"compact {dialect}", _tried(_compacted, draw, messages, system, dialect)
    else:
        yield from _windows(draw, messages, system, dialect, what)


def line(number: int) -> str:
    """Return what is recorded of a case."""
    found = list(results(number))
    text = json.dumps([told for _what, told in found], sort_keys=True, ensure_ascii=True)
    digest = hashlib.blake2b(text.encode(), digest_size=SIZE).hexdigest()
    asked = [what for what, _told in found]
    return f"{digest} {', '.join(dict.fromkeys(asked))}"


def _tried(work: Callable[..., object], *given: Any) -> object:
    try:
        return work(*given)
    except WarmsetError as error:
        return type(error).__name__


def _fitted(draw: Random, messages: list[Any], system: Any, dialect: str) -> object:
    whole = int(fit(messages, budget=1 << 40, dialect=dialect, system=system).tokens)
    budget = max(1, int(whole * draw.choice((0.15, 0.4, 0.8, 1.0))))
    made = fit(messages, budget=budget, dialect=dialect, system=system, model=None)
    return [made.messages, int(made.tokens)]


def _compacted(draw: Random, messages: list[Any], system: Any, dialect: str) -> object:
    made = compact_context(
        messages,
        query=draw.choice((None, sentence(draw))),
        target_ratio=draw.choice((0.2, 0.4, 0.7)),
        embedder=draw.choice((None, SignEmbedder())),
        dialect=dialect,
        system=system,
        model=None,
    )
    return [made.messages, len(made.dropped), len(made.inserted)]


def _windows(
    draw: Random, messages: list[Any], system: Any, dialect: str, what: str
) -> Iterator[tuple[str, object]]:
    """Store a conversation in a few parts, and ask for windows between them."""
    cuts = sorted({draw.randint(1, len(messages)) for _each in range(draw.randint(0, 3))})
    mode = MODES[draw.randrange(len(MODES))]
    share = draw.choice((0.1, 0.25, 0.5, 0.9, 2.0))
    options: dict[str, Any] = {
        "recent": draw.choice((0, 2, 4, 9)),
        "shortlist": draw.choice((1, 5, 12)),
        "index_share": draw.choice((0.0, 0.1, 0.3)),
        "dates": draw.choice(("lines", "none")),
        "min_saving": draw.choice((0.0, 0.2)),
        "swap_at": 0.85,
        "swap_to": draw.choice((0.35, 0.6)),
        "wait": 30.0,
        "system": system,
        "model": None,
    }
    budget = max(20, int(share * _tokens(messages, system, dialect)))
    embedder = draw.choice(("lexical", SignEmbedder())) if what == "window" else "lexical"
    with (
        tempfile.TemporaryDirectory(prefix="warmset-") as place,
        Memory.open(place, embedder=embedder, durability="os") as memory,
    ):
        one = memory.conversation("c")
        before = 0
        for at, cut in enumerate([*cuts, len(messages)]):
            now = _BEGUN + timedelta(hours=7 * at)
            asked = {"budget": budget, "mode": mode, **options}
            if what == "process":
                given = {"conversation": "c", "at": now, "dialect": dialect, **asked}
                made = _tried(_processed, memory, messages[:cut], given)
            else:
                if cut > before:
                    one.append(messages[before:cut], at=now, speaker=draw.choice((None, "Petra")))
                    memory.flush()  # records of vectors have ids, too
                query = draw.choice((None, sentence(draw)))
                made = _tried(_window, one, query, asked)
            before = cut
            yield f"{what} {mode} {dialect}", made
        found = _tried(lambda: [hit.id for hit in memory.search(sentence(draw), k=5)])
        yield "search", found


def _tokens(messages: list[Any], system: Any, dialect: str) -> int:
    made = _tried(lambda: int(fit(messages, budget=1 << 40, dialect=dialect, system=system).tokens))
    return made if isinstance(made, int) else 400


def _processed(memory: Memory, messages: list[Any], given: dict[str, Any]) -> object:
    return _told(memory.process(messages, **given))


def _window(one: Conversation, query: str | None, asked: dict[str, Any]) -> object:
    return _told(one.window(query, **asked))


def _told(window: Window) -> object:
    report = window.report
    return [
        window.messages,
        window.system,
        window.tokens,
        [report.tokens_in, report.tokens_sent, report.turns_sent, list(report.recent)],
        [report.mode, report.epoch if isinstance(report.epoch, int) else None],
    ]
