"""Tests for eviction policies, for logs and for what an agent sends.

```python
from warmset.testing import check_evictor

check_evictor(lambda messages, budget: my_trim(messages, budget), "openai")
```

`check_prefix` compares consecutive requests of any agent as a prompt cache does.

`check_log` judges an implementation of a log by rules and random histories; `MemoryLog` is one in
memory.

`check_evictor` and `check_log` need nothing but warmset; `histories` is a strategy for
hypothesis, which is in the extra `testing`.
"""

from warmset.testing.check import check_evictor, with_refusals
from warmset.testing.check_log import LogError, LogFailure, check_log
from warmset.testing.failures import EvictorError, Failure
from warmset.testing.first_change import ChangeKind, PrefixChange
from warmset.testing.histories import History, histories, random_history
from warmset.testing.invariants import (
    INVARIANTS,
    INVARIANTS_WITHOUT_TASK,
    Given,
    Invariant,
    Outcome,
)
from warmset.testing.log_like import LogLike
from warmset.testing.memory_log import MemoryLog
from warmset.testing.oracle import (
    Puzzle,
    Verdict,
    between,
    by_age,
    by_place,
    by_score,
    solve,
    together,
)
from warmset.testing.prefix import (
    PrefixError,
    PrefixResult,
    assert_append_only,
    check_prefix,
)
from warmset.testing.prefix_diff import PrefixDiff
from warmset.testing.prefix_thinking import Consequence, InvalidThinking
from warmset.testing.request_log import RequestLog
from warmset.testing.requests import RequestLike
from warmset.testing.trial import Evictor

__all__ = [
    "INVARIANTS",
    "INVARIANTS_WITHOUT_TASK",
    "ChangeKind",
    "Consequence",
    "Evictor",
    "EvictorError",
    "Failure",
    "Given",
    "History",
    "InvalidThinking",
    "Invariant",
    "LogError",
    "LogFailure",
    "LogLike",
    "MemoryLog",
    "Outcome",
    "PrefixChange",
    "PrefixDiff",
    "PrefixError",
    "PrefixResult",
    "Puzzle",
    "RequestLike",
    "RequestLog",
    "Verdict",
    "assert_append_only",
    "between",
    "by_age",
    "by_place",
    "by_score",
    "check_evictor",
    "check_log",
    "check_prefix",
    "histories",
    "random_history",
    "solve",
    "together",
    "with_refusals",
]
