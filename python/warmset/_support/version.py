"""The installed version of warmset."""

from importlib.metadata import version

__version__ = version("warmset")
