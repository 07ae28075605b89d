"""Imports that an extra brings."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from warmset.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Name the extra if an import inside of the block finds no module.

    Args:
        name: The extra that brings the modules.

    Raises:
        MissingExtraError: A module is not installed. An import that fails otherwise is passed on.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or str(error), name) from error
