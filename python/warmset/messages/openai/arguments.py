"""The arguments of a call as OpenAI writes them: a string of JSON."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from warmset.messages.codec import accept

if TYPE_CHECKING:
    from warmset.messages.turns import Losses


def read_arguments(arguments: Any, call: str, index: int, losses: Losses) -> dict[str, Any] | None:
    """Read the arguments of a call so that writing them again says the same.

    Args:
        arguments: The arguments; anything but a string of a JSON object cannot be read, or an
            empty one, which has no arguments.
        call: The id of the call.
        index: Position of its message.
        losses: Where arguments are reported that cannot be read.

    Returns:
        The arguments; None, after the call was reported as lost, if they cannot be read.
    """
    if arguments == "":
        losses.metadata(index, f"the empty arguments of call {call!r}, now {{}}")
        return {}
    try:
        return _read(arguments)
    except (ValueError, RecursionError) as error:
        losses.content(index, f"call {call!r}, whose arguments cannot be read ({error}),")
        return None


def _read(arguments: Any) -> dict[str, Any]:
    if not isinstance(arguments, str):
        raise ValueError("they are no string")  # noqa: TRY004 - the caller reports it
    value = json.loads(
        arguments, object_pairs_hook=_unique, parse_float=_exact, parse_constant=_refuse
    )
    if not isinstance(value, dict):
        raise ValueError("they are no JSON object")  # noqa: TRY004
    accept([{"content": [{"input": value}]}])  # not nested deeper than a message may be
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _exact(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value) or Decimal(repr(value)) != Decimal(literal):
        raise ValueError(f"{literal} has more digits than a float holds")
    return value


def _refuse(literal: str) -> float:
    raise ValueError(f"{literal} is not JSON")
