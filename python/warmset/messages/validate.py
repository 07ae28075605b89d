"""A small structural check of a whole list; one line a dialect in `RULES`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages import anthropic_rules, openai_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages.model import Dialect, Problem, Rule

RULES: dict[Dialect, tuple[Rule, ...]] = {
    "openai": openai_rules.RULES,
    "anthropic": anthropic_rules.RULES,
}


def check(messages: Sequence[Mapping[str, Any]], dialect: Dialect) -> list[Problem]:
    """Find where a list breaks the rules that eviction could break.

    Args:
        messages: Well-formed messages, as `resolve` lets them through.
        dialect: The dialect that they are written in.

    Returns:
        The problems, by index and then by rule; empty for a list that the provider takes.
    """
    found = [problem for rule in RULES[dialect] for problem in rule(messages)]
    return sorted(found, key=lambda problem: (problem.index, problem.rule))
