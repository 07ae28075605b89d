"""Conversations whose speakers have other names than their questions use.

What is said stays as it is. "full", "handles" and "emails" rename the speakers, "nicknames" and
"typos" the questions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.errors import InvalidInputError
from warmset.text.nicknames import short_forms

if TYPE_CHECKING:
    from warmset.lab.corpus.transcript import Transcript

Names: TypeAlias = Literal["exact", "full", "handles", "emails", "nicknames", "typos"]

NAMES: Final[tuple[Names, ...]] = ("exact", "full", "handles", "emails", "nicknames", "typos")

_FAMILIES: Final = ("Whitlock", "Okonjo", "Van der Berg", "O'Shea", "Lindqvist", "Achterberg")
_LEAST: Final = 5
"""Letters of a name in which a letter may be missing."""


def renamed(transcript: Transcript, names: Names) -> Transcript:
    """Rename the speakers of a conversation, or whom its questions name.

    Args:
        transcript: The conversation.
        names: "full": "Nora" becomes "Nora Whitlock"; "handles": "nora_whitlock92",
            "@TorOkonjo", "idavanderberg" in turn; "emails": "nora.whitlock@example.org";
            "nicknames": questions use the first short form of a name that is known; "typos":
            questions lack a letter of names of at least five.

    Raises:
        InvalidInputError: It has no speakers.
    """
    if names == "exact":
        return transcript
    speakers = list(dict.fromkeys(line.speaker for line in transcript.lines if line.speaker))
    if not speakers:
        raise InvalidInputError("names: its messages have no speakers to rename")
    if names in {"nicknames", "typos"}:
        asked = {one: (_short if names == "nicknames" else _misspelt)(one) for one in speakers}
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, speakers))})(?!\w)")
        questions = [
            replace(one, text=pattern.sub(lambda match: asked[match[0]], one.text))
            for one in transcript.questions
        ]
        return replace(transcript, questions=questions)
    stored = {one: _stored(one, at, names) for at, one in enumerate(speakers)}
    lines = [
        replace(line, speaker=stored[line.speaker] if line.speaker else None)
        for line in transcript.lines
    ]
    return replace(transcript, lines=lines)


def _stored(name: str, at: int, names: Names) -> str:
    family = _FAMILIES[at % len(_FAMILIES)]
    if names == "full":
        return f"{name} {family}"
    first, last = (re.sub(r"[\W_]", "", one) for one in (name, family))
    if names == "emails":
        return f"{first}.{last}@example.org".lower()
    forms = (f"{first}_{last}92".lower(), f"@{first}{last}", f"{first}{last}".lower())
    return forms[at % len(forms)]


def _short(name: str) -> str:
    found = short_forms(name.lower())
    return found[0].capitalize() if found else name


def _misspelt(name: str) -> str:
    return name if len(name) < _LEAST else f"{name[:2]}{name[3:]}"
