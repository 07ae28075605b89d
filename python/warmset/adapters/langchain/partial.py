"""Shortens the first message that does not fit, if the caller allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from warmset.adapters.langchain.search import most
from warmset.adapters.langchain.shapes import content_of, with_content
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.adapters.langchain.rules import Rules


def by_lines(text: str) -> list[str]:
    """Split a text into its lines, each with the line break that ends it."""
    *lines, rest = text.split("\n")
    return [f"{line}\n" for line in lines] + [rest]


def splitter(given: Any) -> Callable[[str], list[str]]:
    """Read the caller's `text_splitter`.

    Args:
        given: A function, an object with `split_text`, or None for lines.

    Returns:
        The function; it raises `InvalidInputError` where it cannot be used.
    """
    if not given:
        return by_lines
    split = given if callable(given) else getattr(given, "split_text", None)

    def parted(text: str) -> list[str]:
        if not callable(split):
            why = f"text_splitter is a {type(given).__name__}; give a function or a TextSplitter"
            raise InvalidInputError(why)
        pieces = list(cast("Callable[[str], list[str]]", split)(text))
        if not all(isinstance(piece, str) for piece in pieces):
            raise InvalidInputError("text_splitter gave something that is no string")
        return pieces

    return parted


def shortened(
    body: Sequence[Any], count: int, budget: float, rules: Rules, given: Any, place: int
) -> dict[int, Any]:
    """Shorten the message that follows those that fit.

    Blocks are left out first; where not even one of several fits, and in a plain text, pieces of
    the text are. What is left out is what is farthest from the kept end.

    Args:
        body: The messages as the counter wants them, in kept order.
        count: How many of them fit.
        budget: Tokens.
        rules: What the caller asked for.
        given: The caller's message that follows.
        place: Its position in the list.

    Returns:
        The shortened message by its position; empty where no part of it fits.
    """
    head, message = list(body[:count]), body[count]
    content = content_of(message)
    blocks: list[Any] | None = None
    if isinstance(content, list):
        blocks = content[::-1] if rules.last else content
        kept = _blocks(head, message, blocks, budget, rules)
        if kept:
            blocks = blocks[:kept]
            whole = blocks[::-1] if rules.last else blocks
            return {place: with_content(given, whole, deep=True)}
        blocks = blocks[:1]
    text = content if blocks is None else _first_text(blocks)
    if not text:
        return {}
    if not isinstance(text, str):
        found = type(text).__name__
        raise InvalidInputError(f"message {place}: its text is a {found}; it must be a string")
    said = _pieces(head, message, text, budget, rules)
    return {place: with_content(given, said, deep=True)} if said is not None else {}


def _blocks(head: list[Any], message: Any, blocks: list[Any], budget: float, rules: Rules) -> int:
    """Return how many blocks fit, fewer than all."""

    def fits(kept: int) -> bool:
        part = blocks[:kept][::-1] if rules.last and rules.pairs else blocks[:kept]
        return rules.counter.whole([*head, with_content(message, part)]) <= budget

    if rules.pairs:
        return most(len(blocks) - 1, fits) if len(blocks) > 1 else 0
    return next((kept for kept in range(len(blocks) - 1, 0, -1) if fits(kept)), 0)


def _pieces(head: list[Any], message: Any, text: str, budget: float, rules: Rules) -> str | None:
    """Return as much of a text as fits; None where no piece does."""
    if rules.split is None:
        return None
    pieces = rules.split(text)
    if rules.last:
        pieces.reverse()
    base = rules.counter.whole(head)

    def said(count: int, *, aright: bool) -> str:
        return "".join(pieces[:count][::-1] if rules.last and aright else pieces[:count])

    def fits(count: int) -> bool:
        part = with_content(message, said(count, aright=rules.pairs))
        return base + rules.counter.whole([part]) <= budget

    kept = most(len(pieces), fits)
    return said(kept, aright=True) if kept else None


def _first_text(blocks: list[Any]) -> Any:
    for block in blocks:
        if isinstance(block, str):
            return block
        if isinstance(block, dict) and block.get("type") == "text":
            return block.get("text")
    return None
