"""Which summaries a framework's messages can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.summarize import ProviderCompaction

if TYPE_CHECKING:
    from warmset.memory import Memory
    from warmset.window.options import WindowKeywords


def refuse_provider_compaction(memory: Memory, options: WindowKeywords) -> None:
    """Refuse windows in which a provider's own compaction would stand.

    It is an item of the provider's, with a header that each later request must have; frameworks
    have neither, and the model would lose all that it stands for.

    Args:
        memory: Where the messages are kept.
        options: The options of its windows.

    Raises:
        InvalidInputError: Its policy has the provider compact the list.
    """
    policy = options.get("compaction") or memory.__warmset_compaction__()
    if isinstance(getattr(policy, "summarizer", None), ProviderCompaction):
        raise InvalidInputError(
            "compaction: a framework's messages cannot carry a provider's own compaction; give "
            "compaction=PreparedCompaction() with another summarizer to the memory, or to the "
            "windows"
        )
