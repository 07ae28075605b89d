"""The files that made-up texts are written from."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def material(name: str) -> dict[str, Any]:
    """Return what a file of this package has, by its name; it is not to be changed."""
    return tomllib.loads(
        resources.files("warmset.lab.demo.route").joinpath(name).read_text("utf-8")
    )
