"""A simulated prompt cache: the longest equal prefix of what was sent within its lifetime.

A request is a sequence of pieces (tools, system prompt, blocks of messages), each with its bytes
and its tokens. A prefix is in the cache if a request of the last `ttl` seconds began with the same
pieces; being read makes it live on. It is read in whole blocks of tokens, and not if it is shorter
than the cache's least prefix. All that is not read is written, unless the whole request is too
short.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.money import Prices

START: Final = b""
"""The chain of no piece."""


class Piece(NamedTuple):
    """One piece of a request.

    Args:
        content: What tells it from other pieces.
        tokens: Its tokens.
    """

    content: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class Hit:
    """What a cache did with a request.

    Args:
        fresh: Tokens that were neither read nor written.
        cached: Tokens that were read.
        written: Tokens that were written.
    """

    fresh: int
    cached: int
    written: int


def chain(before: bytes, content: bytes) -> bytes:
    """Return what identifies a prefix: that of the pieces before, and one more piece."""
    return hashlib.blake2b(before + content, digest_size=16).digest()


class PromptCache:
    """A prompt cache with the lifetime, the least prefix and the blocks of a model's prices.

    Args:
        prices: The prices; of them only the rules of the cache are used.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._sent: dict[bytes, float] = {}

    def send(self, pieces: Sequence[Piece], at: float) -> Hit:
        """Send a request.

        Args:
            pieces: The request.
            at: The time in seconds, never less than that of the request before.

        Returns:
            The tokens that were read and written.
        """
        chains: list[bytes] = []
        same, before = 0, START
        for piece in pieces:
            before = chain(before, piece.content)
            chains.append(before)
            sent = self._sent.get(before)
            # Who sends a prefix sends every shorter one, so none is found behind one that is gone.
            if sent is not None and at - sent <= self._prices.ttl:
                same += piece.tokens
        total = sum(piece.tokens for piece in pieces)
        if not self._prices.cacheable(total):
            return Hit(total, 0, 0)
        self._sent.update(dict.fromkeys(chains, at))
        cached = self._prices.cacheable(same)
        if self._prices.cache_write is None:
            return Hit(total - cached, cached, 0)
        return Hit(0, cached, total - cached)
