"""Names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make a package's `__getattr__` and `__dir__`.

    The package lists the same names in its `__all__`, and imports them where only type checkers
    look; a test holds the three against each other.

    Args:
        package: The package's `__name__`.
        homes: Modules below it, each with the names that come from it. A module without names is
            itself one.

    Returns:
        Both functions.
    """
    places = {name: home for home, names in homes.items() for name in names}
    modules = {home for home in homes if "." not in home}

    def getattr_(name: str) -> object:
        if name in places:
            found: object = getattr(import_module(f"{package}.{places[name]}"), name)
        elif name in modules:
            found = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        vars(import_module(package))[name] = found
        return found

    def dir_() -> list[str]:
        return sorted({*vars(import_module(package)), *places, *modules})

    return getattr_, dir_
