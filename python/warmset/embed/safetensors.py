"""Reading a safetensors file whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset._extras import extra
from warmset.errors import ModelDamaged

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Read every tensor.

    Args:
        path: A safetensors file.

    Returns:
        Arrays by name.

    Raises:
        MissingExtraError: The package safetensors is not installed.
        ModelDamaged: The header is not one, or a tensor does not fit the file or has a type that
            numpy does not know.
        OSError: The file cannot be read.
    """
    with extra("local"):
        from safetensors import SafetensorError  # noqa: PLC0415 - an extra
        from safetensors.numpy import load_file  # noqa: PLC0415

    try:
        return load_file(path)
    except (SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelDamaged(f"{path} is not a safetensors file: {error!r}") from error
