"""Makes a payload again as it was, from its record and from the store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmset import messages
from warmset.errors import Erased, NotFound
from warmset.route.candidates import LABELS, Facts
from warmset.route.compose import Composer
from warmset.route.judgement import Judgement
from warmset.route.plans import Plans
from warmset.route.quoted import Lines
from warmset.store.records import TURN, TurnMeta, names_of
from warmset.store.versions import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset._core import Record
    from warmset.engine.engine import Engine
    from warmset.route.candidates import Candidate
    from warmset.route.decided import Decided
    from warmset.route.desk import Desk
    from warmset.route.payload import Payload

_CELL = "cell"


def replayed(desk: Desk, payload_id: str, decided: Decided) -> Payload:
    """Return the payload of a record; see `Router.replay`."""
    gathered = decided.gathered
    every = [*gathered.candidates, *decided.depended]
    past = Past(desk.sources.handle.live(), payload_id, decided)
    past.read(every)
    if not decided.is_rule and decided.verdicts is None:
        raise NotFound(
            f"what {decided.judge} said for payload {payload_id!r} is not there any more"
        )
    then = replace(
        desk,
        triage=None,
        kept=Lines(decided.encoding),
        plans=Plans(0),
        reader=past,
        encoding=decided.encoding,
    )
    request = decided.request
    gathered = replace(
        gathered,
        candidates=[past.labelled(one) for one in gathered.candidates],
        asked=desk.sources.existing.asked(request.conversation, request.query),
    )
    said = decided.verdicts
    judgement = None if said is None else Judgement(verdicts=said, report=decided.triage)
    composer = Composer(then, decided.spec, request, tool_tokens=decided.tool_tokens, grants=desk)
    return replace(composer.compose(gathered, judgement), payload_id=payload_id)


class Past:
    """Reads items as they were when a payload was made.

    Args:
        engine: The store.
        payload_id: The name of the record.
        decided: What it says.
    """

    def __init__(self, engine: Engine, payload_id: str, decided: Decided) -> None:
        self._engine = engine
        self._payload_id = payload_id
        self._gone = decided.gone
        self._superseded = decided.gathered.superseded
        self._heirs = decided.heirs
        every = [*decided.gathered.candidates, *decided.depended]
        self._every = {one.memory_id: one for one in every}
        self._named = decided.named
        self._why = {one.memory_id: one.reason for one in decided.missing}
        self._records: dict[int, Record] = {}
        self._lost = set[int]()

    def read(self, every: Iterable[Candidate]) -> None:
        """Read all that was decided about.

        Raises:
            Erased: Some of it was erased since.
            StoreError: It could not be read.
        """
        wanted = {one.id for one in every} | {id_ for id_, _name, _heir in self._superseded}
        erased: list[int] = []
        for id_ in sorted(wanted - self._gone):
            try:
                self._records[id_] = self._engine.store.get(id_)
            except Erased:
                erased.append(id_)
            except NotFound:
                self._lost.add(id_)
        if erased:
            raise Erased(erased[0], tuple(erased[1:]))

    def labelled(self, one: Candidate) -> Candidate:
        """Return an item with its labels."""
        record = self._records.get(one.id)
        facts = one.known
        if record is None or not isinstance(facts, Facts):
            return one
        columns = columns_of(record) if record.kind == _CELL else _of_message(record)
        names: dict[str, tuple[str, ...]] = {"type": (one.memory_type,)}
        for column in ("conversation", *LABELS):
            found: Any = columns.get(column) or ()
            names[column] = (found,) if isinstance(found, str) else tuple(found)
        return replace(one, known=replace(facts, columns=names))

    def texts(self, some: Sequence[Candidate], /) -> dict[int, str]:
        """Return the texts of items by id, without those that were gone at that time.

        Raises:
            NotFound: One is an older version, and the store was compacted since.
        """
        lost = sorted(one.id for one in some if one.id in self._lost)
        if lost:
            ids = ", ".join(f"#{id_}" for id_ in lost)
            raise NotFound(
                f"payload {self._payload_id!r} cannot be made again: {ids} were replaced by newer "
                "versions, and the store was compacted since"
            )
        there = self._records
        return {one.id: self._text(there[one.id]) for one in some if one.id in there}

    def named(self, name: str, /) -> Candidate | str:
        """Return the item that stood for a name, or why there was none."""
        found = self._every.get(self._named.get(name, name))
        if found is None:
            return self._why.get(name, "there is no such item")
        return self.labelled(found)

    def name_of(self, id_: int, /) -> str:
        """Return the name of an item that had replaced another one."""
        return self._heirs[id_]

    def lasting(self) -> frozenset[int]:
        """Return nothing: what was read to make a payload again is not kept."""
        return frozenset()

    def _text(self, record: Record) -> str:
        if record.kind == TURN:
            with self._engine.lock:
                ledger = self._engine.ledgers.get(names_of(record.key))
                dialect = None if ledger is None else ledger.dialect
            return messages.text_of(messages.loads(record.payload), dialect or "openai")
        return record.payload.decode("utf-8", "surrogatepass")


def _of_message(record: Record) -> dict[str, Any]:
    """Return what is known of a message, or a memory, by its record."""
    if record.kind != TURN:
        return {}
    _tenant, conversation = names_of(record.key)
    return {"conversation": conversation, "session": TurnMeta.decode(record.meta).session}
