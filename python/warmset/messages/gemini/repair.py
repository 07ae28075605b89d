"""Lists of Gemini contents, mended: each content by itself, then calls and responses, the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.gemini import parts as p
from warmset.messages.gemini.pairing import Entry, pair
from warmset.messages.gemini.rules import (
    demands_signatures,
    is_empty,
    is_signed_well,
    unsigned_steps,
)
from warmset.messages.mending import CONTINUE, CONTINUED, Change, Unanswered

if TYPE_CHECKING:
    from warmset.messages.model import Message, Request

UNCHECKED = "skip_thought_signature_validator"
"""The signature that stands for none; source: ai.google.dev/gemini-api/docs/thought-signatures."""


def mend(
    messages: list[Message], unanswered: Unanswered, request: Request
) -> tuple[list[Message], list[Change]]:
    """Mend a list of well-formed contents; see `Mender`.

    A call that leaves takes its thought signature along.
    """
    changes: list[Change] = []
    entries: list[Entry] = []
    for index, message in enumerate(messages):
        neat = _tidy(index, message, changes)
        if neat is not None:
            entries.append((index, neat))
    entries = pair(entries, unanswered, changes)
    if entries and p.is_model(entries[0][1]):
        index = entries[0][0]
        changes.append(Change("G1", index, f"a user content {CONTINUED!r} was put in front"))
        entries.insert(0, (index, _user(CONTINUED)))
    if entries and p.is_model(entries[-1][1]):
        index = entries[-1][0]
        changes.append(Change("G1", index, f"a user content {CONTINUE!r} was put at the end"))
        entries.append((index, _user(CONTINUE)))
    if demands_signatures(request.model):
        _sign(entries, changes)
    changes.sort(key=lambda change: change.index)
    return [message for _, message in entries], changes


def _sign(entries: list[Entry], changes: list[Change]) -> None:
    """Give steps without a signature the one that the API does not check."""
    for at, place in list(unsigned_steps([message for _, message in entries])):
        index, message = entries[at]
        content = list(p.parts(message))
        content[place] = content[place] | {p.SIGNATURE: UNCHECKED}
        changes.append(Change("G4", index, "a call got a signature that is not checked"))
        entries[at] = (index, message | {"parts": content})


def _user(text: str) -> Message:
    return {"role": "user", "parts": [{"text": text}]}


def _tidy(index: int, message: Message, changes: list[Change]) -> Message | None:
    """Mend what is wrong inside of one content; None where nothing is left of it."""
    before = p.parts(message)
    after: list[Message] = []
    for given in before:
        part = given
        if not is_signed_well(part):
            changes.append(Change("G4", index, "a thought signature that is none was left out"))
            part = p.without(part, p.SIGNATURE)
        if not p.said(part) and p.get(part, p.SIGNATURE) is not None:
            changes.append(Change("G5", index, "a part that only signs got an empty text"))
            part = part | {"text": ""}
        if is_empty(part):
            changes.append(Change("G5", index, "an empty part was left out"))
        else:
            after.append(part)
    if not after:
        changes.append(Change("G5", index, "the content was left out: nothing is in it"))
        return None
    same = len(after) == len(before) and all(a is b for a, b in zip(after, before, strict=True))
    return message if same else message | {"parts": after}
