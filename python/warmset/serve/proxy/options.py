"""What a proxy is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.options import MODES
from warmset.serve.proxy.addresses import places_of
from warmset.serve.proxy.upstream import BASES, Upstreams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.options import Mode

PATIENCE: Final = 5.0
"""Seconds that a window may take before the request goes upstream as it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """What a proxy is told when it starts.

    Args:
        upstreams: Where requests go.
        private: Hosts of upstreams with their ports that may have private addresses; see
            `check_upstream`.
        mode: How windows are built; see `Conversation.window`.
        budget: The most tokens of a call; what the model's context allows if not given.
        patience: Seconds that a window may take before the request goes upstream as it came.
        timeout: Seconds that an upstream may be silent.
        connections: The most connections to upstreams at once.
        fields: Fields of requests that name the conversation, as "metadata.session_id", in the
            order in which they count; lists are recognised where none does.
        names: Whether the page of the proxy shows the names of conversations; it shows digests
            of them if not.
        window: More options of windows; see `WindowOptions`.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    upstreams: Upstreams = field(default_factory=partial(Upstreams, BASES))
    private: tuple[str, ...] = ()
    mode: Mode = "auto"
    budget: int | None = None
    patience: float = PATIENCE
    timeout: float = 600.0
    connections: int = 256
    fields: tuple[str, ...] = ()
    names: bool = False
    window: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mode_of(self.mode)
        places_of(self.private)
        if self.budget is not None and self.budget < 1:
            raise InvalidInputError(f"budget: expected at least 1 token, found {self.budget}")
        for name in ("patience", "timeout", "connections"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(f"{name}: expected more than 0")


def mode_of(given: str) -> Mode:
    """Return a mode by its name.

    Raises:
        InvalidInputError: There is none of that name.
    """
    for mode in MODES:
        if given == mode:
            return mode
    raise InvalidInputError(f"mode: expected one of {', '.join(MODES)}")
