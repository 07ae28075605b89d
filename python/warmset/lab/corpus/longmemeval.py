"""LongMemEval's instances (Wu et al., ICLR 2025): one question each, with a history of its own."""

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

_WEEKDAY: Final = re.compile(r"\s*\([^)]*\)\s*")
_TIMES: Final = ("%Y/%m/%d %H:%M", "%Y/%m/%d")
_ABSTAIN: Final = "_abs"
_ROLES: Final = ("user", "assistant")


def samples(value: Any) -> list[dict[str, Any]] | None:
    """Return the instances of a JSON value, if it is LongMemEval's."""
    looks = (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and "haystack_sessions" in item for item in value)
    )
    return value if looks else None


def read_all(found: list[dict[str, Any]]) -> Iterator[Transcript]:
    """Read all instances, in order.

    Args:
        found: The instances of a file.

    Yields:
        A conversation with one question. Its evidence are the turns that are marked as having the
        answer, or, if there are none, all turns of the sessions that are. Questions that should be
        declined (their id ends in "_abs") and questions without evidence are left out and counted.
        Sessions are in the order of their dates.

    Raises:
        InvalidInputError: An instance does not have LongMemEval's format.
    """
    for number, item in enumerate(found, 1):
        name = str(item.get("question_id", number))
        try:
            yield _read(item, name)
        except InvalidInputError as error:
            raise InvalidInputError(f"instance {name!r}: {error}") from error


def _read(item: dict[str, Any], name: str) -> Transcript:
    lines: list[Line] = []
    marked: list[int] = []
    by_session: list[int] = []
    wanted = {str(one) for one in _list(item, "answer_session_ids", needed=False)}
    for at, id_, label, turns in _sessions(item):
        for number, raw in enumerate(turns, 1):
            where = f"session {label}, turn {number}"
            turn = mapping(raw, where)
            role, text = turn.get("role"), turn.get("content")
            if role not in _ROLES or not isinstance(text, str):
                raise InvalidInputError(
                    f"{where}: expected a role and a content, found {turn!r:.60}"
                )
            if not text.strip():
                continue
            if turn.get("has_answer") is True:
                marked.append(len(lines))
            if id_ in wanted:
                by_session.append(len(lines))
            message = {"role": role, "content": text}
            lines.append(Line(message=message, at=at, session=label, where=where))
    counts: Counter[str] = Counter()
    questions = [one for one in (_question(item, name, marked or by_session, counts),) if one]
    return Transcript(
        name=name, kind="LongMemEval", lines=lines, questions=questions, counts=counts
    )


def _question(
    item: dict[str, Any], name: str, evidence: list[int], counts: Counter[str]
) -> Question | None:
    asked = item.get("question")
    if not isinstance(asked, str) or not asked.strip():
        counts["malformed"] += 1
        return None
    if name.endswith(_ABSTAIN):
        counts["not_scored"] += 1
        return None
    if not evidence:
        counts["without_evidence"] += 1
        return None
    return Question(
        asked,
        tuple(evidence),
        category=str(item.get("question_type", "unknown")),
        answer=str(item.get("answer", "")),
        name=name,
    )


def _sessions(item: dict[str, Any]) -> list[tuple[float | None, str, str, list[Any]]]:
    """Return time, id, a label of its own, and turns of each session, the earliest first."""
    talks = _list(item, "haystack_sessions")
    ids = [str(one) for one in _list(item, "haystack_session_ids", needed=False)]
    dates = _list(item, "haystack_dates", needed=False)
    for key, given in (("haystack_session_ids", ids), ("haystack_dates", dates)):
        if given and len(given) != len(talks):
            raise InvalidInputError(f"{key}: expected {len(talks)} of them, found {len(given)}")
    ids = ids or [str(number) for number in range(1, len(talks) + 1)]
    times: list[float | None] = [_time(one) for one in dates]
    seen: Counter[str] = Counter()
    made: list[tuple[float | None, str, str, list[Any]]] = []
    for at, id_, turns in zip(times or [None] * len(talks), ids, talks, strict=True):
        if not isinstance(turns, list):
            raise InvalidInputError(f"session {id_}: expected a list of turns, found {turns!r:.40}")
        seen[id_] += 1
        label = id_ if seen[id_] == 1 else f"{id_} ({seen[id_]})"
        made.append((at, id_, label, turns))
    return sorted(made, key=lambda session: session[0] or 0.0)


def _list(item: dict[str, Any], key: str, *, needed: bool = True) -> list[Any]:
    found = item.get(key, None if needed else [])
    if not isinstance(found, list):
        raise InvalidInputError(f"{key}: expected a list, found {found!r:.40}")
    return found


def _time(given: object) -> float:
    text = _WEEKDAY.sub(" ", str(given)).strip()
    for form in _TIMES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(
            f"expected a date like '2023/05/20 (Sat) 02:21', found {given!r}"
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
