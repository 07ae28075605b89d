"""Writes items into a store: each once, in batches that are there whole or not at all.

```text
item ─▶ known? ─▶ erased? ─▶ redacted, checked ─▶ batch: hashes of the ids, messages, what is kept
```

A batch has the hashes of what is in it, so that a process that is killed leaves neither a message
that is imported again nor one that is missing. It is written only if no conversation of it changed
meanwhile; else what others imported is left out, and what they erased.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset.errors import Conflict, InvalidInputError, InvalidMessageError
from warmset.ingest.keys import key_for
from warmset.items.side_chains import OF, ROOT
from warmset.maintenance.transcripts.agents import Agents
from warmset.maintenance.transcripts.item import FIRST, LONGEST, UNREADABLE
from warmset.maintenance.transcripts.lines import value_of
from warmset.maintenance.transcripts.names import fitting
from warmset.store.conditions import Tail
from warmset.store.known import Known, secret_of
from warmset.store.records import TurnMeta, key_of
from warmset.store.rows import Add, Cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine import Redactor
    from warmset.maintenance.transcripts.item import Item
    from warmset.maintenance.transcripts.report import ImportReport
    from warmset.maintenance.transcripts.target import Target
    from warmset.store.conditions import Condition
    from warmset.store.rows import Row

RECORDS: Final = 512
BYTES: Final = 8 << 20
"""The most items of a batch, and its approximate bytes."""

_CONVERSATIONS: Final = 64
"""Conversations whose known ids lie in memory at the same time."""

_TRIES: Final = 100
"""How often a batch is judged anew because another process wrote to its conversations."""

_PAGE: Final = 256
"""Entries that are read at once to find the one that a branch begins at."""


class Writer:
    """Takes items in the order of their sources.

    Args:
        target: The store.
        tenant: Whose the conversations are.
        through: What every text passes through; None stores the texts as they are.
        report: What is counted.
    """

    def __init__(
        self, target: Target, tenant: str, through: Redactor | None, report: ImportReport
    ) -> None:
        self._target = target
        self._tenant = tenant
        self._through = through
        self._report = report
        self._secret = secret_of(target.log, make=not report.dry)
        self._agents = Agents(target.log, tenant, self._secret)
        self._open: OrderedDict[str, Known] = OrderedDict()
        self._batch: list[tuple[Item, Add]] = []
        self._pending: set[tuple[str, str]] = set()
        self._size = 0
        self._touched: set[str] = set()
        self._here: dict[str, str] = {}  # conversation ─▶ the message that was taken last
        self._last_at: float | None = None

    def take(self, item: Item) -> None:
        """Take one item; it is stored with its batch.

        Raises:
            RedactionError: The redaction hook failed; earlier batches were stored.
            StoreError: A batch could not be stored; those before it were.
        """
        report, item = self._report, fitting(item)
        if item.message is None and not item.kept:
            report.left_out[item.kind] += 1
            return
        known = self._known(item.conversation)
        fresh = [uid for uid in item.uids if not self._has(known, item.conversation, uid)]
        if not fresh or any(uid in known for uid in item.unless):
            report.known += 1
            return
        if self._is_erased(item):
            self._refuse(item)
            return
        name, item = item.uids[0], self._placed(item)
        if len(fresh) < len(item.uids):
            item = _without(item, fresh)
        row = self._row(item)
        if row is None:
            report.too_long += 1
            return
        if row.turn is not None:
            self._here[item.conversation] = name
        self._batch.append((item, row))
        self._pending.update((item.conversation, uid) for uid in item.uids)
        self._size += len(row.payload)
        if len(self._batch) >= RECORDS or self._size >= BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what was taken.

        Raises:
            StoreError: It could not be stored; nothing of the batch was.
        """
        self._store()
        refused = self._agents.refused()
        if refused and not self._report.dry:
            self._target.write(refused, ())

    def _store(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        self._pending.clear()
        unplaced = 0
        for left in range(_TRIES, -1, -1):
            batch, expect = self._judged(batch)
            if not batch:
                return
            if self._report.dry:
                break
            rows, unplaced = self._rows(batch)
            try:
                self._target.write(rows, expect)
                break
            except Conflict:
                if not left:
                    raise
        self._report.unplaced += unplaced
        self._count(batch)

    # --- what is new ----------------------------------------------------------------------------

    def _known(self, name: str) -> Known:
        known = self._open.get(name)
        if known is None:
            known = Known(self._target.log, key_of(self._tenant, name), self._secret)
            self._open[name] = known
            busy = {item.conversation for item, _ in self._batch}
            for other in [one for one in self._open if one not in busy and one != name]:
                if len(self._open) <= _CONVERSATIONS or self._report.dry:
                    break
                del self._open[other]
        self._open.move_to_end(name)
        return known

    def _has(self, known: Known, name: str, uid: str) -> bool:
        return (name, uid) in self._pending or uid in known

    def _placed(self, item: Item) -> Item:
        """Return an item that says what it follows only where that is not the last message."""
        if item.after is None:
            return item
        here = self._here.get(item.conversation)
        begins = item.after == FIRST and here is None
        if item.after == here or (begins and self._known(item.conversation).tail() == 0):
            return replace(item, after=None)
        self.flush()  # what it follows is looked up in the store
        return item

    def _is_erased(self, item: Item) -> bool:
        """Return whether a conversation, or one that it is a side chain of, was erased."""
        known = self._known(item.conversation)
        return (known.had and known.tail() == 0) or self._above(item)[0]

    def _above(self, item: Item) -> tuple[bool, list[Tail]]:
        """Return whether one that an item is a side chain of was erased, and where they end."""
        erased = False
        ends: list[Tail] = []
        for name in filter(None, (item.side_of, item.root)):
            known = self._known(name)
            tail, gone = known.look()
            end = Tail(known.key, tail)
            if item.agent is not None and tail == 0 and not gone:
                of_agent, gone = self._agents.look(name)
                end = of_agent or end
            erased = erased or gone
            ends.append(end)
        return erased, ends

    def _refuse(self, item: Item) -> None:
        self._report.erased += 1
        if item.agent is not None:
            self._agents.refuse(item.agent, item.conversation)

    def _judged(
        self, batch: list[tuple[Item, Add]]
    ) -> tuple[list[tuple[Item, Add]], list[Condition]]:
        """Return what of a batch is new and not erased, and what must be so when it is written.

        Args:
            batch: Items that were new when they were taken.
        """
        left: list[tuple[Item, Add]] = []
        ends: dict[str, list[Tail]] = {}  # in the order in which they were looked at
        gone: dict[str, bool] = {}
        for item, row in batch:
            name = item.conversation
            if name not in gone:
                known = self._known(name)
                tail, erased = known.look()
                above, others = self._above(item)
                gone[name] = erased or above
                ends[name] = [Tail(known.key, tail), *others]
            fresh = [uid for uid in item.uids if uid not in self._known(name)]
            if gone[name]:
                self._refuse(item)
            elif not fresh or any(uid in self._known(name) for uid in item.unless):
                self._report.known += 1
            elif len(fresh) == len(item.uids):
                left.append((item, row))
            else:
                part = _without(item, fresh)
                rest = self._row(part)
                if rest is None:
                    self._report.too_long += 1
                else:
                    left.append((part, rest))
        kept = {item.conversation for item, _ in left}
        expect: dict[tuple[bytes | str, ...], Condition] = {}
        for end in (one for name, listed in ends.items() if name in kept for one in listed):
            expect.setdefault(tuple(end.list), end)  # the first: what came since was not judged
        return left, list(expect.values())

    # --- what is written ------------------------------------------------------------------------

    def _row(self, item: Item) -> Add | None:
        """Return the row of an item; None if it is too long."""
        key = self._known(item.conversation).key
        uid = key_for(item.uids[0])
        if item.message is not None:
            row = self._turn(item, key, uid)
            if row is not None:
                return row if len(row.payload) <= LONGEST else None
        raw = self._clean(item.raw or _dumped(item.message))
        if len(raw) > LONGEST:
            return None
        kind = item.kind if item.message is None else "malformed"
        columns = {"kind": kind, **_belonging(item)}
        return Add(key, raw, uid=uid, columns=columns, if_present="skip")

    def _turn(self, item: Item, key: list[bytes], uid: str) -> Add | None:
        """Return the row of a message; None if it is not well-formed."""
        try:
            [plain] = map(messages.without_client_only, messages.accept([item.message]))
            speaker, meta = item.speaker, dict(item.meta)
            if self._through is not None:
                [shown] = self._through.messages([plain])
                meta = self._through.data(meta)
                speaker = None if speaker is None else self._through.text(speaker).strip() or None
                self._report.redacted += shown is not plain
                plain = shown
            meta |= _belonging(item)
            dialect = item.dialect or messages.detect([plain])
            messages.settle([plain], dialect)
            payload = messages.dumps(plain)
        except (InvalidMessageError, InvalidInputError):
            return None
        at = item.at if item.at is not None else self._last_at or time.time()
        self._last_at = at
        beside = TurnMeta(
            at=at,
            speaker=speaker,
            session=item.session,
            dialect=dialect,
            extra=meta or None,
            key=uid,
        )
        return Add(key, payload, turn=beside.encode(), if_present="skip")

    def _clean(self, raw: bytes) -> bytes:
        through = self._through
        if through is None or not (through.has_hook or _may_be_private(raw)):
            return raw
        value = value_of(raw)
        if value is None:
            text = raw.decode("utf-8", "surrogateescape")
            shown = through.text(text)
            clean = raw if shown == text else shown.encode("utf-8", "surrogateescape")
        else:
            made = through.data(value)
            clean = raw if made == value else json.dumps(made, separators=(",", ":")).encode()
        self._report.redacted += clean is not raw
        return clean

    def _rows(self, batch: Sequence[tuple[Item, Add]]) -> tuple[list[Row], int]:
        """Return the rows of a batch, and how many of its messages found no place of their own."""
        uids: dict[str, list[str]] = {}
        agents = {item.agent: item.conversation for item, _ in batch if item.agent is not None}
        rows: list[Row] = [row for one in agents.items() for row in self._agents.rows(*one)]
        unplaced = 0
        for item, row in batch:
            uids.setdefault(item.conversation, []).extend(item.uids)
            if item.after is not None:
                cut = self._place(item.after, self._known(item.conversation))
                rows += [] if cut is None else [cut]
                unplaced += cut is None
            rows.append(row)
        return [self._known(name).row(listed) for name, listed in uids.items()] + rows, unplaced

    def _place(self, after: str, known: Known) -> Cut | None:
        """Return the row that makes a message follow another one; None if that is not there."""
        if after == FIRST:
            return Cut(known.key, 0)
        log, last, uid = self._target.log, None, key_for(after).encode("utf-8", "surrogatepass")
        while log is not None:
            page = log.entries(known.key, after=last, limit=_PAGE, reverse=True)
            for entry in page:
                if entry.uid == uid:
                    return Cut(known.key, entry.id)
            if not page:
                break
            last = page[-1].id
        return None

    def _count(self, batch: Sequence[tuple[Item, Add]]) -> None:
        report = self._report
        if not report.dry:
            for name in {item.conversation for item, _ in batch}:
                self._known(name).load()
        for item, row in batch:
            known = self._known(item.conversation)
            if report.dry:
                known.add(item.uids)
            if item.conversation not in self._touched:
                self._touched.add(item.conversation)
                report.conversations += 1
                report.side_chains += item.side_of is not None
            if row.turn is not None:
                report.messages += 1
            elif item.kind == UNREADABLE:
                report.unreadable += 1
            else:
                report.kept[item.kind if item.message is None else "malformed"] += 1


def _without(item: Item, fresh: Sequence[str]) -> Item:
    """Return what is new of an item, of which a part was imported before."""
    if item.message is None or not item.spans:
        return item
    blocks: list[Any] = []
    at = 0
    for uid, span in zip(item.uids, item.spans, strict=True):
        if uid in fresh:
            blocks += item.message["content"][at : at + span]
        at += span
    return replace(item, uids=tuple(fresh), message={**item.message, "content": blocks}, spans=())


def _belonging(item: Item) -> dict[str, str]:
    """Return the fields that say what an item's conversation is a side chain of."""
    found = {OF: item.side_of, ROOT: item.root}
    return {name: value for name, value in found.items() if value is not None}


def _dumped(message: Any) -> bytes:
    try:
        return messages.dumps(message)
    except InvalidInputError:
        return repr(message).encode("utf-8", "replace")


def _may_be_private(raw: bytes) -> bool:
    """Return whether bytes may hold a `<private>` tag; its letters may be written as escapes."""
    return b"\\u" in raw or b"private" in raw.lower()
