"""The full list that a caller sent last, so that the next one costs what is new in it.

Callers that resend whole lists send the same messages again and again, often the same objects, and
sometimes edit one in place. So each message is held as a copy of its containers that shares the
strings, and compared by value: an unchanged message costs a comparison of pointers, an edited one
is noticed. Messages with numbers or truth values in them are never held, for Python takes 1, 1.0
and True for equal and JSON does not; they are hashed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._support.locks import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_MESSAGES: Final = 200_000
"""Messages of one list that are held; the rest is hashed each time."""


@guarded(
    "engine",
    writes=("_held",),
)
class Snapshot:
    """Copies of a list's messages with their content hashes."""

    def __init__(self) -> None:
        self._held: list[tuple[object, bytes]] = []

    def known(self, given: Sequence[object]) -> list[bytes | None]:
        """Return the hash of each message that is as it was in the last list, else None."""
        out: list[bytes | None] = [None] * len(given)
        for at, (message, (copy, digest)) in enumerate(zip(given, self._held, strict=False)):
            if copy is not None and message == copy and _same_order(message, copy):
                out[at] = digest
        return out

    def take(
        self, given: Sequence[object], known: Sequence[bytes | None], digests: Sequence[bytes]
    ) -> None:
        """Hold a list for the next time.

        Args:
            given: The messages.
            known: What `known` returned for them.
            digests: Their content hashes.
        """
        held = self._held[: len(given)]
        for at, digest in enumerate(digests[:MAX_MESSAGES]):
            if at < len(held):
                if known[at] is None:
                    held[at] = (_copy(given[at]), digest)
            else:
                held.append((_copy(given[at]), digest))
        self._held = held


def _same_order(value: Any, copy: Any) -> bool:
    """Tell whether two equal values have their keys in the same order, as their JSON would."""
    if type(value) is dict:
        return list(value) == list(copy) and all(
            _same_order(item, copy[key]) for key, item in value.items() if type(item) is not str
        )
    if type(value) is list:
        return all(_same_order(item, other) for item, other in zip(value, copy, strict=True))
    return type(value) is type(copy)


def _copy(value: Any) -> Any:
    """Copy containers and share strings; None where something else is inside."""
    if type(value) is dict:
        copy = _leaf(value)
        return None if copy is _ODD else copy
    return None


class _Odd:
    """Stands for a value that is not held; equal to nothing but itself."""


_ODD: Final = _Odd()


def _leaf(value: Any) -> Any:
    if value is None or type(value) is str:
        return value
    if type(value) is list:
        items = [_leaf(item) for item in value]
        return _ODD if any(item is _ODD for item in items) else items
    if type(value) is dict:
        fields = {key: _leaf(item) for key, item in value.items()}
        return _ODD if any(item is _ODD for item in fields.values()) else fields
    return _ODD
