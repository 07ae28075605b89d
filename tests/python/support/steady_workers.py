"""Processes on one store, each of which makes windows when it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import steady_worker


class Workers:
    """Processes on one store, each of which answers one request after the other."""

    def __init__(self, path, count):
        self.path, self.running = path, [self.started(path) for _ in range(count)]

    @staticmethod
    def started(path):
        command = [sys.executable, steady_worker.__file__, str(path)]
        pipe = subprocess.PIPE
        worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)  # noqa: S603
        assert worker.stdout.readline() == "ready\n"
        return worker

    def ask(self, at, request, kill_after=None):
        """Return the answer of a process; None if it was killed before it gave one."""
        worker = self.running[at]
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.flush()
        if kill_after is not None:
            time.sleep(kill_after)
            worker.kill()
        line = worker.stdout.readline()
        if kill_after is not None:
            worker.wait()
            worker.stdin.close()
            worker.stdout.close()
            self.running[at] = self.started(self.path)
        return json.loads(line) if line.endswith("\n") else None

    def close(self):
        for worker in self.running:
            worker.stdin.close()
            worker.wait(30)
            worker.stdout.close()
