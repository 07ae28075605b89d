"""Lists of messages: what they say, what belongs together, and what a provider accepts.

What this package promises:

- A message is kept as it was given: unknown fields and blocks pass through, and what is written
  with `dumps` is read back JSON-equal.
- Its facts are read once; everything else (units, anchor, exchange) is a function of the facts and
  the same for every dialect.
- Units partition a list, and leaving out whole units never parts a tool call from its result.
- A malformed message is refused with its position and how to mend it; a conversion that would
  lose something is refused with what.

Nothing here changes an object that it was given.
"""

from warmset.messages.alternate import alternate
from warmset.messages.check import check
from warmset.messages.codec import MAX_DEPTH, accept, dumps, loads
from warmset.messages.convert import convert
from warmset.messages.dialects import detect, facts, known_dialect, resolve, text_message, text_of
from warmset.messages.model import DIALECTS, Dialect, Facts, Message, Problem
from warmset.messages.turns import Converted, System
from warmset.messages.units import Unit, UnitKind, anchor, exchange_start, units

__all__ = [
    "DIALECTS",
    "MAX_DEPTH",
    "Converted",
    "Dialect",
    "Facts",
    "Message",
    "Problem",
    "System",
    "Unit",
    "UnitKind",
    "accept",
    "alternate",
    "anchor",
    "check",
    "convert",
    "detect",
    "dumps",
    "exchange_start",
    "facts",
    "known_dialect",
    "loads",
    "resolve",
    "text_message",
    "text_of",
    "units",
]
