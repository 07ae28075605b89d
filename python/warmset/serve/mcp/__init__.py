"""An MCP server: the tools of a memory for the agents that people have already.

```text
stdio, or HTTP behind the guard ─▶ the SDK: both eras ─▶ a thread for each call ─▶ tools ─▶ memory
```

What this package promises:

- Clients of the handshake (2025-11-25 and before) and of the stateless protocol (2026-07-28) get
  the same tools, resources and prompts, on both transports.
- The event loop waits for no tool: calls run in threads, a cancelled one is given up at once, and
  an import stops at its next batch.
- Whatever fails in a tool is a tool's error, which says what to do; the server goes on, and a store
  that cannot be opened now is tried again by the next call.
- On standard output there is the protocol and nothing else.
"""
