"""A real browser, driven by its own protocol: pages are opened, looked at, and asked."""

from __future__ import annotations

import base64
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30
"""Seconds after which a browser counts as broken; no test takes that long."""


def program():
    """Return the browser of this machine.

    A test without one is skipped; it fails in CI, where `.ci/run` installs one.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    there = sys.platform == "linux" and platform.machine() == "x86_64"
    if found is None and there and os.environ.get("CI"):
        pytest.fail("no browser: install Debian's chromium")
    if found is None:
        pytest.skip("no browser: install chromium")
    return found


class Page:
    """A page in a browser.

    Attributes:
        complaints: What the browser said of it: errors, and what its policy forbids.
    """

    def __init__(self, connection):
        self._connection = connection
        self._numbers = itertools.count(1)
        self._session = None
        self.complaints = []
        [target] = [
            one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"
        ]
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **given):
        """Call a method of the protocol, and return its result."""
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": given}
        if self._session:
            asked["sessionId"] = self._session
        self._connection.send(json.dumps(asked))
        while True:
            said = json.loads(self._connection.recv(timeout=PATIENCE))
            if said.get("id") == number:
                assert "error" not in said, (method, said["error"])
                return said["result"]
            self._heard(said)

    def _heard(self, said):
        if said["method"] == "Log.entryAdded":
            self.complaints.append(said["params"]["entry"]["text"])
        elif said["method"] == "Runtime.exceptionThrown":
            self.complaints.append(said["params"]["exceptionDetails"]["text"])

    def open(self, url):
        """Go to an address."""
        self.complaints.clear()
        self.call("Page.navigate", url=url)
        self.until(f"document.readyState === 'complete' && location.href === {json.dumps(url)}")

    def value(self, expression):
        """Return the value of an expression in the page."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def until(self, expression):
        """Wait until an expression is true; return its value."""
        end = time.monotonic() + PATIENCE
        while not (got := self.value(expression)):
            assert time.monotonic() < end, (expression, self.text(), self.complaints)
            time.sleep(0.02)
        return got

    def text(self):
        """Return the text that is to be seen."""
        return self.value("document.body.innerText")

    def size(self, width, height=800):
        """Give the window a size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def offline(self, *, is_so):
        """Take the network from it, or give it back."""
        given = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", offline=is_so, **given)

    def prefers(self, **features):
        """Say what the user prefers, as color_scheme="dark"."""
        given = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value}
            for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", features=given)

    def press_tab(self):
        """Press the tabulator key; return what has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", windowsVirtualKeyCode=9)
        return self.value("document.activeElement.id || document.activeElement.tagName")

    def read_out(self):
        """Return what assistive technology gets: pairs of a role and a name."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (one["role"]["value"], one.get("name", {}).get("value", ""))
            for one in nodes
            if not one.get("ignored")
        ]

    def picture(self, path):
        """Write a picture of it, to look at while working on the page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=False)
        Path(path).write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browsing():
    """Start a browser; yield its page."""
    from websockets.sync.client import connect  # noqa: PLC0415 - where there is a browser

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            program(),
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            *(["--no-sandbox", "--disable-dev-shm-usage"] if _is_root() else []),
            "about:blank",
        ]
        process = subprocess.Popen(  # noqa: S603 - the browser of this machine
            command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            with connect(_address(Path(profile), process), max_size=None, proxy=None) as made:
                yield Page(made)
        finally:
            process.kill()
            process.communicate()


def _address(profile, process):
    """Return where a browser listens; it writes that down when it does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError, ValueError):
            port, path = (profile / "DevToolsActivePort").read_text().split()
            return f"ws://127.0.0.1:{port}{path}"
        time.sleep(0.02)
    pytest.fail(f"the browser did not start: {process.poll()}")


def _is_root():
    """Return whether the browser would refuse its sandbox."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
