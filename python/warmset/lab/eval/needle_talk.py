"""Made-up conversations in which one decision, early on, answers the last question."""

from __future__ import annotations

from typing import Final

import numpy as np

from warmset.lab.corpus.transcript import Line, Question, Transcript

_START: Final = 1_700_000_000.0
_STEP: Final = 90.0

_NEEDLES: Final = (
    ("the retry limit of the importer", "{n} attempts"),
    ("the port of the metrics endpoint", "port 9{n}"),
    ("the retention of audit events", "{n} days"),
    ("the cache key prefix", "orchid-{n}"),
    ("the name of the release branch", "harbour-{n}"),
    ("the batch size of the embedder", "{n} texts"),
)
"""What is decided, and how."""

_SUBJECTS: Final = (
    "the login form",
    "the invoice table",
    "the nightly backup",
    "the search box",
    "the onboarding mail",
    "the export to spreadsheets",
    "the map of the stores",
    "the queue of thumbnails",
    "the settings page",
    "the status banner",
    "the translation files",
    "the payment callback",
)
_ASKED: Final = (
    "Can you look at {s} again? Ticket {n} says that it is slow for the customers in the north.",
    "I have read your change to {s}; please split it, {n} lines are too many for one review.",
    "Somebody saw an odd shadow around {s} on a small screen, ticket {n} has a picture of it.",
    "What is left to do for {s} before we can close ticket {n} and tell the support team?",
    "For {s}: we decided to keep the old colours until {n} people have seen the new ones.",
)
_SAID: Final = (
    "I looked at {s}: the query runs {n} times where once is enough, so it left the loop.",
    "Done for {s}. The change has {n} lines now, and the second half waits for your review.",
    "The shadow around {s} came from a margin of {n} pixels; it is gone on all three screens.",
    "Two points are open for {s}: the labels, and ticket {n}, which waits for an answer by mail.",
    "Noted for {s}; I wrote it down in the changelog beside entry {n} and told the support team.",
)


def talk(turns: int, *, depth: float, seed: int) -> Transcript:
    """Make a conversation.

    Args:
        turns: How many messages it has, at least 2.
        depth: Where the decision stands, as a part of the conversation.
        seed: Another seed makes another conversation.

    Returns:
        A conversation about many things, decisions among them, and one question; its evidence is
        the turn that settles what is asked.
    """
    random = np.random.default_rng([seed, turns])
    place = min(round(turns * depth), turns - 1)
    place -= place % 2  # a user decides
    what, how = _NEEDLES[int(random.integers(len(_NEEDLES)))]
    answer = how.format(n=int(random.integers(11, 90)))
    lines: list[Line] = []
    subject = ""
    for at in range(turns):
        role = ("user", "assistant")[at % 2]
        if role == "user":
            subject = _SUBJECTS[int(random.integers(len(_SUBJECTS)))]
        form = (_ASKED, _SAID)[at % 2][int(random.integers(len(_ASKED)))]
        text = form.format(s=subject, n=int(random.integers(100, 1000)))
        if at == place:
            text = f"About {what}: we decided on {answer}, after the talk with the operators."
        lines.append(
            Line(message={"role": role, "content": text}, at=_START + at * _STEP, session="talk")
        )
    asked = Question(f"What did we decide about {what}?", (place,), "decision", answer, str(seed))
    return Transcript(name=f"needle-{turns}-{seed}", kind="needle", lines=lines, questions=[asked])
