"""Which of the shortlisted turns go into the window.

What this package promises:

- Without a picker, or with `ScorePicker`, the score decides and fills the token budget.
- A picker sees the request and one line a candidate, never a full text, and no text that it sees
  can pass for another candidate's line.
- Whatever a picker does wrong, the score decides instead, and the report says why.
- What a picker's model used is reported, even if its answer could not be used.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.pick.asking import LLMPicker
    from warmset.pick.base import Candidate, Picked, Picker, Picks, ScorePicker
    from warmset.pick.choose import ask_picker
    from warmset.pick.prompt import parse
    from warmset.pick.providers import (
        AnthropicPicker,
        OpenAIPicker,
        OpenAIResponsesPicker,
        ProviderPicker,
        picker_named,
    )

__all__ = [
    "AnthropicPicker",
    "Candidate",
    "LLMPicker",
    "OpenAIPicker",
    "OpenAIResponsesPicker",
    "Picked",
    "Picker",
    "Picks",
    "ProviderPicker",
    "ScorePicker",
    "ask_picker",
    "parse",
    "picker_named",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "asking": ["LLMPicker"],
            "base": ["Candidate", "Picked", "Picker", "Picks", "ScorePicker"],
            "choose": ["ask_picker"],
            "prompt": ["parse"],
            "providers": [
                "AnthropicPicker",
                "OpenAIPicker",
                "OpenAIResponsesPicker",
                "ProviderPicker",
                "picker_named",
            ],
        },
    )
