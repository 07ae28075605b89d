"""How a store is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from warmset._core import ColdStore
from warmset.errors import InvalidInputError
from warmset.options import MAX_TURN

if TYPE_CHECKING:
    from os import PathLike

    from warmset.options import Reading

Sharing: TypeAlias = Literal["shared", "exclusive"]
"""Whether other processes may use the store meanwhile."""

Durability: TypeAlias = Literal["fsync", "interval", "os"]
"""What is sure when an append returns; see `Memory.open`."""

Views: TypeAlias = Literal["both", "turn"]
"""What is embedded of a turn; see `Memory.open`."""

OnBusy: TypeAlias = Literal["error", "spool"]
"""What an append does where another process keeps the store busy."""


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
    """The options of a store, beside what reads and writes it.

    Args:
        mode: "shared": other processes may read and write meanwhile, and each call sees what they
            wrote. "exclusive": no other process may write.
        durability: What is sure when an append returns. "fsync": it survives a crash and a loss of
            power. "interval": it survives a crash; a sync follows within `sync_interval`. "os": it
            survives a crash; the operating system syncs when it likes.
        sync_interval: Seconds between two syncs, for "interval".
        on_busy: What an append does that cannot have the store within two seconds, because another
            process keeps it busy: "error" raises `Locked`; "spool" leaves the messages in the
            spool, durably, and returns `Spooled`; they appear with their ids once a writer took
            them up.
        read: How sealed segments are read: "map", or "pread" where others may truncate files.
        encryption: "keys" encrypts messages, with a key for each conversation that lies in the
            store's directory and goes when the conversation is erased; 32 bytes are a master key
            that encrypts those keys, and that you keep. Names of tenants and conversations are not
            encrypted.
        views: What is embedded of a turn. "both": its own text, and the turn among its neighbours;
            the mean of both is searched. "turn": its own text alone, which is half the work, and
            finds a little less. A store may be opened either way, at any time: what is missing is
            made then, and nothing twice.

    Raises:
        InvalidInputError: An option is not one of those above.
    """

    mode: Sharing = "shared"
    durability: Durability = "fsync"
    sync_interval: float | None = None
    on_busy: OnBusy = "error"
    read: Reading = "map"
    encryption: Literal["keys"] | bytes | None = None
    views: Views = "both"

    def __post_init__(self) -> None:
        if self.mode not in ("shared", "exclusive"):
            raise InvalidInputError(f"mode: expected 'shared' or 'exclusive', found {self.mode!r}")
        if self.views not in ("both", "turn"):
            raise InvalidInputError(f"views: expected 'both' or 'turn', found {self.views!r}")

    @property
    def contexts(self) -> bool:
        """Whether a turn is embedded among its neighbours, too."""
        return self.views == "both"

    def store(self, path: str | PathLike[str] | None) -> ColdStore:
        """Open a store.

        Raises:
            StoreError: It could not be opened.
            InvalidInputError: An option is not one of those above.
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
