"""Batches that wait in the spool: whether a file is a whole one, as far as its head tells.

```text
8 magic │ 16 store │ 16 token │ 8 records │ 8 length behind │ 8 next id │ 4 zero │ 4 CRC-32C
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_HEAD: Final = 72
_MAGIC: Final = b"wsspool\0"
_TOKEN: Final = slice(24, 40)
_LENGTH: Final = slice(48, 56)
_POLYNOMIAL: Final = 0x82F63B78


def is_batch(path: Path) -> bool:
    """Tell whether a file is a batch that is named as it should be and not cut short.

    Its records are checked by the next writer, which sets aside what is not as it was written. A
    batch that has been taken up meanwhile was one.
    """
    try:
        with path.open("rb") as file:
            head, size = file.read(_HEAD), path.stat().st_size
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return (
        head[:8] == _MAGIC
        and _crc32c(head[:-4]) == int.from_bytes(head[-4:], "little")
        and head[_TOKEN].hex() == path.stem
        and int.from_bytes(head[_LENGTH], "little") == size - _HEAD
    )


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
