"""Summaries of turns that leave, and what they lose.

What this package promises:

- Whatever a summarizer does wrong, nothing but a summary becomes one: an empty reply, an error's
  text, a refusal, a text that is not shorter are refused, with the reason.
- Without a model, sentences are chosen and none is changed.
- A summary comes with an audit: which numbers, paths, names, constraints and open tasks of the
  turns it does not have. They can ride along as a list, within a cap of tokens.
- No text of a turn can leave its place in a prompt, and a turn that is shown in part is marked.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.summarize.asking import LLMSummarizer
    from warmset.summarize.base import HEADING, Summarizer, Summary, SummaryReply
    from warmset.summarize.compactions import (
        AnthropicCompaction,
        OpenAICompaction,
        ProviderCompaction,
    )
    from warmset.summarize.extract import ExtractiveSummarizer
    from warmset.summarize.fact import Fact
    from warmset.summarize.losses import Audit, audit
    from warmset.summarize.making import SHARE, summary_of
    from warmset.summarize.providers import (
        AnthropicSummarizer,
        OpenAIResponsesSummarizer,
        OpenAISummarizer,
        ProviderSummarizer,
    )
    from warmset.summarize.stating import FactKind

__all__ = [
    "HEADING",
    "SHARE",
    "AnthropicCompaction",
    "AnthropicSummarizer",
    "Audit",
    "ExtractiveSummarizer",
    "Fact",
    "FactKind",
    "LLMSummarizer",
    "OpenAICompaction",
    "OpenAIResponsesSummarizer",
    "OpenAISummarizer",
    "ProviderCompaction",
    "ProviderSummarizer",
    "Summarizer",
    "Summary",
    "SummaryReply",
    "audit",
    "summary_of",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "asking": ["LLMSummarizer"],
            "base": ["HEADING", "Summarizer", "Summary", "SummaryReply"],
            "compactions": ["AnthropicCompaction", "OpenAICompaction", "ProviderCompaction"],
            "extract": ["ExtractiveSummarizer"],
            "fact": ["Fact"],
            "losses": ["Audit", "audit"],
            "making": ["SHARE", "summary_of"],
            "providers": [
                "AnthropicSummarizer",
                "OpenAIResponsesSummarizer",
                "OpenAISummarizer",
                "ProviderSummarizer",
            ],
            "stating": ["FactKind"],
        },
    )
