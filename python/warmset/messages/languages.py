"""The registry of dialects, with the implementation of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset.messages.anthropic import (
    grammar as a_grammar,
    repair as a_repair,
    rules as a_rules,
    tools as a_tools,
    turns as a_turns,
    walk as a_walk,
)
from warmset.messages.gemini import (
    grammar as g_grammar,
    repair as g_repair,
    rules as g_rules,
    tools as g_tools,
    turns as g_turns,
)
from warmset.messages.interactions import (
    grammar as i_grammar,
    repair as i_repair,
    rules as i_rules,
    tools as i_tools,
    turns as i_turns,
)
from warmset.messages.openai import (
    grammar as c_grammar,
    repair as c_repair,
    rules as c_rules,
    tools as c_tools,
    turns as c_turns,
)
from warmset.messages.responses import (
    grammar as r_grammar,
    repair as r_repair,
    rules as r_rules,
    tools as r_tools,
    turns as r_turns,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages.mending import Mender
    from warmset.messages.model import Dialect, Grammar, Message, Rules, Tools
    from warmset.messages.turns import Speech


def _as_it_is(message: Message) -> Message:
    return message


@dataclass(frozen=True, slots=True)
class Language:
    """The implementation of a dialect.

    Args:
        grammar: Checks single messages and reads their facts.
        rules: Returns the rules for whole lists.
        speech: Converts lists.
        tools: Reads and replaces calls and results inside messages.
        mend: Repairs a list that breaks the rules.
        ending: Returns a message in a form that is valid at the end of a list; the same object if
            it is valid already.
    """

    grammar: Grammar
    rules: Rules
    speech: Speech
    tools: Tools
    mend: Mender
    ending: Callable[[Message], Message] = _as_it_is


LANGUAGES: dict[Dialect, Language] = {
    "openai": Language(c_grammar, c_rules.rules, c_turns, c_tools, c_repair.mend),
    "responses": Language(r_grammar, r_rules.rules, r_turns, r_tools, r_repair.mend),
    "anthropic": Language(
        a_grammar, a_rules.rules, a_turns, a_tools, a_repair.mend, a_walk.stripped
    ),
    "gemini": Language(g_grammar, g_rules.rules, g_turns, g_tools, g_repair.mend),
    "interactions": Language(i_grammar, i_rules.rules, i_turns, i_tools, i_repair.mend),
}
