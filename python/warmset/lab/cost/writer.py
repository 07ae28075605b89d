"""Writes texts, thinking and tool calls of about so many tokens, the same for the same seed."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from warmset.messages import Message

_WORDS: Final[tuple[str, ...]] = tuple(
    """
    the service reads orders from a queue and writes one row for every item that was shipped while
    workers retry failed payments after some minutes because their limits change often so tests
    compare totals with invoices before each release and report which module rounds wrong values in
    this branch where customers see prices of old carts until caches expire again and the log shows
    slow requests with long traces under load when two regions share one index
    """.split()  # noqa: SIM905 - a page of single words is harder to read
)

_SERVICES: Final = (
    *("aster", "birch", "cedar", "dahlia", "elder", "fern", "ginkgo", "hazel", "iris", "juniper"),
    *("kale", "laurel", "maple", "nettle", "olive", "poplar", "quince", "rowan", "sorrel"),
    *("tansy", "umber", "violet", "willow", "yarrow", "zinnia"),
)

_KINDS: Final = ("access code", "retention period", "owner's badge", "storage bucket", "port range")

_WORDS_A_TOKEN: Final = 0.87


class Writer:
    """Writes what a session needs.

    Args:
        seed: Decides every text.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - texts, no secrets
        self._count = 0
        names = [(service, kind) for service in _SERVICES for kind in _KINDS]
        self.random.shuffle(names)
        self._names = names

    def text(self, tokens: float) -> str:
        """Write lines of about so many tokens."""
        words = max(int(tokens * _WORDS_A_TOKEN), 3)
        made: list[str] = self.random.choices(_WORDS, k=words)
        for at in range(7, words, 23):  # as logs and sources have them
            made[at] = f"{self.random.randrange(10_000)}"
        return "\n".join(" ".join(made[at : at + 16]) for at in range(0, words, 16))

    def fact(self) -> tuple[str, str, str]:
        """Make a fact: the sentence that states it, the question, and the text that answers it."""
        service, kind = self._names.pop()
        value = f"{service[:2].upper()}{self.random.randrange(10**7):07d}"
        return (
            f"For the record: the {kind} of {service} is {value}.",
            f"What is the {kind} of {service}?",
            value,
        )

    def thinking(self, tokens: float) -> dict[str, Any]:
        """Write a block of thinking, with a signature that nobody can make up again."""
        signature = base64.b64encode(self.random.randbytes(75)).decode()
        return {"type": "thinking", "thinking": self.text(tokens), "signature": signature}

    def call(self, tokens: float) -> dict[str, Any]:
        """Write a tool call."""
        self._count += 1
        name = self.random.choice(("read_file", "run_tests", "search"))
        id_ = f"toolu_{self._count:04d}{self.random.randrange(10**12):012d}"
        given = {"path": f"shop/module_{self._count}.py", "note": self.text(tokens)}
        return {"type": "tool_use", "id": id_, "name": name, "input": given}

    def tools(self, tokens: float) -> list[dict[str, Any]]:
        """Write the definitions of three tools of about so many tokens together."""
        schema = {
            "type": "object",
            "properties": {"path": {"type": "string"}, "note": {"type": "string"}},
            "required": ["path"],
        }
        return [
            {"name": name, "description": self.text(tokens / 3), "input_schema": schema}
            for name in ("read_file", "run_tests", "search")
        ]


def said(role: str, *blocks: dict[str, Any]) -> Message:
    """Write a message of blocks."""
    return {"role": role, "content": list(blocks)}


def words(text: str) -> dict[str, Any]:
    """Write a block of text."""
    return {"type": "text", "text": text}


def result(call: dict[str, Any], text: str) -> dict[str, Any]:
    """Write the result of a tool call."""
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text}
