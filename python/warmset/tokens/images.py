"""The tokens of images, by the formulas that providers publish.

Sources: developers.openai.com/api/docs/guides/images-vision (tiles, patches, multipliers),
platform.claude.com/docs/en/build-with-claude/vision (patches of 28 pixels, two tiers),
ai.google.dev/gemini-api/docs/image-understanding and .../media-resolution (tiles, Gemini 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.tokens.number import PER_IMAGE

if TYPE_CHECKING:
    from warmset.tokens.media import Size

Provider: TypeAlias = Literal["openai", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True)
class _Tiles:
    """OpenAI: fit into 2048 pixels, shortest side to 768, then so much a tile of 512 pixels."""

    base: int
    tile: int

    def tokens(self, size: Size | None, detail: str) -> int | None:
        """Count; detail "low" has one price for all sizes."""
        if detail == "low":
            return self.base
        if size is None:
            return None
        long, short = max(size), min(size)
        scale = min(Fraction(1), Fraction(2048, long), Fraction(768, short))
        return self.base + self.tile * ceil(long * scale / 512) * ceil(short * scale / 512)


@dataclass(frozen=True, slots=True)
class _Patches:
    """OpenAI: patches of 32 pixels within a budget and an edge, times the model's multiplier."""

    percent: int
    budget: int = 1_536
    edge: int = 2_048
    full: tuple[int, int] | None = None
    auto: str = "high"

    def tokens(self, size: Size | None, detail: str) -> int | None:
        """Count; detail "low" is the image within 512 pixels."""
        budget, edge = self.budget, self.edge
        kind = self.auto if detail == "auto" else detail
        if kind == "low":
            budget, edge = 256, 512
        elif kind == "original" and self.full:
            budget, edge = self.full
        if size is None:
            return -(-budget * self.percent // 100) if kind == "low" else None
        patches = _fitted(size, budget, edge)
        return -(-patches * self.percent // 100)


@dataclass(frozen=True, slots=True)
class _Claude:
    """Anthropic: patches of 28 pixels, of the largest size within an edge and a budget."""

    edge: int
    most: int

    def tokens(self, size: Size | None, detail: str) -> int | None:  # noqa: ARG002 - one signature
        """Count."""
        if size is None:
            return None
        long, short = max(size), min(size)
        low, high = 1, min(long, self.edge)
        while low < high:
            middle = (low + high + 1) // 2
            if _cells(middle, long, short) <= self.most:
                low = middle
            else:
                high = middle - 1
        return _cells(low, long, short)


@dataclass(frozen=True, slots=True)
class _Crops:
    """Gemini before 3: 258 a tile; one for a small image, else tiles of at most 768 pixels."""

    def tokens(self, size: Size | None, detail: str) -> int | None:  # noqa: ARG002
        """Count."""
        if size is None:
            return None
        if max(size) <= 384:  # noqa: PLR2004 - published
            return 258
        unit = min(768, max(256, floor(min(size) / 1.5)))
        return 258 * ceil(size[0] / unit) * ceil(size[1] / unit)


@dataclass(frozen=True, slots=True)
class _Levels:
    """Gemini 3: the media resolution decides, not the image's size."""

    def tokens(self, size: Size | None, detail: str) -> int:  # noqa: ARG002
        """Count."""
        level = detail.removeprefix("media_resolution_")
        return {"low": 280, "medium": 560, "ultra_high": 2_240}.get(level, 1_120)


_Formula: TypeAlias = _Tiles | _Patches | _Claude | _Crops | _Levels
_WIDE: Final = 1 << 31
_HIGH_TIER: Final = _Claude(2_576, 4_784)
_STANDARD_TIER: Final = _Claude(1_568, 1_568)

_FORMULAS: Final[dict[str, _Formula]] = {
    "claude": _HIGH_TIER,
    "claude-2": _STANDARD_TIER,
    "claude-3": _STANDARD_TIER,
    "claude-haiku-4": _STANDARD_TIER,
    "claude-opus-4": _STANDARD_TIER,
    "claude-opus-4-7": _HIGH_TIER,
    "claude-opus-4-8": _HIGH_TIER,
    "claude-sonnet-4": _STANDARD_TIER,
    "computer-use-preview": _Tiles(65, 129),
    "gemini": _Levels(),
    "gemini-1": _Crops(),
    "gemini-2": _Crops(),
    "gpt": _Patches(120, 2_500, _WIDE, full=(30_000, _WIDE), auto="original"),
    "gpt-4": _Tiles(85, 170),
    "gpt-4.1-mini": _Patches(162),
    "gpt-4.1-nano": _Patches(246),
    "gpt-4o-mini": _Tiles(2_833, 5_667),
    "gpt-5": _Tiles(70, 140),
    "gpt-5-mini": _Patches(162),
    "gpt-5-nano": _Patches(246),
    "gpt-5.4": _Patches(120, 2_500, full=(10_000, 6_000)),
    "gpt-5.4-mini": _Patches(162),
    "gpt-5.4-nano": _Patches(246),
    "gpt-5.5": _Patches(120, 2_500, full=(10_000, 6_000), auto="original"),
    "gpt-5.6": _Patches(120, 2_500, _WIDE, full=(30_000, _WIDE), auto="original"),
    "o1": _Tiles(75, 150),
    "o3": _Tiles(75, 150),
    "o4-mini": _Patches(172),
}
"""By the longest prefix of the model's name. The multiplier of 1.2 is measured, not published."""

_PROVIDERS: Final[dict[Provider, _Formula]] = {
    "openai": _Tiles(85, 170),
    "anthropic": _HIGH_TIER,
    "gemini": _Crops(),
}
"""The formula if no model is named, by dialect."""


def image_tokens(
    size: Size | None,
    *,
    provider: Provider = "openai",
    model: str | None = None,
    detail: str | None = None,
) -> tuple[int, bool]:
    """Count an image by its provider's published formula.

    Args:
        size: Width and height in pixels, or None when they are not known.
        provider: Whose dialect the image is written in.
        model: The model's name; its formula takes precedence.
        detail: "low", "high", "original" or "auto" (OpenAI), or a media resolution (Gemini).

    Returns:
        Tokens, and whether the formula gave them; else they are `PER_IMAGE`.
    """
    formula = _PROVIDERS[provider]
    if model is not None:
        bare = model.rsplit("/", 1)[-1].lower()
        known = [prefix for prefix in _FORMULAS if bare.startswith(prefix)]
        formula = _FORMULAS[max(known, key=len)] if known else formula
    tokens = formula.tokens(size, (detail or "auto").lower())
    return (PER_IMAGE, False) if tokens is None else (tokens, True)


def _cells(edge: int, long: int, short: int) -> int:
    """Patches of 28 pixels of an image that is scaled to that long edge."""
    other = max(1, round(Fraction(edge * short, long)))
    return -(-edge // 28) * -(-other // 28)


def _fitted(size: Size, budget: int, edge: int) -> int:
    """Patches of 32 pixels of an image that is scaled into a budget and an edge."""
    width, height = size
    if max(size) > edge:
        scale = edge / max(size)
        width, height = max(1, floor(width * scale)), max(1, floor(height * scale))
    patches = -(-width // 32) * -(-height // 32)
    if patches <= budget:
        return patches
    shrink = sqrt(32 * 32 * budget / (width * height))
    wide, high = width * shrink / 32, height * shrink / 32
    shrink *= min(max(1, floor(wide)) / wide, max(1, floor(high)) / high, 1.0)
    width, height = max(1, floor(width * shrink)), max(1, floor(height * shrink))
    return min(budget, -(-width // 32) * -(-height // 32))
