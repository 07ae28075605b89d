"""One store with its index and conversations, shared by every handle on its path."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.engine.leases import Lease, Leasing
    from warmset.engine.redaction import Redactor
    from warmset.engine.stats import figures

__all__ = [
    "Engine",
    "Handle",
    "Lease",
    "Leasing",
    "Redactor",
    "figures",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "engine": ["Engine"],
            "handle": ["Handle"],
            "leases": ["Lease", "Leasing"],
            "redaction": ["Redactor"],
            "stats": ["figures"],
        },
    )
