"""Several processes that answer at one socket, on one store.

The process that starts them answers nothing itself: it starts a worker in the place of one that has
ended, replaces them one after the other on SIGHUP, and ends them when it is told to end. A worker
whose starter is gone ends as if it were told to.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from warmset.serve.listening import address_of, settings
from warmset.serve.proxy.gathered import Gathered
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.server import closing, set_up_logging, tenants_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from warmset.serve.listening import Listening
    from warmset.serve.proxy.server import Serving

HUNG: Final = 60
"""Seconds after which a worker that does not answer its starter is killed and replaced."""

COUNTS: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable by which workers share their counts; see `metrics`."""


@dataclass(frozen=True, slots=True)
class _Worker:
    """Builds the application in a worker.

    Args:
        serving: What it serves.
        place: Where workers tell each other what they saw.
    """

    serving: Serving
    place: Path

    def __call__(self) -> ASGIApp:
        """Open the store, which is closed when the server has ended."""
        set_up_logging()
        threading.Thread(target=_orphaned, daemon=True, name="warmset-starter").start()
        stack = ExitStack()
        app = stack.enter_context(self.serving.opened(Gathered(self.place)))
        return closing(app, stack.close)


def run_workers(
    serving: Serving, listening: Listening, count: int, *, ready: Callable[[str], None]
) -> None:
    """Serve with several processes until this one is told to end.

    Args:
        serving: What is served.
        listening: Where they listen.
        count: How many processes.
        ready: Called with the address once it can be reached.

    Raises:
        WarmsetError: The store cannot be opened, or nobody can listen there.
    """
    with (
        listening.bound() as bound,
        tempfile.TemporaryDirectory(prefix="warmset-serve-") as name,
    ):
        Memories(serving.memory, serving.store).close()  # what is wrong with it is said here
        tenants_of(serving.memory)
        place = Path(name)
        if COUNTS not in os.environ:
            (place / "counts").mkdir()
            os.environ[COUNTS] = str(place / "counts")
        config = uvicorn.Config(
            _Worker(serving, place),
            factory=True,
            workers=count,
            timeout_worker_healthcheck=HUNG,
            **settings(listening),
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        supervisor = Multiprocess(config, [bound])
        leaving = partial(_left, supervisor.should_exit, bound)
        threading.Thread(target=leaving, daemon=True, name="warmset-leaving").start()
        ready(address_of(bound))
        supervisor.run()


def _left(told: threading.Event, bound: socket.socket) -> None:
    """Leave the socket when the end has come, or clients would wait for workers that listen not."""
    told.wait()
    bound.close()


def _orphaned() -> None:
    """Wait until the process that started this one is gone, and end."""
    starter = multiprocessing.parent_process()
    if starter is not None:
        starter.join()
        os.kill(os.getpid(), signal.SIGTERM)
