"""Processes on one store, each of which makes windows when it is asked."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time

import steady_worker

FORKS = sys.platform == "linux"  # elsewhere it is not safe behind threads of libraries
PROCESSES = multiprocessing.get_context("forkserver" if FORKS else "spawn")
if FORKS:  # from a process that has imported what takes long, and opened no store
    PROCESSES.set_forkserver_preload(
        [
            *("warmset.memory", "warmset.engine.engine", "warmset.engine.leases"),
            *("warmset.ingest.append", "warmset.retrieve.searcher", "warmset.window.pipeline"),
            *("warmset.compact", "warmset.evict.desk", "pytest"),
        ]
    )


class Workers:
    """Processes on one store, each of which answers one request after the other."""

    def __init__(self, path, count):
        self.path, self.running = path, [self.started(path) for _ in range(count)]
        self.took = 0.0  # seconds until the last answer

    @staticmethod
    def started(path):
        ours, theirs = PROCESSES.Pipe()
        worker = PROCESSES.Process(target=steady_worker.serve, args=(path, theirs))
        worker.start()
        theirs.close()
        assert ours.recv_bytes() == b'"ready"'
        return worker, ours

    def ask(self, at, request, kill_after=None):
        """Return the answer of a process; None if it was killed before it gave one.

        Args:
            at: The number of the process.
            request: What it is asked.
            kill_after: When to kill it: 1 is the time that the last answer took; None for never.
        """
        worker, ours = self.running[at]
        began = time.monotonic()
        ours.send_bytes(json.dumps(request).encode())
        if kill_after is None:
            found = json.loads(ours.recv_bytes())
            self.took = time.monotonic() - began
            return found
        time.sleep(kill_after * self.took)
        worker.kill()
        try:
            return json.loads(ours.recv_bytes())
        except (EOFError, OSError):
            return None
        finally:
            self.end(worker, ours)
            self.running[at] = self.started(self.path)

    def close(self):
        for worker, ours in self.running:
            self.end(worker, ours)

    @staticmethod
    def end(worker, ours):
        ours.close()
        worker.join(30)
        worker.close()
