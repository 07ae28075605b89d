"""Whether a provider would take a list: the rules of its dialect, each by its name."""

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
    """Find where a list breaks the rules of its dialect, each rule by its name.

    The rules are those whose breach makes the provider refuse the request. They are read off the
    list alone: what depends on the model, or on what the provider stored, is not judged.

    Args:
        messages: Messages as callers have them: dicts, other mappings, SDK objects.
        dialect: The dialect that they are written in; told by their look if not given.

    Returns:
        The violations, by index and then by rule; empty for a list that the provider takes. While a
        message is malformed, such messages alone are reported: a rule cannot be read off them.

    Raises:
        UnknownDialectError: The name is of no supported dialect.
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
