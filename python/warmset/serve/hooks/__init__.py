"""Hooks of agents: what an agent is told at its events, and what is kept of its sessions.

What this package promises:

- Whatever goes wrong, the agent goes on as if it had no memory: a hook ends with exit code 0 before
  its deadline, and the failure is noted where `warmset hooks status` and `warmset doctor` tell it.
- A hook's own process imports the standard library alone; the store is open in a helper, which
  hooks ask over a local socket, and which ends when nobody asks.
- What hooks put into a context is quoted as data, is bounded, and stands there once a session.
- Installing changes nothing but what it adds, and uninstalling gives every byte back.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.serve.hooks.failures import Failure
    from warmset.serve.hooks.places import Places

__all__ = ["Failure", "Places"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(__name__, {"failures": ["Failure"], "places": ["Places"]})
