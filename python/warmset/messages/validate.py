"""`validate`: checks a list against the named rules of its dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.messages.codec import accept
from warmset.messages.dialects import choose, faults
from warmset.messages.languages import LANGUAGES
from warmset.messages.model import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable


def validate(messages: Iterable[object], *, dialect: str | None = None) -> list[Violation]:
    """Return the places where a list breaks the rules of its dialect, each with the rule's name.

    A provider rejects a request that breaks one of these rules. They are checked on the list alone;
    what depends on the model, or on data that the provider stores, is not checked.

    Args:
        messages: Messages as callers have them: dicts, other mappings, SDK objects.
        dialect: The dialect of the messages; detected if not given.

    Returns:
        The violations, by index and then by rule; empty for a valid list. If a message is
        malformed, only malformed messages are reported, because the rules cannot be checked.

    Raises:
        UnknownDialectError: The dialect is not supported.
    """
    try:
        plain = accept(messages)
    except InvalidInputError as error:
        index = getattr(error, "index", 0)
        return [Violation("shape", index, str(error), "send plain JSON values")]
    chosen = choose(plain, dialect)
    broken = [
        Violation(fault.rule, index, fault.why, "write it as the provider's reference says")
        for index, fault in faults(plain, chosen)
    ]
    found = broken or [one for rule in LANGUAGES[chosen].rules for one in rule(plain)]
    return sorted(found, key=lambda one: (one.index, one.rule))
