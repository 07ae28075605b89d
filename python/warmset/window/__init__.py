"""Windows: the messages of one call, chosen for a request under a token budget."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.window.arguments import (
        AnthropicArguments,
        GeminiArguments,
        OpenAIArguments,
        ResponsesArguments,
    )
    from warmset.window.cut import cut_ask, cut_conversation
    from warmset.window.cut_result import CutAsk, CutResult
    from warmset.window.of_list import window_of_list
    from warmset.window.options import WindowKeywords, WindowOptions
    from warmset.window.pipeline import Windows
    from warmset.window.request import Ask
    from warmset.window.result import (
        Choice,
        Compaction,
        EpochReport,
        MemoryChoice,
        Part,
        Report,
        Window,
    )
    from warmset.window.sent_back import note_cut
    from warmset.window.summaries import CompactionPolicy, Summaries

__all__ = [
    "AnthropicArguments",
    "Ask",
    "Choice",
    "Compaction",
    "CompactionPolicy",
    "CutAsk",
    "CutResult",
    "EpochReport",
    "GeminiArguments",
    "MemoryChoice",
    "OpenAIArguments",
    "Part",
    "Report",
    "ResponsesArguments",
    "Summaries",
    "Window",
    "WindowKeywords",
    "WindowOptions",
    "Windows",
    "cut_ask",
    "cut_conversation",
    "note_cut",
    "window_of_list",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "arguments": [
                "AnthropicArguments",
                "GeminiArguments",
                "OpenAIArguments",
                "ResponsesArguments",
            ],
            "cut": ["cut_ask", "cut_conversation"],
            "cut_result": ["CutAsk", "CutResult"],
            "of_list": ["window_of_list"],
            "options": ["WindowKeywords", "WindowOptions"],
            "pipeline": ["Windows"],
            "request": ["Ask"],
            "result": [
                "Choice",
                "Compaction",
                "EpochReport",
                "MemoryChoice",
                "Part",
                "Report",
                "Window",
            ],
            "sent_back": ["note_cut"],
            "summaries": ["CompactionPolicy", "Summaries"],
        },
    )
