"""Lists of messages: their texts, their units, and the rules of providers.

What this package promises:

- A message is kept as it was given: unknown fields and blocks pass through, and what is written
  with `dumps` is read back JSON-equal.
- Its facts are read once; everything else (units, anchor, exchange) is a function of the facts and
  is the same for every dialect.
- Units partition a list, and leaving out whole units never separates a tool call from its result.
- A malformed message is rejected with its position and how to fix it; a conversion that would lose
  something is rejected with what it would lose.

No function here changes its arguments.
"""

from warmset.messages.alternate import alternate
from warmset.messages.client_only import without_client_only
from warmset.messages.codec import MAX_DEPTH, accept, dumps, loads
from warmset.messages.convert import convert
from warmset.messages.dialects import (
    detect,
    facts,
    known_dialect,
    resolve,
    settle,
    text_message,
    text_of,
    well_formed,
)
from warmset.messages.languages import LANGUAGES
from warmset.messages.mending import Change, Unanswered
from warmset.messages.model import (
    DIALECTS,
    Answer,
    Dialect,
    Facts,
    Fault,
    Message,
    Request,
    Severity,
    Tools,
    Use,
    Violation,
)
from warmset.messages.repair import RepairResult, repair
from warmset.messages.sdk_objects import MessageLike, SupportsModelDump
from warmset.messages.thinking import RemovedThinking, Thinking
from warmset.messages.turns import ConversionResult, LossKind, Lost, OnLoss, System
from warmset.messages.units import (
    STORED,
    Bonds,
    Unit,
    UnitKind,
    anchor,
    answering_stored,
    exchange_start,
    holds,
    homes,
    is_unfinished,
    kind_of,
    last_said,
    loop_start,
    units,
)
from warmset.messages.validate import validate

__all__ = [
    "DIALECTS",
    "LANGUAGES",
    "MAX_DEPTH",
    "STORED",
    "Answer",
    "Bonds",
    "Change",
    "ConversionResult",
    "Dialect",
    "Facts",
    "Fault",
    "LossKind",
    "Lost",
    "Message",
    "MessageLike",
    "OnLoss",
    "RemovedThinking",
    "RepairResult",
    "Request",
    "Severity",
    "SupportsModelDump",
    "System",
    "Thinking",
    "Tools",
    "Unanswered",
    "Unit",
    "UnitKind",
    "Use",
    "Violation",
    "accept",
    "alternate",
    "anchor",
    "answering_stored",
    "convert",
    "detect",
    "dumps",
    "exchange_start",
    "facts",
    "holds",
    "homes",
    "is_unfinished",
    "kind_of",
    "known_dialect",
    "last_said",
    "loads",
    "loop_start",
    "repair",
    "resolve",
    "settle",
    "text_message",
    "text_of",
    "units",
    "validate",
    "well_formed",
    "without_client_only",
]
