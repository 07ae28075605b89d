"""Texts that the process keeps beside a store: an erasure drops them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLBACKS: list[Callable[[], object]] = []


def when_erased(forget: Callable[[], object]) -> Callable[[], object]:
    """Have a function called whenever something was erased from any store of the process.

    Args:
        forget: Drops what a module keeps of texts; it must not wait for a store.

    Returns:
        The function, so that this may stand above it as a decorator.
    """
    _CALLBACKS.append(forget)
    return forget


def forget_texts() -> None:
    """Drop what the process keeps of texts, because some were erased."""
    for forget in _CALLBACKS:
        forget()
