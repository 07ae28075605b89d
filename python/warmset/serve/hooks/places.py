"""Where hooks keep what they need: the folder `hooks` in the directory of a store.

What has texts of conversations lies in `hooks/texts`, which every erasure of the store deletes as a
whole; everything else has none. Files are for their owner alone.
"""

from __future__ import annotations

import os
from typing import Final

HOOKS: Final = "hooks"

TEXTS: Final = "texts"
"""The folder in `HOOKS` that an erasure deletes; `warmset.index.file_lock` has its name, too."""


class Places:
    """The paths of one store's hooks.

    Args:
        memory: The store's directory.

    Attributes:
        memory: The same.
        hooks: The folder of the hooks.
        texts: What has texts of conversations.
        words: The index of words with which a hook recalls by itself.
        sessions: A file for each session.
        capsules: A file for each folder that agents work in.
        queue: What the worker has to do.
        progress: How far each transcript was stored.
        failures: The last failures.
        config: What the hooks were told when they were installed.
        installed: How to undo the installation.
        socket: Where the helper listens.
        helper_lock: An empty file, which the helper has locked while it lives.
        started: When a helper was started last, by its time of change.
    """

    __slots__ = (
        "capsules",
        "config",
        "failures",
        "helper_lock",
        "hooks",
        "installed",
        "memory",
        "progress",
        "queue",
        "sessions",
        "socket",
        "started",
        "texts",
        "words",
    )

    def __init__(self, memory: str) -> None:
        join = os.path.join
        self.memory = memory
        self.hooks = join(memory, HOOKS)
        self.texts = join(self.hooks, TEXTS)
        self.words = join(self.texts, "words.db")
        self.sessions = join(self.texts, "sessions")
        self.capsules = join(self.texts, "capsules")
        self.queue = join(self.hooks, "queue")
        self.progress = join(self.hooks, "progress.json")
        self.failures = join(self.hooks, "failures")
        self.config = join(self.hooks, "config.json")
        self.installed = join(self.hooks, "installed.json")
        self.socket = join(self.hooks, "helper.sock")
        self.helper_lock = join(self.hooks, "helper.lock")
        self.started = join(self.hooks, "helper.started")

    @property
    def is_there(self) -> bool:
        """Whether the store has hooks."""
        return os.path.isdir(self.hooks)

    @property
    def is_encrypted(self) -> bool:
        """Whether the store has encrypted records; then no text may lie beside it in the clear."""
        try:
            return bool(os.listdir(os.path.join(self.memory, "keys")))
        except OSError:
            return False
