"""Reading a safetensors file: a length, a JSON header, the tensors' bytes, little-endian."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from warmset.errors import ModelDamaged

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_LENGTH = 8


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Read every tensor.

    Args:
        path: A safetensors file.

    Returns:
        Read-only arrays by name; they share the bytes of the one read.

    Raises:
        ModelDamaged: The header is not one, or a tensor does not fit the file.
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    body = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    try:
        header: dict[str, Any] = json.loads(data[_LENGTH:body])
        header.pop("__metadata__", None)
        return {name: _tensor(data, body, entry) for name, entry in header.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelDamaged(f"{path} is not a safetensors file: {error!r}") from error


def _tensor(data: bytes, body: int, entry: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(_TYPES[entry["dtype"]])
    shape = tuple(entry["shape"])
    start, end = entry["data_offsets"]
    count = math.prod(shape)
    if start < 0 or end - start != count * dtype.itemsize:
        raise ValueError(f"bytes {start} to {end} do not hold a tensor of shape {shape}")
    return np.frombuffer(data, dtype, count, body + start).reshape(shape)
