"""One way to call a model: a prompt goes in, a text and what it took come out.

What this package promises:

- The providers' own SDKs are used as they are: their retries, their errors, their environment
  variables. They are imported when they are asked for.
- A reply that was cut, refused or withheld says so; whoever asked decides what to do then.
- What a call took comes from the provider's usage, or is missing; nothing is made up here.
"""

from typing import TYPE_CHECKING

from warmset._lazy import lazy

if TYPE_CHECKING:
    from warmset.llm.asker import Asker, Completing, Providing
    from warmset.llm.base import Model, Prompt, Reply, Settings
    from warmset.llm.deadline import Deadline, OutOfTimeError

__all__ = [
    "Asker",
    "Completing",
    "Deadline",
    "Model",
    "OutOfTimeError",
    "Prompt",
    "Providing",
    "Reply",
    "Settings",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "asker": ["Asker", "Completing", "Providing"],
        "base": ["Model", "Prompt", "Reply", "Settings"],
        "deadline": ["Deadline", "OutOfTimeError"],
    },
)
