"""A hook's own answer, without the helper: by words alone, with the standard library alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from warmset.serve.hooks import config, jobs, starting
from warmset.serve.hooks.answers import BadInputError, Desk, answer as answered
from warmset.serve.hooks.failures import note, words_of
from warmset.serve.hooks.places import Places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.serve.hooks.recalled import Recalled


class NoMemoryError(Exception):
    """The store is not there, or may have no texts beside it."""


def answer(host: str, event: str, memory: str, raw: bytes, *, wrapped: bool) -> bytes:
    """Answer one event, and start the helper for the next ones.

    Args:
        host: The agent's host.
        event: The event.
        memory: The store's directory.
        raw: The host's input.
        wrapped: Whether a proxy keeps the turns.

    Returns:
        What the hook prints.

    Raises:
        NoMemoryError: The store is not there, or is encrypted.
        BadInputError: The input is not what the host's documentation says.
        OSError: A file cannot be read or written.
    """
    places = Places(memory)
    if not os.path.isdir(places.hooks):
        raise NoMemoryError("the store is not there, or has no hooks; run warmset hooks status")
    if places.is_encrypted:
        raise NoMemoryError("the store is encrypted, so that no text may lie beside it")
    told = config.read(places.config)

    def recall(
        query: str, /, *, skip: frozenset[str], without: str | None, most: int
    ) -> Sequence[Recalled]:
        from sqlite3 import Error  # noqa: PLC0415 - measured: five milliseconds

        from warmset.serve.hooks.words import Words  # noqa: PLC0415

        try:
            return Words(places.words)(query, skip=skip, without=without, most=most)
        except Error as error:  # the rest of the answer is as good without
            note(places.failures, host, event, f"{type(error).__name__} (words.db)")
            return []

    def enqueue(kind: str, fields: dict[str, Any]) -> None:
        jobs.put(places.queue, kind, fields)

    desk = Desk(places, host, recall, enqueue, context_tokens=told.context_tokens, wrapped=wrapped)
    try:
        return answered(desk, event, raw).encode("utf-8", "replace")
    finally:
        try:
            starting.start(places)
        except OSError as error:
            note(places.failures, host, "helper", words_of(error))


__all__ = ["BadInputError", "NoMemoryError", "answer"]
