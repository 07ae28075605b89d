"""Conversations for tests: from a seed, or as a hypothesis strategy that shrinks."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from warmset.errors import MissingExtraError
from warmset.messages import known_dialect
from warmset.testing.dialects import write
from warmset.testing.material import Dice
from warmset.testing.script import write_script

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from warmset.messages import Dialect, Message


@dataclass(frozen=True, slots=True)
class History:
    """A generated conversation.

    Args:
        messages: The messages; no two are equal.
        dialect: The dialect of the messages.
        pins: Positions of messages that a caller might pin.
    """

    messages: list[Message]
    dialect: Dialect
    pins: tuple[int, ...]


def random_history(
    seed: int | Random, dialect: Dialect, *, exchanges: int | None = None, orphans: bool = False
) -> History:
    """Generate a conversation; equal seeds give equal conversations.

    It has parallel calls, results out of order, reasoning, pictures, empty contents, huge turns
    and texts in many scripts; its end may be a request, an answer, results, or open calls.

    Args:
        seed: A number, or a source of chance.
        dialect: The dialect to write.
        exchanges: The number of user requests; up to 8 if not given.
        orphans: Whether results without calls and calls without results may stand in its middle.

    Returns:
        The conversation. Without `orphans` it is valid, but for open calls at its end.

    Raises:
        UnknownDialectError: The name is of no supported dialect.
    """
    rng = seed if isinstance(seed, Random) else Random(seed)  # noqa: S311 - not for secrets
    dice = Dice(rng)
    count = rng.choice((1, 2, 3, 5, 8)) if exchanges is None else exchanges
    scenes = write_script(dice, exchanges=count, orphans=orphans)
    messages = write(scenes, known_dialect(dialect), dice)
    pins = tuple(at for at in range(len(messages)) if dice.chance(0.08))
    return History(messages, known_dialect(dialect), pins)


def histories(dialect: Dialect, *, orphans: bool = False) -> SearchStrategy[History]:
    """Return a hypothesis strategy for conversations; failures shrink.

    Args:
        dialect: The dialect to write.
        orphans: See `random_history`.

    Returns:
        A strategy for `History`.

    Raises:
        MissingExtraError: hypothesis is not installed.
    """
    try:
        from hypothesis import strategies as st  # noqa: PLC0415 - only whoever asks needs it
    except ImportError as error:
        raise MissingExtraError("hypothesis", "testing") from error

    def made(rng: Any) -> History:
        return random_history(rng, dialect, orphans=orphans)

    return st.randoms(use_true_random=False, note_method_calls=False).map(made)
