"""Lazy imports: names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import warmset._support.forks  # noqa: F401 - a fork waits for imports from here on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy(
    package: str, homes: Mapping[str, Sequence[str]], *, root: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package with lazy imports.

    The package lists the same names in its `__all__` and imports them under `TYPE_CHECKING`; a test
    compares the three.

    Args:
        package: The package's `__name__`.
        homes: Its modules, each with the names that it defines. A module without names is itself a
            name. One of another package stands with its whole name, as `warmset.messages.text`.
        root: The package that the modules are in; None for the package itself.

    Returns:
        Both functions.
    """
    places = {name: home for home, names in homes.items() for name in names}
    modules = {home for home in homes if "." not in home}
    root = root or package

    def getattr_(name: str) -> object:
        if name in places:
            home = places[name]
            module = home if home.startswith("warmset.") else f"{root}.{home}"
            found: object = getattr(import_module(module), name)
        elif name in modules:
            found = import_module(f"{root}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        vars(import_module(package))[name] = found
        return found

    def dir_() -> list[str]:
        return sorted({*vars(import_module(package)), *places, *modules})

    return getattr_, dir_
