"""LoCoMo's conversations: a list of samples with sessions between two people.

The first speaker is the user; captions of photos are part of what is said.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from warmset.maintenance.transcripts.fields import listed, mapping, number, text
from warmset.maintenance.transcripts.item import Item

if TYPE_CHECKING:
    from collections.abc import Iterator

_SESSION: Final = re.compile(r"session_(\d+)")
_TIME: Final = "%I:%M %p on %d %B, %Y"


def is_locomo(value: object) -> bool:
    """Return whether a value is a sample of LoCoMo."""
    talk = mapping(mapping(value).get("conversation"))
    return any(_SESSION.fullmatch(key) and isinstance(talk[key], list) for key in talk)


def locomo(value: dict[str, Any], name: str) -> Iterator[Item]:
    """Yield the turns of one sample, session by session.

    Args:
        value: The sample.
        name: Its name if it has none.
    """
    talk = mapping(value["conversation"])
    name = number(value, "sample_id") or name
    sessions = {int(match[1]): key for key in talk if (match := _SESSION.fullmatch(key))}
    for at, key in sorted(sessions.items()):
        moment = _time(talk.get(f"{key}_date_time"))
        for place, one in enumerate(listed(talk[key]), 1):
            turn = mapping(one)
            said, caption = text(turn, "text") or "", text(turn, "blip_caption")
            said = f"{said} [photo: {caption}]" if caption else said
            speaker = text(turn, "speaker")
            role = "user" if speaker == talk.get("speaker_a") else "assistant"
            yield Item(
                conversation=name,
                uids=(number(turn, "dia_id") or f"D{at}:{place}",),
                kind="message" if said.strip() else "turn",
                message={"role": role, "content": said.strip()} if said.strip() else None,
                raw=json.dumps(one).encode(),
                at=moment,
                speaker=(speaker or "").strip() or None,
                session=key,
                meta={"source": "locomo"},
            )


def _time(given: object) -> float | None:
    try:
        return datetime.strptime(str(given).strip(), _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
