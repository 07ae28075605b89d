"""Session transcripts of the Claude Agent SDK in a log.

Facts of the semantics: claude-agent-sdk 0.2, `SessionStore` and its conformance suite.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.claude_agent_sdk.transcripts import WarmsetSessionStore

__all__ = ["WarmsetSessionStore"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(__name__, {"transcripts": ["WarmsetSessionStore"]})
