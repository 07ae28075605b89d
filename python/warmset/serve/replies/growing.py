"""Values that arrive in pieces: texts grow by concatenation, lists by elements, mappings by field.

A text is kept in its pieces until it is asked for, because a million concatenations of a growing
string take time that is quadratic in its length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SET: Final = frozenset({"id", "type", "role", "index", "format", "signature", "thought_signature"})
"""Fields that come whole; some servers repeat them with each piece."""


class Growing:
    """A text in pieces.

    Args:
        first: Its first piece.
    """

    __slots__ = ("_pieces",)

    def __init__(self, first: str = "") -> None:
        self._pieces = [first]

    def add(self, piece: str) -> None:
        """Append a piece.

        Raises:
            TypeError: It is no string.
        """
        if not isinstance(piece, str):
            raise TypeError(f"expected a piece of a text, found a {type(piece).__name__}")
        self._pieces.append(piece)

    def __str__(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


def grow(into: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add the fields of a piece to those of a mapping; null adds nothing.

    Raises:
        TypeError: A field changed its type.
    """
    for name, new in piece.items():
        if name not in _SET:
            into[name] = grown(into.get(name), new)
        elif new not in (None, "") or name not in into:
            into[name] = new


def grown(old: Any, new: Any) -> Any:
    """Return a value with a piece more; `old` itself may change.

    Args:
        old: The value so far; None if there is none.
        new: The piece.

    Raises:
        TypeError: They are of different types.
    """
    if new is None:
        return old
    if isinstance(new, str):
        old = Growing() if old is None else Growing(old) if isinstance(old, str) else old
        if not isinstance(old, Growing):
            raise TypeError(f"a text follows a {type(old).__name__}")
        old.add(new)
        return old
    if isinstance(new, dict):
        made: dict[str, Any] = {} if old is None else old
        grow(made, new)
        return made
    if isinstance(new, list):
        return [*new] if old is None else _extended(old, new)
    return new


def settled(value: Any) -> Any:
    """Return a deep copy of a value in which texts are strings."""
    if isinstance(value, Growing):
        return str(value)
    if isinstance(value, dict):
        return {name: settled(one) for name, one in value.items()}
    return [settled(one) for one in value] if isinstance(value, list) else value


def _extended(old: Any, new: list[Any]) -> list[Any]:
    if not isinstance(old, list):
        raise TypeError(f"a list follows a {type(old).__name__}")
    old.extend(new)
    return old
