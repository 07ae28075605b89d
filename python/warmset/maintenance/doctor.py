"""What is in a store, what was set aside, and whether anything is wrong. Nothing is changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from warmset.maintenance.access import cipher_of, open_store, pages
from warmset.maintenance.batches import is_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset._core import ColdStore, Damage
    from warmset.maintenance.access import Access, Cipher


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What was found.

    Args:
        path: The store's directory.
        encryption: How it is encrypted.
        records: Readable records by kind.
        conversations: How many conversations have records, over all tenants.
        tenants: How many tenants have any.
        segments: Segment files.
        bytes: Their length.
        next_id: The id that the next record gets.
        durable_id: The id up to which a loss of power loses nothing.
        aside: What recovery set aside, with its length: torn tails, and batches of the spool that
            could not be read.
        spooled: Batches that wait for the next writer.
        unreadable: Those among them that are no whole batches.
        erasures: Erasures so far.
        pending: Erased records whose bytes are still there, until the store is compacted.
        damages: What is not as it was written.
        problems: What is wrong, in words; empty if the store is in good order.
    """

    path: str
    encryption: Cipher
    records: dict[str, int]
    conversations: int
    tenants: int
    segments: int
    bytes: int
    next_id: int
    durable_id: int
    aside: dict[str, int]
    spooled: list[str]
    unreadable: list[str]
    erasures: int
    pending: int
    damages: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"healthy": self.is_healthy, **asdict(self)}


def examine(access: Access, progress: Callable[[int, int], object] | None = None) -> Health:
    """Look at a store and change nothing.

    Args:
        access: Which store.
        progress: Called with the number of records read so far and the total number.

    Raises:
        StoreError: It cannot be opened.
    """
    encryption = cipher_of(access.path)
    with open_store(access, mode="read") as store:
        problems: list[str] = []
        kinds, keys, locked = _read(store, progress)
        if locked:
            problems.append(
                f"{len(locked):,} records could not be decrypted, the first is #{locked[0]}: their "
                "key is not here; with a master key in a file: --key-file FILE"
            )
        stats, erasures = store.stats(), store.erasure_report()
        damages = store.report()["damages"]
        problems += [_words(damage) for damage in damages]
        torn, spooled = access.path / "torn", store.spooled()
        unreadable = [name for name in spooled if not is_batch(access.path / "spool" / name)]
        problems += [
            f"spool/{name}: it is no whole batch; the next writer sets it aside"
            for name in unreadable
        ]
        return Health(
            path=str(access.path),
            encryption=encryption,
            records=dict(sorted(kinds.items())),
            conversations=len(keys),
            tenants=len({key[0] for key in keys}),
            segments=stats["segments"],
            bytes=stats["bytes"],
            next_id=stats["next_seq"],
            durable_id=store.durable_seq(),
            aside={file.name: file.stat().st_size for file in sorted(torn.glob("*"))},
            spooled=spooled,
            unreadable=unreadable,
            erasures=len(erasures["erasures"]),
            pending=erasures["pending"],
            damages=[plain(damage) for damage in damages],
            problems=problems,
        )


def plain(damage: Damage) -> dict[str, Any]:
    """Return a damage as plain JSON values."""
    return {
        **damage,
        "path": str(damage["path"]),
        "bytes": list(damage["bytes"]),
        "seqs": None if damage["seqs"] is None else list(damage["seqs"]),
    }


def _read(
    store: ColdStore, progress: Callable[[int, int], object] | None
) -> tuple[Counter[str], set[tuple[bytes, ...]], list[int]]:
    kinds: Counter[str] = Counter()
    keys: set[tuple[bytes, ...]] = set()
    locked: list[int] = []
    total = store.stats()["records"]
    for done, record in enumerate(pages(store, locked)):
        if progress is not None and done % 1000 == 0:
            progress(done, total)
        kinds[record.kind] += 1
        if len(record.key) > 1:
            keys.add(record.key[:2])
    return kinds, keys, locked


def _words(damage: Damage) -> str:
    first, last = damage["seqs"] or (0, 0)
    lost = f"records #{first} to #{last} are lost" if damage["seqs"] else "no record is lost"
    start, end = damage["bytes"]
    return f"{damage['path']}, bytes {start} to {end}: {damage['detail']}; {lost}"
