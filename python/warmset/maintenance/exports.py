"""Exports a store's records as JSON lines: for another store, a tool, or the person concerned."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from warmset.maintenance.access import pages
from warmset.maintenance.lines import HEADER, line_of, pointed, pointer, to_line
from warmset.state.branch_records import Links, head_draft
from warmset.store.known import SPACE
from warmset.store.records import (
    CHECKPOINT,
    ENTRY,
    HEAD,
    REMOVED,
    TURN,
    VECTORS,
    checkpoint,
    dump,
    head_of,
    is_conversation,
    load,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warmset._core import ColdStore, Record


@dataclass(frozen=True, slots=True)
class Exported:
    """The counts of an export.

    Args:
        records: Lines after the first.
        vectors: Records of vectors, which are left out: they are computed again from the messages.
        unknown: Records of a kind that only a newer version knows; they are left out.
        damages: Places in the store that could not be read.
    """

    records: int
    vectors: int
    unknown: int
    damages: int


def export(
    store: ColdStore,
    out: IO[str],
    *,
    prefix: Sequence[bytes] = (),
    progress: Callable[[int, int], object] | None = None,
) -> Exported:
    """Write records in order, one on each line, after a header line.

    Args:
        store: The store.
        out: The file to write to.
        prefix: The first parts of their keys; empty for all records.
        progress: Called with the number of records read so far and the total number.

    Returns:
        The counts; nothing is written, not even a header, if no key has the prefix.

    Raises:
        StoreError: They could not be read.
    """
    records = vectors = unknown = 0
    written: dict[tuple[bytes, ...], dict[int, None]] = defaultdict(dict)
    links, opaque = _links(store), dict[int, int]()
    header = json.dumps(HEADER) + "\n"
    total = store.stats()["records"]
    for done, record in enumerate(_once(store)):
        if progress is not None and done % 1000 == 0:
            progress(done, total)
        if list(record.key[: len(prefix)]) != list(prefix) or record.key[1:2] == (SPACE,):
            continue  # what was imported is remembered for this store alone
        if _is_about_vectors(record):
            vectors += 1
        elif record.kind == "other":
            unknown += 1
        else:
            if not records:
                out.write(header)
            out.write(_line(record, written, links, opaque) + "\n")
            if record.kind == ENTRY and record.parent is not None:
                opaque[record.seq] = record.parent
            if record.kind == TURN:
                written[tuple(record.key)][record.seq] = None
            records += 1
    if not records and (vectors or unknown or not prefix):
        out.write(header)
    return Exported(records, vectors, unknown, len(store.report()["damages"]))


def _once(store: ColdStore) -> Iterator[Record]:
    """Read all records, without second copies."""
    twice = (HEAD, REMOVED)
    return (one for one in pages(store) if one.kind not in twice or one.of is None)


def _line(
    record: Record,
    written: dict[tuple[bytes, ...], dict[int, None]],
    links: dict[int, Links],
    opaque: dict[int, int],
) -> str:
    """Return a record's line; one that the log wrote to end a path is one that anybody can write.

    Args:
        record: The record.
        written: Ids of the messages that were written, by conversation.
        links: What `_links` returned.
        opaque: Ids of entries that are no messages, with what each follows.
    """
    if record.kind != HEAD or not is_conversation(record.key):
        return to_line(record, _meta(record, written, links))
    head, turns = head_of(record.payload), written[tuple(record.key)]
    while head in opaque:
        head = opaque[head]
    if head not in turns:
        head = max((one for one in turns if one < head), default=0)
    return line_of(record.seq, head_draft([*record.key], head))


def _links(store: ColdStore) -> dict[int, Links]:
    """Return new parents for messages whose parents were erased, and the checkpoints' ids."""
    found: dict[int, Links] = {}
    for record in pages(store):
        if record.kind == CHECKPOINT and record.key:
            fields = checkpoint(record.meta)
            if fields.get("what") == "links":
                links = Links.decode(fields)
                found |= dict.fromkeys((record.seq, *links.of), links)
    return found


def _meta(
    record: Record, written: dict[tuple[bytes, ...], dict[int, None]], links: dict[int, Links]
) -> bytes:
    """Return a record's meta; a message whose parent was erased gets the parent before that."""
    turns = written[tuple(record.key)]
    known = links.get(record.seq)
    if known is not None:
        if record.kind == CHECKPOINT:
            return dump({"what": "head", "id": known.end(turns)})
        return dump({**load(record.meta), "parent": known.parent(record.seq, turns)})
    draft = (record.kind, [*record.key], record.meta, record.payload, record.sources)
    found = pointer(draft) if record.kind == TURN else None
    if found is None:
        return record.meta
    if found[1] in turns:
        return record.meta
    if (erased := links.get(found[1])) is not None:
        return pointed(draft, erased.parent(found[1], turns))[2]
    return pointed(draft, max((one for one in turns if one < found[1]), default=0))[2]


def _is_about_vectors(record: Record) -> bool:
    if record.kind == CHECKPOINT and not record.key:
        return checkpoint(record.meta).get("what") == "embedder"
    return record.kind in VECTORS
