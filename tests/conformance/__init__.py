"""The official conformance suite of MCP against warmset's server: `python -m tests.conformance`."""
