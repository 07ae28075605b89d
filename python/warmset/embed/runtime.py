"""ONNX Runtime, imported without its telemetry.

From 1.31 on, the runtime's import writes a device id and a database into the user's cache, starts
threads that send events to its maker, and cannot end in the child of a fork. The environment
variable ``ORT_DISABLE_TELEMETRY`` is read during the import and prevents all of it. A value that
the user gave it stays in force.
"""

from __future__ import annotations

import os
from typing import Any, Final

from warmset._extras import extra

OFF: Final = "ORT_DISABLE_TELEMETRY"


def onnx_runtime() -> Any:
    """Import ONNX Runtime.

    Returns:
        The module.

    Raises:
        MissingExtraError: It is not installed.
    """
    if OFF in os.environ:
        return _imported()
    os.environ[OFF] = "1"
    try:
        found = _imported()
    finally:
        os.environ.pop(OFF, None)
    found.disable_telemetry_events()  # in case the program had imported it before
    return found


def _imported() -> Any:
    with extra("local"):
        import onnxruntime  # noqa: PLC0415 - heavy, and optional
    return onnxruntime
