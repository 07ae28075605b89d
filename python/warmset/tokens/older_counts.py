"""The counts of older systems, to compare figures with theirs; nothing here decides by them.

Both are far from the tokens of a model: four characters a token is four to six times too few for
Chinese, Japanese and Korean, and words say nothing of code. Budgets are counted by `count_tokens`.
"""

from __future__ import annotations

from warmset.errors import InvalidInputError


def chars4(text: str) -> int:
    """Return a quarter of a text's characters, rounded down.

    Raises:
        InvalidInputError: It is not a text.
    """
    return len(_text("chars4", text)) // 4


def words13(text: str) -> int:
    """Return 1.3 times the words of a text, rounded down; words stand between white space.

    Raises:
        InvalidInputError: It is not a text.
    """
    return 13 * len(_text("words13", text).split()) // 10


def _text(name: str, given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidInputError(
        f"{name}: expected a text, found a {type(given).__name__}; it reproduces the figures of "
        "older systems and counts no messages, use count_tokens for a budget"
    )
