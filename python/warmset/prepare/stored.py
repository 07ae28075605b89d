"""Prepared summaries in the store: a record each, good in every process by its prefix's hash."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset import messages
from warmset.errors import StoreError
from warmset.prepare.boundaries import prefix_hash
from warmset.quote.format import fenced
from warmset.store.derived import derived_draft
from warmset.summarize import HEADING
from warmset.tokens import message_tokens
from warmset.window.choices import Settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message
    from warmset.prepare.boundaries import Span
    from warmset.state.ledger import Ledger
    from warmset.store.derived import Made
    from warmset.store.records import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A summary that can take the place of the messages before its boundary.

    Args:
        id: Its record; None where the record lies in the spool.
        boundary: Messages before it are summarised, or held.
        last: The last message before the boundary: with it the path has all of them.
        held: Positions before the boundary that stay as they are, ascending.
        place: Position of the first message that it stands for.
        settled: The summary as it is shown, and what it stands for.
        dialect: How the conversation is written.
        text: The summary.
        tokens: What the message costs that shows it.
        before: What the messages cost that it stands for.
        spent: Tokens that its model took.
    """

    id: int | None
    boundary: int
    last: int
    held: tuple[int, ...]
    place: int
    settled: Settled
    dialect: Dialect
    text: str
    tokens: int
    before: int
    spent: int

    @property
    def message(self) -> Message:
        """The summary as a message of the conversation's dialect, made anew for each caller."""
        return messages.text_message(self.dialect, "user", self.settled.text)

    def fits(self, engine: Engine, ledger: Ledger) -> bool:
        """Tell whether it still stands for the front of the conversation."""
        path = ledger.history.path
        return (
            len(path) > self.boundary
            and path[self.boundary - 1] == self.last
            and (self.id is None or self.id in engine.derived)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What a summary stands for.

    Args:
        boundary: Messages before it are summarised, or held.
        covered: Ids of the messages that it stands for.
        before: What they cost.
        spent: Tokens that its model took.
    """

    boundary: int
    covered: set[int]
    before: int
    spent: int


def ready_of(engine: Engine, ledger: Ledger, id_: int | None, text: str, cover: Cover) -> Ready:
    """Put a summary together that fits the conversation.

    It is shown as a user's message, as data and not as an order; no text of it can pass for quoted
    turns.
    """
    path, dialect = ledger.history.path[: cover.boundary], ledger.dialect or "openai"
    ids = tuple(one for one in path if one in cover.covered)
    words = fenced(f"{HEADING}\n{text}")
    shown = Settled(id_, cover.boundary, words, engine.count(words), ids)
    message = messages.text_message(dialect, "user", shown.text)
    return Ready(
        id=id_,
        boundary=cover.boundary,
        last=path[-1],
        held=tuple(at for at, one in enumerate(path) if one not in cover.covered),
        place=next((at for at, one in enumerate(path) if one in cover.covered), 0),
        settled=shown,
        dialect=dialect,
        text=text,
        tokens=message_tokens([message], engine.encoding)[0],
        before=cover.before,
        spent=cover.spent,
    )


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
        prefix: The hash of the messages before its boundary.
        policy: The fingerprint of who wrote it.
        text: The summary.
        previous: The summary that it goes on from.
        told: Figures about it.
    """
    before = span.cost + (0 if previous is None else previous.before)
    fields = {"mark": span.boundary, "prefix": prefix, "policy": policy, "before": before, **told}
    if previous is not None:
        fields["goes_on"] = True
    payload = text.encode("utf-8", "surrogatepass")
    sources = sources_of(span.ids, previous, ledger.history.path)
    return derived_draft("prepared", ledger.tenant, ledger.name, fields, payload, sources)


def sources_of(ids: Sequence[int], previous: Ready | None, path: Sequence[int]) -> tuple[int, ...]:
    """Return the records that a summary is made from: messages, and the summary before it.

    One that lies in the spool has no id yet; there its messages stand for it.
    """
    if previous is None:
        return tuple(ids)
    if previous.id is not None:
        return (*ids, previous.id)
    held = {path[at] for at in previous.held}
    return (*(one for one in path[: previous.boundary] if one not in held), *ids)


def episode(
    ledger: Ledger, what: str, figures: dict[str, Any], sources: tuple[int, ...] = ()
) -> Draft:
    """Make the record of something that became of a summary, for `Memory.episodes`."""
    fields = {"what": what, "at": time.time(), "figures": figures}
    return derived_draft("episode", ledger.tenant, ledger.name, fields, b"", sources)


def read(engine: Engine, ledger: Ledger, made: Made, policy: str) -> Ready | None:
    """Take up a record; None if it is of another policy, or stands for other messages.

    Raises:
        StoreError: The record could not be read.
    """
    path, boundary = ledger.history.path, made.fields.get("mark")
    if (
        made.fields.get("policy") != policy
        or not isinstance(boundary, int)
        or not 0 < boundary < len(path)
    ):
        return None
    try:
        if prefix_hash(engine.store, path[:boundary]) != made.fields.get("prefix"):
            return None
    except StoreError:
        return None
    covered = covered_by(engine, made)
    if not covered or not covered.issubset(path[:boundary]):
        return None  # it was made from twins of these messages, on another branch
    text = engine.store.get(made.id).payload.decode("utf-8", "surrogatepass")
    spent, before = (made.fields.get(name) for name in ("spent", "before"))
    cover = Cover(
        boundary=boundary,
        covered=covered,
        before=before if isinstance(before, int) else 0,
        spent=spent if isinstance(spent, int) else 0,
    )
    return ready_of(engine, ledger, made.id, text, cover)


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
