"""Callables that are named on the command line, as ``module:name``."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def load(spec: str) -> Callable[..., Any]:
    """Import a callable; modules of the current directory are found too.

    Args:
        spec: A module's name, a colon, and the name of a callable in it.

    Raises:
        InvalidInputError: There is no such module, or no such callable in it.
    """
    module, _, name = spec.partition(":")
    if not module or not name:
        raise InvalidInputError(f"expected module:callable, found {spec!r}")
    try:
        with _here():
            found: object = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"{spec!r} cannot be had: {error}") from error
    if not callable(found):
        raise InvalidInputError(f"{spec!r} cannot be called; name a function")
    return found


@contextmanager
def _here() -> Iterator[None]:
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")
