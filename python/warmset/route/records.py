"""Records of payloads: one cell for each, so that a payload can be looked up and made again.

A record has ids, names, numbers and reasons, the query and the system prompt; no text and no label
of an item. The words of a model lie in a cell of their own, which is made from the items that they
are about: it goes when one of them is erased.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset._support.log import event, kind, room
from warmset.errors import Erased, InvalidInputError, NotFound, WarmsetError
from warmset.evict.policies import at_least
from warmset.items.cells import PAYLOADS, time_of
from warmset.route.decided import decode, encode
from warmset.route.expiry import Expiry
from warmset.route.outcomes import is_erased
from warmset.route.triage import RuleTriage
from warmset.store.rows import Put
from warmset.tokens import extra_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset._core import Cell, Outcome
    from warmset.items.items import Sources
    from warmset.route.decided import Decided
    from warmset.route.desk import Desk
    from warmset.route.payload import Excluded, Included, Missing, Payload
    from warmset.route.plan import Plan
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

KEPT: Final = timedelta(days=90)
"""How long the record of a payload is kept if nothing else is said."""

JUDGED: Final = "judged"
"""The last part of the key of what a model said."""

MOST_LISTED: Final = 32_768
"""The most bytes of names that stand in a column."""

_LOG: Final = room("route")


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadRecord:
    """What is on record of a payload.

    Args:
        payload_id: Its name.
        task: The name of the task.
        time: What ages were counted up to, UTC.
        query: What the task was asked, redacted.
        conversation: The conversation that it was made for.
        pipeline: The run of modules that it was part of.
        judge: The name of the class that judged.
        context_payload: What stood in it, in its order.
        excluded: The other candidates, each with the reason.
        missing: What items in it depended on and what was not there.
        total_tokens: The tokens of the call.
        budget_remaining: What was left of the budget.
    """

    payload_id: str
    task: str
    time: datetime
    query: str
    conversation: str | None
    pipeline: str | None
    judge: str
    context_payload: tuple[Included, ...]
    excluded: tuple[Excluded, ...]
    missing: tuple[Missing, ...]
    total_tokens: int
    budget_remaining: int


class Recorder:
    """Writes and reads the records of a tenant's payloads.

    Args:
        sources: The items, memories and messages of the tenant.
        keep: How long a record is kept; None for ever.
    """

    def __init__(self, sources: Sources, keep: timedelta | None) -> None:
        if keep is not None and (not isinstance(keep, timedelta) or keep <= timedelta(0)):
            raise InvalidInputError(
                f"keep_records: expected a timedelta of more than 0, or None, found {keep!r:.80}"
            )
        self._sources = sources
        self.keep = keep
        self._expiry = Expiry(self._prefix())

    def write(
        self,
        desk: Desk,
        spec: TaskSpec,
        request: Request,
        plan: Plan,
        payload: Payload,
        *,
        after: int | None = None,
    ) -> Payload:
        """Record a payload, and remove some records that have expired.

        Args:
            desk: What routes share.
            spec: What the task needs.
            request: What the payload is for.
            plan: What it was made by.
            payload: The payload.
            after: The trace of an earlier payload of the same request; if that was erased with its
                conversation, nothing is stored.

        Returns:
            The payload with the name of its record. If it could not be written, the payload as it
            is, with a note.
        """
        payload_id = secrets.token_hex(8)
        try:
            self._sources.handle.engine.must_write()
            rows = self._rows(payload_id, desk, spec, request, plan, payload)
            made = self._written(rows, after)
        except (WarmsetError, TypeError, ValueError, OSError, RecursionError) as error:
            why = type(error).__name__
            event(
                _LOG, logging.WARNING, "fell_back", what="record", to="no record", error=kind(error)
            )
            note = f"there is no record of this payload: {why}"
            return replace(payload, notes=(*payload.notes, note))
        self._expiry.tend(self._sources.handle.engine.log)
        return replace(payload, payload_id=payload_id, trace=made.id)

    def _written(self, rows: Sequence[Put], after: int | None) -> Outcome:
        """Write the rows of a record, and return what became of the first one."""
        engine = self._sources.handle.engine
        if after is None:
            return engine.log.write(rows, sync=False)[0]
        with engine.lock:  # nothing is erased between the look and the writing
            if is_erased(engine, after):
                raise Erased(after)
            return engine.log.write(rows, sync=False)[0]

    def _rows(
        self,
        payload_id: str,
        desk: Desk,
        spec: TaskSpec,
        request: Request,
        plan: Plan,
        payload: Payload,
    ) -> list[Put]:
        system = request.system
        if system:
            said = {"role": "system", "content": system}
            system = self._sources.handle.redactor.messages([said])[0]["content"]
        made = encode(
            spec=spec,
            request=request,
            system=system,
            tool_tokens=extra_tokens(desk.encoding, tools=request.tools),
            encoding=desk.encoding,
            judge=type(desk.triage or desk.rules).__name__,
            is_rule=desk.triage is None and type(desk.rules) is RuleTriage,
            plan=plan,
            payload=payload,
            heirs={
                heir: desk.reader.name_of(heir) for _id, _name, heir in plan.gathered.superseded
            },
        )
        names = [one.memory_id for one in payload.context_payload]
        whose = {
            name: value
            for name in ("conversation", "pipeline")
            if (value := getattr(request, name)) is not None
        }
        columns: dict[str, Any] = {"task": spec.task_type, "time": request.now.astimezone(UTC)}
        if sum(len(name.encode()) + 5 for name in names) <= MOST_LISTED:
            columns["names"] = names
        vector = request.vector
        rows = [
            Put(
                (*self._prefix(), payload_id),
                made.decision,
                codec="json",
                columns=columns | whose,
                ttl=self.keep,
                own=b"" if vector is None else np.asarray(vector, "<f4").tobytes(),
                if_present="fail",
            )
        ]
        if made.judged is not None:
            key = (*self._prefix(), payload_id, JUDGED)
            rows.append(
                Put(
                    key,
                    made.judged,
                    codec="json",
                    columns=whose,
                    ttl=self.keep,
                    sources=made.about,
                )
            )
        return rows

    def read(self, payload_id: str) -> Decided:
        """Return what a record says.

        Raises:
            NotFound: There is none of that name, or not any more.
            NewerFormat: It has another format.
            StoreError: It could not be read.
        """
        return self._read([payload_id])[0][1]

    def record(self, payload_id: str) -> PayloadRecord:
        """Return what is on record of a payload; the same errors as `read`."""
        [(cell, decided)] = self._read([payload_id])
        return _shown(cell, decided)

    def listed(self, *, task: str | None, conversation: str | None, k: int) -> list[PayloadRecord]:
        """Return records, the newest first.

        Raises:
            InvalidInputError: An argument is out of its range.
            NewerFormat: One has another format.
            StoreError: They could not be read.
        """
        at_least("k", k, 1)
        where: dict[str, Any] = {"task": {"exists": True} if task is None else task}
        if conversation is not None:
            where["conversation"] = conversation
        log = self._sources.handle.live().log
        found = log.scan(self._prefix(), where=where, order="born", reverse=True, limit=k)
        names = [one.key[-1].decode() for one in found]
        return [_shown(cell, decided) for cell, decided in self._read(names, some=True)]

    def used(self) -> dict[str, datetime]:
        """Return when each item last stood in a payload, by name.

        Raises:
            NewerFormat: A record has another format.
            StoreError: They could not be read.
        """
        log = self._sources.handle.live().log
        found: dict[str, datetime] = {}
        for one in log.scan(self._prefix(), where={"task": {"exists": True}}, limit=None):
            at = time_of(one.columns.get("time"))
            names: Any = one.columns.get("names")
            if names is None:
                read = self._read([one.key[-1].decode()], some=True)
                names = [each.memory_id for _cell, made in read for each in made.included]
            for name in names:
                found[name] = max(at, found.get(name, at))
        return found

    def _prefix(self) -> tuple[bytes, bytes]:
        return self._sources.handle.tenant.encode("utf-8", "surrogatepass"), PAYLOADS

    def _read(self, names: Sequence[str], *, some: bool = False) -> list[tuple[Cell, Decided]]:
        """Return records in order; with `some`, without those that are gone."""
        for name in names:
            if not isinstance(name, str) or not name:
                raise InvalidInputError(f"payload_id: expected a name, found {name!r:.80}")
        keys = [(*self._prefix(), *parts) for name in names for parts in ((name,), (name, JUDGED))]
        cells = self._sources.handle.live().log.view(cells=keys).cells
        found: list[tuple[Cell, Decided]] = []
        for name, cell, said in zip(names, cells[::2], cells[1::2], strict=True):
            if cell is not None:
                vector = np.frombuffer(cell.own, "<f4").astype(np.float32) if cell.own else None
                judged = None if said is None else said.payload
                found.append((cell, decode(name, cell.payload, judged, vector)))
            elif not some:
                raise NotFound(
                    f"there is no record of a payload {name!r:.80}: it was erased or has expired, "
                    "or the name is another one"
                )
        return found


def _shown(cell: Cell, decided: Decided) -> PayloadRecord:
    columns: Mapping[str, Any] = cell.columns
    request = decided.request
    return PayloadRecord(
        payload_id=cell.key[-1].decode(),
        task=decided.spec.task_type,
        time=time_of(columns.get("time")),
        query=request.query,
        conversation=request.conversation,
        pipeline=request.pipeline,
        judge=decided.judge,
        context_payload=decided.included,
        excluded=decided.excluded,
        missing=decided.missing,
        total_tokens=decided.total_tokens,
        budget_remaining=decided.budget_remaining,
    )
