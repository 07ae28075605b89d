"""Letting a picker choose, with the score to fall back on."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset._support.log import event, kind, room
from warmset.errors import PickerError
from warmset.pick.base import Picked, Picks, ScorePicker
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.pick.base import Candidate, Picker

LOG: Final = room("window")

_WHY: Final = 400
"""Characters of a reason."""


def ask_picker(
    picker: Picker | None, request: str, candidates: Sequence[Candidate], *, limit: int
) -> Picked:
    """Let the picker choose, or the score.

    Args:
        picker: Who chooses; None lets the score, and so does a `ScorePicker`.
        request: What is asked of the model.
        candidates: The shortlist, best first.
        limit: The most ids that a picker may return.

    Returns:
        What was chosen; ids that are not on the shortlist are dropped.
    """
    by_score = tuple(candidate.id for candidate in candidates)
    if picker is None or isinstance(picker, ScorePicker) or not candidates:
        return Picked(by_score, "score")
    started = time.perf_counter()
    reported: object = None
    ids, by, why, broken = by_score, "score", None, ""
    try:
        answer = picker.pick(request, candidates, limit=limit)
        reported = answer.usage if isinstance(answer, Picks) else None
        listed = list(answer)
        known = set(by_score)
        chosen = tuple(dict.fromkeys(id_ for id_ in listed if id_ in known))
        if listed and not chosen:
            why = f"none of {listed[:limit]} is on the shortlist"
            broken = "no id of the shortlist"
        else:
            ids, by = chosen[:limit], "picker"
    except Exception as error:  # noqa: BLE001 - a picker never costs an answer
        reported = (error.usage if isinstance(error, PickerError) else None) or reported
        why, broken = str(error) or repr(error), kind(error)
    usage = reported if isinstance(reported, Usage) else Usage(0, 0)
    took = (time.perf_counter() - started) * 1000
    if why is not None:
        event(
            LOG,
            logging.WARNING,
            "fell_back",
            what="picker",
            to="score",
            picker=type(picker).__name__,
            why=broken,
            candidates=len(candidates),
        )
    reason = None if why is None else " ".join(why[: 2 * _WHY].split())[:_WHY]
    return Picked(ids, by, reason, replace(usage, milliseconds=took))
