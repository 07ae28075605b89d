"""A signal that comes in the middle of a call."""

from __future__ import annotations

import gc
import os
import signal
import threading

import pytest
from cold_rows import row

from warmset.errors import StoreError
from warmset.native import ColdStore

AFTER = 0.02
"""Seconds after which the signal comes, and comes again until it came in the middle of the call."""


class Alarmed(BaseException):
    """What a test's own handler raises."""


class Alarm:
    """Sends SIGINT into a call of the main thread, and knows whether it came in its middle.

    The handler tries to use a store: only in the middle of another call that is refused. A signal
    that came before the call began is sent again.
    """

    def __init__(self, error):
        self.error, self.inside = error, []
        self.probe = ColdStore.open(None)
        self.probe.append([row()])

    def handle(self, _number, _frame):
        if self.inside:
            return
        try:
            self.probe.get(1)
        except StoreError as error:
            self.inside.append(str(error))
            if self.error is not None:
                raise self.error from None

    def within(self, call, first=None):
        """Make the call; `first` runs in another thread, before the signal is sent.

        The garbage collector rests meanwhile: what a handler raises in one of its callbacks is
        swallowed there, and the call would go on.
        """
        over = threading.Event()

        def send():
            if first is not None:
                over.wait(AFTER)
                first()
            while not over.wait(AFTER) and not self.inside:
                os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send)
        before = signal.signal(signal.SIGINT, self.handle)
        gc.disable()
        sender.start()
        try:
            return call()
        finally:
            gc.enable()
            over.set()
            sender.join()
            signal.signal(signal.SIGINT, before)

    def ends(self, call, first=None):
        """Assert that the call ends with the handler's exception, raised in its middle."""
        with pytest.raises(type(self.error)) as caught:
            self.within(call, first)
        assert caught.value is self.error
        assert "in the middle of a call" in self.inside[0]
