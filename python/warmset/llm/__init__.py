"""One way to call a model: a prompt goes in, a text and what it took come out.

What this package promises:

- Each provider is written once, whoever asks; the providers' own SDKs are used as they are: their
  retries, their errors, their environment variables. They are imported when they are asked for.
- A reply that was cut, refused or withheld is marked as such; the caller decides what to do.
- What a call took comes from the provider's usage, or is counted here and called estimated.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.llm.asker import Answer, Asker, Terms
    from warmset.llm.base import Model, Prompt, Reply, Settings
    from warmset.llm.deadline import Deadline, OutOfTimeError
    from warmset.llm.function import FunctionModel
    from warmset.llm.lists import Compacted, Compactor, ListRequest
    from warmset.llm.providers import PROVIDERS, connected

__all__ = [
    "PROVIDERS",
    "Answer",
    "Asker",
    "Compacted",
    "Compactor",
    "Deadline",
    "FunctionModel",
    "ListRequest",
    "Model",
    "OutOfTimeError",
    "Prompt",
    "Reply",
    "Settings",
    "Terms",
    "connected",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "asker": ["Answer", "Asker", "Terms"],
            "base": ["Model", "Prompt", "Reply", "Settings"],
            "deadline": ["Deadline", "OutOfTimeError"],
            "function": ["FunctionModel"],
            "lists": ["Compacted", "Compactor", "ListRequest"],
            "providers": ["PROVIDERS", "connected"],
        },
    )
