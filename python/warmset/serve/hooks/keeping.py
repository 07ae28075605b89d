"""Stores what is said in a session: each line once, whether a hook or an import reads it first.

A session has one conversation, named as the session is, and a line of its transcript one id there.
What was stored is noted as imports note it, in one batch with the turns; so neither stores what the
other one did, and neither brings back what was erased.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset.errors import Conflict, InvalidInputError
from warmset.ingest.keys import key_for
from warmset.serve.hooks import transcripts
from warmset.store.conditions import Tail
from warmset.store.known import Known, digest, secret_of, unanswered, without_call
from warmset.store.records import TurnMeta, key_of
from warmset.store.rows import Add
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.memory import Memory
    from warmset.messages import Dialect
    from warmset.serve.hooks.transcripts import Turn
    from warmset.store.rows import Row

LINES: Final = 512
"""The most lines of a batch."""

_DIALECTS: Final[dict[str, Dialect]] = {"claude-code": "anthropic", "codex": "responses"}
"""The dialects in which imports store the sessions of each host."""

_TRIES: Final = 100
"""How often a batch is judged anew because another process wrote to its conversation."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a transcript.

    Args:
        uid: Its id, as imports have it.
        turn: What somebody says in it; None for a line that says nothing.
        calls: The calls of tools in it, which are not stored.
    """

    uid: str
    turn: Turn | None
    calls: tuple[str, ...] = ()

    @property
    def uids(self) -> Iterator[str]:
        """What is noted of it: then no import stores results of its calls."""
        yield self.uid
        for call in self.calls:
            yield unanswered(call)
            yield without_call(call)


def lines_of(raw: bytes) -> Iterator[Line]:
    """Yield the lines of the main thread.

    Args:
        raw: Whole lines.
    """
    for one in raw.split(b"\n"):
        bare = one.rstrip(b"\r")
        fields = transcripts.parsed(bare) if bare.strip() else None
        if fields is None or fields.get("isSidechain") is True:
            continue
        said = [
            turn
            for turn in transcripts.turns_of(fields)
            if turn.text and turn.role in ("user", "assistant")
        ]
        own = None if isinstance(fields.get("payload"), dict) else fields.get("uuid")
        uid = own if isinstance(own, str) and own else digest(bare)
        yield Line(uid, said[0] if said else None, tuple(_calls(fields)))


def _calls(fields: dict[str, Any]) -> Iterator[str]:
    """Yield the calls of tools in a line, by their ids."""
    payload, message = fields.get("payload"), fields.get("message")
    if isinstance(payload, dict) and isinstance(payload.get("call_id"), str):
        yield payload["call_id"]
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            yield str(block.get("id"))


class Keeping:
    """The conversation of one session.

    Args:
        memory: The open store.
        host: The agent's host.
        session: The session's id.
    """

    def __init__(self, memory: Memory, host: str, session: str) -> None:
        self.name = session
        self.dialect: Dialect = _DIALECTS.get(host, "openai")
        self._engine = memory.__warmset_engine__()
        self._redactor = memory.__warmset_redactor__()
        self._tenant = memory.tenant
        log = self._engine.log
        self._known = Known(log, key_of(self._tenant, session), secret_of(log, make=True))

    def is_erased(self) -> bool:
        """Return whether something was stored, and the whole of it was erased."""
        return self._known.look()[1]

    def new(self, lines: Sequence[Line]) -> list[Line]:
        """Return the lines that nobody stored, each once; none of a session that was erased."""
        return self._look(lines)[1]

    def add(self, lines: Sequence[Line]) -> None:
        """Store what is new of some lines.

        Raises:
            RedactionError: The redaction hook failed; the batches before were stored.
            StoreError: A batch could not be stored; those before were.
        """
        for start in range(0, len(lines), LINES):
            self._add(lines[start : start + LINES])

    def _add(self, lines: Sequence[Line]) -> None:
        rows = {one.uid: self._row(one.uid, one.turn) for one in lines if one.turn is not None}
        for left in range(_TRIES, -1, -1):
            tail, new = self._look(lines)
            if not new:
                return
            batch: list[Row] = [self._known.row(uid for one in new for uid in one.uids)]
            batch += [rows[one.uid] for one in new if one.uid in rows]
            try:
                self._engine.bring(batch, expect=[Tail(self._known.key, tail)])
            except Conflict:
                if not left:
                    raise
            else:
                return

    def _look(self, lines: Sequence[Line]) -> tuple[int, list[Line]]:
        """Return the conversation's end, and the lines that nobody stored."""
        tail, erased = self._known.look()
        new = {one.uid: one for one in lines if not erased and one.uid not in self._known}
        return tail, list(new.values())

    def _row(self, uid: str, turn: Turn) -> Add:
        plain: messages.Message = {"role": turn.role, "content": turn.text}
        [shown] = self._redactor.messages([plain])
        self._redactor.note(self._tenant, self.name, int(shown is not plain))
        meta = TurnMeta(at=_time(turn.at), dialect=self.dialect, key=key_for(uid))
        payload = messages.dumps(shown)
        return Add(self._known.key, payload, turn=meta.encode(), if_present="skip")


def _time(at: str | None) -> float:
    try:
        return time.time() if at is None else seconds(at)
    except InvalidInputError:
        return time.time()
