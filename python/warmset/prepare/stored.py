"""Prepared summaries in the store: a record each, good in every process by its prefix's hash."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset import messages
from warmset.counting import message_tokens
from warmset.derived import derived_draft
from warmset.errors import StoreError
from warmset.evict.slots import HEADING
from warmset.prepare.marks import prefix_hash

if TYPE_CHECKING:
    from warmset.derived import Made
    from warmset.engine import Engine
    from warmset.ledger import Ledger
    from warmset.messages import Dialect, Message
    from warmset.prepare.marks import Span
    from warmset.records import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A summary that can take the place of the messages before its mark.

    Args:
        id: Its record; None where the record lies in the spool.
        mark: Messages before it are summarised, or held.
        last: The last message before the mark: with it the path has all of them.
        held: Positions before the mark that stay as they are, ascending.
        place: Position of the first message that it stands for.
        message: The summary as a message of the conversation's dialect.
        text: The summary.
        tokens: What that message costs.
        before: What the messages cost that it stands for.
        spent: Tokens that its model took.
    """

    id: int | None
    mark: int
    last: int
    held: tuple[int, ...]
    place: int
    message: Message
    text: str
    tokens: int
    before: int
    spent: int

    def fits(self, engine: Engine, ledger: Ledger) -> bool:
        """Tell whether it still stands for the front of the conversation."""
        path = ledger.history.path
        return (
            len(path) > self.mark
            and path[self.mark - 1] == self.last
            and (self.id is None or self.id in engine.derived)
        )


def said(engine: Engine, text: str, dialect: Dialect) -> tuple[Message, int]:
    """Write a summary as a user's message: data, not an order; returns it and what it costs."""
    message = messages.text_message(dialect, "user", f"{HEADING}\n{text}")
    return message, message_tokens([message], engine.encoding)[0]


def draft(
    ledger: Ledger,
    span: Span,
    prefix: str,
    policy: str,
    text: str,
    previous: Ready | None,
    told: dict[str, Any],
) -> Draft:
    """Make the record of a summary.

    Args:
        ledger: The conversation.
        span: What it stands for.
        prefix: The hash of the messages before its mark.
        policy: The fingerprint of who wrote it.
        text: The summary.
        previous: The summary that it goes on from.
        told: Figures about it.
    """
    before = span.cost + (0 if previous is None else previous.before)
    fields = {"mark": span.mark, "prefix": prefix, "policy": policy, "before": before, **told}
    sources = [*span.ids]
    if previous is not None and previous.id is not None:
        fields["goes_on"] = True
        sources.append(previous.id)
    payload = text.encode("utf-8", "surrogatepass")
    return derived_draft("prepared", ledger.tenant, ledger.name, fields, payload, sources)


def episode(ledger: Ledger, what: str, figures: dict[str, Any]) -> Draft:
    """Make the record of something that became of a summary, for `Memory.episodes`."""
    fields = {"what": what, "at": time.time(), "figures": figures}
    return derived_draft("episode", ledger.tenant, ledger.name, fields)


def read(engine: Engine, ledger: Ledger, made: Made, policy: str) -> Ready | None:
    """Take up a record; None if it is of another policy, or stands for other messages.

    Raises:
        StoreError: The record could not be read.
    """
    path, mark = ledger.history.path, made.fields.get("mark")
    if made.fields.get("policy") != policy or not isinstance(mark, int) or not 0 < mark < len(path):
        return None
    try:
        if prefix_hash(engine.store, path[:mark]) != made.fields.get("prefix"):
            return None
    except StoreError:
        return None
    covered = covered_by(engine, made)
    if not covered or not covered.issubset(path[:mark]):
        return None  # it was made from twins of these messages, on another branch
    held = tuple(at for at in range(mark) if path[at] not in covered)
    text = engine.store.get(made.id).payload.decode("utf-8", "surrogatepass")
    message, tokens = said(engine, text, ledger.dialect or "openai")
    spent, before = (made.fields.get(name) for name in ("spent", "before"))
    return Ready(
        id=made.id,
        mark=mark,
        last=path[mark - 1],
        held=held,
        place=next(at for at in range(mark) if path[at] in covered),
        message=message,
        text=text,
        tokens=tokens,
        before=before if isinstance(before, int) else 0,
        spent=spent if isinstance(spent, int) else 0,
    )


def covered_by(engine: Engine, made: Made) -> set[int]:
    """Return the messages that a summary stands for, those of the summaries before it included."""
    covered: set[int] = set()
    waiting: list[Made] = [made]
    while waiting:
        for source in waiting.pop().sources:
            earlier = engine.derived.get(source)
            if earlier is not None and earlier.kind == "prepared":
                waiting.append(earlier)
            else:
                covered.add(source)
    return covered
