"""Tests for eviction policies, your own included: random conversations, invariants, an oracle.

```python
from warmset.testing import check_evictor

check_evictor(lambda messages, budget: my_trim(messages, budget), "openai")
```

`check_evictor` needs nothing but warmset; `histories` is a strategy for hypothesis, which is in the
extra `testing`.
"""

from warmset.testing.check import check_evictor, with_refusals
from warmset.testing.failures import EvictorError, Failure
from warmset.testing.histories import History, histories, random_history
from warmset.testing.invariants import (
    INVARIANTS,
    INVARIANTS_WITHOUT_TASK,
    Given,
    Invariant,
    Outcome,
)
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
from warmset.testing.trial import Evictor

__all__ = [
    "INVARIANTS",
    "INVARIANTS_WITHOUT_TASK",
    "Evictor",
    "EvictorError",
    "Failure",
    "Given",
    "History",
    "Invariant",
    "Outcome",
    "Puzzle",
    "Verdict",
    "between",
    "by_age",
    "by_place",
    "by_score",
    "check_evictor",
    "histories",
    "random_history",
    "solve",
    "together",
    "with_refusals",
]
