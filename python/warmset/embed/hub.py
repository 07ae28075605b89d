"""A model from the model hub: from its cache on this machine, else over HTTP.

The hub's own client does the work, so its environment variables mean what they mean elsewhere. The
user's cache of it is read and never written: `hf_hub_download` keeps a log, a list and chunks under
``HF_HOME`` whatever directory it is given, hence the function below it, which downloads one URL.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from warmset._extras import extra
from warmset.errors import EmbedderError, ModelDamaged

if TYPE_CHECKING:
    from warmset.embed.base import Progress
    from warmset.embed.pins import Pin, Published

PATIENCE = 2.0
"""Seconds until a hub that does not answer counts as out of reach."""


def fetch(into: Path, progress: Progress | None, model: Published) -> None:
    """Put the model's files into a directory; the caller checks them.

    ``HF_HUB_OFFLINE``, ``HF_ENDPOINT``, ``HF_HUB_CACHE`` and ``HF_HOME`` mean what they mean to the
    hub's own client, which reads them once in a process.

    Args:
        into: An empty directory.
        progress: Receives the bytes of the weights so far.
        model: Which model.

    Raises:
        MissingExtraError: The package huggingface_hub is not installed.
        ModelDamaged: The cache has another file, or the hub sent more than the file has.
        EmbedderError: The hub is out of reach, or may not be asked, or the download broke off.
        OSError: The hub refused, or the directory cannot be written.
    """
    with extra("local"):
        import huggingface_hub  # noqa: F401, PLC0415 - an extra

    damaged: ModelDamaged | None = None
    for snapshot in _snapshots(model):
        try:
            for pin in model.pins:
                pin.check(snapshot / pin.name)
                shutil.copyfile(snapshot / pin.name, into / pin.name)
        except ModelDamaged as error:
            damaged = error
        else:
            return
    try:
        _pull(into, progress, model)
    except (EmbedderError, OSError) as error:
        if damaged is None:
            raise
        raise ModelDamaged(f"{damaged}; {error}") from error


def _snapshots(model: Published) -> list[Path]:
    """Find files of the model's names in the user's cache, whichever revision brought them."""
    from huggingface_hub import constants  # noqa: PLC0415 - `fetch` has asked for it
    from huggingface_hub.file_download import repo_folder_name  # noqa: PLC0415

    folder = repo_folder_name(repo_id=model.repository, repo_type="model")
    return [
        snapshot
        for snapshot in sorted(Path(constants.HF_HUB_CACHE, folder, "snapshots").glob("*"))
        if all((snapshot / pin.name).is_file() for pin in model.pins)
    ]


def _pull(into: Path, progress: Progress | None, model: Published) -> None:
    from huggingface_hub import hf_hub_url  # noqa: PLC0415 - `fetch` has asked for it

    small, large = (
        hf_hub_url(model.repository, pin.name, revision=model.revision) for pin in model.pins
    )
    _probe(small)
    try:
        _download(small, model.tokenizer, into, None)
        _download(large, model.weights, into, progress)
    except (EmbedderError, OSError):
        raise
    except Exception as error:
        raise EmbedderError(f"the download broke off: {error!r}") from error


def _probe(url: str) -> None:
    # The client tries a hub that is out of reach for a minute, and no time-out of a socket bounds
    # the look-up of a name, hence the thread.
    from huggingface_hub import (  # noqa: PLC0415 - `fetch` has asked for it
        get_session,
        hf_raise_for_status,
    )

    failure: list[Exception] = []

    def ask() -> None:
        try:
            hf_raise_for_status(get_session().head(url, timeout=PATIENCE))
        except Exception as error:  # noqa: BLE001 - whatever the client of the hub's client raises
            failure.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        raise EmbedderError(f"no answer within {PATIENCE:g} s from {url}")
    for error in failure:
        raise EmbedderError(f"{url}: {error}") from error


def _download(url: str, pin: Pin, into: Path, progress: Progress | None) -> None:
    from huggingface_hub.file_download import http_get  # noqa: PLC0415 - `fetch` has asked for it

    with (into / pin.name).open("wb") as file:
        http_get(url, file, tqdm_class=_bar(pin, progress))


def _bar(pin: Pin, progress: Progress | None) -> Any:
    """Make what the hub's client calls in place of a bar on standard error."""

    class Bar:
        """Tells how far a file has come, and stops one that is too long."""

        def __init__(self, *, initial: int = 0, **_shown: object) -> None:
            self._done = initial

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_exc: object) -> None:
            pass

        def update(self, more: int) -> None:
            """Take note of bytes, before they are written; less than 0 for those to come again."""
            self._done += more
            if self._done > pin.size:
                raise ModelDamaged(f"{pin.name} has more than {pin.size} bytes; it was not used")
            if progress is not None:
                progress("download", self._done, pin.size)

    return Bar
