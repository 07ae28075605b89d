"""Switches the checks of locks on, for this process and those that it begins; imported first."""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager

os.environ.setdefault("WARMSET_CHECK_LOCKS", "1")


@contextmanager
def alone():
    """Let a test use parts of an engine that has none, as its lock does; also a decorator."""
    with importlib.import_module("warmset._support.locks").rlock("engine"):
        yield


@contextmanager
def elsewhere():
    """Do what another process would: it has nothing to do with the locks that are held here."""
    held = importlib.import_module("warmset._support.lock_checks")._thread.held
    here, held[:] = list(held), []
    try:
        yield
    finally:
        held[:] = here
