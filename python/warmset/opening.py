"""How a memory's store is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from warmset import _core
from warmset.config import MAX_TURN
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from os import PathLike

    from warmset.config import Reading

Sharing: TypeAlias = Literal["shared", "exclusive"]
"""Whether other processes may use the store meanwhile."""

Durability: TypeAlias = Literal["fsync", "interval", "os"]
"""What is sure when an append returns; see `Memory.open`."""

Views: TypeAlias = Literal["both", "turn"]
"""What is embedded of a turn; see `Memory.open`."""

OnBusy: TypeAlias = Literal["error", "spool"]
"""What an append does where another process keeps the store busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The options of a store, as `ColdStore.open` takes them, and what is embedded of its turns.

    Args:
        mode: "shared" or "exclusive".
        durability: "fsync", "interval" or "os".
        sync_interval: Seconds between two syncs, for "interval".
        on_busy: "error" or "spool".
        read: "map" or "pread".
        encryption: None, "keys", or a master key of 32 bytes.
        views: "both" or "turn".
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

    def open(self, path: str | PathLike[str] | None) -> _core.ColdStore:
        """Open a store.

        Raises:
            StoreError: It could not be opened.
            InvalidInputError: An option is not one of those above.
        """
        return _core.ColdStore.open(
            path,
            mode=self.mode,
            durability=self.durability,
            sync_interval=self.sync_interval,
            on_busy=self.on_busy,
            read=self.read,
            encryption=self.encryption,
            max_record=MAX_TURN,
        )
