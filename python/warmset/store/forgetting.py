"""Caches of texts in this process: every erasure clears them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLBACKS: list[Callable[[], object]] = []


def when_erased(forget: Callable[[], object]) -> Callable[[], object]:
    """Register a function that is called after every erasure from any store of the process.

    Args:
        forget: Clears a module's caches of texts; it must not wait for a store.

    Returns:
        The function, so that this can be used as a decorator.
    """
    _CALLBACKS.append(forget)
    return forget


def forget_texts() -> None:
    """Clear all registered caches of texts, because some texts were erased."""
    for forget in _CALLBACKS:
        forget()
