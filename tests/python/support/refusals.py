"""What providers answer with an error, written from their documentation and their error messages.

The oracle of `test_real_shapes.py` and of the local servers in `test_real_clients.py`. It shares
nothing with `warmset`: each provider has a module of its own, which says in the provider's words
why a request is refused, and which messages of a list belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import refusals_anthropic
import refusals_chat
import refusals_gemini
import refusals_interactions
import refusals_responses

_PROVIDERS = {
    "openai": refusals_chat,
    "responses": refusals_responses,
    "anthropic": refusals_anthropic,
    "gemini": refusals_gemini,
    "interactions": refusals_interactions,
}


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What a request holds beside its messages.

    Args:
        model: The name of the model; empty if any.
        continues: Whether the provider has earlier messages stored.
        system: The system prompt beside the messages.
        tools: The tool definitions.
        origin: The list that the messages were made of: what the provider knows of their ids.
    """

    model: str = ""
    continues: bool = False
    system: Any = None
    tools: Any = None
    origin: Any = None


def refusals(dialect, messages, **sent):
    """Return why the provider refuses the messages; an empty list if it takes them."""
    return list(_PROVIDERS[dialect].refusals(messages, Sent(**sent)))


def bonds(dialect, messages):
    """Return the pairs of positions whose messages may only stay or leave together."""
    return list(_PROVIDERS[dialect].bonds(messages))
