"""The proxy: an agent changes its base URL, and has virtual memory.

```text
client ─▶ guard ─▶ which list ─▶ who talks ─▶ window ─▶ upstream ─▶ the same bytes back
                                     │ fails: the request as it came ─▶      │
                                     └──────────── reply, appended ◀── copy ─┘
```

What this package promises:

- Of a request the list of messages changes, and the system prompt at the start of an epoch; every
  other byte goes through. A change of thinking and its header are named in `x-warmset`.
- What the upstream says comes back unchanged, as it arrives.
- Whatever fails on this side, the request goes upstream as it came.
- No key is stored or logged, and no text is logged.
"""
