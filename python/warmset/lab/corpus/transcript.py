"""The common form of all transcripts: lines in order, and known questions, if any."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warmset import messages
from warmset.errors import InvalidInputError, InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message of a transcript.

    Args:
        message: The message, in the transcript's dialect.
        at: Its time, seconds since 1970 UTC; None if unknown.
        speaker: The speaker's name, if there is one.
        session: The session's name, if there is one.
        where: The place in the file, for errors: "line 12".
    """

    message: Message
    at: float | None = None
    speaker: str | None = None
    session: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is known to be in certain lines.

    Args:
        text: The question.
        evidence: Positions of the lines that answer it, ascending; all of them are needed. None for
            a question that is not answered.
        category: The kind of question, if the file names it.
        answer: The correct answer, if the file has it.
        name: A name that identifies it among the questions of its file.
    """

    text: str
    evidence: tuple[int, ...]
    category: str = ""
    answer: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A conversation with known questions and notes.

    Args:
        name: Its name.
        kind: The kind of its file.
        lines: Its messages in order.
        questions: Questions with known evidence; none for most transcripts.
        notes: What was left out, in words.
        counts: How many questions were left out, or had evidence that had to be mended, by reason.
        unanswerable: Questions whose answer is nowhere in it; they have no evidence.
        split: Which part of a data set it is of, "fit" or "held_out"; empty if it has none.
    """

    name: str
    kind: str
    lines: Sequence[Line]
    questions: Sequence[Question] = ()
    notes: tuple[str, ...] = field(default=())
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    unanswerable: Sequence[Question] = ()
    split: str = ""


def checked(transcript: Transcript) -> Transcript:
    """Check that a transcript can be stored and that a request can follow it.

    Args:
        transcript: The result of a reader.

    Returns:
        The transcript; without its last messages if they call tools that never answered.

    Raises:
        InvalidInputError: A message is malformed, or there is none.
    """
    lines = transcript.lines
    if not lines:
        raise InvalidInputError("there is no message in it; give a transcript with messages")
    plain = [line.message for line in lines]
    try:
        dialect = messages.resolve(plain)
    except InvalidMessageError as error:
        raise InvalidInputError(f"{lines[error.index].where}: {error.why}") from error
    last = messages.units([messages.facts(message, dialect) for message in plain])[-1]
    if not last.open:
        return transcript
    kept = lines[: last.members[0]]
    if not kept:
        raise InvalidInputError("it has nothing but tool calls without results; let it finish")
    count = len(lines) - len(kept)
    note = f"left out at the end: {count} messages of a tool call that has no result yet"
    return replace(transcript, lines=kept, notes=(*transcript.notes, note))


def nameless(transcript: Transcript) -> Transcript:
    """Remove the speakers' names from a conversation; roles, and names within texts, stay."""
    return replace(transcript, lines=[replace(line, speaker=None) for line in transcript.lines])
