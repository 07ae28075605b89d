"""A window as the blocks that an Anthropic request has, with the bytes and the tokens of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from warmset.lab.cost.prompt_cache import Piece
from warmset.tokens import extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.window.result import Window


_WRITE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Block(NamedTuple):
    """One block of a request.

    Args:
        kind: Its type, or "system" or "tools".
        piece: Its bytes and tokens, for the cache.
    """

    kind: str
    piece: Piece


class Blocks:
    """Reads lists into blocks; the tokens of a block are counted once.

    Args:
        encoding: The vocabulary that counts.
    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        self._encoding = encoding
        self._known: dict[bytes, int] = {}

    def request(self, window: Window) -> list[Block]:
        """Return the blocks of a window in the order in which a provider reads them."""
        sent = window.anthropic()
        made: list[Block] = []
        for kind in ("tools", "system"):
            if given := sent.get(kind):
                content = _WRITE({kind: given}).encode()
                if content not in self._known:
                    beside: Any = {kind: given}
                    self._known[content] = extra_tokens(self._encoding, **beside)
                made.append(Block(kind, Piece(content, self._known[content])))
        return [*made, *self.messages(sent["messages"])]

    def messages(self, messages: Sequence[Any]) -> list[Block]:
        """Return the blocks of messages."""
        return [block for message in messages for block in self._message(message)]

    def _message(self, message: Any) -> Iterator[Block]:
        role, content = message["role"], message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            one = {"role": role, "content": [block]}
            key = _WRITE(one).encode()
            if key not in self._known:
                self._known[key] = message_tokens([one], self._encoding)[0]
            yield Block(block["type"], Piece(key, self._known[key]))
