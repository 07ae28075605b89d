"""Sessions of agents with tools, with questions and the turns that answer them: `agent_recall`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from warmset.errors import InvalidInputError
from warmset.lab.corpus import rows
from warmset.lab.corpus.transcript import Line, Question, Transcript, checked

if TYPE_CHECKING:
    from collections.abc import Iterator

Split: TypeAlias = Literal["fit", "held_out", "all"]

KINDS: Final = {
    "decision": 5,
    "value": 6,
    "path": 4,
    "error": 5,
    "who": 3,
    "list": 5,
    "when": 3,
    "superseded": 4,
    "unanswerable": 5,
}
"""The kinds of questions, each with the number that a session has of it."""

SPLITS: Final = ("fit", "held_out")
UNANSWERABLE: Final = "unanswerable"
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


def shipped() -> Path:
    """Return the directory of the sessions that ship with warmset."""
    return Path(str(resources.files("warmset.lab") / "data" / "agent_recall"))


def files(path: Path | None) -> list[Path]:
    """Return the files of sessions.

    Args:
        path: One file, or a directory of `*.json`; None for those that ship with warmset.

    Raises:
        InvalidInputError: The directory has no such file.
    """
    where = shipped() if path is None else path
    if not where.is_dir():
        return [where]
    found = sorted(where.glob("*.json"))
    if not found:
        raise InvalidInputError(f"{where}: there is no session in it; give a directory of *.json")
    return found


def read_all(path: Path | None, split: Split) -> Iterator[Transcript]:
    """Read the sessions of one split, in the order of their files' names.

    Args:
        path: As `files` takes it.
        split: Which sessions: those for fitting, those held out, or all.

    Raises:
        InvalidInputError: A file is not as `agent_recall` has them, or no session is of the split.
    """
    none = True
    for file in files(path):
        with rows.reading(file):
            transcript = checked(read(rows.whole(file)))
        if split in ("all", transcript.split):
            none = False
            yield transcript
    if none:
        raise InvalidInputError(f"split: no session is of {split!r}; choose another one, or all")


def read(value: object) -> Transcript:
    """Read one session.

    Args:
        value: The JSON value of its file.

    Returns:
        Its messages in OpenAI's form, a speaker where a turn has a name. Unanswerable questions are
        apart from those with evidence.

    Raises:
        InvalidInputError: It is not as `agent_recall` has them.
    """
    session = rows.mapping(value, "the session")
    name, split = _text(session, "name", "the session"), session.get("split")
    if split not in SPLITS:
        raise InvalidInputError(f"split: expected one of {', '.join(SPLITS)}, found {split!r}")
    lines: list[Line] = []
    places: dict[str, int] = {}
    pending: list[str] = []
    for where, turn in rows.numbered(_list(session, "turns", "the session"), "turn"):
        id_ = _text(turn, "id", where)
        if id_ in places:
            raise InvalidInputError(f"{where}: id {id_!r} is of an earlier turn; ids are unique")
        places[id_] = len(lines)
        lines.append(_line(turn, where, pending))
    if pending:
        raise InvalidInputError(f"call {pending[0]!r} is not answered; let a tool turn follow")
    asked = [
        _question(item, where, places)
        for where, item in rows.numbered(_list(session, "questions", "the session"), "question")
    ]
    return Transcript(
        name=name,
        kind="agents",
        lines=lines,
        questions=[one for one in asked if one.category != UNANSWERABLE],
        unanswerable=[one for one in asked if one.category == UNANSWERABLE],
        split=split,
    )


def _line(turn: dict[str, Any], where: str, pending: list[str]) -> Line:
    """Read a turn; `pending` has the calls that are still to be answered, in order."""
    role, content, speaker = turn.get("role"), turn.get("content", ""), turn.get("name")
    if not isinstance(content, str) or not isinstance(speaker, str | None):
        raise InvalidInputError(f"{where}: expected texts as content and name, found {turn!r:.60}")
    message: dict[str, Any]
    if role == "tool":
        call = _text(turn, "call", where)
        if pending[:1] != [call]:
            wanted = f"call {pending[0]!r}" if pending else "no tool turn"
            raise InvalidInputError(f"{where}: expected {wanted}, found the answer of {call!r}")
        pending.pop(0)
        message = {"role": "tool", "tool_call_id": call, "content": content}
    elif pending:
        raise InvalidInputError(f"{where}: expected the answer of call {pending[0]!r} before it")
    elif role == "user":
        message = {"role": "user", "content": content}
    elif role == "assistant":
        message = {"role": "assistant", "content": content}
        calls = [_call(call, where) for call in _list(turn, "calls", where, needed=False)]
        if calls:
            pending += [call["id"] for call in calls]
            message = {"role": "assistant", "content": content or None, "tool_calls": calls}
    else:
        raise InvalidInputError(f"{where}: expected a role user, assistant or tool, found {role!r}")
    return Line(message=message, at=_time(turn.get("at"), where), speaker=speaker, where=where)


def _call(value: object, where: str) -> dict[str, Any]:
    call = rows.mapping(value, f"{where}, a call")
    given = rows.mapping(call.get("arguments"), f"{where}, arguments of a call")
    function = {
        "name": _text(call, "name", where),
        "arguments": json.dumps(given, ensure_ascii=False),
    }
    return {"id": _text(call, "id", where), "type": "function", "function": function}


def _question(item: dict[str, Any], where: str, places: dict[str, int]) -> Question:
    kind, answer = item.get("kind"), item.get("answer")
    if kind not in KINDS:
        raise InvalidInputError(f"{where}: expected a kind of {', '.join(KINDS)}, found {kind!r}")
    named = _list(item, "evidence", where)
    outdated = _list(item, "outdated", where, needed=False)
    unknown = [one for one in (*named, *outdated) if one not in places]
    if unknown:
        raise InvalidInputError(f"{where}: there is no turn {unknown[0]!r}; give ids of turns")
    if bool(named) is (kind == UNANSWERABLE):
        raise InvalidInputError(f"{where}: evidence is empty if, and only if, it is unanswerable")
    if not isinstance(answer, str) or bool(answer) is (kind == UNANSWERABLE):
        raise InvalidInputError(f"{where}: an answer is empty if, and only if, it is unanswerable")
    return Question(
        _text(item, "question", where),
        tuple(sorted({places[one] for one in named})),
        category=kind,
        answer=answer,
        name=_text(item, "id", where),
    )


def _text(item: dict[str, Any], key: str, where: str) -> str:
    found = item.get(key)
    if not isinstance(found, str) or not found.strip():
        raise InvalidInputError(f"{where}: expected a text as {key}, found {found!r:.40}")
    return found


def _list(item: dict[str, Any], key: str, where: str, *, needed: bool = True) -> list[Any]:
    found = item.get(key, None if needed else [])
    if not isinstance(found, list):
        raise InvalidInputError(f"{where}: expected a list as {key}, found {found!r:.40}")
    return found


def _time(given: object, where: str) -> float:
    try:
        return datetime.strptime(str(given), _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InvalidInputError(
            f"{where}: expected a time like '2026-03-02T09:14:05Z', found {given!r}"
        ) from None
