"""Asserts that what threads share is changed under the engine's lock."""

from __future__ import annotations

from typing import Any

CHANGES = {
    "indexed": ("add", "remove", "set_live", "describe"),
    "derived": ("take", "forget"),
    "ledgers": ("__setitem__", "__delitem__", "pop", "get"),
}
"""Parts of an engine, and the methods that need its lock."""


class Guarded:
    """Passes every call on, after the lock was found to be held where it must be."""

    def __init__(self, inner: Any, lock: Any, methods: tuple[str, ...]) -> None:
        self.inner, self.lock, self.methods = inner, lock, methods

    def held(self, name: str) -> None:
        assert name not in self.methods or self.lock._is_owned(), f"{name} without the lock"

    def __getattr__(self, name: str) -> Any:
        self.held(name)
        return getattr(self.inner, name)

    def __getitem__(self, key: Any) -> Any:
        return self.inner[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held("__setitem__")
        self.inner[key] = value

    def __delitem__(self, key: Any) -> None:
        self.held("__delitem__")
        del self.inner[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.inner

    def __iter__(self) -> Any:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)


def guard(engine: Any) -> None:
    """Have the parts of an engine assert that its lock is held."""
    for name, methods in CHANGES.items():
        setattr(engine, name, Guarded(getattr(engine, name), engine.lock, methods))
