"""Prepared compaction: summaries that are ready before they are needed.

What this package promises:

- No window waits for a model longer than the deadline.
- A message is left out of a window only if it is in the store.
- A summary is stored with the hash of the messages before its boundary, so that an edit, an erasure
  or another policy invalidates it; an invalid summary is never shown.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.prepare.conversation import summaries_of
    from warmset.prepare.policy import PreparedCompaction, policy_of
    from warmset.prepare.preparation import Preparation, of, unused_of
    from warmset.prepare.states import TRANSITIONS, Counters, Event, State
    from warmset.prepare.worker import Ticket, Worker

__all__ = [
    "TRANSITIONS",
    "Counters",
    "Event",
    "Preparation",
    "PreparedCompaction",
    "State",
    "Ticket",
    "Worker",
    "of",
    "policy_of",
    "summaries_of",
    "unused_of",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "conversation": ["summaries_of"],
            "policy": ["PreparedCompaction", "policy_of"],
            "preparation": ["Preparation", "of", "unused_of"],
            "states": ["TRANSITIONS", "Counters", "Event", "State"],
            "worker": ["Ticket", "Worker"],
        },
    )
