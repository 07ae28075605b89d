"""LiteLLM over warmset: a logger that keeps the conversations of a proxy, or of the SDK.

Requests of Chat Completions, Responses and Messages get windows in the place of their lists. What
cannot be understood, or fails, goes on as it came.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.litellm.logger import WarmsetLogger

__all__ = ["WarmsetLogger"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(__name__, {"logger": ["WarmsetLogger"]})
