"""The choices of an exchange's window in the store, so that another process repeats them.

Ids of messages are among the sources of the record and nowhere else: it is erased with any of them,
and an import gives it the new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset.store.derived import derived_draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.store.derived import Made
    from warmset.store.records import Draft

WHAT: Final = "choices"
_KIND: Final = "item"
_LISTS: Final = (
    "request",
    "since",
    "summary",
    "quoted",
    "picked",
    "lines",
    "described",
    "changed",
    "memories",
    "pinned",
)
_BESIDE: Final = ("memories", "pinned")
"""What a window may show besides the messages of the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChoices:
    """What a window chose for a request.

    Args:
        request: The id of the request's message.
        key: A hash of the request's text and of the options.
        whole: Whether all messages were sent unchanged; then the rest is empty, but for memories.
        since: The id of the oldest recent message; None if there was none.
        summary: The id of the record of the summary that was shown; None if there was none.
        quoted: Ids of the quoted units' first messages.
        lines: Ids of the messages in the scoped index.
        described: For each line, the id of the record of its description; None where the built-in
            rules describe it.
        picked: Ids that a picker returned.
        changed: Ids of messages of which a value was changed later, each with that of the message
            that changed it.
        memories: Ids of the memories, and of the turns of other conversations, that were quoted.
        pinned: Ids of the memories that were pinned when the exchange began, the newest first.
        by: "score" or "picker".
        why: Why the score decided although there is a picker, else None.
        least: The score that a hit needed.
        unused: Why nothing more was quoted.
    """

    request: int
    key: str
    whole: bool = False
    since: int | None = None
    summary: int | None = None
    quoted: Sequence[int] = ()
    lines: Sequence[int] = ()
    described: Sequence[int | None] = ()
    picked: Sequence[int] = ()
    changed: Sequence[tuple[int, int]] = ()
    memories: Sequence[int] = ()
    pinned: Sequence[int] = ()
    by: str = "score"
    why: str | None = None
    least: float | None = None
    unused: str | None = None


def choices_draft(tenant: str, conversation: str, one: StoredChoices) -> Draft:
    """Return the draft of a record.

    Args:
        tenant: The tenant's name.
        conversation: The conversation's name.
        one: What is recorded.
    """
    said = [id_ for id_ in one.described if id_ is not None]
    ids: dict[str, Sequence[int]] = {
        "request": [one.request],
        "since": [] if one.since is None else [one.since],
        "summary": [] if one.summary is None else [one.summary],
        "quoted": one.quoted,
        "picked": one.picked,
        "lines": one.lines,
        "described": said,
        "changed": [id_ for pair in one.changed for id_ in pair],
        "memories": one.memories,
        "pinned": one.pinned,
    }
    sources = list(dict.fromkeys(id_ for name in _LISTS for id_ in ids[name]))
    place = {id_: at for at, id_ in enumerate(sources)}
    fields: dict[str, Any] = {"what": WHAT, "key": one.key}
    if one.whole:
        fields["whole"] = True
        fields |= {name: [place[id_] for id_ in ids[name]] for name in _BESIDE if ids[name]}
    else:
        fields |= {name: [place[id_] for id_ in ids[name]] for name in _LISTS[1:] if ids[name]}
        fields["by"] = [one.by, one.why]
        fields["cut"] = [
            None if one.least is None else str(one.least),
            one.unused,
        ]  # may be infinite
    if said:
        fields["described"] = [None if id_ is None else place[id_] for id_ in one.described]
    return derived_draft(_KIND, tenant, conversation, fields, b"", sources)


def is_choices(made: Made) -> bool:
    """Return whether a record is of a window's choices."""
    return made.kind == _KIND and made.fields.get("what") == WHAT and made.conversation is not None


def decode_choices(made: Made) -> StoredChoices | None:
    """Read a record; None if it is not as this version writes it."""
    fields = made.fields
    try:
        ids = {name: [_id(made, at) for at in fields.get(name, ())] for name in _LISTS[1:]}
        changed = [id_ for id_ in ids["changed"] if id_ is not None]
        by, why = fields.get("by", ("score", None))
        least, unused = fields.get("cut", (None, None))
        said = ids["described"] or [None] * len(ids["lines"])
        if len(said) != len(ids["lines"]):
            return None
        return StoredChoices(
            request=made.sources[0],
            key=str(fields["key"]),
            whole=fields.get("whole") is True,
            since=next(iter(ids["since"]), None),
            summary=next(iter(ids["summary"]), None),
            quoted=[id_ for id_ in ids["quoted"] if id_ is not None],
            lines=[id_ for id_ in ids["lines"] if id_ is not None],
            described=said,
            picked=[id_ for id_ in ids["picked"] if id_ is not None],
            changed=list(zip(changed[::2], changed[1::2], strict=True)),
            memories=tuple([id_ for id_ in ids["memories"] if id_ is not None]),
            pinned=tuple([id_ for id_ in ids["pinned"] if id_ is not None]),
            by=str(by),
            why=None if why is None else str(why),
            least=None if least is None else float(least),
            unused=None if unused is None else str(unused),
        )
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _id(made: Made, at: Any) -> int | None:
    return None if at is None else made.sources[int(at)]
