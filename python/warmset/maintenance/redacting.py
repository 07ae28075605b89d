"""Redacts the records of an export before they are imported."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset.engine import Redactor
from warmset.errors import InvalidInputError
from warmset.options import REDACT_TIMEOUT
from warmset.store.descriptions import read_parts
from warmset.store.epochs import WHAT as EPOCH
from warmset.store.records import TURN, dump, load

if TYPE_CHECKING:
    from warmset.store.records import Draft

_SAID: Final = ("by", "meta")
"""Meta fields with what a caller said: a speaker's name, and the caller's own fields."""


def redactor(hook: str | None, *, private_tags: bool) -> Redactor:
    """Return what the texts of an import pass through.

    Args:
        hook: The module and the name of a function, as "team.secrets:redact"; None for none.
        private_tags: Whether text between `<private>` tags is left out.

    Raises:
        InvalidInputError: There is no such function.
    """
    return Redactor(
        None if hook is None else _imported(hook), timeout=REDACT_TIMEOUT, private=private_tags
    )


def _imported(name: str) -> Any:
    module, _, function = name.partition(":")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"redact: expected module:function, found {name!r} ({type(error).__name__})"
        ) from error


def redacted_draft(draft: Draft, through: Redactor) -> Draft | None:
    """Return a record with its texts redacted; the same object if none changed.

    A record of a steady window that quotes messages is left out, and the list is made anew: a
    quotation may be cut, so that a hook no longer finds in it what it found in the message.

    Raises:
        RedactionError: The hook failed.
    """
    kind, key, meta, payload, sources = draft
    fields = _fields(meta)
    said = {name: fields[name] for name in _SAID if fields.get(name) is not None}
    new = {name: through.data(one) for name, one in said.items()}
    if any(new[name] is not one for name, one in said.items()):
        meta = dump({**fields, **new})
    what = fields.get("what")
    if kind == "item" and what == EPOCH and payload:
        return None
    if kind == TURN or (kind == "item" and what == "dropped"):
        payload = _message(payload, through)
    elif kind == "summary" and payload:
        parts = read_parts(payload)
        clean = through.data(parts)
        payload = payload if clean is parts else json.dumps(clean).encode()
    elif kind in ("distilled", "prepared"):
        payload = _text(payload, through)
    unchanged = meta is draft[2] and payload is draft[3]
    return draft if unchanged else (kind, key, meta, payload, sources)


def _fields(meta: bytes) -> dict[str, Any]:
    try:
        return load(meta)
    except InvalidInputError:  # the record is kept as it is, for a version that can read it
        return {}


def _message(payload: bytes, through: Redactor) -> bytes:
    try:
        message = messages.loads(payload)
    except InvalidInputError:
        return _text(payload, through)
    [made] = through.messages([message])
    return payload if made is message else messages.dumps(made)


def _text(payload: bytes, through: Redactor) -> bytes:
    try:
        text = payload.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return payload
    shown = through.text(text)
    return payload if shown == text else shown.encode("utf-8", "surrogatepass")
