"""The material of generated conversations: texts in many scripts, and random choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

WORDS: Final = """
    budget deploy invoice migration latency Friday refund schema token retry café naïve
    договор ошибка сервер 会议 数据库 我们决定 東京 サーバー 회의 ميزانية الخادم שרת बजट सर्वर งบ
    def f(x): {'a':1} <b> https://example.org/a?b=c src/main.rs 0x7f 1_000_000 -- ``` 🙂 e\u0301
    \u200b \U0001f468\u200d\U0001f469\u200d\U0001f467 \x00
    """.split()  # noqa: SIM905 - a table to be read
"""Words of many scripts, and what breaks code that splits, slices or escapes."""

PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
"""A picture of one pixel, as base64."""

TOOLS: Final = ("read_file", "search", "run_tests", "write-file")

HUGE: Final = 4_000
"""Words of a huge text."""


@dataclass(slots=True)
class Dice:
    """The random choices of one conversation, and a counter that makes its texts unique.

    Args:
        rng: The source of randomness.
        serial: Numbers texts and calls, so that no two messages are equal.
    """

    rng: Random
    serial: int = 0

    def chance(self, share: float) -> bool:
        """Return True in a share of all cases; False is the simpler value, for shrinking."""
        return self.rng.random() >= 1 - share

    def number(self) -> int:
        """Return the next serial number."""
        self.serial += 1
        return self.serial

    def text(self) -> str:
        """Make a text that is not blank and occurs once; rarely a huge one."""
        count = self.rng.choice((1, 2, 5, 12, 40))
        if self.chance(0.004):
            count = HUGE
        words = [self.rng.choice(WORDS) for _ in range(count)]
        return f"n{self.number()} {' '.join(words)}."

    def tool(self) -> str:
        """Choose a tool."""
        return self.rng.choice(TOOLS)

    def calls(self) -> list[Call]:
        """Make the calls of one step: mostly one, often a few in parallel, rarely many."""
        count = self.rng.choice((1, 1, 1, 2, 3))
        if self.chance(0.01):
            count = 24
        return [
            Call(f"call_{self.number()}", self.tool(), {"q": self.text()[:60], "n": self.serial})
            for _ in range(count)
        ]

    def shuffled(self, calls: list[Call]) -> list[Call]:
        """Return the calls in the order in which they are answered, often another one."""
        order = list(calls)
        if self.chance(0.4):
            self.rng.shuffle(order)
        return order


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a generated conversation."""

    id: str
    name: str
    arguments: dict[str, object]
