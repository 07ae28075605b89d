"""Switches the checks of locks on, for this process and those that it begins; imported first."""

from __future__ import annotations

import os

os.environ.setdefault("WARMSET_CHECK_LOCKS", "1")
