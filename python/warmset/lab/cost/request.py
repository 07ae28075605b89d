"""A list as the blocks that an Anthropic request has, with the bytes and the tokens of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from warmset.lab.cost.prompt_cache import Piece
from warmset.tokens import extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_WRITE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Block(NamedTuple):
    """One block of a request.

    Args:
        kind: Its type, or "system" or "tools".
        piece: Its bytes and tokens, for the cache.
        role: The role of its message; empty for system prompt and tools.
    """

    kind: str
    piece: Piece
    role: str = ""


class Blocks:
    """Reads lists into blocks; the tokens of a block are counted once.

    Args:
        encoding: The vocabulary that counts.
    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        self._encoding = encoding
        self._known: dict[bytes, int] = {}

    def request(
        self, messages: Sequence[Any], system: object = None, tools: object = None
    ) -> list[Block]:
        """Return the blocks of a request in the order in which a provider reads them.

        Args:
            messages: Its messages.
            system: The system prompt beside them.
            tools: The tools.
        """
        made: list[Block] = []
        for kind, given in (("tools", tools), ("system", system)):
            if given:
                content = _WRITE({kind: given}).encode()
                if content not in self._known:
                    beside: Any = {kind: given}
                    self._known[content] = extra_tokens(self._encoding, **beside)
                made.append(Block(kind, Piece(content, self._known[content])))
        return [*made, *self.messages(messages)]

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
            yield Block(block["type"], Piece(key, self._known[key]), role)
