"""Windows that only grow: epochs, what is recalled in them, and how the next one begins.

```text
        ┌───────────── an epoch ─────────────┐
request ─▶ resume ─▶ grows? ─▶ recall once ─▶ record ─▶ window
                       │ no
                       └▶ swap: summary, index, newest units ─▶ the next epoch
```
"""

from __future__ import annotations
