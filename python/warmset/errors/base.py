"""The base of every exception that warmset raises."""

from __future__ import annotations


class WarmsetError(Exception):
    """Base of everything that warmset raises on purpose."""
