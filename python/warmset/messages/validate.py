"""`validate`: checks a list against the named rules of its dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.messages.codec import accept
from warmset.messages.dialects import choose, faults
from warmset.messages.languages import LANGUAGES
from warmset.messages.model import Request, Violation
from warmset.messages.sent import Beside, witness_of
from warmset.messages.thinking import broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from warmset.messages.model import Dialect, Message
    from warmset.messages.sdk_objects import MessageLike
    from warmset.messages.turns import System


def validate(
    messages: Iterable[MessageLike],
    *,
    dialect: str | None = None,
    continues: bool = False,
    model: str | None = "",
    sent: object = None,
    system: System | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> list[Violation]:
    """Return the places where a list breaks the rules of its dialect, each with the rule's name.

    Each violation has a severity: a provider refuses a list that has one of severity "refused", and
    takes a list whose violations are all "discouraged".

    Args:
        messages: Messages as callers have them: dicts, other mappings, SDK objects.
        dialect: The dialect of the messages; detected if not given.
        continues: Whether the list goes on behind messages that the provider has stored, by
            `previous_response_id`, `conversation` or `previous_interaction_id`.
        model: The name of the model that the list is for; empty if it is not known. A rule that
            only some models have is checked for those.
        sent: What was sent last: a window, the keyword arguments of the provider's call, or a list
            of messages. Thinking and reasoning before which something changed since are then
            reported (A15, A16, R9, R10).
        system: The system prompt that is sent beside the messages; it is compared with that of
            `sent`.
        tools: The tools that are sent with them, likewise.

    Returns:
        The violations, by index and then by rule; empty for a valid list. If a message is
        malformed, only malformed messages are reported, because the rules cannot be checked.

    Raises:
        UnknownDialectError: The dialect is not supported.
        InvalidInputError: `sent` cannot be read.
    """
    try:
        plain = accept(messages)
    except InvalidInputError as error:
        index = getattr(error, "index", None) or 0
        return [Violation("shape", index, str(error), "send plain JSON values")]
    chosen = choose(plain, dialect)
    malformed = [
        Violation(fault.rule, index, fault.why, "write it as the provider's reference says")
        for index, fault in faults(plain, chosen)
    ]
    if malformed:
        return sorted(malformed, key=_by_place)
    beside = Beside.of(system, tools, model)
    found = list(violations(plain, chosen, Request(continues, beside.model)))
    if sent is not None:
        witness = witness_of(plain, chosen, beside, sent)
        found += broken(plain, chosen, witness, beside.front(), beside.model)
    return sorted(found, key=_by_place)


def _by_place(one: Violation) -> tuple[int, str]:
    return one.index, one.rule


def violations(plain: list[Message], dialect: Dialect, request: Request) -> Iterator[Violation]:
    """Yield where well-formed messages break the rules of their dialect, rule by rule."""
    return (one for rule in LANGUAGES[dialect].rules(request) for one in rule(plain))
