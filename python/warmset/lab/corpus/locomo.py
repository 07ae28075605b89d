"""Conversations of the LoCoMo benchmark, with their questions and the turns that answer them."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.lab.corpus.rows import mapping
from warmset.lab.corpus.transcript import Line, Question, Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

_SESSION: Final = re.compile(r"session_(\d+)")
_EVIDENCE: Final = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")
_TIME: Final = "%I:%M %p on %d %B, %Y"
_PLAIN: Final = re.compile(r"D\d+:\d+")
CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""Categories whose answer is in the conversation; 5 asks for what was never said."""


def samples(value: Any) -> list[dict[str, Any]] | None:
    """Return the samples of a JSON value, a list of them or one, if it is LoCoMo's."""
    items: list[Any] = value if isinstance(value, list) else [value]
    looks = bool(items) and all(
        isinstance(item, dict) and isinstance(item.get("conversation"), dict) for item in items
    )
    return items if looks else None


def read(found: list[dict[str, Any]], conversation: str | None) -> Transcript:
    """Read one sample.

    Args:
        found: All samples of the file.
        conversation: The `sample_id` of the one that is wanted; None for the first.

    Returns:
        The conversation with its questions of categories 1 to 4. The first speaker is the user;
        captions of photos are part of what is said.

    Raises:
        InvalidInputError: There is no such sample, or it is not as LoCoMo writes them.
    """
    names = [str(sample.get("sample_id", number)) for number, sample in enumerate(found, 1)]
    name = names[0] if conversation is None else conversation
    if name not in names:
        raise InvalidInputError(f"there is no conversation {name!r}; it has {', '.join(names)}")
    return _sample(found[names.index(name)], name)


def read_all(found: list[dict[str, Any]]) -> Iterator[Transcript]:
    """Read all samples of a file, in order; see `read`.

    Raises:
        InvalidInputError: One is not as LoCoMo writes them.
    """
    for number, sample in enumerate(found, 1):
        yield _sample(sample, str(sample.get("sample_id", number)))


def _sample(sample: dict[str, Any], name: str) -> Transcript:
    lines: list[Line] = []
    places: dict[tuple[int, int], int] = {}
    for key, line in _lines(sample["conversation"]):
        places[key] = len(lines)
        lines.append(line)
    counts: Counter[str] = Counter()
    questions = list(_questions(sample.get("qa"), places, counts))
    return Transcript(name=name, kind="LoCoMo", lines=lines, questions=questions, counts=counts)


def _lines(talk: dict[str, Any]) -> Iterator[tuple[tuple[int, int], Line]]:
    found = {int(match[1]): key for key in talk if (match := _SESSION.fullmatch(key))}
    for number, key in sorted(found.items()):
        at = _time(talk.get(f"{key}_date_time"), f"{key}_date_time")
        turns = talk[key]
        if not isinstance(turns, list):
            raise InvalidInputError(f"{key}: expected a list of turns, found {turns!r:.40}")
        for place, item in enumerate(turns, 1):
            where = f"{key}, turn {place}"
            turn = mapping(item, where)
            text = _text(turn)
            if not text:
                continue
            speaker = turn.get("speaker")
            if not isinstance(speaker, str) or not speaker.strip():
                raise InvalidInputError(f"{where}: it has no speaker; name one")
            role = "user" if speaker == talk.get("speaker_a") else "assistant"
            ids = _ids(turn.get("dia_id"))
            yield (
                ids[0] if ids else (number, place),
                Line(
                    message={"role": role, "content": text},
                    at=at,
                    speaker=speaker,
                    session=key,
                    where=where,
                ),
            )


def _text(turn: dict[str, Any]) -> str:
    said, caption = turn.get("text"), turn.get("blip_caption")
    text = said.strip() if isinstance(said, str) else ""
    return f"{text} [photo: {caption}]".strip() if isinstance(caption, str) and caption else text


def _time(given: object, where: str) -> float | None:
    if given is None:
        return None
    try:
        return datetime.strptime(str(given).strip(), _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InvalidInputError(
            f"{where}: expected a time like '1:56 pm on 8 May, 2023', found {given!r}"
        ) from None


def _questions(
    asked: object, places: dict[tuple[int, int], int], counts: Counter[str]
) -> Iterator[Question]:
    for number, item in enumerate(asked if isinstance(asked, list) else (), 1):
        if not isinstance(item, dict) or not isinstance(item.get("question"), str):
            counts["malformed"] += 1
            continue
        category = CATEGORIES.get(item.get("category", 0))
        if category is None:
            counts["not_scored"] += 1
            continue
        given = item.get("evidence")
        named = _ids(given)
        known = sorted({places[key] for key in named if key in places})
        if not known:
            counts["without_evidence"] += 1
            continue
        texts: list[Any] = given if isinstance(given, list) else [given]
        counts["evidence_mended"] += any(not _PLAIN.fullmatch(str(text)) for text in texts)
        counts["evidence_unknown"] += any(key not in places for key in named)
        yield Question(
            item["question"],
            tuple(known),
            category=category,
            answer=str(item.get("answer", "")),
            name=str(number),
        )


def _ids(given: object) -> list[tuple[int, int]]:
    """Read turn ids out of a text or a list of texts, several in one and stray colons included."""
    texts: list[Any] = given if isinstance(given, list) else [given]
    return [
        (int(session), int(turn))
        for text in texts
        for session, turn in _EVIDENCE.findall(str(text))
    ]
