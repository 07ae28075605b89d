"""How many tokens a call may have: by the request, the command line, or the model's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN: Final = 128_000
"""The context of a model that nobody knows."""

CONTEXTS: Final = (
    (r"claude-(fable|mythos)|claude-(opus|sonnet|haiku)-5", 1_000_000),
    (r"claude", 200_000),
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-4o|gpt-4-turbo|gpt-5[.0-9]*-chat", 128_000),
    (r"gpt-4", 8_192),
    (r"gpt-5", 400_000),
    (r"gpt-[6-9]", 1_050_000),
    (r"o[134](-|$)", 200_000),
    (r"gemini", 1_048_576),
)
"""How many tokens the context of a model takes, by how its name begins, the first one that fits.

From the providers' model pages, and for GPT-6 from that of a gateway, read on 2026-11-24. A model
that takes more is sent less than it could have.
"""

OTHER_COUNTS: Final = 0.7
"""The share of a context that is used where tokens are counted with another vocabulary than the
model's: Anthropic says that its newer models make about 30 % more of a text than the older ones."""

REPLY: Final = 8_192
"""Tokens that are left for the reply, where the request does not say how long that may be."""

_SAFETY: Final = 2_048
"""Tokens that are left, because a provider's count differs from one's own."""

_LIMITS: Final = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")


def told(header: str | None) -> int | None:
    """Return the tokens that a request allows itself, in `x-warmset-budget`.

    Raises:
        InvalidInputError: The header is no number of tokens.
    """
    if header is None:
        return None
    if not _NUMBER.fullmatch(header.strip()):
        raise InvalidInputError("x-warmset-budget: expected a number of tokens")
    return int(header)


def budget_of(body: Mapping[str, Any], *, own: int | None, most: int | None) -> int:
    """Return the most tokens that the input of a call may have.

    Args:
        body: The request.
        own: What it allows itself; see `told`.
        most: What the command line says.
    """
    if own is not None:
        return own
    context = _context(body.get("model"))
    limits = [body[name] for name in _LIMITS if isinstance(body.get(name), int)]
    reply = max(limits, default=REPLY)
    room = max(context - reply - _SAFETY, context // 4)
    return room if most is None else min(room, most)


def _context(model: object) -> int:
    """Return the tokens that a model's context takes, by our count."""
    name = str(model).lower().rpartition("/")[2] if isinstance(model, str) else ""
    found = next((tokens for start, tokens in CONTEXTS if re.match(start, name)), UNKNOWN)
    return found if name.startswith(("gpt", "o")) else int(found * OTHER_COUNTS)
