"""The options to open a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from warmset._core import ColdStore
from warmset.errors import InvalidInputError
from warmset.options import MAX_TURN

if TYPE_CHECKING:
    from os import PathLike

    from warmset.options import Reading

Sharing: TypeAlias = Literal["shared", "exclusive", "read"]
"""Whether other processes may use the store at the same time, and whether this one writes."""

Durability: TypeAlias = Literal["fsync", "interval", "os"]
"""What an append guarantees when it returns; see `Memory.open`."""

Views: TypeAlias = Literal["both", "turn"]
"""What is embedded of a turn; see `Memory.open`."""

OnBusy: TypeAlias = Literal["error", "spool"]
"""What an append does if another process holds the store's lock."""


class StoreKeywords(TypedDict, total=False):
    """`StoreOptions` as keyword arguments."""

    mode: Sharing
    durability: Durability
    sync_interval: float | None
    on_busy: OnBusy
    read: Reading
    encryption: Literal["keys"] | bytes | None
    views: Views


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options to open a store.

    Args:
        mode: "shared": other processes may read and write at the same time, and each call sees what
            they wrote. "exclusive": no other process may write. "read": this process writes
            nothing, takes no lock, and follows what others write; the store may be on a read-only
            mount. What would write raises `ReadOnly`, and missing vectors are not made.
        durability: What an append guarantees when it returns. "fsync": the records survive a crash
            of the process and a loss of power. "interval": they survive a crash of the process; a
            sync follows within `sync_interval`. "os": they survive a crash of the process; the
            operating system decides when to sync.
        sync_interval: Seconds between two syncs, for "interval".
        on_busy: What an append does if it cannot get the store's lock within two seconds, because
            another process holds it. "error" raises `Locked`. "spool" stores the messages durably
            in the spool and returns `Spooled`; they get their ids when the next writer appends
            them.
        read: How sealed segments are read: "map" for memory-mapped files, or "pread" if other
            programs may truncate the files.
        encryption: "keys" encrypts messages with one key for each conversation; the key is stored
            in the store's directory and removed when the conversation is erased. 32 bytes are your
            own master key, which encrypts those keys. Names of tenants and conversations are not
            encrypted.
        views: What is embedded of a turn. "both": its own text, and the turn with its neighbours;
            searches use the mean of both. "turn": its own text alone, which is half the work and
            finds slightly less. A store can be opened with either value at any time: missing
            vectors are made then, existing ones are kept.

    Raises:
        InvalidInputError: An option has another value than those above.
    """

    mode: Sharing = "shared"
    durability: Durability = "fsync"
    sync_interval: float | None = None
    on_busy: OnBusy = "error"
    read: Reading = "map"
    encryption: Literal["keys"] | bytes | None = None
    views: Views = "both"

    def __post_init__(self) -> None:
        if self.mode not in ("shared", "exclusive", "read"):
            raise InvalidInputError(
                f"mode: expected 'shared', 'exclusive' or 'read', found {self.mode!r}"
            )
        if self.views not in ("both", "turn"):
            raise InvalidInputError(f"views: expected 'both' or 'turn', found {self.views!r}")

    @property
    def writes(self) -> bool:
        """Whether this process may write to the store."""
        return self.mode != "read"

    @property
    def contexts(self) -> bool:
        """Whether a turn is also embedded with its neighbours."""
        return self.views == "both"

    def store(self, path: str | PathLike[str] | None) -> ColdStore:
        """Open a store.

        Raises:
            StoreError: It could not be opened.
            InvalidInputError: An option has an unknown value.
        """
        return ColdStore.open(
            path,
            mode=self.mode,
            durability=self.durability,
            sync_interval=self.sync_interval,
            on_busy=self.on_busy,
            read=self.read,
            encryption=self.encryption,
            max_record=MAX_TURN,
        )
