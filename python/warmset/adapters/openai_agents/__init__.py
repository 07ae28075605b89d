"""Sessions of the OpenAI Agents SDK in a log, and windows as its filter of the model's input.

Facts of the semantics: openai-agents 0.24, `agents.memory`.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.openai_agents.session import WarmsetSession
    from warmset.adapters.openai_agents.windows import WindowFilter

__all__ = ["WarmsetSession", "WindowFilter"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "session": ["WarmsetSession"],
            "windows": ["WindowFilter"],
        },
    )
