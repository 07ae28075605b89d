"""Measures what can still be reached after it left a window: in a summary, by search, by handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.conversation import Conversation
    from warmset.lab.corpus.transcript import Transcript
    from warmset.window.result import Window

HITS: Final = 12
"""Hits of a search that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """For how many questions whose answer was evicted it can still be reached.

    Args:
        evicted: Questions of which a message with the answer is no longer in the window.
        window: The answer is in the window all the same, in a summary.
        search: A search for the question, by words alone, has the messages among its first hits;
            None where nothing but the list is kept.
        handle: The messages are given back by their ids, as they were; None likewise.
    """

    evicted: int
    window: int
    search: int | None
    handle: int | None


def reach_of(
    one: Conversation, window: Window, transcript: Transcript, keys: Sequence[str], *, kept: bool
) -> Reach:
    """Ask the transcript's questions at the end of a run.

    Args:
        one: The run's conversation.
        window: Its last window.
        transcript: What was replayed.
        keys: The words of each question's answer that count.
        kept: Whether anything is kept beside the list.

    Raises:
        StoreError: A message could not be read.
    """
    ids = one.ids
    shown = {id_ for part in window.parts if part.name != "summary" for id_ in part.ids}
    said = "\n".join(messages.text_of(each, window.dialect) for each in window.messages)
    evicted = in_window = found = given = 0
    for question, key in zip(transcript.questions, keys, strict=True):
        wanted = {at: ids[at] for at in question.evidence}
        if shown.issuperset(wanted.values()):
            continue
        evicted += 1
        in_window += key.casefold() in said.casefold()
        hits = {hit.id for hit in one.search(question.text, k=HITS)}
        found += hits.issuperset(wanted.values())
        given += all(
            dict(one.fetch(id_)) == transcript.lines[at].message for at, id_ in wanted.items()
        )
    return Reach(
        evicted=evicted,
        window=in_window,
        search=found if kept else None,
        handle=given if kept else None,
    )
