"""A model from the model hub: from its cache on this machine, else over HTTP."""

from __future__ import annotations

import http.client
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

from warmset.errors import EmbedderError

if TYPE_CHECKING:
    from warmset.embed.base import Progress
    from warmset.embed.pins import Pin, Published

PATIENCE = 2.0
"""Seconds until a hub that does not answer counts as out of reach."""

_STALL = 30.0
_CHUNK = 1 << 20


def fetch(into: Path, progress: Progress | None, model: Published) -> None:
    """Put the model's files into a directory; the caller checks them.

    ``HF_HUB_OFFLINE``, ``HF_ENDPOINT``, ``HF_HUB_CACHE`` and ``HF_HOME`` mean what they mean to the
    hub's own client.

    Args:
        into: An empty directory.
        progress: Is told the bytes of the weights.
        model: Which model.

    Raises:
        EmbedderError: The hub is out of reach, or may not be asked.
        OSError: A connection broke, or the directory cannot be written.
    """
    for snapshot in _snapshots(model):
        for pin in model.pins:
            shutil.copyfile(snapshot / pin.name, into / pin.name)
        return
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise EmbedderError("not asked, as HF_HUB_OFFLINE is set")
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    if not endpoint.startswith(("https://", "http://")):
        raise EmbedderError(f"HF_ENDPOINT is not an HTTP address: {endpoint}")
    root = f"{endpoint}/{model.repository}/resolve/{model.revision}"
    _probe(f"{root}/{model.tokenizer.name}")
    try:
        _download(root, model.tokenizer, into, None)
        _download(root, model.weights, into, progress)
    except http.client.HTTPException as error:
        raise EmbedderError(f"the download broke off: {error!r}") from error


def _snapshots(model: Published) -> list[Path]:
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface"))
    cache = Path(os.environ.get("HF_HUB_CACHE", home / "hub")).expanduser()
    folder = cache / f"models--{model.repository.replace('/', '--')}" / "snapshots"
    return [
        snapshot
        for snapshot in sorted(folder.glob("*"))
        if all((snapshot / pin.name).is_file() for pin in model.pins)
    ]


def _probe(url: str) -> None:
    # A time-out of a socket does not bound the look-up of a name, hence the thread.
    failure: list[Exception] = []

    def ask() -> None:
        try:
            with urlopen(Request(url, method="HEAD"), timeout=PATIENCE):  # noqa: S310 - checked
                pass
        except (OSError, http.client.HTTPException) as error:
            failure.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        raise EmbedderError(f"no answer within {PATIENCE:g} s from {url}")
    for error in failure:
        raise EmbedderError(f"{url}: {error}") from error


def _download(root: str, pin: Pin, into: Path, progress: Progress | None) -> None:
    done = 0
    with (
        urlopen(f"{root}/{pin.name}", timeout=_STALL) as response,  # noqa: S310 - checked
        (into / pin.name).open("wb") as file,
    ):
        while done <= pin.size and (chunk := response.read(_CHUNK)):
            file.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress("download", done, pin.size)
