"""Imports that need an optional extra."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from warmset.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Raise an error that names the extra if an import inside the block finds no module.

    Args:
        name: The extra that installs the modules.

    Raises:
        MissingExtraError: A module is not installed. Imports that fail for another reason raise
            their own errors.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or str(error), name) from error
