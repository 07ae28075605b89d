"""The model's files, each known by its digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import ModelDamaged

if TYPE_CHECKING:
    from pathlib import Path

MODEL: Final = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Pin:
    """A file that is used only if it is exactly this one.

    Attributes:
        name: File name.
        size: Length in bytes.
        sha256: Digest, in hexadecimal.
    """

    name: str
    size: int
    sha256: str

    def check(self, path: Path) -> None:
        """Read the file and compare.

        Args:
            path: The file, whatever its name is.

        Raises:
            ModelDamaged: It is another file.
            OSError: It cannot be read.
        """
        size = path.stat().st_size
        if size != self.size:
            raise ModelDamaged(f"{path} has {size} bytes instead of {self.size}; it was not used")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise ModelDamaged(f"{path} has sha256 {found}, not {self.sha256}; it was not used")


WEIGHTS: Final = Pin(
    "model.safetensors",
    90_868_376,
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
TOKENIZER: Final = Pin(
    "tokenizer.json",
    466_247,
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
